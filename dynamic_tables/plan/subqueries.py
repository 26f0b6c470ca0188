"""One block with queries inside its expressions: WHERE, the select list and HAVING over joins with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.aggregate_forms import has_group_aggregate, is_over_a_group
from dynamic_tables.plan.bind_expression import ExpressionBinder
from dynamic_tables.plan.comma_joins import connected
from dynamic_tables.plan.correlated import Ctes, Queries
from dynamic_tables.plan.expressions import Col, Expr, conjunction
from dynamic_tables.plan.grouping import names_output
from dynamic_tables.plan.grouping_sets import sets_of
from dynamic_tables.plan.membership import Members, membership
from dynamic_tables.plan.nodes import Filter, Plan
from dynamic_tables.plan.scalar import Scalars, marks, scalars
from dynamic_tables.plan.scope import Names, Scope
from dynamic_tables.plan.typed import predicate


def restricted(queries: Queries, plan: Plan, scope: Scope, where: Sequence[exp.Expr], ctes: Ctes) -> Plan:
    """Returns the rows of a FROM clause that meet conditions, with queries inside them too.

    Raises DefinitionError or UnsupportedError for conditions that cannot be bound.
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
        plan, _ = values.marked(plan, compared, filters=True)
        plan, _ = values.joined(plan, compared, correlated=True)
        plan = Filter(plan, _condition(queries.names, compared, values.scope))
    return plan


def with_scalars(
    queries: Queries, plan: Plan, scope: Scope, node: exp.Select, ctes: Ctes
) -> tuple[Plan, Scope, exp.Select]:
    """Returns plan, scope and syntax of a block whose outputs and conditions name values of subqueries.

    In a grouped block such a value is one more key: it is the same in all rows of a group.
    """
    if not any(map(_has_queries, _parts(node))):
        return plan, scope, node
    node = node.copy()
    parts, group, values = _parts(node), node.args.get("group"), Scalars(queries, scope, ctes)
    grouped = group is not None or any(map(is_over_a_group, _outside_queries(parts)))
    keys = _key_columns(group, node, scope) if grouped else None
    plan, marked = values.marked(plan, parts, keys=keys)
    plan, names = values.joined(plan, parts, correlated=not grouped)
    if grouped and (names or marked):
        if group is not None and sets_of(group) is not None:
            raise UnsupportedError("subquery beside grouping sets", "put the groups into a sub-select")
        if group is not None and group.args.get("all") and not node.is_star:
            _list_keys(group, node)
        if group is None or not group.expressions:
            raise UnsupportedError("subquery beside aggregates without GROUP BY keys")
        for name in (*names, *marked):
            group.append("expressions", name.copy())
    return plan, values.scope, node


def _key_columns(group: exp.Expr | None, node: exp.Select, scope: Scope) -> set[Col]:
    """Returns the keys of GROUP BY that are columns, however they are written."""
    keys: set[Col] = set()
    for key in () if group is None else _written_keys(group, node, scope):
        with suppress(DefinitionError):
            # The binder tells what is wrong with a key.
            column = scope.resolve(key) if isinstance(key, exp.Column) else None
            keys.update([column] if isinstance(column, Col) else [])
    return keys


def _written_keys(group: exp.Expr, node: exp.Select, scope: Scope) -> Iterator[exp.Expr]:
    """Yields the syntax of each key: of the output that a position, a name or ALL stands for."""
    items = node.expressions
    if group.args.get("all"):
        yield from (item.unalias() for item in items if not has_group_aggregate(item))
    for key in group.expressions:
        place = int(key.name) if isinstance(key, exp.Literal) and key.is_int else 0
        if 0 < place <= len(items):
            yield items[place - 1].unalias()
        elif names_output(key, node, scope):
            yield next(item.this for item in items if item.alias.lower() == key.name.lower())
        else:
            yield key


def _list_keys(group: exp.Expr, node: exp.Select) -> None:
    """Writes the keys for which GROUP BY ALL stands; in parentheses, as a number would be a position."""
    group.set("all", None)
    for item in node.expressions:
        if not has_group_aggregate(item):
            key = item.unalias().copy()
            group.append("expressions", key if isinstance(key, exp.Column) else exp.paren(key, copy=False))


def _has_queries(part: exp.Expr) -> bool:
    return any(scalars(part)) or any(marks(part))


def _condition(names: Names, where: Sequence[exp.Expr], scope: Scope) -> Expr:
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
    for part in parts:
        yield from part.walk(prune=lambda node: isinstance(node, exp.Query))
