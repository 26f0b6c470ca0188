"""What scenarios contain: operators and operator pairs of their queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import assert_never

from generators.profiles import Profile
from workload.query import (
    Aggregate,
    ColumnRef,
    Derived,
    Join,
    JoinKind,
    Named,
    Query,
    Relation,
    Select,
    UnionAll,
    With,
)

JOIN_NAMES = {
    JoinKind.INNER: "inner join",
    JoinKind.CROSS: "cross join",
    JoinKind.LEFT: "left join",
    JoinKind.RIGHT: "right join",
    JoinKind.FULL: "full join",
}

Tree = tuple[str, tuple["Tree", ...]]
"""An operator with the operators directly below it."""


def operators(query: Query) -> Iterator[str]:
    """Every operator of a query, outside in; the body of a CTE once per use."""
    yield from _flatten(operator_tree(query))


def operator_pairs(query: Query) -> Iterator[tuple[str, str]]:
    """(operator, operator directly below it)."""
    yield from _pairs(operator_tree(query))


def operator_tree(query: Query, ctes: Mapping[str, Tree] | None = None) -> tuple[Tree, ...]:
    """The operators of a query as trees; scans are left out."""
    ctes = ctes or {}
    match query:
        case Select():
            return _select_tree(query, ctes)
        case UnionAll(branches):
            return (
                ("union all", tuple(tree for branch in branches for tree in operator_tree(branch, ctes))),
            )
        case With(bound, body):
            for cte in bound:
                ctes = {**ctes, cte.name: ("cte", operator_tree(cte.query, ctes))}
            return operator_tree(body, ctes)
        case _:
            assert_never(query)


def _select_tree(select: Select, ctes: Mapping[str, Tree]) -> tuple[Tree, ...]:
    below = _relation_tree(select.source, ctes)
    if select.where is not None:
        below = (("filter", below),)
    if select.group_by is not None:
        below = (("grouped aggregation" if select.group_by else "scalar aggregation", below),)
        if select.having is not None:
            below = (("filter", below),)
    if not all(isinstance(item.expr, ColumnRef | Aggregate) for item in select.items):
        below = (("projection", below),)
    return (("distinct", below),) if select.distinct else below


def _relation_tree(relation: Relation, ctes: Mapping[str, Tree]) -> tuple[Tree, ...]:
    match relation:
        case Named(name, _):
            return ctes[name][1] if name in ctes else ()
        case Derived(query, _):
            return operator_tree(query, ctes)
        case Join(kind, left, right, _):
            return ((JOIN_NAMES[kind], _relation_tree(left, ctes) + _relation_tree(right, ctes)),)
        case _:
            assert_never(relation)


def _flatten(trees: tuple[Tree, ...]) -> Iterator[str]:
    for name, below in trees:
        yield name
        yield from _flatten(below)


def _pairs(trees: tuple[Tree, ...]) -> Iterator[tuple[str, str]]:
    for name, below in trees:
        for inner, _ in below:
            yield name, inner
        yield from _pairs(below)


def unmet_floors(profile: Profile, reached: Mapping[str, int], scenarios: int) -> dict[str, tuple[int, int]]:
    """The floors not reached: name -> (reached, wanted), scaled to the scenarios run."""
    unmet = {}
    for name, per_thousand in profile.floors.items():
        wanted = per_thousand * scenarios // 1000
        if reached.get(name, 0) < wanted:
            unmet[name] = (reached.get(name, 0), wanted)
    return unmet


def counted(kind: str, counts: Mapping[str, int]) -> Counter[str]:
    """Counts under the names that floors use: `kind: name`."""
    return Counter({f"{kind}: {name}": count for name, count in counts.items()})
