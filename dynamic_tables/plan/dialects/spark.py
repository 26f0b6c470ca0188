"""Spark SQL: the dialect the engine runs on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from dynamic_tables.plan.dialects.base import Dialect, Exploded
from dynamic_tables.plan.expressions import Agg, Lit
from dynamic_tables.plan.types import BIGINT, Type


def aggregate_text(aggregate: Agg, plain: str, args: Sequence[str], over: str) -> str:
    """Returns the text of an aggregate.

    `plain`: a call by its name; `args`: the texts of its arguments; `over`: OVER and what follows.
    """
    if aggregate.averages_integers:
        return _whole_average(aggregate, plain, args[0], over)
    form = FORMS.get(aggregate.name)
    return (plain if form is None else form(aggregate, args)) + over


def _whole_average(aggregate: Agg, plain: str, arg: str, over: str) -> str:
    """Returns AVG of integers by their exact sum.

    Spark adds doubles, which is the same up to 2**53; beyond, its last bits depend on the order of the rows.
    The sum of BIGINTs may be no BIGINT: then that is as good as it gets.
    """
    wide = aggregate.arg is not None and aggregate.arg.type == BIGINT
    total = f"{'try_sum' if wide else 'SUM'}({_each(aggregate)}{arg}){over}"
    quotient = f"{total} / NULLIF(COUNT({_each(aggregate)}{arg}){over}, 0)"
    return f"COALESCE({quotient}, {plain}{over})" if wide else f"({quotient})"


def _each(aggregate: Agg) -> str:
    """Returns DISTINCT for an aggregate of different values, else an empty text."""
    return "DISTINCT " if aggregate.distinct else ""


def _sorted_list(aggregate: Agg, args: Sequence[str]) -> str:
    """Returns the text of COLLECT_LIST or COLLECT_SET, sorted: Spark gives the values in any order."""
    value, ascending = args
    return f"sort_array({aggregate.name}({_each(aggregate)}{value}), {ascending})"


def _listagg(aggregate: Agg, args: Sequence[str]) -> str:
    """Returns the text of LISTAGG, in the order of its values."""
    value, separator, _ = args
    return (
        f"LISTAGG({_each(aggregate)}{value}, {separator}) WITHIN GROUP (ORDER BY {value}{_down(aggregate)})"
    )


def _percentile(aggregate: Agg, args: Sequence[str]) -> str:
    """Returns the text of a percentile; only PERCENTILE_CONT can be descending."""
    value, fraction, _ = args
    if not _down(aggregate):
        return f"PERCENTILE({_each(aggregate)}{value}, {fraction})"
    return f"PERCENTILE_CONT({fraction}) WITHIN GROUP (ORDER BY {value} DESC)"


def _down(aggregate: Agg) -> str:
    """Returns DESC where the last of the further arguments says that the order is descending."""
    return " DESC" if isinstance(aggregate.extra[-1], Lit) and aggregate.extra[-1].value else ""


def _by_struct(aggregate: Agg, args: Sequence[str]) -> str:
    """Returns the text of MAX_BY or MIN_BY over several keys, which are one struct in Spark."""
    value, condition, *fields = args
    order = f"struct({', '.join(fields)})"
    if condition != "TRUE":
        order = f"CASE WHEN {condition} THEN {order} END"
    return f"{aggregate.name.removesuffix('_STRUCT')}({value}, {order})"


FORMS: Mapping[str, Callable[[Agg, Sequence[str]], str]] = {
    "COLLECT_LIST": _sorted_list,
    "COLLECT_SET": _sorted_list,
    "LISTAGG": _listagg,
    "PERCENTILE": _percentile,
    "MAX_BY_STRUCT": _by_struct,
    "MIN_BY_STRUCT": _by_struct,
}


def _window_text(name: str, args: str, over: str, ignores_nulls: bool, _: Type) -> str:
    return f"{name}({args}){' IGNORE NULLS' if ignores_nulls else ''}{over}"


def _exploded(array: str, outer: bool, position: str, value: str) -> Exploded:
    """Returns the texts that give a row for each element of an array, with its position."""
    words = "LATERAL VIEW OUTER" if outer else "LATERAL VIEW"
    view = f" {words} posexplode({array}) `$elements` AS {position}, {value}"
    return Exploded(f"{position}, {value}", view)


SPARK = Dialect(
    name="spark",
    type_names={},
    quote="`",
    backslash_escapes=True,
    binary=lambda value: f"X'{value.hex()}'",
    function_text=lambda function: function.spark,
    aggregate_text=aggregate_text,
    window_text=_window_text,
    days=lambda days: str(days.value),
    exploded=_exploded,
    number_and_parts=lambda array, element, text: (
        f"size({array}) || ':' || array_join(transform({array}, {element} -> {text}), '')"
    ),
)

SPARK_ON_FEW_ROWS = replace(SPARK, name="spark on few rows", join_hint="/*+ COALESCE(1) */ ")
"""For sources that are one partition each. Spark does not see that a join of two such sources is one
partition too: without the hint it shuffles every join of a join, and every grouping over a full join."""
