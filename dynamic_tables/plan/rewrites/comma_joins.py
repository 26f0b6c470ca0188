"""FROM lists with commas: cross joins become inner joins, in an order in which WHERE connects the relations.

`FROM part, supplier, lineitem WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey`, joined as it is
written, would pair each row of part with each row of supplier. Here the order is part, lineitem, supplier,
and the two conditions become join conditions. The engine must do this itself, because it differentiates the
joins that it sees, and each term of the changes would hold the cross product.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dynamic_tables.plan.expressions import Col, Expr, conjunction, conjuncts, walk
from dynamic_tables.plan.nodes import Explode, Filter, Join, JoinKind, Plan, columns, walk as nodes_of


def connected(plan: Plan, where: Expr) -> tuple[Plan, Expr | None]:
    """Returns the plan of FROM, with the conditions between relations as join conditions, and the others.

    Greedy: from the first relation on, the next one is the first in FROM that a condition connects with those
    joined so far; if there is none, the next in FROM, by a cross join. A plan without a cross join, or
    without such a condition, stays as it is. The rows are the same; only the order of the columns may differ.
    """
    if not any(isinstance(node, Join) and node.kind is JoinKind.CROSS for node in nodes_of(plan)):
        return plan, where
    if isinstance(plan, Explode):
        return _below(plan, where)
    conditions: list[Expr] = []
    relations = list(_joined(plan, conditions))
    given = len(conditions)
    conditions += list(conjuncts(where))
    # `owner`: the relation (by place) that a column belongs to. `reads`: the relations of each condition.
    # `joining`: the conditions to use in a join, those of ON (the first `given`) in any case.
    owner = {column.name: place for place, relation in enumerate(relations) for column in columns(relation)}
    reads = [
        {owner[part.name] for part in walk(condition) if isinstance(part, Col)} for condition in conditions
    ]
    joining = [place for place, read in enumerate(reads) if place < given or len(read) > 1]
    if all(place < given for place in joining):
        return plan, where
    done, waiting, result = {0}, list(range(1, len(relations))), relations[0]
    while waiting:
        chosen = next((each for each in waiting if _meets(each, done, joining, reads)), waiting[0])
        waiting.remove(chosen)
        done.add(chosen)
        now = [place for place in joining if reads[place] <= done]
        joining = [place for place in joining if place not in now]
        on = conjunction(conditions[place] for place in now) if now else None
        kind = JoinKind.CROSS if on is None else JoinKind.INNER
        result = Join(kind, result, relations[chosen], on)
    left = [
        condition for place, condition in enumerate(conditions) if place >= given and len(reads[place]) <= 1
    ]
    return result, conjunction(left) if left else None


def _below(plan: Explode, where: Expr) -> tuple[Plan, Expr | None]:
    """Returns the plan of a LATERAL explode, with the conditions on its input below it; and the others.

    A condition that reads an element of the array must stay above.
    """
    available = {column.name for column in columns(plan.child)}
    own: list[Expr] = []
    others: list[Expr] = []
    for condition in conjuncts(where):
        read = {part.name for part in walk(condition) if isinstance(part, Col)}
        (own if read <= available else others).append(condition)
    if own:
        child, left = connected(plan.child, conjunction(own))
        plan = replace(plan, child=child if left is None else Filter(child, left))
    return plan, conjunction(others) if others else None


def _meets(relation: int, done: set[int], joining: list[int], reads: list[set[int]]) -> bool:
    """Tells whether a condition connects a relation with those that are joined already, and no other."""
    each = (reads[place] for place in joining)
    return any(relation in read and read & done and read <= done | {relation} for read in each)


def _joined(plan: Plan, conditions: list[Expr]) -> Iterator[Plan]:
    """Yields the relations below inner and cross joins, left to right, and collects the join conditions."""
    if isinstance(plan, Join) and plan.kind in (JoinKind.INNER, JoinKind.CROSS):
        yield from _joined(plan.left, conditions)
        yield from _joined(plan.right, conditions)
        conditions += [] if plan.on is None else list(conjuncts(plan.on))
    else:
        yield plan
