"""The aggregates that take further arguments, and the check that each of them has one right result.

`Aggregate.extra` by function:

- COUNT: other values; only rows without a NULL among all of them count;
- COVAR_SAMP, COVAR_POP, CORR: the other value of each pair;
- MIN_BY, MAX_BY: what the rows are ordered by, a struct where there are several; the argument is among it or
  is a key of the group, so that rows that tie have the same value;
- COLLECT_LIST, COLLECT_SET: whether the list is ascending;
- LISTAGG: the text between two values, and whether the order of the values is descending;
- PERCENTILE: the fraction, from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Mapping

from workload.errors import WorkloadError
from workload.query import Aggregate, AggregateFunction, Expr, Literal
from workload.types import BOOLEAN, DOUBLE, ESTIMATE, STRING, SqlType

STATISTICS = frozenset(
    {
        AggregateFunction.STDDEV_SAMP,
        AggregateFunction.STDDEV_POP,
        AggregateFunction.VAR_SAMP,
        AggregateFunction.VAR_POP,
    }
)
"""Statistics of one value; their results are estimates (`ESTIMATE`), as those of `PAIRED` are."""

PAIRED = frozenset({AggregateFunction.COVAR_SAMP, AggregateFunction.COVAR_POP, AggregateFunction.CORR})
"""Statistics of pairs of values."""

EXTREMES_BY = frozenset({AggregateFunction.MIN_BY, AggregateFunction.MAX_BY})

LISTS = frozenset({AggregateFunction.COLLECT_LIST, AggregateFunction.COLLECT_SET})

BITWISE = frozenset({AggregateFunction.BIT_AND, AggregateFunction.BIT_OR, AggregateFunction.BIT_XOR})

CONSTANTS: Mapping[AggregateFunction, tuple[SqlType, ...]] = {
    **dict.fromkeys(LISTS, (BOOLEAN,)),
    AggregateFunction.LISTAGG: (STRING, BOOLEAN),
    AggregateFunction.PERCENTILE: (DOUBLE,),
}
"""The types of the further arguments, for the aggregates whose further arguments are constants."""

FORMS = STATISTICS | PAIRED | EXTREMES_BY | BITWISE | frozenset(CONSTANTS)
"""The aggregates that are written in more than one way, or over more than one value."""


def ensure_form(aggregate: Aggregate, keys: tuple[Expr, ...]) -> None:
    """Raises WorkloadError for further arguments that an aggregate does not take, or that leave ties."""
    function, extra = aggregate.function, aggregate.extra
    if function in FORMS and any(part.type == ESTIMATE for part in (aggregate.arg, *extra) if part):
        raise WorkloadError(f"{function.value} over an estimate")
    if function in CONSTANTS:
        _ensure_constants(aggregate, CONSTANTS[function])
    elif function in PAIRED:
        if len(extra) != 1 or aggregate.distinct:
            raise WorkloadError(f"{function.value} takes two values, all of them")
    elif function in EXTREMES_BY:
        # By text: two NaN literals are the same.
        if not extra or repr(aggregate.arg) not in {repr(part) for part in (*extra, *keys)}:
            raise WorkloadError(f"{function.value}: rows with the same order may have other values")
    elif extra and function is not AggregateFunction.COUNT:
        raise WorkloadError(f"{function.value} takes one argument")
    if function in STATISTICS | PAIRED and aggregate.type != ESTIMATE:
        raise WorkloadError(f"{function.value} is an estimate")


def _ensure_constants(aggregate: Aggregate, types: tuple[SqlType, ...]) -> None:
    constants = [p for p in aggregate.extra if isinstance(p, Literal) and p.value is not None]
    if tuple(part.type for part in constants) != types or len(constants) != len(aggregate.extra):
        shown = ", ".join(map(str, types))
        raise WorkloadError(f"{aggregate.function.value} takes constants of the types {shown}")
    if aggregate.function is AggregateFunction.PERCENTILE:
        fraction = aggregate.extra[0]
        assert isinstance(fraction, Literal)
        if not isinstance(fraction.value, float) or not 0 <= fraction.value <= 1:
            raise WorkloadError("the fraction of a PERCENTILE is between 0 and 1")
