"""Reductions of expressions in queries and statements; the type at each place stays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from shrink.reduction import Reduction
from shrink.reductions.values import simpler, simplest
from shrink.rewrite import Place, expressions, put_at
from workload.aggregates import CONSTANTS, PAIRED, STATISTICS
from workload.query import Aggregate, AggregateFunction, Call, ColumnRef, Expr, Literal, subexpressions
from workload.scenario import Scenario
from workload.scope import Scope
from workload.sql import functions
from workload.types import BIGINT, BOOLEAN, Kind


def simplify_calls(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with a part of a call, a column or a literal in its place, or an argument less."""
    for place in expressions(scenario):
        if isinstance(place.site.node, Call):
            for new in dict.fromkeys(instead_of_call(place.site.node, place)):
                yield place.site.put(new)


def instead_of_call(call: Call, place: Place) -> Iterator[Expr]:
    """Yields the expressions that may replace a call, simplest first."""
    inside = [part for part in subexpressions(call) if part is not call and part.type == call.type]
    columns = [part for part in inside if isinstance(part, ColumnRef)]
    yield from columns[:1]
    if not columns and call.type.kind is not Kind.DOUBLE:
        # Another DOUBLE may be an average: the last bits of a sum of averages depend on the order of rows.
        yield from _any_column(call, place.scope)
    if not place.predicate:
        yield simplest(call.type)
    elif place.joins:
        yield Literal(True, BOOLEAN)
    yield from (part for part in inside if not isinstance(part, ColumnRef | Literal))
    if call.function in VARIADIC and len(call.args) > MINIMUM:
        yield from (replace(call, args=put_at(call.args, number)) for number in range(1, len(call.args)))


VARIADIC = (functions.IN, "coalesce", "greatest", "least")
MINIMUM = 2
"""A variadic function is not cut down to fewer arguments than this."""


def _any_column(call: Call, scope: Scope) -> Iterator[Expr]:
    for alias, columns in scope.items():
        for name, type_ in columns.items():
            if type_ == call.type:
                yield ColumnRef(alias, name, type_)
                return


def simplify_aggregates(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with COUNT(*), MIN or VAR_POP for an aggregate, or an argument or DISTINCT less."""
    for place in expressions(scenario):
        match place.site.node:
            case Aggregate(_, arg, distinct, type_) as aggregate if arg is not None:
                if type_ == BIGINT:
                    yield place.site.put(Aggregate(AggregateFunction.COUNT_STAR, None, False, BIGINT))
                if arg.type == type_.stored:
                    yield place.site.put(Aggregate(AggregateFunction.MIN, arg, False, type_))
                if aggregate.function in STATISTICS | PAIRED:
                    yield place.site.put(Aggregate(AggregateFunction.VAR_POP, arg, False, type_))
                if len(aggregate.extra) > 1 and aggregate.function not in CONSTANTS:
                    yield from (
                        place.site.put(replace(aggregate, extra=put_at(aggregate.extra, number)))
                        for number in range(len(aggregate.extra))
                    )
                if distinct:
                    yield place.site.put(replace(aggregate, distinct=False))
            case _:
                pass


def simplify_literals(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with a simpler value of the literal's type."""
    for place in expressions(scenario):
        if isinstance(place.site.node, Literal):
            literal = place.site.node
            for value in simpler(literal.value, literal.type)[:3]:
                yield place.site.put(Literal(value, literal.type))


REDUCTIONS = (
    Reduction("simplify calls", simplify_calls),
    Reduction("simplify aggregates", simplify_aggregates),
)

DETAILS = (Reduction("simplify literals", simplify_literals),)
