"""Statistics and aggregates with further arguments, drawn so that all engines give one answer.

Statistics are over values of few digits: rounding errors are far smaller than what judges see of them.
Rows that tie in an order have equal values, and what is sorted has one order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from generators.choices import Choices
from generators.domains import DECIMAL, LARGE_PART
from generators.queries.expressions import Scope, Term, comparable, constant, matchable
from workload.aggregates import BITWISE, LISTS, STATISTICS
from workload.query import Aggregate, AggregateFunction, ColumnRef, Expr, Node, changed, subexpressions
from workload.types import BIGINT, BITS, BOOLEAN, DOUBLE, ESTIMATE, FLOAT, STRING, Kind, array_of

WhereTrue = Callable[[Term], Term]
"""Takes a value; returns it where a random condition holds, NULL elsewhere."""

FEW_DIGITS = 6
"""Binary digits of the values of statistics: with their squares, and products of two, a double is exact."""

SORTED = frozenset({*BITS, Kind.DECIMAL, Kind.STRING, Kind.BOOLEAN, Kind.DATE})
"""Kinds whose values have one order, and that all engines hold in arrays alike."""

SEPARATORS = (",", "", "|", "; ")
"""What LISTAGG puts between texts."""

FRACTIONS = (0.5, 0.5, 0.0, 1.0, 0.25, 0.9, 0.3)
"""The fractions of percentiles."""

SHAPES: Sequence[tuple[int, str]] = (
    (4, "statistic"),
    (1, "covariance"),
    (3, "by"),
    (3, "list"),
    (2, "texts"),
    (3, "percentile"),
    (1, "bits"),
    (2, "counted"),
)
"""The shapes of these aggregates, with weights; DRAWN has the function of each."""


def aggregate_form(choices: Choices, scope: Scope, where_true: WhereTrue) -> Term | None:
    """Returns one of these aggregates over the columns of a FROM clause; None where two draws find none."""
    known = matchable(comparable(scope))
    first = DRAWN[choices.weighted(SHAPES)](choices, known, where_true)
    return first or DRAWN[choices.weighted(SHAPES)](choices, known, where_true)


def beside_texts(aggregates: Sequence[Term]) -> list[Term]:
    """Returns the aggregates of one block; beside LISTAGG several DISTINCT ones all lose their DISTINCT.

    Spark 4.2 fails on these with a ClassCastException.
    """
    inside = [
        part for term in aggregates for part in subexpressions(term.expr) if isinstance(part, Aggregate)
    ]
    texts = any(part.function is AggregateFunction.LISTAGG for part in inside)
    if not texts or sum(part.distinct for part in inside) < 2:
        return list(aggregates)
    return [replace(term, expr=changed(term.expr, _of_all_values)) for term in aggregates]


def _of_all_values(part: Node) -> Node | None:
    """Returns an aggregate without its DISTINCT; None for other parts of an expression."""
    return replace(part, distinct=False) if isinstance(part, Aggregate) else None


def _small(known: Scope) -> list[Term]:
    """Returns the numbers of few digits."""
    return [t for t in known if t.digits <= FEW_DIGITS and (t.type.kind in NUMBERS or t.type == DECIMAL)]


NUMBERS = frozenset({*BITS, Kind.FLOAT, Kind.DOUBLE})


def _statistic(choices: Choices, known: Scope, where_true: WhereTrue) -> Term | None:
    options = _small(known)
    if not options:
        return None
    value = _perhaps(choices, choices.pick(options), where_true)
    function = choices.pick(sorted(STATISTICS, key=_name))
    return _estimate(Aggregate(function, value.expr, choices.chance(15), ESTIMATE))


def _covariance(choices: Choices, known: Scope, where_true: WhereTrue) -> Term | None:
    options = _small(known)
    if not options:
        return None
    first = _perhaps(choices, choices.pick(options), where_true)
    # No CORR: it fails in each group where one side never changes.
    function = choices.pick((AggregateFunction.COVAR_SAMP, AggregateFunction.COVAR_POP))
    return _estimate(Aggregate(function, first.expr, False, ESTIMATE, (choices.pick(options).expr,)))


def _estimate(aggregate: Aggregate) -> Term:
    return Term(aggregate, key=False)


def _by(choices: Choices, known: Scope, where_true: WhereTrue) -> Term | None:
    """Returns MAX_BY or MIN_BY of a column, ordered by that column too, so that ties have one value."""
    if not known:
        return None
    value = choices.pick(known)
    order = [term.expr for term in choices.subset(known, 0, 2) if term != value]
    order.insert(choices.integer(0, len(order)) if choices.chance(30) else len(order), value.expr)
    function = choices.pick((AggregateFunction.MAX_BY, AggregateFunction.MIN_BY))
    return Term(Aggregate(function, value.expr, False, value.type, tuple(order)), value.digits)


def _list(choices: Choices, known: Scope, where_true: WhereTrue) -> Term | None:
    """Returns COLLECT_LIST or COLLECT_SET, sorted, so that it does not depend on the order of rows."""
    options = [term for term in known if term.type.kind in SORTED]
    if not options:
        return None
    value = _perhaps(choices, choices.pick(options), where_true)
    order = constant(choices.chance(70), BOOLEAN)
    function = choices.pick(sorted(LISTS, key=_name))
    distinct = function is AggregateFunction.COLLECT_LIST and choices.chance(25)
    type_ = array_of(value.type)
    return Term(Aggregate(function, value.expr, distinct, type_, (order.expr,)), key=False)


def _texts(choices: Choices, known: Scope, where_true: WhereTrue) -> Term | None:
    options = [term for term in known if term.type == STRING]
    if not options:
        return None
    value = _perhaps(choices, choices.pick(options), where_true)
    between = constant(choices.pick(SEPARATORS), STRING), constant(choices.chance(30), BOOLEAN)
    extra: tuple[Expr, ...] = tuple(part.expr for part in between)
    return Term(Aggregate(AggregateFunction.LISTAGG, value.expr, choices.chance(30), STRING, extra))


def _percentile(choices: Choices, known: Scope, where_true: WhereTrue) -> Term | None:
    options = [t for t in known if t.type.kind in BITS]
    # Between two large numbers the last bit depends on how an engine interpolates.
    options += [t for t in known if t.type in (DECIMAL, DOUBLE, FLOAT) and t.digits < LARGE_PART]
    if not options:
        return None
    value = _perhaps(choices, choices.pick(options), where_true)
    extra = (constant(choices.pick(FRACTIONS), DOUBLE).expr,)
    return Term(Aggregate(AggregateFunction.PERCENTILE, value.expr, choices.chance(15), DOUBLE, extra))


def _bits(choices: Choices, known: Scope, where_true: WhereTrue) -> Term | None:
    options = [term for term in known if term.type.kind in BITS]
    if not options:
        return None
    value = choices.pick(options)
    function = choices.pick(sorted(BITWISE, key=_name))
    return Term(Aggregate(function, value.expr, choices.chance(15), value.type))


def _counted(choices: Choices, known: Scope, where_true: WhereTrue) -> Term | None:
    """Returns COUNT of two or three columns, mostly of their different rows."""
    columns = [term for term in known if isinstance(term.expr, ColumnRef)]
    if len(columns) < 2:
        return None
    first, *others = choices.subset(columns, 2, 3)
    counted = _perhaps(choices, first, where_true).expr
    extra = tuple(term.expr for term in others)
    return Term(Aggregate(AggregateFunction.COUNT, counted, choices.chance(70), BIGINT, extra), 20)


def _perhaps(choices: Choices, value: Term, where_true: WhereTrue) -> Term:
    """Returns the value, sometimes only where a random condition holds."""
    return where_true(value) if choices.chance(15) else value


def _name(function: AggregateFunction) -> str:
    return function.value


DRAWN: Mapping[str, Callable[[Choices, Scope, WhereTrue], Term | None]] = {
    "statistic": _statistic,
    "covariance": _covariance,
    "by": _by,
    "list": _list,
    "texts": _texts,
    "percentile": _percentile,
    "bits": _bits,
    "counted": _counted,
}
