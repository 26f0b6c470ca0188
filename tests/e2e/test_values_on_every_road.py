"""Every road by which a row reaches a table keeps every value of every type, bit for bit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dynamic_tables.account import Account
from dynamic_tables.schedule.clock import SimulatedClock
from dynamic_tables.store.names.relations import Workspace
from dynamic_tables.store.rows.arrow_rows import ArrowRows
from dynamic_tables.store.sizes import Sizes
from dynamic_tables.store.tables import refresh_commits
from dynamic_tables.store.tables.refresh_commits import RefreshCommits
from dynamic_tables.store.tables.small_merge import SmallMerge

pytestmark = [pytest.mark.nightly, pytest.mark.spark]

DAYS = (
    "0001-01-01 1582-10-04 1582-10-05 1582-10-10 1582-10-14 1582-10-15 1899-12-31 1970-01-01 9999-12-31"
).split()
TIMES = (
    *(
        "0001-01-01 00:00:00",
        "1582-10-10 23:59:59.999999",
        "1883-11-18 12:03:57.5",
        "1899-12-31 23:59:59.000001",
    ),
    *("1969-12-31 23:59:59.999999", "2024-03-31 02:30:00.000001", "9999-12-31 23:59:59.999999"),
)
FLOATS = ("'-0.0'", "'0.0'", "'NaN'", "'-Infinity'", "'Infinity'", "'1.0'")

PLAIN: Mapping[str, list[str]] = {
    "TINYINT": ["-128", "127", "0"],
    "SMALLINT": ["-32768", "32767"],
    "INT": ["-2147483648", "2147483647"],
    "BIGINT": ["-9223372036854775808L", "9223372036854775807L"],
    "DECIMAL(38,0)": [f"{'9' * 38}BD", f"-{'9' * 38}BD", "0BD"],
    "DECIMAL(38,38)": [f"0.{'9' * 38}BD", f"-0.{'0' * 37}1BD"],
    "FLOAT": [*FLOATS, "'1.4E-45'", "'3.4028235E38'"],
    "DOUBLE": [*FLOATS, "'4.9E-324'", "'1.7976931348623157E308'", "'0.1'"],
    "BOOLEAN": ["TRUE", "FALSE"],
    "STRING": [
        "''",
        "' '",
        r"'\u0000'",
        r"'a\u0000b'",
        "'é'",
        "'日本'",
        r"'\U0001F600'",
        "'e\u0301'",
        r"'\uFFFF'",
    ],
    "BINARY": ["X''", "X'00'", "X'FF00'"],
    "DATE": [f"DATE '{day}'" for day in DAYS],
    "TIMESTAMP_NTZ": [f"TIMESTAMP_NTZ '{time}'" for time in TIMES],
    "TIMESTAMP": [f"TIMESTAMP '{time}'" for time in TIMES],
}

READ_BY_SPARK: Mapping[str, list[str]] = {
    "ARRAY<DOUBLE>": ["array()", "array(NULL)", "array(-0.0D, NULL, 0.0D)", "array(0.0D, NULL, -0.0D)"],
    "ARRAY<DATE>": ["array(DATE '1582-10-10', NULL)", "array(DATE '1582-10-12')"],
    "STRUCT<a:DOUBLE,b:TIMESTAMP,c:STRING>": [
        "struct(-0.0D, TIMESTAMP '1582-10-10 01:02:03', '')",
        "struct(NULL, NULL, NULL)",
    ],
    # More than four pairs: a map of Scala would put them into another order.
    "MAP<STRING,DOUBLE>": ["map()", "map('z', -0.0D, 'y', NULL, 'b', 1.0D, 'x', 0.0D, 'a', 2.0D, '', 3.0D)"],
    "CHAR(4)": ["''", "'ab'", "'é'", "'abcd'"],
    "VARCHAR(4)": ["''", "'ab'", "'ab  '"],
}
"""Values at the edges of each type, and those over which decoders stumble; each column has NULL, too.

Two tables, because one with nested types or CHAR(n) is read by Spark alone, and not as Arrow.
"""

TABLES = {
    "copied": "SELECT * FROM t",
    "overwritten": "SELECT * FROM t",
    "joined": "SELECT t.* FROM t JOIN t AS other ON t.k = other.k",
    "above": "SELECT *, CAST(c6 AS STRING) AS real, CAST(c7 AS STRING) AS double FROM copied",
    "days": "SELECT c11, c12, c13, COUNT(*) AS n, MIN(c11) AS least FROM t GROUP BY c11, c12, c13",
    "constant": "SELECT k, DATE '1582-10-10' AS d, TIMESTAMP '1582-10-10 01:02:03' AS n, -0.0D AS z FROM t",
}

Patch = Callable[[pytest.MonkeyPatch], None]


def no_patch(_: pytest.MonkeyPatch) -> None:
    """Few rows are read from files as Arrow, and committed by the engine itself."""


def by_merge(patch: pytest.MonkeyPatch) -> None:
    """Changes are committed by MERGE."""
    patch.setattr(RefreshCommits, "_active", lambda *_: None)


def read_by_spark(patch: pytest.MonkeyPatch) -> None:
    """Spark reads the changed rows, which become literals."""
    patch.setattr(ArrowRows, "rows", lambda *_: None)


def many_rows(patch: pytest.MonkeyPatch) -> None:
    """No rows are literals: Spark keeps what it has computed, and merges it."""
    read_by_spark(patch)
    patch.setattr(Workspace, "small", lambda *_: None)


def rewritten(patch: pytest.MonkeyPatch) -> None:
    """Small files of a table are rewritten as one."""
    patch.setattr(refresh_commits, "SmallMerge", partial(merge_of_sizes, Sizes(small_files=0)))


def merge_of_sizes(wanted: Sizes, **given: Any) -> SmallMerge:
    return SmallMerge(**{**given, "sizes": wanted})


ROADS: tuple[Patch, ...] = (no_patch, by_merge, read_by_spark, many_rows, rewritten)


def inserted(edges: Mapping[str, list[str]], first: int) -> str:
    """The rows of an INSERT, with keys from `first` on."""
    rows = []
    for row in range(1 + max(map(len, edges.values()))):
        values = ([*of, "NULL"] for of in edges.values())
        cells = (each[row % len(each)] for each in values)
        casts = (f"CAST({cell} AS {plain(type_)})" for cell, type_ in zip(cells, edges, strict=True))
        rows.append(f"({first + row}, {', '.join(casts)})")
    return ", ".join(rows)


def plain(type_: str) -> str:
    """The type in a CAST."""
    return "STRING" if "CHAR" in type_ else type_


def bits(table: pa.Table) -> Counter[str]:
    """The rows as a bag of texts that show every value exactly."""
    return Counter(map(repr, zip(*(column.to_pylist() for column in table.columns), strict=True)))


def test_every_road_keeps_every_plain_value(tmp_path: Path, spark: SparkSession) -> None:
    """Also a change of sign of a zero alone, and dates as Python shows them."""
    account = refreshed(tmp_path, spark, PLAIN, TABLES)
    days = account.read("days").select("c11").collect()
    assert {date.fromisoformat(day) for day in DAYS} <= {row[0] for row in days}


def test_every_road_keeps_every_other_value(tmp_path: Path, spark: SparkSession) -> None:
    refreshed(tmp_path, spark, READ_BY_SPARK, {"copied": TABLES["copied"]})


def refreshed(
    folder: Path, spark: SparkSession, edges: Mapping[str, list[str]], tables: Mapping[str, str]
) -> Account:
    """Refreshes tables by every road, each with new rows, and compares them with their queries."""
    source = f"delta.`{folder / 'written'}`"
    columns = ", ".join(f"c{place} {type_}" for place, type_ in enumerate(edges))
    tracked = "'delta.enableRowTracking'='true', 'delta.enableDeletionVectors'='true'"
    spark.sql(f"CREATE TABLE {source} (k INT, {columns}) USING delta TBLPROPERTIES ({tracked})")
    account = Account.open(str(folder / "account"), spark, clock := SimulatedClock())
    account.attach("t", str(folder / "written"))
    for name, text in tables.items():
        mode = "FULL" if name == "overwritten" else "INCREMENTAL"
        account.create_dynamic_table(name, text, refresh_mode=mode)
    steps = [
        (
            road,
            f"INSERT INTO {source} VALUES {inserted(edges, 100 * n)}",
            list(tables) if not n else ["copied"],
        )
        for n, road in enumerate(ROADS)
    ]
    if "above" in tables:
        turned = f"UPDATE {source} SET c6 = -c6, c7 = -c7 WHERE c7 = 0"
        steps.append((no_patch, turned, ["copied", "above"]))
    for time, (road, statement, names) in enumerate(steps, 10):
        clock.set(time)
        spark.sql(statement)
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW t AS SELECT * FROM {source}")
        spark.sql("CREATE OR REPLACE TEMPORARY VIEW copied AS SELECT * FROM t")
        with pytest.MonkeyPatch.context() as patch:
            road(patch)
            for name in names:
                account.refresh(name)
                seen, right = (frame.toArrow() for frame in (account.read(name), spark.sql(tables[name])))
                assert bits(seen) == bits(right), (name, road.__doc__)
    for view in ("t", "copied"):
        spark.catalog.dropTempView(view)
    return account
