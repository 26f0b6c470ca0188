"""The texts of aggregates in DuckDB that give what Spark gives, where a plain call would not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dynamic_tables.plan.expressions import Agg, Lit
from dynamic_tables.plan.nested_types import element_of, fields_of
from dynamic_tables.plan.types import Type

Form = Callable[[Agg, str, Sequence[str]], str]
"""Takes an aggregate, its plain text and those of its arguments."""


def ordered(value: str, type_: Type, depth: int = 0) -> str:
    """Returns what DuckDB orders as Spark orders a value, where NULL is the smallest also inside of others.

    `depth`: how many arrays the value lies in. A value of another type is returned as it is.
    """
    element, fields = element_of(type_), fields_of(type_)
    if element is not None:
        each = f"e{depth}"
        inner = ordered(each, element, depth + 1)
        return f"list_transform({value}, lambda {each} : row({each} IS NOT NULL, {inner}))"
    if fields is None:
        return value
    parts = [(f"""struct_extract({value}, '{name.replace("'", "''")}')""", of) for name, of in fields]
    keys = ", ".join(f"{part} IS NOT NULL, {ordered(part, of, depth)}" for part, of in parts)
    return f"CASE WHEN {value} IS NOT NULL THEN row({keys}) END"


def _each(aggregate: Agg) -> str:
    """Returns DISTINCT for an aggregate of different values, else an empty text."""
    return "DISTINCT " if aggregate.distinct else ""


def _is_down(aggregate: Agg) -> bool:
    """Tells whether the last of the further arguments says that the order is descending."""
    return isinstance(aggregate.extra[-1], Lit) and bool(aggregate.extra[-1].value)


def statistic(aggregate: Agg, args: Sequence[str], over: str) -> str:
    """Returns a statistic that is NaN where a value is not finite, but for a sample of one value.

    `over`: OVER and what follows, or nothing.
    """
    value = f"CAST({args[0]} AS DOUBLE)"
    least = 2 if aggregate.name.endswith("SAMP") else 1
    count = f"COUNT({_each(aggregate)}{value}){over}"
    infinite = f"bool_or(NOT isfinite({value})){over}"
    finite = f"CASE WHEN isfinite({value}) THEN {value} END"
    return (
        f"(CASE WHEN {count} < {least} THEN NULL WHEN {infinite} THEN CAST('NaN' AS DOUBLE) "
        f"ELSE {aggregate.name}({_each(aggregate)}{finite}){over} END)"
    )


def _of_pairs(aggregate: Agg, plain: str, args: Sequence[str]) -> str:
    """Returns a statistic of pairs that is NaN where a value of a whole pair is not finite.

    CORR of one pair is NULL in Spark, and of more it divides by zero where one side is the same in all.
    """
    values = [f"CAST({arg} AS DOUBLE)" for arg in args]
    whole = " AND ".join(f"{value} IS NOT NULL" for value in values)
    finite = [f"CASE WHEN isfinite({value}) THEN {value} END" for value in values]
    count, infinite = (
        f"COUNT(CASE WHEN {whole} THEN 1 END)",
        f"bool_or({whole} AND NOT (isfinite({values[0]}) AND isfinite({values[1]})))",
    )
    least = 1 if aggregate.name == "COVAR_POP" else 2
    text = f"CASE WHEN {count} < {least} THEN NULL WHEN {infinite} THEN CAST('NaN' AS DOUBLE) "
    if aggregate.name == "CORR":
        same = " OR ".join(f"var_pop(CASE WHEN {whole} THEN {value} END) = 0" for value in finite)
        text += f"WHEN {same} THEN error('DIVIDE_BY_ZERO') "
    return f"({text}ELSE {aggregate.name}({', '.join(finite)}) END)"


def _count(aggregate: Agg, plain: str, args: Sequence[str]) -> str:
    """Returns a COUNT of the rows, or of the different rows, that have no NULL among several values."""
    if len(args) == 1:
        return plain
    whole = " AND ".join(f"{arg} IS NOT NULL" for arg in args)
    counted = f"row({', '.join(args)})" if aggregate.distinct else "1"
    return f"COUNT({_each(aggregate)}CASE WHEN {whole} THEN {counted} END)"


def _extreme_by(aggregate: Agg, plain: str, args: Sequence[str]) -> str:
    """Returns MAX_BY or MIN_BY; DuckDB's own ones leave out the rows where the value is NULL."""
    return f"{EXTREMES_WITH_NULL[aggregate.name]}({args[0]}, {args[1]})"


def _by_struct(aggregate: Agg, plain: str, args: Sequence[str]) -> str:
    """Returns MAX_BY or MIN_BY in the order of a struct, in which Spark has NULL first."""
    value, condition, *fields = args
    order = ", ".join(f"{field} IS NOT NULL, {field}" for field in fields)
    name = EXTREMES_WITH_NULL[aggregate.name.removesuffix("_STRUCT")]
    return f"{name}({value}, CASE WHEN {condition} THEN row({order}) END)"


def _values(aggregate: Agg, value: str, order: str) -> str:
    """Returns the sorted list of the values that are not NULL; it is empty where there is none."""
    each = "" if aggregate.name != "COLLECT_SET" and not aggregate.distinct else "DISTINCT "
    key, taken = ordered(value, aggregate.args[0].type), value
    if key != value:
        taken = f"{{'key': {key}, 'value': {value}}}"
    text = f"list_sort(coalesce(list({each}{taken}) FILTER (WHERE {value} IS NOT NULL), []), '{order}')"
    return text if key == value else f"list_transform({text}, lambda pair : pair.value)"


def _sorted_list(aggregate: Agg, plain: str, args: Sequence[str]) -> str:
    return _values(aggregate, args[0], "ASC" if _is_down(aggregate) else "DESC")


def _listagg(aggregate: Agg, plain: str, args: Sequence[str]) -> str:
    value, separator, _ = args
    order = "DESC" if _is_down(aggregate) else "ASC"
    return f"string_agg({_each(aggregate)}{value}, {separator} ORDER BY {value} {order})"


def _percentile(aggregate: Agg, plain: str, args: Sequence[str]) -> str:
    """Returns a percentile with the operations that Spark does; quantile_cont has other last bits."""
    value, fraction, _ = args
    values = _values(aggregate, value, "DESC" if _is_down(aggregate) else "ASC")
    place = f"((len({values}) - 1) * {fraction})"
    low, high = (
        f"CAST({values}[CAST({step}({place}) AS BIGINT) + 1] AS DOUBLE)" for step in ("floor", "ceil")
    )
    between = f"(ceil({place}) - {place}) * {low} + ({place} - floor({place})) * {high}"
    return f"(CASE WHEN {low} = {high} THEN {low} ELSE {between} END)"


STATISTICS = frozenset({"STDDEV_SAMP", "STDDEV_POP", "VAR_SAMP", "VAR_POP"})

EXTREMES_WITH_NULL: Mapping[str, str] = {"MAX_BY": "arg_max_null", "MIN_BY": "arg_min_null"}
"""DuckDB's functions for MAX_BY and MIN_BY that see the rows whose value is NULL, too."""

FORMS: Mapping[str, Form] = {
    **dict.fromkeys(("COVAR_SAMP", "COVAR_POP", "CORR"), _of_pairs),
    **dict.fromkeys(("MAX_BY", "MIN_BY"), _extreme_by),
    **dict.fromkeys(("MAX_BY_STRUCT", "MIN_BY_STRUCT"), _by_struct),
    **dict.fromkeys(("COLLECT_LIST", "COLLECT_SET"), _sorted_list),
    "COUNT": _count,
    "LISTAGG": _listagg,
    "PERCENTILE": _percentile,
}
