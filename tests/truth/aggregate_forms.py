"""The meaning of statistics and of aggregates with further arguments, over plain values of one group.

Statistics are computed in fractions and rounded once: what an engine gives may differ in its last bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from operator import and_, or_, xor
from typing import Any

from tests.truth.values import EvaluationError, canonical, order_key
from workload.aggregates import BITWISE, CONSTANTS, EXTREMES_BY, LISTS, PAIRED, STATISTICS
from workload.query import Aggregate, AggregateFunction, Literal
from workload.types import Row, Value

BITS = {
    AggregateFunction.BIT_AND: and_,
    AggregateFunction.BIT_OR: or_,
    AggregateFunction.BIT_XOR: xor,
}


def form_value(aggregate: Aggregate, rows: Iterable[Row]) -> Value:
    """The value of an aggregate. `rows`: its arguments in each row. Raises EvaluationError as Spark fails."""
    function = aggregate.function
    if function in EXTREMES_BY:
        return _by(function is AggregateFunction.MAX_BY, rows)
    values = [row[:1] if function in CONSTANTS else row for row in rows]
    values = [row for row in values if None not in row]
    if aggregate.distinct or function is AggregateFunction.COLLECT_SET:
        values = list({tuple(map(canonical, row)): row for row in values}.values())
    if function is AggregateFunction.COUNT:
        return len(values)
    if function in PAIRED:
        return _of_pairs(function, values)
    single: list[Any] = [row[0] for row in values]
    if function in LISTS:
        return tuple(sorted(single, key=order_key, reverse=not _constant(aggregate, 0)))
    if not single:
        return None
    if function in STATISTICS:
        return _statistic(function, single)
    if function in BITWISE:
        result: int = reduce(BITS[function], single)
        return result
    single.sort(key=order_key)
    if function is AggregateFunction.LISTAGG:
        if _constant(aggregate, 1):
            single.reverse()
        return str(_constant(aggregate, 0)).join(single)
    assert function is AggregateFunction.PERCENTILE
    return _percentile(single, _constant(aggregate, 0))


def _constant(aggregate: Aggregate, place: int) -> Any:
    part = aggregate.extra[place]
    assert isinstance(part, Literal)
    return part.value


def _by(greatest: bool, rows: Iterable[Row]) -> Value:
    """The value of the row that is first in the order of the other values; NULL is the least of a struct."""
    listed = [row for row in rows if len(row) > 2 or row[1] is not None]
    if not listed:
        return None
    best = max if greatest else min
    return best(
        listed, key=lambda row: [(v is not None, None if v is None else order_key(v)) for v in row[1:]]
    )[0]


def _statistic(function: AggregateFunction, values: Sequence[Any]) -> Value:
    sample = function.value.endswith("SAMP")
    if sample and len(values) == 1:
        return None
    if not all(math.isfinite(value) for value in values):
        return math.nan
    variance = _moment([(value, value) for value in values]) / (len(values) - sample)
    return math.sqrt(variance) if function.value.startswith("STDDEV") else float(variance)


def _of_pairs(function: AggregateFunction, pairs: Sequence[Any]) -> Value:
    if len(pairs) < (1 if function is AggregateFunction.COVAR_POP else 2):
        return None
    if not all(math.isfinite(value) for pair in pairs for value in pair):
        return math.nan
    together = _moment(pairs)
    if function is not AggregateFunction.CORR:
        return float(together / (len(pairs) - (function is AggregateFunction.COVAR_SAMP)))
    apart = _moment([(x, x) for x, _ in pairs]) * _moment([(y, y) for _, y in pairs])
    if not apart:
        raise EvaluationError("one side of CORR is the same in all pairs")
    return float(together) / math.sqrt(apart)


def _moment(pairs: Sequence[tuple[Any, Any]]) -> Fraction:
    """The sum of the products of the distances from both means."""
    exact = [(Fraction(x), Fraction(y)) for x, y in pairs]
    means = [sum(side, Fraction(0)) / len(exact) for side in zip(*exact, strict=True)]
    return sum(((x - means[0]) * (y - means[1]) for x, y in exact), Fraction(0))


def _percentile(values: Sequence[Any], fraction: float) -> float:
    place = (len(values) - 1) * fraction
    below, above = math.floor(place), math.ceil(place)
    low, high = float(values[below]), float(values[above])
    if canonical(low) == canonical(high):
        return low
    return (above - place) * low + (place - below) * high
