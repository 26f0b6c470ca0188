"""DuckDB, for tests of the rules in memory; casts give results the types that Spark gives them."""

from collections.abc import Sequence
from decimal import Decimal

from dynamic_tables.plan.dialects.base import Dialect, Exploded
from dynamic_tables.plan.dialects.duckdb_aggregates import FORMS, STATISTICS, ordered, statistic
from dynamic_tables.plan.expressions import Agg
from dynamic_tables.plan.types import INT, MAX_PRECISION, Kind, Type


def _aggregate_text(aggregate: Agg, plain: str, args: Sequence[str], over: str) -> str:
    """Returns the text of an aggregate, in the type that Spark gives it. `over`: its window, or empty."""
    if aggregate.name == "AVG" and aggregate.arg is not None and aggregate.type.kind is Kind.DECIMAL:
        return _decimal_average(aggregate.arg.type, aggregate.type, aggregate.distinct, args[0], over)
    if aggregate.name in STATISTICS:
        return statistic(aggregate, args, over)
    if aggregate.name in ("MAX", "MIN") and (key := ordered(args[0], aggregate.args[0].type)) != args[0]:
        return f"arg_{aggregate.name}({args[0]}, {key}){over}"
    if aggregate.name in FORMS and not over:
        return FORMS[aggregate.name](aggregate, plain, args)
    # DuckDB sums integers as HUGEINT and decimals at 38 digits.
    summed = aggregate.name == "SUM"
    return f"CAST({plain}{over} AS {DUCKDB.type_name(aggregate.type)})" if summed else plain + over


def _window_text(name: str, args: str, over: str, ignores_nulls: bool, type_: Type) -> str:
    text = f"{name}({args}{' IGNORE NULLS' if ignores_nulls else ''}){over}"
    # DuckDB numbers rows as BIGINT.
    return f"CAST({text} AS INTEGER)" if type_ == INT and name in NUMBERING else text


NUMBERING = frozenset({"row_number", "rank", "dense_rank", "ntile"})


def _decimal_average(of: Type, result: Type, distinct: bool, arg: str, over: str) -> str:
    """Returns AVG of DECIMAL as Spark rounds it, half away from zero; DuckDB's own is a DOUBLE.

    Sum and quotient are whole numbers of the last digit: of `of` first, then of `result`.
    """
    each, unit = "DISTINCT " if distinct else "", 10**result.scale
    wide = Type(Kind.DECIMAL, MAX_PRECISION - 1 - of.scale, of.scale)
    digits = f"CAST(CAST({arg} AS {wide}) * CAST({10**of.scale} AS DECIMAL({of.scale + 1}, 0)) AS HUGEINT)"
    total, count = f"SUM({each}{digits}){over}", f"COUNT({each}{arg}){over}"
    quotient = f"((abs({total}) * {2 * 10 ** (result.scale - of.scale)} + {count}) // (2 * {count}))"
    fraction = f"CAST({quotient} % {unit} AS DECIMAL({result.scale + 1}, 0))"
    whole = f"CAST({quotient} // {unit} AS DECIMAL({max(1, result.precision - result.scale)}, 0))"
    last = f"CAST('{1 / Decimal(unit):f}' AS DECIMAL({result.scale}, {result.scale}))"
    value = f"CAST({whole} + {fraction} * {last} AS {result})"
    return f"(CASE WHEN {total} < 0 THEN - {value} ELSE {value} END)"


def _exploded(array: str, outer: bool, position: str, value: str) -> Exploded:
    """Returns the texts that give a row for each element of an array, with its position."""
    # Two lists in one SELECT are taken element by element; both have the same length here.
    places = f"range(len({array}))"
    if outer:
        places, array = (
            f"CASE WHEN len({array}) > 0 THEN {each} ELSE [NULL] END" for each in (places, array)
        )
    return Exploded(f"CAST(unnest({places}) AS INTEGER) AS {position}, unnest({array}) AS {value}")


def _nested_name(name: str) -> str:
    """Returns DuckDB's name of a type that Spark calls `ARRAY<INT>`, say."""
    # Imported here, because a session is opened faster without it.
    from sqlglot import exp

    type_ = exp.DataType.build(name, dialect="spark")
    for part in type_.find_all(exp.DataType):
        if part.is_type(exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ):
            part.set("this", exp.DType.TIMESTAMP)
    return type_.sql("duckdb")


DUCKDB = Dialect(
    name="duckdb",
    # Where tests run the rules in memory, a TIMESTAMP is the date and time in UTC; so it is in an array.
    type_names={Kind.STRING: "VARCHAR", Kind.TIMESTAMP_NTZ: "TIMESTAMP", Kind.BINARY: "BLOB"},
    other_type_name=_nested_name,
    widens_floats=False,
    struct_of_pairs=True,
    quote='"',
    backslash_escapes=False,
    binary=lambda value: f"unhex('{value.hex()}')",
    function_text=lambda function: function.duckdb or function.spark,
    aggregate_text=_aggregate_text,
    window_text=_window_text,
    days=lambda days: f"INTERVAL {days.value!s} DAY",
    exploded=_exploded,
    number_and_parts=lambda array, element, text: (
        f"len({array}) || ':' || array_to_string(list_transform({array}, lambda {element}: {text}), '')"
    ),
    ordered=ordered,
)
