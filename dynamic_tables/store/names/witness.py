"""Tests, when a table is created, whether the engine reads a query's text as Spark does.

The engine parses the text into a plan of its own, and Spark parses it again. Both run on a few made-up rows:
the columns must have the same names and types, and the rows must be the same. If not, the table is FULL, and
Spark runs its text. The rows are made to tell readings apart: NULLs, duplicates, zeros, signs, empty texts,
keys that meet in all sources. It is a test and no proof.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING

from dynamic_tables.definition import Columns, Definition, View
from dynamic_tables.differentiate.differentiation import At, leaf_name
from dynamic_tables.differentiate.registry import RULES, initial_plan
from dynamic_tables.errors import DefinitionError, StoreError
from dynamic_tables.plan.dialects import SPARK
from dynamic_tables.plan.nested_types import element_of, fields_of, pair_of
from dynamic_tables.plan.nodes import BoundQuery, Limit, Window, walk
from dynamic_tables.plan.time import at_times
from dynamic_tables.plan.types import VARIANT, Kind, Type
from dynamic_tables.plan.written.render import render
from dynamic_tables.reading.blocks.grouping import UNNAMED
from dynamic_tables.store.names.relations import SparkRelation, Workspace, for_few_rows, view_names
from dynamic_tables.store.names.texts import schema_of, text_frame
from dynamic_tables.store.rows.arrow_frames import arrow_rows
from dynamic_tables.store.spark.spark_errors import one_line, store_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_PAIRS = 4_000
"""Most rows of the cross product of all sources, which bounds the cost of the check."""

ROWS = 16
"""Rows of each source, where there are so few sources that `MOST_PAIRS` allows it."""

TIME = 1_706_702_400_000_000
"""The current time in the made-up world, 2024-01-31 12:00 UTC: between the dates and times of its rows."""

VALUES: Mapping[Kind, Sequence[str]] = {
    **dict.fromkeys((Kind.TINYINT, Kind.SMALLINT), ("1", "2", "NULL", "0", "-1", "3", "2", "10")),
    Kind.INT: ("1", "2", "NULL", "0", "-1", "3", "2", "10"),
    Kind.BIGINT: ("1", "2", "NULL", "0", "-1", "3", "2", "10000000000"),
    Kind.DECIMAL: ("1", "0.5", "NULL", "0", "-1", "2", "0.5", "0.01"),
    Kind.FLOAT: ("1", "0.5", "NULL", "0", "-1", "2", "0.5", "0.25"),
    Kind.DOUBLE: ("1", "0.5", "NULL", "0", "-1", "2", "0.5", "0.25"),
    Kind.BOOLEAN: ("TRUE", "FALSE", "NULL"),
    Kind.STRING: ("'a'", "'b'", "NULL", "''", "'1'", "'aB'", "'a'", "'A'", "'a '", "' x%'"),
    Kind.BINARY: ("X'61'", "X''", "NULL", "X'00FF'", "X'61'"),
    Kind.DATE: ("DATE '2024-01-31'", "DATE '2024-02-29'", "NULL", "DATE '1999-12-31'", "DATE '2024-01-31'"),
    Kind.TIMESTAMP_NTZ: (
        "TIMESTAMP_NTZ '2024-01-31 00:00:00'",
        "NULL",
        "TIMESTAMP_NTZ '2024-02-29 23:59:59.5'",
    ),
    Kind.TIMESTAMP: ("TIMESTAMP '2024-01-31 00:00:00'", "NULL", "TIMESTAMP '2024-02-29 23:59:59.5'"),
}
"""Values as Spark's SQL has them, by kind; those of nested types are made of these."""

DOCUMENTS = ('{"a":1,"b":[1,null,{"a":"x"}]}', "1", "null", "[]", '{"b":{"a":2.5},"a":null}', '"2024-01-31"')
"""Values of type VARIANT as JSON."""


def misread(workspace: Workspace, text: str, query: BoundQuery, definitions: Mapping[str, Definition]) -> str:
    """Returns how the plan `query` differs from what Spark makes of its text; empty if no difference shows.

    If the text fails on the made-up rows (a division by zero, say), nothing is known. If the plan fails and
    the text does not, they differ. Raises DefinitionError: Spark refuses the text.
    """
    try:
        sources = {name: made_up(workspace, definitions[name], len(query.sources)) for name in query.sources}
    except StoreError:
        return ""
    try:
        return _difference(workspace, text, query, sources, definitions)
    finally:
        workspace.release(list(sources.values()), ())


def _difference(
    workspace: Workspace,
    text: str,
    query: BoundQuery,
    sources: Mapping[str, SparkRelation],
    definitions: Mapping[str, Definition],
) -> str:
    """Returns how columns or rows of the plan differ from those of the text; empty if they do not."""
    try:
        with store_errors():
            frames = {name: relation.frame for name, relation in sources.items()}
            by_spark = text_frame(workspace.session, text, frames, definitions, TIME)
            theirs = schema_of(by_spark)
    except StoreError as error:
        raise DefinitionError(f"Spark refuses the query: {error}") from error
    if different := other_columns(theirs, query.schema):
        return different
    if any(isinstance(node, Limit | Window) and node.free for node in walk(query.plan)):
        # Of rows that tie in the order, either reader may take any as the first.
        return ""
    leaves = {leaf_name(name, At.T1): relation for name, relation in sources.items()}
    with for_few_rows(workspace.session):
        return _other_rows(workspace, query, leaves, by_spark)


def _other_rows(
    workspace: Workspace, query: BoundQuery, leaves: Mapping[str, SparkRelation], by_spark: DataFrame
) -> str:
    """Returns how the rows of the plan differ from those of the text; empty if they do not."""
    try:
        theirs = rows_of(by_spark)
    except StoreError:
        return ""
    try:
        plan = at_times(initial_plan(query, RULES, ids=False), None, TIME)
        mine = rows_of(workspace.query(render(plan, SPARK, view_names(leaves)).text()).frame)
    except StoreError as error:
        return f"on made-up rows, it fails where the text does not: {error}"
    return "" if mine == theirs else "on made-up rows, its rows are not those of the text"


def other_columns(theirs: Sequence[tuple[str, Type | str]], mine: Columns) -> str:
    """Returns how names and types of two results differ; empty if they do not."""
    for (spark, to_spark), (engine, to_engine) in zip(theirs, mine, strict=False):
        renamed = spark.lower() != engine.lower() and not re.fullmatch(rf"{UNNAMED}\d+", engine)
        if renamed or str(to_spark).lower() != str(to_engine).lower():
            return f"to Spark a column is {spark} {to_spark}, to the engine {engine} {to_engine}"
    return "" if len(theirs) == len(mine) else f"to Spark it has {len(theirs)} columns, not {len(mine)}"


def rows_of(frame: DataFrame) -> Counter[str]:
    """Returns the rows of a data frame as a bag of texts. Raises StoreError."""
    with store_errors():
        table = arrow_rows(frame)
    try:
        rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    except (ValueError, OverflowError) as error:
        # A date that Python does not have.
        raise StoreError(one_line(error)) from error
    return Counter(repr(tuple(map(_shown, row))).replace("-0.0", "0.0") for row in rows)


def _shown(value: object) -> object:
    """Returns a value without the last bits of a float, which depend on the order of summation.

    Of a VARIANT it is what the document holds: of the names of its keys it may store more than it has.
    """
    if isinstance(value, dict) and value.keys() == {"value", "metadata"}:
        from pyspark.sql.types import VariantVal

        return VariantVal(value["value"], value["metadata"]).toPython()
    return float(f"{round(value, 9):.12g}") if isinstance(value, float) and isfinite(value) else value


def made_up(workspace: Workspace, source: Definition, sources: int) -> SparkRelation:
    """Returns made-up rows for one of several sources: the more sources, the fewer rows of each."""
    assert not isinstance(source, View)
    count = ROWS
    while count > 2 and count**sources > MOST_PAIRS:
        count -= 1
    by_key: dict[object, str] = {}
    for row in range(count):
        values = {name: value(type_, row, place) for place, (name, type_) in enumerate(source.columns)}
        key = tuple(values[name] for name in source.unique)
        # The plan may rely on it that no two rows have one key.
        by_key.setdefault(key or row, f"({', '.join(values.values())})")
    names = ", ".join(SPARK.identifier(name) for name, _ in source.columns)
    return workspace.query(f"SELECT * FROM VALUES {', '.join(by_key.values())} AS made({names})")


def nested_values(type_: Type, place: int) -> Sequence[str]:
    """Returns values of a nested type: NULL, and arrays of none, one and several elements, some equal."""
    element, fields = element_of(type_), fields_of(type_)
    if type_ == VARIANT:
        return (*(f"parse_json('{text}')" for text in DOCUMENTS), "NULL")
    if element is not None:
        of = [value(element, row, place) for row in range(4)]
        listed: Sequence[Sequence[str]] = (of[:2], [], [of[1], of[2], of[1]], of[3:], [of[0], of[0]])
        texts = [f"array({', '.join(each)})" for each in listed]
        return (*texts[:2], "NULL", *texts[2:])
    if fields:
        rows = ([value(part, row + n, place) for n, (_, part) in enumerate(fields)] for row in range(3))
        return (*(f"struct({', '.join(row)})" for row in rows), "NULL")
    if pair := pair_of(type_):
        # A key is not NULL, and no key comes twice.
        keys = [key for key in (value(pair[0], row, 0) for row in range(4)) if "NULL" not in key]
        first, second = ((key, value(pair[1], row, place)) for row, key in enumerate(keys[:2]))
        return (f"map({', '.join((*first, *second))})", "map()", "NULL", f"map({', '.join(second)})")
    return ("NULL",)


def value(type_: Type, row: int, place: int) -> str:
    """Returns the value of a column in a row, as SQL.

    The column at `place` starts with value number `place` of its type, and after each round skips as many. So
    two columns of one type do not change together.
    """
    known = VALUES.get(type_.kind) or nested_values(type_, place)
    chosen = known[(row + place * (row // len(known) + 1)) % len(known)]
    if type_.kind is Kind.DECIMAL and chosen != "NULL":
        fits = abs(Decimal(chosen)) < 10 ** (type_.precision - type_.scale)
        chosen = chosen if fits and (type_.scale > 1 or "." not in chosen) else "0"
    return f"CAST({chosen} AS {type_})"
