"""One SELECT block with subqueries inside its expressions: which of them is joined where.

Subqueries of WHERE are joined with the rows of FROM. Those of the select list, HAVING and QUALIFY too, if the
block has no groups; in a grouped block they are joined with the groups, except inside an aggregate or a key
of GROUP BY, whose values are those of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sqlglot import exp

from dynamic_tables.plan.expressions import Expr, conjunction
from dynamic_tables.plan.nodes import Filter, Plan
from dynamic_tables.plan.rewrites.comma_joins import connected
from dynamic_tables.plan.rewrites.grouping_sets import keys_as_written, sets_of
from dynamic_tables.reading.blocks.correlated import Ctes, Queries
from dynamic_tables.reading.blocks.grouping import names_output
from dynamic_tables.reading.blocks.subquery_columns import Beside
from dynamic_tables.reading.subqueries.membership import Members, membership
from dynamic_tables.reading.subqueries.scalar import Scalars, marks, scalars
from dynamic_tables.reading.values.aggregate_forms import has_group_aggregate, is_aggregated, is_over_a_group
from dynamic_tables.reading.values.bind_expression import ExpressionBinder
from dynamic_tables.reading.values.scope import Names, Scope
from dynamic_tables.reading.values.typed import predicate


def restricted(queries: Queries, plan: Plan, scope: Scope, where: Sequence[exp.Expr], ctes: Ctes) -> Plan:
    """Returns the rows of a FROM clause that meet the conditions of WHERE, subqueries included.

    Plain conditions come first, because they may make joins of a FROM list, and leave fewer rows to the joins
    with subqueries. Raises DefinitionError or UnsupportedError for conditions that cannot be bound.
    """
    members = [(part, membership(part)) for part in where]
    plain = [part for part, member in members if member is None and not _has_queries(part)]
    if plain:
        plan, left = connected(plan, _condition(queries.names, plain, scope))
        plan = plan if left is None else Filter(plan, left)
    for _, member in members:
        if member is not None:
            plan = Members(queries, scope, ctes).of(plan, member)
    # In parentheses, so that a query that is the whole condition can be replaced in them.
    compared: list[exp.Expr] = [
        exp.paren(part) for part, member in members if member is None and _has_queries(part)
    ]
    if compared:
        values = Scalars(queries, scope, ctes)
        plan = values.marked(plan, [each for part in compared for each in marks(part)], filters=True)
        plan = values.joined(plan, [each for part in compared for each in scalars(part)])
        plan = Filter(plan, _condition(queries.names, compared, values.scope))
    return plan


def with_scalars(
    queries: Queries, plan: Plan, scope: Scope, node: exp.Select, ctes: Ctes
) -> tuple[Plan, Scope, exp.Select, list[Beside]]:
    """Returns plan, scope and syntax of a block in which the values of subqueries are columns.

    The last part: the values that are still to be joined, with the groups of the block.
    """
    if not any(map(_has_queries, _parts(node))):
        return plan, scope, node, []
    node = node.copy()
    parts, values = _parts(node), Scalars(queries, scope, ctes)
    of_rows = _of_rows(node, parts, scope)
    # Before IN, a name may be that of an output, as anywhere in HAVING: its expression is written instead.
    for mark in [each for part in parts for each in marks(part)]:
        if not of_rows(mark) and isinstance(mark, exp.In):
            _write_outputs(mark, node, scope)
    members = [each for part in parts for each in marks(part)]
    plan = values.marked(plan, members, of_groups=lambda each: not of_rows(each))
    found = [each for part in parts for each in scalars(part)]
    plan = values.joined(plan, found, of_groups=lambda each: not of_rows(each))
    return plan, values.scope, node, values.later


def _of_rows(node: exp.Select, parts: Sequence[exp.Expr], scope: Scope) -> Callable[[exp.Expr], bool]:
    """Returns a function that tells whether a subquery is joined with the rows, and not with the groups."""
    group = node.args.get("group")
    grouped = group is not None or node.args.get("having") is not None
    if not grouped and not any(map(is_over_a_group, _outside_queries(parts))):
        return lambda _: True
    keys = [] if group is None else [id(key) for key in _written_keys(group, node, scope)]

    def in_key(query: exp.Expr) -> bool:
        above: exp.Expr | None = query
        while above is not None and id(above) not in keys:
            above = above.parent
        return above is not None

    return lambda query: is_aggregated(query) or in_key(query)


def _write_outputs(member: exp.Expr, node: exp.Select, scope: Scope) -> None:
    """Writes the outputs for which names before IN stand: `HAVING n IN (...)` beside `COUNT(*) AS n`."""
    for name in [each for each in member.this.find_all(exp.Column) if names_output(each, node, scope)]:
        output = next(item.this for item in node.expressions if item.alias.lower() == name.name.lower())
        name.replace(exp.paren(output.copy(), copy=False))


def _written_keys(group: exp.Expr, node: exp.Select, scope: Scope) -> Iterator[exp.Expr]:
    """Yields the syntax of each key: of the output that a position, a name or ALL stands for."""
    items = node.expressions
    if group.args.get("all"):
        yield from (item.unalias() for item in items if not has_group_aggregate(item))
    for key in group.expressions if sets_of(group) is None else keys_as_written(group):
        key = key.unnest()
        place = int(key.name) if isinstance(key, exp.Literal) and key.is_int else 0
        if 0 < place <= len(items):
            yield items[place - 1].unalias()
        elif names_output(key, node, scope):
            yield next(item.this for item in items if item.alias.lower() == key.name.lower())
        else:
            yield key


def _has_queries(part: exp.Expr) -> bool:
    """Tells whether an expression has a scalar subquery, or EXISTS or IN with a query."""
    return any(scalars(part)) or any(marks(part))


def _condition(names: Names, where: Sequence[exp.Expr], scope: Scope) -> Expr:
    """Returns conditions of WHERE as one, bound over a scope."""
    binder = ExpressionBinder(scope.resolve, type_of=names.type_of)
    condition = conjunction(predicate(binder.bind(part), "WHERE") for part in where)
    names.refuse_float_comparison(condition, "WHERE")
    return condition


def _parts(node: exp.Select) -> list[exp.Expr]:
    """Returns the select list, the windows with a name, HAVING and QUALIFY, as far as there are any."""
    others = (node.args.get("having"), node.args.get("qualify"))
    return [
        *node.expressions,
        *(node.args.get("windows") or ()),
        *(part for part in others if part is not None),
    ]


def _outside_queries(parts: Sequence[exp.Expr]) -> Iterator[exp.Expr]:
    """Yields the syntax nodes of expressions, but none inside a subquery."""
    for part in parts:
        yield from part.walk(prune=lambda node: isinstance(node, exp.Query))
