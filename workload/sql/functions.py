"""The scalar functions a query may use, with their text in each dialect.

`{0}`, `{1}` ... are the rendered arguments, `{type}` the type of the result, `{type0}` ... those of the
arguments, `{args}` all of them with commas. A DuckDB text with a cast is there because DuckDB gives
another type or value without it; each such rule was measured, on PostgreSQL 18 too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workload.sql.dialect import Dialect


@dataclass(frozen=True, slots=True)
class Function:
    """A function's texts; where one of the others is None, Spark's serves. `arity` -1: one or more.

    `sqlite`, `mysql`, `ansi`, `flink`: "" where it has none of the same meaning; for `flink` ANSI's serves.
    """

    arity: int
    spark: str
    duckdb: str | None = None
    postgres: str | None = None
    sqlite: str | None = None
    mysql: str | None = None
    ansi: str | None = None
    flink: str | None = None

    def template(self, dialect: Dialect) -> str:
        """Returns the text for one dialect; "" where it has none."""
        texts = {
            Dialect.SPARK: self.spark,
            Dialect.DUCKDB: self.duckdb,
            Dialect.POSTGRES: self.postgres,
            Dialect.SQLITE: self.sqlite,
            Dialect.MYSQL: self.mysql,
            Dialect.ANSI: self.ansi,
            Dialect.FLINK: self.ansi if self.flink is None else self.flink,
        }
        text = texts[dialect]
        return self.spark if text is None else text


FUNCTIONS: Mapping[str, Function] = {
    "add": Function(2, "({0} + {1})"),
    "sub": Function(2, "({0} - {1})"),
    "mul": Function(2, "({0} * {1})"),
    # DuckDB caps the width of a product at 18 digits and then overflows: widen the left side first.
    "mul_decimal": Function(
        2,
        "({0} * {1})",
        "CAST(CAST({0} AS {widened0}) * {1} AS {type})",
        sqlite="",
        mysql="",
        ansi="CAST((CAST({0} AS {widened0}) * {1}) AS {type})",
    ),
    "neg": Function(1, "(- {0})"),
    "abs": Function(1, "abs({0})"),
    "mod": Function(2, "({0} % {1})", ansi="MOD({0}, {1})"),
    "div": Function(
        2,
        "({0} / {1})",
        postgres="(CAST({0} AS DOUBLE PRECISION) / {1})",
        sqlite="(CAST({0} AS REAL) / {1})",
        mysql="(CAST({0} AS DOUBLE) / {1})",
        ansi="(CAST({0} AS DOUBLE PRECISION) / {1})",
    ),
    "div_guarded": Function(
        2,
        "(CAST({0} AS DOUBLE) / NULLIF(CAST({1} AS DOUBLE), CAST('0.0' AS DOUBLE)))",
        postgres="(CAST({0} AS DOUBLE PRECISION) / NULLIF(CAST({1} AS DOUBLE PRECISION), 0.0))",
        sqlite="(CAST({0} AS REAL) / NULLIF(CAST({1} AS REAL), 0.0))",
        ansi="(CAST({0} AS DOUBLE PRECISION) / NULLIF(CAST({1} AS DOUBLE PRECISION), 0))",
    ),
    "eq": Function(2, "({0} = {1})"),
    "ne": Function(2, "({0} <> {1})"),
    "lt": Function(2, "({0} < {1})"),
    "le": Function(2, "({0} <= {1})"),
    "gt": Function(2, "({0} > {1})"),
    "ge": Function(2, "({0} >= {1})"),
    "same": Function(2, "({0} IS NOT DISTINCT FROM {1})", sqlite="({0} IS {1})", mysql="({0} <=> {1})"),
    "differs": Function(
        2, "({0} IS DISTINCT FROM {1})", sqlite="({0} IS NOT {1})", mysql="(NOT ({0} <=> {1}))"
    ),
    "between": Function(3, "({0} BETWEEN {1} AND {2})"),
    "and": Function(2, "({0} AND {1})"),
    "or": Function(2, "({0} OR {1})"),
    "not": Function(1, "(NOT {0})"),
    "is_null": Function(1, "({0} IS NULL)"),
    "is_not_null": Function(1, "({0} IS NOT NULL)"),
    "is_true": Function(1, "({0} IS TRUE)"),
    "is_false": Function(1, "({0} IS FALSE)"),
    "coalesce": Function(
        -1, "coalesce({args})", sqlite="coalesce({args}, NULL)", ansi="COALESCE({args}, CAST(NULL AS {type}))"
    ),
    "nullif": Function(2, "nullif({0}, {1})"),
    "greatest": Function(-1, "greatest({args})", sqlite="", mysql="", ansi=""),
    "least": Function(-1, "least({args})", sqlite="", mysql="", ansi=""),
    "concat": Function(2, "({0} || {1})", mysql="concat({0}, {1})"),
    "upper": Function(1, "upper({0})"),
    "lower": Function(1, "lower({0})"),
    # DuckDB strips every kind of blank.
    "trim": Function(1, "trim({0})", "trim({0}, ' ')", ansi="TRIM(BOTH ' ' FROM {0})"),
    "length": Function(
        1,
        "length({0})",
        "CAST(length({0}) AS INTEGER)",
        mysql="char_length({0})",
        ansi="CAST(CHAR_LENGTH({0}) AS INTEGER)",
    ),
    # PostgreSQL and the standard count a negative start from before the first character, not from the end.
    "substring": Function(
        3,
        "substring({0}, {1}, {2})",
        postgres="substring({0}, CASE WHEN {1} < 0 THEN length({0}) + 1 + {1} ELSE {1} END, {2})",
        sqlite="substr({0}, CASE WHEN {1} = 0 THEN 1 ELSE {1} END, {2})",
        mysql="",
        ansi="SUBSTRING({0} FROM CASE WHEN {1} < 0 THEN CHAR_LENGTH({0}) + 1 + {1} ELSE {1} END FOR {2})",
        flink="SUBSTRING({0}, {1}, {2})",
    ),
    "replace": Function(3, "replace({0}, {1}, {2})", ansi="", flink="REPLACE({0}, {1}, {2})"),
    "like": Function(2, "({0} LIKE {1} ESCAPE '$')", sqlite=""),
    # Only for patterns that every engine reads alike: no `.`, no `$`, no backslash.
    "rlike": Function(
        2,
        "({0} RLIKE {1})",
        "regexp_matches({0}, {1})",
        "({0} ~ {1})",
        sqlite="",
        mysql="",
        ansi="",
        flink="REGEXP({0}, {1})",
    ),
    "date_add": Function(
        2,
        "date_add({0}, {1})",
        "CAST({0} + {1} AS DATE)",
        "({0} + {1})",
        sqlite="",
        mysql="",
        ansi="CAST(({0} + ({1} * INTERVAL '1' DAY)) AS DATE)",
    ),
    "datediff": Function(
        2,
        "datediff({0}, {1})",
        "CAST({0} - {1} AS INTEGER)",
        "({0} - {1})",
        sqlite="",
        mysql="",
        ansi="",
        flink="TIMESTAMPDIFF(DAY, {1}, {0})",
    ),
    "year": Function(
        1,
        "year({0})",
        "CAST(year({0}) AS INTEGER)",
        "CAST(EXTRACT(YEAR FROM {0}) AS INTEGER)",
        sqlite="",
        mysql="",
        ansi="CAST(EXTRACT(YEAR FROM {0}) AS INTEGER)",
    ),
    "month": Function(
        1,
        "month({0})",
        "CAST(month({0}) AS INTEGER)",
        "CAST(EXTRACT(MONTH FROM {0}) AS INTEGER)",
        sqlite="",
        mysql="",
        ansi="CAST(EXTRACT(MONTH FROM {0}) AS INTEGER)",
    ),
    "day": Function(
        1,
        "day({0})",
        "CAST(day({0}) AS INTEGER)",
        "CAST(EXTRACT(DAY FROM {0}) AS INTEGER)",
        sqlite="",
        mysql="",
        ansi="CAST(EXTRACT(DAY FROM {0}) AS INTEGER)",
    ),
    "array": Function(
        -1,
        "array({args})",
        "CAST([{args}] AS {type})",
        "CAST(ARRAY[{args}] AS {type})",
        sqlite="",
        mysql="",
        ansi="",
    ),
    # Only for separators that are no regular expression: Spark reads one there.
    "split": Function(
        2,
        "split({0}, {1})",
        "string_split({0}, {1})",
        "regexp_split_to_array({0}, {1})",
        sqlite="",
        mysql="",
        ansi="",
    ),
    "cast": Function(1, "CAST({0} AS {type})"),
}
"""Functions with a fixed shape. `case`, `in` and `now` have their own, see `render`."""

CASE = "case"
"""`case`: condition, value, condition, value, ..., else."""

IN = "in"
"""`in`: the value, then the list."""

NOW = "now"
"""`now`: the current time plus so many microseconds, a literal; only Spark's SQL has a text for it here."""
