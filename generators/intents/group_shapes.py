"""The dynamic tables of the intents about grouping; who defines one returns its name, as in `shapes`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from generators.builder import ScenarioBuilder
from generators.domains import TableSketch
from generators.intents.shapes import define, define_over, on_keys, reading
from generators.queries.aggregates import aggregate_form, beside_texts
from generators.queries.expressions import Term, call, comparable, constant, literal, matchable
from generators.queries.relations import COUNT_STAR, FromClause, joined, scope_of, select, summed_type
from workload.query import Aggregate, AggregateFunction, Derived, JoinKind, Literal
from workload.types import BIGINT, BOOLEAN, INT, SMALLINT, TINYINT

COUNT = Term(COUNT_STAR, 5)
"""COUNT(*) of few rows: five binary digits hold it."""


def grouped(b: ScenarioBuilder, table: TableSketch) -> str:
    """Defines GROUP BY the key, or DISTINCT over the first two columns."""
    source = reading(b, table.name, 16)
    if b.choices.chance(25):
        narrow = replace(source, scope=source.scope[:2], rows=8)
        return define(b, b.queries.plain(narrow, None, distinct=True))
    return define(b, b.queries.aggregated(source, None, (source.scope[0],), b.choices.integer(1, 3)))


def scalar(b: ScenarioBuilder, table: TableSketch) -> str:
    """Defines aggregates over all rows, without GROUP BY."""
    return define_over(b, reading(b, table.name), 16, "scalar")


def by_second_column(b: ScenarioBuilder, table: TableSketch) -> str:
    """Defines GROUP BY the column after the key, or DISTINCT over it."""
    source = reading(b, table.name, 16)
    if b.choices.chance(30):
        return define(b, select(source, source.scope[1:2], distinct=True))
    return define(b, b.queries.aggregated(source, None, (source.scope[1],), 1))


def by_two_columns(b: ScenarioBuilder, table: TableSketch) -> str:
    """Defines GROUP BY the two columns after the key, or DISTINCT over them."""
    source = reading(b, table.name, 16)
    if b.choices.chance(40):
        return define(b, select(source, source.scope[1:3], distinct=True))
    return define(b, b.queries.aggregated(source, None, tuple(source.scope[1:3]), 1))


def by_key(b: ScenarioBuilder, source: FromClause, aggregates: Sequence[Term]) -> str:
    """Defines the given aggregates, grouped by the key."""
    terms = [source.scope[0], *aggregates]
    return define(b, select(replace(source, rows=16), terms, group_by=source.scope[:1]))


def extremes(b: ScenarioBuilder, table: TableSketch) -> str:
    """Defines MIN and MAX by key of every column that has an order, with other aggregates of the columns."""
    source = reading(b, table.name)
    functions = (AggregateFunction.MIN, AggregateFunction.MAX)
    extremes = [extremum(function, t) for t in comparable(source.scope[1:]) for function in functions]
    return by_key(b, source, beside_texts([*extremes, *forms(b, source), *forms(b, source)]))


def forms(b: ScenarioBuilder, source: FromClause) -> list[Term]:
    """Returns a statistic, a list or the like of the columns after the key, if one is drawn."""
    form = aggregate_form(b.choices, source.scope[1:], partial(b.queries.where_true, source))
    return [] if form is None else [form]


def extremum(function: AggregateFunction, term: Term) -> Term:
    """Returns MIN or MAX of a term."""
    return replace(term, expr=Aggregate(function, term.expr, False, term.type))


def mixed(b: ScenarioBuilder, table: TableSketch) -> str:
    """Defines MAX, COUNT(*), COUNT, SUM and AVG by key, beside counts of different values or a statistic."""
    source = reading(b, table.name)
    value = b.choices.pick(comparable(source.scope[1:]))
    aggregates = [
        extremum(AggregateFunction.MAX, value),
        COUNT,
        Term(Aggregate(AggregateFunction.COUNT, value.expr, b.choices.chance(50), BIGINT), 5),
    ]
    summable = [term for term in source.scope if summed_type(term, 5) is not None]
    integers = [term for term in source.scope[1:] if term.type in (TINYINT, SMALLINT, INT)]
    averaged = integers if integers and b.choices.chance(60) else summable
    aggregates.extend(
        b.queries.sum_or_average(source, function, b.choices.pick(options), 5, b.choices.chance(20))
        for function, options in ((AggregateFunction.SUM, summable), (AggregateFunction.AVG, averaged))
    )
    if b.choices.chance(30):
        aggregates.extend(
            counts_of_different(term) for term in b.choices.subset(comparable(source.scope), 2, 3)
        )
    elif b.choices.chance(70):
        aggregates.extend(forms(b, source))
    return by_key(b, source, beside_texts(aggregates))


def sums(b: ScenarioBuilder, table: TableSketch) -> str:
    """Defines AVG of the column after the key, by key; beside it at most what is kept by adding, too."""
    source = reading(b, table.name)
    column, drawn = source.scope[1], b.queries.sum_or_average
    aggregates = [drawn(source, AggregateFunction.AVG, column, 5, False)]
    if b.choices.chance(50) and summed_type(column, 5) is not None:
        aggregates.append(drawn(source, AggregateFunction.SUM, column, 5, False))
    if b.choices.chance(50):
        aggregates.append(COUNT)
    return by_key(b, source, aggregates)


def statistics(b: ScenarioBuilder, table: TableSketch) -> str:
    """Defines statistics, percentiles or lists of the column after the key, by key, perhaps with its sum."""
    source = reading(b, table.name)
    narrow = replace(source, scope=source.scope[:2])
    drawn = [form for _ in range(b.choices.integer(1, 3)) for form in forms(b, narrow)]
    if b.choices.chance(60) and summed_type(source.scope[1], 5) is not None:
        drawn.append(b.queries.sum_or_average(source, AggregateFunction.SUM, source.scope[1], 5, False))
    return by_key(b, source, beside_texts(drawn or [COUNT]))


def counts_of_different(term: Term) -> Term:
    """Returns COUNT of the different values of a term."""
    return Term(Aggregate(AggregateFunction.COUNT, term.expr, True, BIGINT), 5)


def boundary(b: ScenarioBuilder, table: TableSketch) -> str:
    """Defines WHERE k < 2, or GROUP BY k HAVING COUNT(*) > 1."""
    source = reading(b, table.name)
    if b.choices.chance(50):
        return define(b, select(source, source.scope, below_two(source).expr))
    having = call("gt", BOOLEAN, COUNT, constant(1, BIGINT)).expr
    keys = source.scope[:1]
    return define(b, select(source, [*keys, COUNT], group_by=keys, having=having))


def below_two(source: FromClause) -> Term:
    """Returns the condition `k < 2` on the first column, the key."""
    return call("lt", BOOLEAN, source.scope[0], constant(2, INT))


def sum_of_case(b: ScenarioBuilder, table: TableSketch) -> str:
    """Defines SUM(CASE WHEN k < 2 THEN k ELSE ..), by another column; or an aggregate for some keys each."""
    source = reading(b, table.name)
    if b.choices.chance(40):
        return pivoted(b, source)
    case = call("case", INT, below_two(source), source.scope[0], literal(b.choices, INT))
    sum_ = Term(Aggregate(AggregateFunction.SUM, case.expr, False, BIGINT), 10)
    group = b.choices.pick(matchable(source.scope[1:]) or source.scope[:1])
    return define(b, select(source, [group, sum_], group_by=[group]))


def pivoted(b: ScenarioBuilder, source: FromClause) -> str:
    """Defines an aggregate of a column for two or three keys, by another column: people write PIVOT."""
    key, *others = source.scope
    groups = matchable(comparable(others))
    group = b.choices.pick(groups) if groups else None
    value = b.choices.pick([term for term in comparable(source.scope) if term is not group])
    summed = summed_type(value, 5) if b.choices.chance(60) else None
    terms = [] if group is None else [group]
    for number in b.choices.subset((0, 1, 2, 3), 2, 3):
        same = call("eq", BOOLEAN, key, constant(number, INT))
        none = Term(Literal(None, value.type), value.digits)
        case = call("case", value.type, same, value, none, digits=value.digits)
        if summed is None:
            terms.append(extremum(AggregateFunction.MAX, case))
        else:
            sum_ = Aggregate(AggregateFunction.SUM, case.expr, False, summed)
            terms.append(Term(sum_, value.digits + 5, key=False))
    return define(b, select(source, terms, group_by=terms[:1] if group is not None else ()))


def counted_over_groups(b: ScenarioBuilder, table: TableSketch) -> str:
    """Defines groups of groups: COUNT(*) and MAX over a grouped sub-select."""
    source, alias = reading(b, table.name), b.queries.alias()
    keys = [source.scope[0], b.choices.pick(matchable(source.scope[1:]))]
    inner = select(source, [*keys, COUNT], group_by=keys)
    outer = FromClause(Derived(inner.query, alias), scope_of(alias, inner.columns), 16)
    return by_key(b, outer, [COUNT, extremum(AggregateFunction.MAX, outer.scope[2])])


def padded_groups(b: ScenarioBuilder, left: TableSketch, right: TableSketch) -> str:
    """Defines COUNT(*) and SUM by a left column over a LEFT JOIN: pads count, but their sum is NULL."""
    first, second = reading(b, left.name), reading(b, right.name)
    sum_ = Aggregate(AggregateFunction.SUM, second.scope[0].expr, False, BIGINT)
    source = joined(JoinKind.LEFT, first, second, on_keys(first, second))
    return by_key(b, source, [Term(COUNT_STAR, 6), Term(sum_, 10)])
