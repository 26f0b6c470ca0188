"""PIVOT and UNPIVOT after the first relation of a FROM clause.

PIVOT groups by all columns that it does not name, and computes each aggregate over the rows of each value:
`PIVOT (SUM(a) FOR f IN (1 AS x))` gives `SUM(a) FILTER (WHERE f = 1) AS x`.
UNPIVOT makes a row of each of some columns, as `inline` does of an array of structs.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dynamic_tables.errors import UnsupportedError
from dynamic_tables.plan.expressions import Col, Fn, text
from dynamic_tables.plan.functions import STRUCT
from dynamic_tables.plan.nested_types import struct_type
from dynamic_tables.plan.nodes import Filter, Plan
from dynamic_tables.plan.types import INTEGRAL, NUMERIC, STRING, Kind, Type, common_of
from dynamic_tables.reading.blocks.exploding import inlined
from dynamic_tables.reading.blocks.grouping import bind_items
from dynamic_tables.reading.text.parse import parts
from dynamic_tables.reading.values.bind_expression import ExpressionBinder
from dynamic_tables.reading.values.scope import Names, Outputs, Scope, listed
from dynamic_tables.reading.values.typed import call, cast

NULL_OF_NO_ROWS = (exp.Sum, exp.Min, exp.Max, exp.Avg)
"""Aggregates that are NULL where there are no rows, whatever their type is."""

KEPT_APART = NUMERIC | {Kind.BOOLEAN}
"""Spark has two ways to PIVOT, with different results for a COUNT of no rows. If all aggregates are of these
types, it groups by the pivoted value too, and a value without rows gives NULL. With any other type it filters
the rows of each group, and COUNT gives 0."""

ADDED = "$pivoted"
"""The alias of the columns that PIVOT or UNPIVOT adds, where it has none: no user writes it."""

OTHER_FORM = "write the groups, or LATERAL VIEW inline"


def pivoted(names: Names, plan: Plan, scope: Scope, node: exp.Expr) -> tuple[Plan, Scope]:
    """Returns the plan and the scope of a FROM item with its PIVOT or UNPIVOT, if it has one.

    Raises UnsupportedError: for several, for one after a join, and for what else has no other form here.
    """
    pivots = node.args.get("pivots") or []
    if not pivots:
        return plan, scope
    if len(pivots) != 1 or not isinstance(node.parent, exp.From):
        # After a join it is of both sides.
        raise UnsupportedError("PIVOT or UNPIVOT after a join or another one", "put one into a sub-select")
    (pivot,) = pivots
    form = _unpivoted if pivot.args.get("unpivot") else _grouped
    result, kept, added = form(names, plan, scope, pivot)
    alias = pivot.args.get("alias")
    if alias is not None:
        return result, Scope(((alias.name.lower(), listed((*kept, *added), alias)),))
    return result, Scope(((node.alias_or_name.lower(), kept), (ADDED, added)))


Made = tuple[Plan, Outputs, Outputs]
"""The plan, the columns of the input that are kept, and the columns that PIVOT or UNPIVOT adds."""


def _unpivoted(names: Names, plan: Plan, scope: Scope, pivot: exp.Expr) -> Made:
    """Returns a row for each row and each column of the list, without NULLs unless they are included."""
    _only(pivot, "expressions", "fields", "unpivot", "include_nulls", "alias")
    value, list_ = _one(pivot.expressions), _one(pivot.args["fields"])
    if not isinstance(value, exp.Identifier) or not isinstance(list_.this, exp.Identifier):
        raise UnsupportedError("UNPIVOT of several columns at once", OTHER_FORM)
    columns = [_named(each) for each in list_.expressions]
    binder = ExpressionBinder(scope.resolve, type_of=names.type_of)
    values = [binder.bind(column) for column, _ in columns]
    if not all(isinstance(each, Col) for each in values):
        raise UnsupportedError("UNPIVOT of a field of a struct", "select it in a sub-select")
    type_ = common_of(tuple(each.type for each in values))
    if type_ is None:
        raise UnsupportedError("UNPIVOT of columns whose types do not meet", "cast them in a sub-select")
    fields = ((list_.this.name, STRING), (value.name, type_))
    rows = [
        Fn(
            STRUCT,
            # Spark shows the name as it is written here, capitals included.
            (text(fields[0][0]), text(alias or column.name), text(fields[1][0]), cast(each, type_)),
            struct_type(fields),
        )
        for each, (column, alias) in zip(values, columns, strict=True)
    ]
    plan, added = inlined(names, plan, call("array", *rows), fields)
    if any(map(names.is_float_aggregate, values)):
        names.float_aggregates.add(added[1][1].name)
    if not pivot.args.get("include_nulls"):
        plan = Filter(plan, call("not", call("is null", added[1][1])))
    return plan, tuple(each for each in scope.visible if each[1] not in values), added


def _grouped(names: Names, plan: Plan, scope: Scope, pivot: exp.Expr) -> Made:
    """Returns the groups by all columns that PIVOT does not name, with its aggregates for each value."""
    _only(pivot, "expressions", "fields", "alias")
    list_ = _one(pivot.args["fields"])
    columns = _values(list_.this)
    if not all(isinstance(each, exp.Column) for each in columns):
        raise UnsupportedError("PIVOT for what is no column", OTHER_FORM)
    read = {column.name.lower() for part in pivot.expressions for column in part.find_all(exp.Column)}
    read |= {column.name.lower() for column in columns}
    keys = [exp.column(name, quoted=True) for name, _ in scope.visible if name.lower() not in read]
    of_rows = ExpressionBinder(scope.resolve, type_of=names.type_of)
    tested = [of_rows.bind(column).type for column in columns]
    values = [_row(tested, each) for each in list_.expressions]
    if len({*values}) < len(values):
        raise UnsupportedError("PIVOT with a value that stands twice", "Spark fails on it")
    binder = ExpressionBinder(scope.resolve, aggregates=True, type_of=names.type_of)
    aggregates = _aggregates(pivot.expressions)
    apart = all(binder.bind(aggregate).type.kind in KEPT_APART for aggregate, _ in aggregates)
    items = [
        exp.alias_(
            _over(condition, aggregate, apart), name if label is None else f"{name}_{label}", quoted=True
        )
        for condition, name in (_tested(columns, each) for each in list_.expressions)
        for aggregate, label in aggregates
    ]
    # PIVOT is written as the grouping that it stands for, and bound as any other one.
    node = exp.select(*(key.copy() for key in keys), *items)
    node.set("group", exp.Group(expressions=keys) if keys else None)
    bound = bind_items(names, node, plan, scope)
    return bound.plan, bound.outputs[: len(keys)], bound.outputs[len(keys) :]


def _aggregates(nodes: Sequence[exp.Expr]) -> Sequence[tuple[exp.Expr, str | None]]:
    """Returns each aggregate with the end of the names of its outputs; None: they are the values alone."""
    listed_ = [(each.this, each.alias) if isinstance(each, exp.Alias) else (each, "") for each in nodes]
    for aggregate, label in listed_:
        if not isinstance(aggregate, exp.AggFunc) or (not label and len(listed_) > 1):
            raise UnsupportedError("PIVOT with computed aggregates, or several without names", OTHER_FORM)
    return [(aggregate, label if len(listed_) > 1 else None) for aggregate, label in listed_]


def _over(condition: exp.Expr, aggregate: exp.Expr, apart: bool) -> exp.Expr:
    """Returns an aggregate over the rows that meet a condition; with `apart`, NULL where there are none."""
    filtered = exp.Filter(this=aggregate.copy(), expression=exp.Where(this=condition.copy()))
    if not apart or isinstance(aggregate, NULL_OF_NO_ROWS):
        return filtered
    rows = exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=condition.copy()))
    return exp.Case(ifs=[exp.If(this=exp.GT(this=rows, expression=exp.Literal.number(0)), true=filtered)])


def _values(node: exp.Expr) -> Sequence[exp.Expr]:
    """Returns the elements in the parentheses after FOR, or of one element of its list: one per column."""
    return node.expressions if isinstance(node, exp.Tuple) else [node]


def _row(tested: Sequence[Type], node: exp.Expr) -> object:
    """Returns the values of an element of the list. Raises UnsupportedError for other than literals."""
    value, alias = _named(node)
    values = _values(value)
    if len(values) != len(tested) or (len(tested) > 1 and not alias):
        raise UnsupportedError("PIVOT with values that have no names, or are too few", OTHER_FORM)
    return tuple(_value(type_, each) for type_, each in zip(tested, values, strict=True))


def _tested(columns: Sequence[exp.Expr], node: exp.Expr) -> tuple[exp.Expr, str]:
    """Returns the condition that a row belongs to an element, and the beginning of its outputs' names."""
    value, alias = _named(node)
    each = [_is(column, part) for column, part in zip(columns, _values(value), strict=True)]
    return (each[0][0], alias or each[0][1]) if len(each) == 1 else (exp.and_(*(c for c, _ in each)), alias)


def _is(column: exp.Expr, value: exp.Expr) -> tuple[exp.Expr, str]:
    """Returns the condition that a column has a value, and the value as a name."""
    if isinstance(value, exp.Null):
        return exp.Is(this=column.copy(), expression=exp.Null()), "null"
    literal = value.this if isinstance(value, exp.Neg) else value
    name = str(literal.this).lower() if isinstance(literal, exp.Boolean) else str(literal.this)
    sign = "" if value is literal else "-"
    return exp.EQ(this=column.copy(), expression=value.copy()), f"{sign}{name}"


def _value(tested: Type, node: exp.Expr) -> object:
    """Returns a value of PIVOT, which is of the type of the column. Raises UnsupportedError for any other."""
    literal = node.this if isinstance(node, exp.Neg) else node
    match literal:
        case exp.Null() if literal is node:
            return None
        case exp.Boolean() if literal is node and tested.kind is Kind.BOOLEAN:
            return bool(literal.this)
        case exp.Literal() if literal.is_string and literal is node and tested.kind is Kind.STRING:
            return str(literal.this)
        case exp.Literal() if literal.is_int and tested.kind in INTEGRAL:
            return int(str(literal.this)) if literal is node else -int(str(literal.this))
        case _:
            raise UnsupportedError(f"PIVOT with values that are no literals of type {tested}", OTHER_FORM)


def _named(node: exp.Expr) -> tuple[exp.Expr, str]:
    """Returns an element of a list and its alias, empty if it has none."""
    return (node.this, node.args["alias"].name) if isinstance(node, exp.PivotAlias) else (node, "")


def _one(nodes: Sequence[exp.Expr]) -> exp.Expr:
    """Returns the only node of a list. Raises UnsupportedError: it has several."""
    if len(nodes) != 1:
        raise UnsupportedError("PIVOT or UNPIVOT of several columns", OTHER_FORM)
    return nodes[0]


def _only(pivot: exp.Expr, *known: str) -> None:
    """Raises UnsupportedError for parts that are neither known nor sqlglot's names of the outputs."""
    shown = ("columns", "pivot_column_naming")
    for name in parts(pivot):
        if name not in (*known, *shown):
            raise UnsupportedError(f"PIVOT with {name.replace('_', ' ')}", OTHER_FORM)
