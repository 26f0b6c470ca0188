"""Binds the select list of a query block, with GROUP BY and HAVING where it has them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.aggregate_forms import AGGREGATE_SYNTAX, ensure_determined_by, ensure_spark_runs
from dynamic_tables.plan.bind_expression import ExpressionBinder
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit, walk
from dynamic_tables.plan.functions import PASSED
from dynamic_tables.plan.nodes import Aggregate, Filter, Plan, Project
from dynamic_tables.plan.parse import parts
from dynamic_tables.plan.scope import Bound, Names, Outputs, Scope
from dynamic_tables.plan.types import BOOLEAN

NamedItems = list[tuple[str, Expr]]

UNNAMED = "_c"
"""How the name begins of an output that the text gives none; Spark's name is the text of the expression."""


def bind_items(names: Names, node: exp.Select, plan: Plan, scope: Scope) -> Bound:
    """Returns a query block, given the plan and the scope of its FROM and WHERE.

    Raises DefinitionError or UnsupportedError for select items, keys and HAVING that cannot be bound.
    """
    items = _items(names, node, scope)
    having = node.args.get("having")
    condition = None if having is None else _having(names, having.this, node, items, scope)
    group = node.args.get("group")
    aggregated = any(_has_aggregate(expr) for _, expr in items)
    if group is None and not aggregated and condition is None:
        return _project(names, plan, items)
    keys = [] if group is None else _keys(names, group, node, items, scope)
    names.refuse_keys([key for _, key in keys], "GROUP BY")
    grouped = Grouping(names, keys, scope)
    projected = [(name, grouped.over_groups(expr)) for name, expr in items]
    filtered = None if condition is None else grouped.over_groups(condition)
    ensure_spark_runs(aggregate for _, aggregate in grouped.aggregates)
    result: Plan = Aggregate(plan, tuple(grouped.keys), tuple(grouped.aggregates))
    if filtered is not None:
        if filtered.type != BOOLEAN:
            raise DefinitionError(f"HAVING is of type {filtered.type}; it must be BOOLEAN")
        names.refuse_float_comparison(filtered, "HAVING")
        result = Filter(result, filtered)
    return _project(names, result, projected)


def _project(names: Names, plan: Plan, items: NamedItems) -> Bound:
    outputs = []
    projections = []
    for name, expr in items:
        column = Col(names.fresh(name), expr.type)
        if names.is_float_aggregate(expr):
            names.float_aggregates.add(column.name)
        outputs.append((name, column))
        projections.append((column.name, expr))
    return Bound(Project(plan, tuple(projections)), tuple(outputs))


def _items(names: Names, node: exp.Select, scope: Scope) -> NamedItems:
    binder = ExpressionBinder(scope.resolve, aggregates=True, type_of=names.type_of)
    items: NamedItems = []
    for position, item in enumerate(node.expressions):
        match item:
            case exp.Star():
                items.extend(without_excepted(item, scope.star(None)))
            case exp.Column(this=exp.Star()):
                items.extend(without_excepted(item.this, scope.star(item.table)))
            case exp.Alias():
                items.append((item.alias, binder.bind(item.this)))
            case _:
                name = item.name if isinstance(item, exp.Column) else f"{UNNAMED}{position}"
                items.append((name, binder.bind(item)))
    return items


def _has_aggregate(expr: Expr) -> bool:
    return any(isinstance(part, Agg) for part in walk(expr))


def without_excepted(star: exp.Expr, outputs: Outputs) -> Outputs:
    """Returns the columns of a star without those that EXCEPT lists."""
    if any(name != "except_" for name in parts(star)):
        raise UnsupportedError("* REPLACE or RENAME", "list the columns")
    listed = [each.name.lower() for each in star.args.get("except_") or ()]
    known = [name.lower() for name, _ in outputs]
    for name in listed:
        if known.count(name) != 1 or listed.count(name) != 1:
            raise UnsupportedError(f"* EXCEPT ({name})", "it is not the name of one column of the star")
    return tuple(output for output in outputs if output[0].lower() not in listed)


def _keys(names: Names, group: exp.Expr, node: exp.Select, items: NamedItems, scope: Scope) -> NamedItems:
    for name in parts(group):
        if name not in ("expressions", "all"):
            raise UnsupportedError(name.replace("_", " ").upper())
    if group.args.get("all"):
        if group.expressions:
            raise UnsupportedError("GROUP BY ALL with keys", "write either ALL or the keys")
        return [(name, expr) for name, expr in items if not _has_aggregate(expr)]
    return [_key(names, key, node, items, scope) for key in group.expressions]


def _key(names: Names, key: exp.Expr, node: exp.Select, items: NamedItems, scope: Scope) -> tuple[str, Expr]:
    if isinstance(key, exp.Literal) and key.is_int:
        position = int(str(key.this))
        if not 1 <= position <= len(items):
            raise DefinitionError(f"GROUP BY {position}: there are {len(items)} columns")
        name, expr = items[position - 1]
    elif (
        isinstance(key, exp.Column)
        and not key.table
        # As in Spark, an input column comes before an output column of the same name.
        and not _names_input(key, scope)
        and key.name.lower() in _aliases(node)
    ):
        name, expr = next((name, expr) for name, expr in items if name.lower() == key.name.lower())
    else:
        name = key.name if isinstance(key, exp.Column) else "key"
        expr = ExpressionBinder(scope.resolve, type_of=names.type_of).bind(key)
    if _has_aggregate(expr):
        raise DefinitionError(f"GROUP BY {name}: an aggregate cannot be a key")
    return name, expr


def _having(names: Names, condition: exp.Expr, node: exp.Select, items: NamedItems, scope: Scope) -> Expr:
    """Binds HAVING, where outside of aggregates a plain name may stand for an output column."""

    def resolve(column: exp.Column) -> Expr:
        name = column.name.lower()
        if column.table or name not in _aliases(node) or column.find_ancestor(*AGGREGATE_SYNTAX) is not None:
            return scope.resolve(column)
        output_expr = next(expr for output, expr in items if output.lower() == name)
        if _names_input(column, scope) and scope.resolve(column) != output_expr:
            reason = "it names a column and an output; qualify it, or rename the output"
            raise UnsupportedError(f"HAVING over {column.name}", reason)
        return output_expr

    return ExpressionBinder(resolve, aggregates=True, type_of=names.type_of).bind(condition)


def _names_input(key: exp.Column, scope: Scope) -> bool:
    return any(output.lower() == key.name.lower() for _, outputs in scope.relations for output, _ in outputs)


def _aliases(node: exp.Select) -> Sequence[str]:
    return [item.alias.lower() for item in node.expressions if isinstance(item, exp.Alias)]


class Grouping:
    """Turns expressions over input rows into expressions over groups, and collects the aggregates."""

    def __init__(self, names: Names, keys: NamedItems, scope: Scope) -> None:
        self.names = names
        self.scope = scope
        self.keys: NamedItems = [(names.fresh(name), expr) for name, expr in keys]
        self.aggregates: list[tuple[str, Agg]] = []

    def over_groups(self, expr: Expr) -> Expr:
        """Returns the expression over keys and aggregates. Raises DefinitionError for any other column."""
        for name, key in self.keys:
            if expr == key:
                return Col(name, key.type)
        match expr:
            case Agg():
                return self._aggregate(expr)
            case Fn(name, (template, *args), type_) if name == PASSED:
                return Fn(name, (template, *map(self.over_groups, args)), type_)
            case Fn(name, args, type_):
                return Fn(name, tuple(self.over_groups(arg) for arg in args), type_)
            case Lit():
                return expr
            case Col():
                raise DefinitionError(
                    f"column {self.scope.shown(expr)} is neither in GROUP BY nor in an aggregate"
                )

    def _aggregate(self, expr: Agg) -> Col:
        for name, known in self.aggregates:
            if known == expr:
                return Col(name, expr.type)
        ensure_determined_by(expr, [key for _, key in self.keys], self.names.is_float_aggregate)
        name = self.names.fresh(expr.name.lower())
        if expr.adds_floats or any(map(self.names.is_float_aggregate, expr.args)):
            self.names.float_aggregates.add(name)
        self.aggregates.append((name, expr))
        return Col(name, expr.type)
