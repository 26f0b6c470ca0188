"""DuckDB's SQL in which functions mean what they mean in Spark.

sqlglot writes the name of a function in the other dialect, and often both systems have a function of that
name that differs: the first day of the week is 1 in Spark and 0 in DuckDB, CAST(2.7 AS INT) is 2 in Spark and
3 in DuckDB. `SparkInDuckDb` writes those otherwise. What cannot be written gets a name that DuckDB does not
have, so that the query fails there instead of giving another answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.databricks import Databricks
from sqlglot.dialects.dialect import DialectType
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.generators.duckdb import DuckDBGenerator
from sqlglot.parsers.databricks import DatabricksParser
from sqlglot.tokenizer_core import Token, TokenType

from given.functions_of_spark import (
    Writer,
    any_true,
    array_agg,
    array_sort,
    as_usual,
    by_name,
    count_of_rows,
    elapsed,
    extract,
    extreme_by,
    filtered,
    first_or_last,
    formatted,
    greatest_of_group,
    group_concat,
    ignore_nulls,
    initcap,
    lateral,
    levenshtein,
    like,
    median,
    months,
    of_elements,
    part_of_list,
    quantile,
    reduce,
    replaced,
    series,
    sort_key,
    substring,
    template,
    truncated,
    whole_number,
    window,
    without,
)

SKEWNESS = (
    "CASE WHEN COUNT({0}) = 2 AND VAR_POP({0}) > 0 THEN 0.0::DOUBLE "
    "ELSE SKEWNESS({0}) * (COUNT({0}) - 2) / SQRT(COUNT({0}) * (COUNT({0}) - 1)) END"
)
"""The skewness of the rows as they are; DuckDB estimates that of what they are a sample of."""

SUBSTRING_INDEX = (
    "CASE WHEN {2} > 0 THEN ARRAY_TO_STRING(LIST_SLICE(STRING_SPLIT({0}, {1}), 1, {2}), {1}) "
    "WHEN {2} < 0 THEN ARRAY_TO_STRING(LIST_SLICE(STRING_SPLIT({0}, {1}), {2}, -1), {1}) "
    "WHEN NOT {0} IS NULL THEN '' END"
)

WRITERS: Mapping[type[exp.Expr], Writer] = {
    exp.AddMonths: template("CAST({0} + TO_MONTHS(CAST({1} AS INT)) AS DATE)", "this", "expression"),
    exp.Any: any_true,
    exp.Anonymous: by_name,
    exp.AnyValue: first_or_last,
    exp.ApproxQuantile: without,
    exp.ArrayAgg: array_agg,
    exp.ArrayContains: template(
        "CASE WHEN LIST_CONTAINS({0}, {1}) THEN TRUE "
        "WHEN NOT {1} IS NULL AND LIST_COUNT({0}) = LEN({0}) THEN FALSE END",
        "this",
        "expression",
    ),
    exp.ArrayDistinct: template("LIST_FILTER({0}, LAMBDA _v, _i : _i = LIST_POSITION({0}, _v))", "this"),
    exp.ArrayExcept: without,
    exp.ArrayFilter: of_elements("LIST_FILTER"),
    exp.ArrayIntersect: without,
    exp.ArrayPosition: template(
        "CASE WHEN NOT {0} IS NULL AND NOT {1} IS NULL THEN COALESCE(LIST_POSITION({0}, {1}), 0) END",
        "this",
        "expression",
    ),
    exp.ArrayRemove: template(
        "CASE WHEN NOT {1} IS NULL THEN LIST_FILTER({0}, LAMBDA _v : _v IS DISTINCT FROM {1}) END",
        "this",
        "expression",
    ),
    exp.ArraySlice: part_of_list,
    exp.ArraySort: array_sort,
    exp.ArrayUniqueAgg: array_agg,
    exp.AtTimeZone: template("CAST({0} AS TIMESTAMP) AT TIME ZONE 'UTC' AT TIME ZONE {1}", "this", "zone"),
    exp.BitwiseCount: template("BIT_COUNT(CAST({0} AS BIGINT))", "this"),
    # DuckDB shifts no negative number.
    exp.BitwiseLeftShift: template(
        "(CASE WHEN ({0}) < 0 THEN -1 ELSE 1 END) * (ABS({0}) << ({1}))", "this", "expression"
    ),
    exp.Cast: whole_number,
    exp.ConvertTimezone: without,
    exp.Count: count_of_rows,
    exp.DateDiff: elapsed,
    exp.DateFromUnixDate: template("CAST(CAST('1970-01-01' AS DATE) + TO_DAYS({0}) AS DATE)", "this"),
    exp.DateTrunc: truncated,
    exp.DayOfWeek: template("(DAYOFWEEK({0}) + 1)", "this"),
    exp.Dayname: template("LEFT(DAYNAME({0}), 3)", "this"),
    exp.Extract: extract,
    exp.Filter: filtered,
    exp.First: first_or_last,
    exp.FirstValue: first_or_last,
    exp.Format: without,
    exp.GenerateSeries: series,
    exp.GroupConcat: group_concat,
    exp.IgnoreNulls: ignore_nulls,
    exp.ILike: like,
    exp.Initcap: initcap,
    exp.IsNan: template("COALESCE(ISNAN({0}), FALSE)", "this"),
    exp.JSONFormat: without,
    exp.Kurtosis: template("KURTOSIS_POP({0})", "this"),
    exp.Last: first_or_last,
    exp.Lateral: lateral,
    exp.LastValue: first_or_last,
    exp.Levenshtein: levenshtein,
    exp.Like: like,
    exp.ArgMax: extreme_by("ARG_MAX_NULL"),
    exp.ArgMin: extreme_by("ARG_MIN_NULL"),
    # Of a number that is not positive, a logarithm is NULL in Spark, and an error in DuckDB.
    exp.Ln: template("LN(CASE WHEN {0} > 0 THEN {0} END)", "this"),
    exp.Log: template(
        "LOG(CASE WHEN {0} > 0 THEN {0} END, CASE WHEN {1} > 0 THEN {1} END)", "this", "expression"
    ),
    exp.Max: greatest_of_group,
    exp.Min: greatest_of_group,
    exp.Median: median,
    exp.Monthname: template("LEFT(MONTHNAME({0}), 3)", "this"),
    exp.MonthsBetween: months,
    exp.Nanvl: template("CASE WHEN ISNAN({0}) THEN {1} ELSE {0} END", "this", "expression"),
    exp.Ordered: sort_key,
    exp.Quantile: quantile,
    exp.Reduce: reduce,
    exp.RegexpReplace: replaced,
    exp.RegexpSubstr: template("NULLIF(REGEXP_EXTRACT({0}, {1}), '')", "this", "expression"),
    exp.SafeAdd: template("TRY(({0}) + ({1}))", "this", "expression"),
    exp.SafeMultiply: template("TRY(({0}) * ({1}))", "this", "expression"),
    exp.SafeSubtract: template("TRY(({0}) - ({1}))", "this", "expression"),
    exp.Skewness: template(SKEWNESS, "this"),
    exp.Substring: substring,
    exp.SubstringIndex: template(SUBSTRING_INDEX, "this", "delimiter", "count"),
    exp.TimestampDiff: elapsed,
    exp.TimeToStr: formatted,
    exp.TimestampTrunc: truncated,
    exp.ToChar: without,
    exp.Transform: of_elements("LIST_TRANSFORM"),
    exp.TryCast: whole_number,
    exp.TsOrDsAdd: lambda generator, node: f"CAST({as_usual(generator, node)} AS DATE)",
    exp.Typeof: without,
    exp.Window: window,
}
"""How each node is written whose translation by sqlglot means something else."""


def between(args: list[exp.Expr]) -> exp.Expr:
    """Returns DATEDIFF(end, start), of days, or with a unit before them TIMESTAMPDIFF, as TIMEDIFF is."""
    built: exp.Expr = DatabricksParser.FUNCTIONS["DATEDIFF" if len(args) == 2 else "TIMESTAMPDIFF"](args)
    return built


class WrittenSpark(Databricks):
    """The dialect in which people's queries are read."""

    class Tokenizer(Databricks.Tokenizer):
        # 'o''neil' is one text with a quote in it, and not two texts side by side.
        STRING_ESCAPES: ClassVar = ["\\", "'", '"']

    class Parser(DatabricksParser):
        # sqlglot has one node for both forms of DATEDIFF.
        FUNCTIONS: ClassVar = {
            **DatabricksParser.FUNCTIONS,
            **dict.fromkeys(("DATEDIFF", "DATE_DIFF", "TIMEDIFF"), between),
        }

    def tokenize(self, sql: str, dialect: DialectType = None) -> list[Token]:
        """Returns the tokens of a text, in which WINDOW begins a clause only before `name AS`.

        Else it is the function `window(..)`, or a column of that name, also after GROUP BY.
        """
        tokens = super().tokenize(sql, dialect)
        for place, token in enumerate(tokens):
            if token.token_type is TokenType.WINDOW:
                following = [each.token_type for each in tokens[place + 1 : place + 3]]
                # `COUNT(window) AS n` has AS at the same place.
                if following[1:] != [TokenType.ALIAS] or following[0] is TokenType.R_PAREN:
                    token.token_type = TokenType.VAR
        return tokens


class SparkInDuckDb(DuckDB):
    """DuckDB's dialect as the oracle's connections take it."""

    # The setting of these connections, so that the words are written exactly where they are needed.
    NULL_ORDERING = "nulls_are_small"

    class Generator(DuckDBGenerator):
        TRANSFORMS: ClassVar = {**DuckDBGenerator.TRANSFORMS, **WRITERS}
        # Both types of timestamps are the date and time in UTC.
        TYPE_MAPPING: ClassVar = {
            **DuckDBGenerator.TYPE_MAPPING,
            exp.DType.TIMESTAMPTZ: "TIMESTAMP",
            exp.DType.TIMESTAMPLTZ: "TIMESTAMP",
        }
