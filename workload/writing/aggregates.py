"""The aggregates of `workload.aggregates` as people write them in Spark's SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workload.query import Aggregate, AggregateFunction, Literal
from workload.writing.style import Style

NAMES: Mapping[AggregateFunction, Sequence[str]] = {
    AggregateFunction.STDDEV_SAMP: ("stddev", "std", "stddev_samp"),
    AggregateFunction.VAR_SAMP: ("variance", "var_samp"),
    AggregateFunction.COLLECT_LIST: ("collect_list", "array_agg"),
    AggregateFunction.LISTAGG: ("listagg", "string_agg"),
}
"""The names of aggregates that have several."""


def written_form(aggregate: Aggregate, args: Sequence[str], style: Style, where: str) -> str:
    """Returns the text of an aggregate, with the texts of its arguments.

    `where`: FILTER and a blank before it, or nothing; it stands right after the aggregate.
    """
    words, pick, function = style.words, style.choices.choice, aggregate.function
    name, each = words(pick(NAMES.get(function, (function.value,)))), words("DISTINCT " * aggregate.distinct)
    first, *others = args
    match function:
        case AggregateFunction.MIN_BY | AggregateFunction.MAX_BY:
            return f"{name}({first}, {_order(others, style)}){where}"
        case AggregateFunction.COLLECT_LIST | AggregateFunction.COLLECT_SET:
            collected = f"{name}({each}{first}){where}"
            if not _is_true(aggregate.extra[0]):
                return f"{words('sort_array')}({collected}, {words('false')})"
            return f"{words(pick(('sort_array', 'array_sort')))}({collected})"
        case AggregateFunction.LISTAGG:
            between = "" if others[0] == "''" and style.chance(50) else f", {others[0]}"
            down = words(" DESC") if _is_true(aggregate.extra[1]) else ""
            order = f"{words('WITHIN GROUP')} ({words('ORDER BY')} {first}{down})"
            return f"{name}({each}{first}{between}) {order}{where}"
        case AggregateFunction.PERCENTILE:
            return _percentile(aggregate, first, style) + where
        case _:
            return f"{name}({each}{', '.join(args)}){where}"


def _order(keys: Sequence[str], style: Style) -> str:
    """Returns one key, or a struct of several."""
    if len(keys) == 1:
        return keys[0]
    match style.choices.choice(("struct", "named", "tuple")):
        case "named":
            fields = ", ".join(f"'f{number}', {key}" for number, key in enumerate(keys))
            return f"{style.words('named_struct')}({fields})"
        case "tuple":
            return f"({', '.join(keys)})"
        case _:
            return f"{style.words('struct')}({', '.join(keys)})"


def _percentile(aggregate: Aggregate, value: str, style: Style) -> str:
    fraction, each = aggregate.extra[0], style.words("DISTINCT " * aggregate.distinct)
    assert isinstance(fraction, Literal)
    assert isinstance(fraction.value, float)
    if fraction.value == 0.5 and style.chance(60):
        return f"{style.words('median')}({each}{value})"
    if not each and style.chance(40):
        order = f"{style.words('WITHIN GROUP')} ({style.words('ORDER BY')} {value})"
        return f"{style.words('percentile_cont')}({fraction.value}) {order}"
    return f"{style.words('percentile')}({each}{value}, {fraction.value})"


def _is_true(part: object) -> bool:
    return isinstance(part, Literal) and part.value is True
