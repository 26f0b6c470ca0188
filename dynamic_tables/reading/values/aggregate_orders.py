"""Aggregates with an order: MAX_BY and MIN_BY, sorted lists, LISTAGG, percentiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.expressions import Agg, Expr, Fn, Lit
from dynamic_tables.plan.functions import CASE
from dynamic_tables.plan.nested_types import array_type, element_of, fields_of
from dynamic_tables.plan.types import BOOLEAN, DOUBLE, FLOATING, NUMERIC, STRING, Type
from dynamic_tables.reading.text.parse import function_name
from dynamic_tables.reading.values.aggregate_parts import Bind, Form, number, only, value_of

STRUCT_ORDER = "_STRUCT"
"""The end of the name of MAX_BY or MIN_BY in the order of a struct."""

LISTS = (exp.ArrayAgg, exp.ArrayUniqueAgg)
"""The syntax of the list of all values, and of all different values."""


def only_where(aggregate: Agg, condition: Expr) -> Agg:
    """Returns an aggregate with FILTER: in the rows where the condition is not true its argument is NULL.

    Every aggregate here leaves out rows whose argument is NULL; MAX_BY and MIN_BY those whose order is NULL.
    """
    if condition.type != BOOLEAN:
        raise DefinitionError(f"FILTER is of type {condition.type}; it must be BOOLEAN")

    def kept(value: Expr) -> Expr:
        return Fn(CASE, (condition, value, Lit(None, value.type)), value.type)

    if aggregate.name.endswith(STRUCT_ORDER):
        return replace(aggregate, extra=(condition, *aggregate.extra[1:]))
    if aggregate.name in ("MAX_BY", "MIN_BY"):
        return replace(aggregate, extra=(kept(aggregate.extra[0]),))
    assert aggregate.arg is not None
    return replace(aggregate, arg=kept(aggregate.arg))


def extreme_by(name: str) -> Form:
    """Returns the form of MAX_BY or MIN_BY, in the order of a value or of the fields of a struct."""

    def form(node: exp.Expr, bind: Bind) -> Agg:
        only(node, "this", "expression")
        # DISTINCT changes nothing: one copy of the best row is enough.
        value, _ = value_of(node, bind)
        fields = _fields(node.expression)
        order = [bind(field) for field in (node.expression,) if fields is None]
        order += [bind(field) for field in fields or ()]
        for each in order:
            if not each.type.identifies:
                raise UnsupportedError(f"{name} in the order of {each.type}")
        if fields is None:
            return Agg(name, value, False, value.type, tuple(order))
        return Agg(name + STRUCT_ORDER, value, False, value.type, (Lit(True, BOOLEAN), *order))

    return form


def _fields(node: exp.Expr) -> list[exp.Expr] | None:
    """Returns the values of the fields of a struct; None for any other expression."""
    if isinstance(node, exp.Paren):
        return _fields(node.this)
    if not isinstance(node, exp.Struct | exp.Tuple):
        return None
    return [
        each.expression if isinstance(each, exp.PropertyEQ) else each.unalias() for each in node.expressions
    ]


def sorted_list(node: exp.ArraySort, bind: Bind) -> Agg:
    """Returns sort_array or array_sort of a list of all values, or of all different ones."""
    only(node, "this", "asc")
    collected = unfiltered(node.this)
    only(collected, "this")
    value, distinct = value_of(collected, bind)
    ascending = node.args.get("asc")
    if ascending is not None and not isinstance(ascending, exp.Boolean):
        raise UnsupportedError("sort_array in an order that is no constant")
    if not _is_one_value(value.type):
        raise UnsupportedError(f"a sorted list of {value.type}", "equal values of this type may differ")
    name = "COLLECT_SET" if isinstance(collected, exp.ArrayUniqueAgg) else "COLLECT_LIST"
    type_ = array_type(value.type)
    sorted_ = Lit(ascending is None or bool(ascending.this), BOOLEAN)
    result, filtered = Agg(name, value, distinct, type_, (sorted_,)), node.this
    while not isinstance(filtered, LISTS):
        if isinstance(filtered, exp.Filter):
            result = only_where(result, bind(filtered.expression.this))
        filtered = filtered.this
    return result


def _is_one_value(type_: Type) -> bool:
    """Tells whether equal values of a type are one and the same, as -0.0 and 0.0 are not."""
    element, fields = element_of(type_), fields_of(type_)
    if element is not None:
        return _is_one_value(element)
    if fields:
        return all(_is_one_value(field) for _, field in fields)
    return type_.identifies and type_.kind not in FLOATING


def listagg(node: exp.Expr, bind: Bind) -> Agg:
    """Returns LISTAGG of texts in their own order."""
    only(node, "this", "separator")
    separator = node.args.get("separator")
    if separator is not None and not (isinstance(separator, exp.Literal) and separator.is_string):
        raise UnsupportedError("LISTAGG with a separator that is no constant text")
    order = node.this
    if not isinstance(order, exp.Order):
        raise UnsupportedError("LISTAGG without WITHIN GROUP", "its value depends on the order of rows")
    value, distinct = value_of(order, bind)
    descending = _direction(order.expressions, value, bind)
    if descending is None:
        raise UnsupportedError(
            "LISTAGG in another order than that of its values", "write ORDER BY the same value"
        )
    if value.type != STRING:
        raise UnsupportedError(f"LISTAGG of {value.type}", "cast it to STRING, in the order too")
    between = Lit("" if separator is None else str(separator.this), STRING)
    return Agg("LISTAGG", value, distinct, STRING, (between, Lit(descending, BOOLEAN)))


def _direction(order: Sequence[exp.Expr], value: Expr, bind: Bind) -> bool | None:
    """Returns whether an order by one value is descending; None for an order by anything else."""
    match order:
        case [exp.Ordered() as key] if bind(key.this) == value:
            return bool(key.args.get("desc"))
        case _:
            return None


def percentile(node: exp.Expr, bind: Bind) -> Agg:
    """Returns PERCENTILE, whose fraction is a constant."""
    only(node, "this", "quantile")
    value, distinct = value_of(node, bind)
    return _percentile_of(value, distinct, bind(node.args["quantile"]), False)


def median(node: exp.Expr, bind: Bind) -> Agg:
    """Returns MEDIAN, which is PERCENTILE at 0.5."""
    only(node, "this")
    value, distinct = value_of(node, bind)
    return _percentile_of(value, distinct, Lit(0.5, DOUBLE), False)


def within_group(node: exp.Expr, bind: Bind) -> Agg:
    """Returns PERCENTILE_CONT; sqlglot reads the WITHIN GROUP of LISTAGG as an ORDER BY inside of it."""
    name = function_name(node.this)
    keys = node.expression.expressions if isinstance(node.expression, exp.Order) else []
    if not isinstance(node.this, exp.PercentileCont) or len(keys) != 1:
        raise UnsupportedError(f"function {name}", "no rule for it WITHIN GROUP")
    only(node.this, "this")
    return _percentile_of(bind(keys[0].this), False, bind(node.this.this), bool(keys[0].args.get("desc")))


def _percentile_of(value: Expr, distinct: bool, fraction: Expr, descending: bool) -> Agg:
    """Returns PERCENTILE. Raises UnsupportedError or DefinitionError: the fraction is none from 0 to 1."""
    if not isinstance(fraction, Lit) or fraction.value is None or fraction.type.kind not in NUMERIC:
        raise UnsupportedError("PERCENTILE at a fraction that is no constant number")
    at = float(str(fraction.value))
    if not 0 <= at <= 1:
        raise DefinitionError(f"PERCENTILE at {at}; the fraction is between 0 and 1")
    extra = (Lit(at, DOUBLE), Lit(descending, BOOLEAN))
    return Agg("PERCENTILE", number("PERCENTILE", value), distinct, DOUBLE, extra)


def unfiltered(node: exp.Expr) -> exp.Expr:
    """Returns an expression without FILTER and parentheses."""
    while isinstance(node, exp.Filter | exp.Paren):
        node = node.this
    return node
