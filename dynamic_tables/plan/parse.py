"""SQL text to a syntax tree, and what may not stand in it at all."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError

from dynamic_tables.errors import DefinitionError

NON_DETERMINISTIC = frozenset(
    "rand randn random uuid shuffle current_timestamp now localtimestamp current_date current_time curdate current_user user "
    "session_user current_database current_schema current_catalog version monotonically_increasing_id "
    "spark_partition_id input_file_name input_file_block_start input_file_block_length unix_timestamp first last "
    "any_value first_value_ignore mode approx_count_distinct approx_percentile percentile_approx".split()
)
"""Functions whose value depends on more than their arguments, or on the order of rows."""


class SparkText(Spark):
    """Spark's dialect with `''` as a quote inside a string, as Spark 4 reads it (sqlglot splits it in two)."""

    class Tokenizer(Spark.Tokenizer):
        """Both escapes of Spark 4."""

        STRING_ESCAPES = ("\\", "'")


@lru_cache(maxsize=512)
def parse_query(text: str) -> exp.Query:
    """The syntax tree of one SELECT; callers do not change it, for the next one gets the same tree.

    Raises DefinitionError with line and column for anything else.
    """
    statements = _parse(text)
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        found = "nothing" if not statements else type(statements[0]).__name__.upper()
        if len(statements) > 1:
            found = f"{len(statements)} statements"
        raise DefinitionError(f"a defining query is one SELECT; found {found}")
    return statements[0]


def _parse(text: str) -> list[exp.Expression]:
    try:
        parsed = sqlglot.parse(text, read=SparkText)
    except SqlglotError as error:
        details = getattr(error, "errors", None)
        if details:
            first = details[0]
            where = f"line {first.get('line')}, column {first.get('col')}"
            raise DefinitionError(
                f"syntax error at {where}: {first.get('description')}, near {first.get('highlight')!r}"
            ) from error
        raise DefinitionError(f"syntax error: {str(error).splitlines()[0]}") from error
    except RecursionError as error:
        raise DefinitionError("the query is nested too deeply to be parsed") from error
    return [statement for statement in parsed if isinstance(statement, exp.Expression)]


def function_name(node: exp.Expression) -> str:
    """The name a user would recognise a function by."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower()
    return node.sql_name().lower() if isinstance(node, exp.Func) else type(node).__name__.lower()


def ensure_deterministic(tree: exp.Expression) -> None:
    """Raises DefinitionError naming the first function whose value is not a function of the data."""
    for node in tree.find_all(exp.Func):
        name = function_name(node)
        if name in NON_DETERMINISTIC:
            raise DefinitionError(f"function {name} is refused: its value does not depend on the data alone")


def ensure_admitted(tree: exp.Expression, functions: Iterable[str]) -> None:
    """Raises DefinitionError naming the first function that is not in the given list."""
    admitted = frozenset(functions)
    for node in tree.find_all(exp.Func):
        # sqlglot makes Func of some plain syntax too; those print as operators or keywords.
        if isinstance(node, exp.And | exp.Or | exp.Xor | exp.Case | exp.If | exp.Cast | exp.Exists):
            continue
        name = function_name(node)
        if name not in admitted:
            raise DefinitionError(
                f"function {name} is not in the registry; `dvs operators` lists those that are"
            )
