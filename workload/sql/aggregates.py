"""The texts of the aggregates with further arguments and of statistics (`workload.aggregates`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from workload.aggregates import BITWISE, EXTREMES_BY, LISTS, PAIRED, STATISTICS
from workload.errors import WorkloadError
from workload.query import Aggregate, AggregateFunction, Literal
from workload.sql.dialect import Dialect
from workload.types import SqlType

Form = Callable[[Aggregate, Sequence[str]], str]
"""Takes an aggregate and the texts of its arguments."""


def aggregate_form(aggregate: Aggregate, args: Sequence[str], dialect: Dialect, over: str = "") -> str:
    """Returns the text of one of these aggregates; `over`: what follows a statistic of a window, or nothing.

    Raises WorkloadError: the dialect has none of the same meaning.
    """
    if over:
        return _over(aggregate, args, dialect, over)
    form = FORMS[dialect].get(aggregate.function)
    if form is None:
        raise WorkloadError(f"{aggregate.function.value} has no text in {dialect.value}")
    return form(aggregate, args)


def _over(aggregate: Aggregate, args: Sequence[str], dialect: Dialect, over: str) -> str:
    if aggregate.function not in STATISTICS:
        raise WorkloadError(f"{aggregate.function.value} is not written before OVER")
    match dialect:
        case Dialect.SPARK:
            return _call(aggregate, args) + over
        case Dialect.DUCKDB:
            return _statistic(aggregate, args, over)
        case Dialect.POSTGRES | Dialect.ANSI | Dialect.FLINK:
            return _call_in_postgres(aggregate, args) + over
        case Dialect.SQLITE | Dialect.MYSQL:
            raise WorkloadError(f"{aggregate.function.value} has no text in {dialect.value}")


def each(aggregate: Aggregate) -> str:
    """Returns the word before the arguments, with a blank after it, or nothing."""
    return "DISTINCT " if aggregate.distinct else ""


def constant(aggregate: Aggregate, place: int) -> bool:
    """Tells whether the further argument at a place is TRUE."""
    part = aggregate.extra[place]
    return isinstance(part, Literal) and part.value is True


def _call(aggregate: Aggregate, args: Sequence[str]) -> str:
    return f"{aggregate.function.value}({each(aggregate)}{', '.join(args)})"


# Spark.


def _by_in_spark(aggregate: Aggregate, args: Sequence[str]) -> str:
    value, *order = args
    by = order[0] if len(order) == 1 else f"struct({', '.join(order)})"
    return f"{aggregate.function.value}({value}, {by})"


def _list_in_spark(aggregate: Aggregate, args: Sequence[str]) -> str:
    return f"sort_array({aggregate.function.value}({each(aggregate)}{args[0]}), {args[1]})"


def _texts_in_spark(aggregate: Aggregate, args: Sequence[str]) -> str:
    down = " DESC" if constant(aggregate, 1) else ""
    return f"LISTAGG({each(aggregate)}{args[0]}, {args[1]}) WITHIN GROUP (ORDER BY {args[0]}{down})"


# DuckDB.


def _statistic(aggregate: Aggregate, args: Sequence[str], over: str = "") -> str:
    """Returns a statistic; DuckDB calculates with NaN and infinities as with numbers of its own.

    In Spark they make NaN, but for a sample of one value, which is NULL.
    """
    name, some = aggregate.function.value, f"{each(aggregate)}CAST({args[0]} AS DOUBLE)"
    finite = f"ISFINITE(CAST({args[0]} AS DOUBLE))"
    enough = 1 if name.endswith("SAMP") else 0
    calculated = f"{name}({some}) FILTER (WHERE {finite}){over}"
    broken = f"COUNT(*) FILTER (WHERE NOT {finite}){over} > 0 AND COUNT({some}){over} > {enough}"
    single = f"COUNT({some}){over} <= {enough}"
    nan = "CAST('NaN' AS DOUBLE)"
    return f"(CASE WHEN {single} THEN CAST(NULL AS DOUBLE) WHEN {broken} THEN {nan} ELSE {calculated} END)"


def _paired(aggregate: Aggregate, args: Sequence[str]) -> str:
    """Returns a statistic of pairs. In Spark CORR of one pair is NULL, and fails if one side is constant."""
    x, y = (f"CAST({arg} AS DOUBLE)" for arg in args)
    pairs, finite = f"REGR_COUNT({y}, {x})", f"ISFINITE({x}) AND ISFINITE({y})"
    enough = 0 if aggregate.function is AggregateFunction.COVAR_POP else 1
    whole = f"{x} IS NOT NULL AND {y} IS NOT NULL"
    broken = f"COUNT(*) FILTER (WHERE {whole} AND NOT ({finite})) > 0"
    result = f"{aggregate.function.value}({x}, {y}) FILTER (WHERE {finite})"
    if aggregate.function is AggregateFunction.CORR:
        of_pairs = f"FILTER (WHERE {whole})"
        same = " OR ".join(f"MIN({side}) {of_pairs} = MAX({side}) {of_pairs}" for side in (x, y))
        result = f"CASE WHEN {same} THEN error('division by zero') ELSE {result} END"
    nan = f"WHEN {broken} THEN CAST('NaN' AS DOUBLE)"
    return f"(CASE WHEN {pairs} <= {enough} THEN CAST(NULL AS DOUBLE) {nan} ELSE {result} END)"


def _by(aggregate: Aggregate, args: Sequence[str]) -> str:
    """Returns the value of the first row in the order; one key alone leaves out the rows where it is NULL."""
    value, *order = args
    down = aggregate.function is AggregateFunction.MAX_BY
    keys = ", ".join(f"{key} {'DESC NULLS LAST' if down else 'ASC NULLS FIRST'}" for key in order)
    some = f" FILTER (WHERE {order[0]} IS NOT NULL)" if len(order) == 1 else ""
    return f"first({value} ORDER BY {keys}){some}"


def _values(once: str, value: str, order: str) -> str:
    """Returns the list of the values that are not NULL, in order; NULL where there is none."""
    return f"list({once}{value} ORDER BY {value} {order}) FILTER (WHERE {value} IS NOT NULL)"


def _list(aggregate: Aggregate, args: Sequence[str]) -> str:
    once = "DISTINCT " if aggregate.function is AggregateFunction.COLLECT_SET else each(aggregate)
    return f"coalesce({_values(once, args[0], 'ASC' if constant(aggregate, 0) else 'DESC')}, [])"


def _texts(aggregate: Aggregate, args: Sequence[str]) -> str:
    values = _values(each(aggregate), args[0], "DESC" if constant(aggregate, 1) else "ASC")
    return f"array_to_string({values}, {args[1]})"


def _percentile(aggregate: Aggregate, args: Sequence[str]) -> str:
    """Returns the value at a fraction of the order; between two values by the distances, as Spark does."""
    value, fraction = args
    values = _values(each(aggregate), value, "ASC")
    at = f"(CAST({fraction} AS DOUBLE) * (COUNT({each(aggregate)}{value}) - 1))"
    below, above = f"floor({at})", f"ceil({at})"
    low, high = (
        f"CAST(LIST_EXTRACT({values}, 1 + CAST({place} AS BIGINT)) AS DOUBLE)" for place in (below, above)
    )
    mixed = f"({above} - {at}) * {low} + ({at} - {below}) * {high}"
    return f"(CASE WHEN {low} IS NOT DISTINCT FROM {high} THEN {low} ELSE {mixed} END)"


def _count(aggregate: Aggregate, args: Sequence[str]) -> str:
    whole = " AND ".join(f"{arg} IS NOT NULL" for arg in args)
    if not aggregate.distinct:
        return f"COUNT(*) FILTER (WHERE {whole})"
    fields = ", ".join(f"'{number}': {arg}" for number, arg in enumerate(args))
    return f"COUNT(DISTINCT {{{fields}}}) FILTER (WHERE {whole})"


# PostgreSQL.


def _call_in_postgres(aggregate: Aggregate, args: Sequence[str]) -> str:
    return _call(aggregate, [f"CAST({arg} AS DOUBLE PRECISION)" for arg in args])


def _by_in_postgres(aggregate: Aggregate, args: Sequence[str]) -> str:
    value, *order = args
    down = aggregate.function is AggregateFunction.MAX_BY
    keys = ", ".join(f"{key} {'DESC NULLS LAST' if down else 'ASC NULLS FIRST'}" for key in order)
    some = f" FILTER (WHERE {order[0]} IS NOT NULL)" if len(order) == 1 else ""
    return f"(array_agg({value} ORDER BY {keys}){some})[1]"


def _list_in_postgres(aggregate: Aggregate, args: Sequence[str]) -> str:
    once = "DISTINCT " if aggregate.function is AggregateFunction.COLLECT_SET else each(aggregate)
    value, order = args[0], "ASC" if constant(aggregate, 0) else "DESC"
    collected = f"array_agg({once}{value} ORDER BY {value} {order}) FILTER (WHERE {value} IS NOT NULL)"
    return f"coalesce({collected}, '{{}}')"


def _texts_in_postgres(aggregate: Aggregate, args: Sequence[str]) -> str:
    down = " DESC" if constant(aggregate, 1) else ""
    return f"string_agg({each(aggregate)}{args[0]}, {args[1]} ORDER BY {args[0]}{down})"


def _percentile_in_postgres(aggregate: Aggregate, args: Sequence[str]) -> str:
    value, fraction = args
    return f"percentile_cont({fraction}) WITHIN GROUP (ORDER BY CAST({value} AS DOUBLE PRECISION))"


def _count_in_postgres(aggregate: Aggregate, args: Sequence[str]) -> str:
    whole = " AND ".join(f"{arg} IS NOT NULL" for arg in args)
    return f"COUNT({each(aggregate)}({', '.join(args)})) FILTER (WHERE {whole})"


PLAIN: Mapping[AggregateFunction, Form] = dict.fromkeys(BITWISE, _call)
"""The forms that Spark, DuckDB and PostgreSQL write alike."""

FORMS: Mapping[Dialect, Mapping[AggregateFunction, Form]] = {
    Dialect.SPARK: {
        **PLAIN,
        **dict.fromkeys(STATISTICS | PAIRED, _call),
        **dict.fromkeys(EXTREMES_BY, _by_in_spark),
        **dict.fromkeys(LISTS, _list_in_spark),
        AggregateFunction.COUNT: _call,
        AggregateFunction.LISTAGG: _texts_in_spark,
        AggregateFunction.PERCENTILE: _call,
    },
    Dialect.DUCKDB: {
        **PLAIN,
        **dict.fromkeys(STATISTICS, _statistic),
        **dict.fromkeys(PAIRED, _paired),
        **dict.fromkeys(EXTREMES_BY, _by),
        **dict.fromkeys(LISTS, _list),
        AggregateFunction.COUNT: _count,
        AggregateFunction.LISTAGG: _texts,
        AggregateFunction.PERCENTILE: _percentile,
    },
    Dialect.POSTGRES: {
        **PLAIN,
        **dict.fromkeys(STATISTICS | PAIRED - {AggregateFunction.CORR}, _call_in_postgres),
        **dict.fromkeys(EXTREMES_BY, _by_in_postgres),
        **dict.fromkeys(LISTS, _list_in_postgres),
        AggregateFunction.COUNT: _count_in_postgres,
        AggregateFunction.LISTAGG: _texts_in_postgres,
        AggregateFunction.PERCENTILE: _percentile_in_postgres,
    },
    Dialect.SQLITE: {},
    Dialect.MYSQL: {},
    Dialect.ANSI: dict.fromkeys(STATISTICS | PAIRED - {AggregateFunction.CORR}, _call_in_postgres),
    Dialect.FLINK: dict.fromkeys(STATISTICS, _call_in_postgres),
}
"""The texts by dialect.

pg_ivm maintains none (`engines.others.pg_ivm_gaps`). PostgreSQL has no percentile of DISTINCT values, and
its CORR does not fail where one side never changes.
"""


def decimal_average(arg: str, of: SqlType, result: SqlType, distinct: str, over: str = "") -> str:
    """Returns the text of AVG of DECIMAL in DuckDB with Spark's digits, over the text of an argument.

    `distinct`: "DISTINCT " or nothing. `over`: what follows each aggregate, such as " OVER (...)", if any.

    DuckDB has no division of decimals, and averages as DOUBLE. Spark divides the exact sum by the count and
    rounds half away from zero to four more digits after the point.

    All is counted in whole units of the last digit. What remains of the division decides the rounding.
    """
    shift, unit = 10 ** (result.scale - of.scale), 10**result.scale
    places = f"CAST('0.{'0' * (result.scale - 1)}1' AS DECIMAL({result.scale}, {result.scale}))"
    digits = f"replace(CAST(CAST({arg} AS {of}) AS VARCHAR), '.', '')"
    total = f"(SUM({distinct}CAST({digits} AS HUGEINT)){over} * {shift})"
    count = f"CAST(COUNT({distinct}{arg}){over} AS HUGEINT)"
    up = f"CASE WHEN abs({total}) % {count} * 2 >= {count} THEN 1 ELSE 0 END"
    last = f"CAST(abs({total}) // {count} + {up} AS HUGEINT)"
    after = f"CAST({last} % {unit} AS DECIMAL({result.scale + 1}, 0)) * {places}"
    number = f"(CAST({last} // {unit} AS {result}) + {after})"
    return f"CAST(CASE WHEN {total} < 0 THEN - {number} ELSE {number} END AS {result})"
