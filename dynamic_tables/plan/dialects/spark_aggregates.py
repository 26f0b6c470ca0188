"""The texts of aggregates in Spark that are no plain calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dynamic_tables.plan.expressions import Agg, Lit


def aggregate_text(aggregate: Agg, plain: str, args: Sequence[str]) -> str:
    """Returns the text of an aggregate. `plain`: a call by its name; `args`: the texts of its arguments."""
    form = FORMS.get(aggregate.name)
    return plain if form is None else form(aggregate, args)


def _each(aggregate: Agg) -> str:
    return "DISTINCT " if aggregate.distinct else ""


def _sorted_list(aggregate: Agg, args: Sequence[str]) -> str:
    value, ascending = args
    return f"sort_array({aggregate.name}({_each(aggregate)}{value}), {ascending})"


def _listagg(aggregate: Agg, args: Sequence[str]) -> str:
    value, separator, _ = args
    return (
        f"LISTAGG({_each(aggregate)}{value}, {separator}) WITHIN GROUP (ORDER BY {value}{_down(aggregate)})"
    )


def _percentile(aggregate: Agg, args: Sequence[str]) -> str:
    value, fraction, _ = args
    if not _down(aggregate):
        return f"PERCENTILE({_each(aggregate)}{value}, {fraction})"
    return f"PERCENTILE_CONT({fraction}) WITHIN GROUP (ORDER BY {value} DESC)"


def _down(aggregate: Agg) -> str:
    """Returns DESC where the last of the further arguments says that the order is descending."""
    return " DESC" if isinstance(aggregate.extra[-1], Lit) and aggregate.extra[-1].value else ""


def _by_struct(aggregate: Agg, args: Sequence[str]) -> str:
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
