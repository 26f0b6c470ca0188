"""Changes read from what commits touched are those of the whole versions, for random histories of a table."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from dynamic_tables.definition import BaseTable
from dynamic_tables.plan.types import INT, STRING
from dynamic_tables.schedule.clock import WallClock
from dynamic_tables.store.delta import DeltaStore
from dynamic_tables.store.names.catalog import BASE_TABLE_PROPERTIES, create_text, to_properties
from dynamic_tables.store.port import Relation
from dynamic_tables.store.ticks.base_log import versions
from tests.depth import examples

pytestmark = pytest.mark.spark

VECTORS = "delta.enableDeletionVectors"


class History:
    """A table r(k, v) that plain Spark writes, as an engine's store reads it."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        self.spark, self.name = spark, f"delta.`{folder}/r`"
        self.store = DeltaStore(str(folder), spark, WallClock())
        self.table = BaseTable("r", (("k", INT), ("v", STRING)))

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.spark.sql(statement.format(r=self.name))

    @property
    def newest(self) -> int:
        return self.store.folder.polled("r").newest.version

    def whole(self, start: int, end: int) -> tuple[Counter[object], Counter[object]]:
        ends = [bag(self.store.snapshot("r", version, ids=True)) for version in (start, end)]
        return ends[0] - ends[1], ends[1] - ends[0]

    def touched(self, start: int, end: int) -> tuple[Counter[object], Counter[object]]:
        known = versions(self.store.folder.polled("r"))
        rows = self.store.touched(self.table, known[start], known[end])
        assert rows is not None
        before, after = bag(rows.before), bag(rows.after)
        return before - after, after - before

    def rows_read(self, start: int, end: int) -> tuple[int, int]:
        known = versions(self.store.folder.polled("r"))
        rows = self.store.touched(self.table, known[start], known[end])
        assert rows is not None
        return len(rows.before.rows()), len(rows.after.rows())


def bag(relation: Relation) -> Counter[object]:
    return Counter(tuple(row) for row in relation.rows())


@pytest.fixture(scope="module")
def three_files(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Path:
    """The folder of a table of three files with six rows each."""
    folder = tmp_path_factory.mktemp("three_files")
    history = History(folder, spark)
    history.store.create_base_table(history.table)
    for start in (0, 10, 20):
        history.run(f"INSERT INTO {{r}} SELECT CAST(id AS INT), 'a' FROM RANGE({start}, {start + 6}, 1, 1)")
    history.store.close()
    return folder


@pytest.fixture
def history(three_files: Path, tmp_path: Path, spark: SparkSession) -> Iterator[History]:
    # A Delta table names its files relative to its folder, so a copy of the folder is a table.
    shutil.copytree(three_files, tmp_path, dirs_exist_ok=True)
    history = History(tmp_path, spark)
    yield history
    history.store.close()


COMMITS = (
    "UPDATE {r} SET v = 'u{n}' WHERE k % 7 = {n} % 7",
    "UPDATE {r} SET v = v WHERE k < 12",
    "DELETE FROM {r} WHERE k % 11 = {n}",
    "INSERT INTO {r} VALUES ({n} + 100, 'i'), ({n} + 100, NULL)",
    "INSERT OVERWRITE {r} SELECT * FROM {r} WHERE k % 2 = 0",
    "INSERT INTO {r} REPLACE WHERE k > 15 VALUES (16 + {n}, 'replaced')",
    "OPTIMIZE {r}",
    "REORG TABLE {r} APPLY (PURGE)",
    "RESTORE TABLE {r} TO VERSION AS OF {old}",
    "MERGE INTO {r} AS t USING (SELECT CAST(id AS INT) AS k FROM RANGE(0, 30, 3)) AS s ON t.k = s.k "
    "WHEN MATCHED AND t.k > 20 THEN DELETE WHEN MATCHED THEN UPDATE SET v = 'm{n}' "
    "WHEN NOT MATCHED THEN INSERT VALUES (s.k, 'new')",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "vectors"), [(1, "true"), pytest.param(2, "false", marks=pytest.mark.nightly)]
)
def test_the_net_of_any_interval_is_the_difference_of_its_ends(
    history: History, seed: int, vectors: str
) -> None:
    if vectors == "false":
        history.run(f"ALTER TABLE {{r}} SET TBLPROPERTIES ('{VECTORS}' = 'false')")
    assert_net(history, seed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "form", "properties"),
    [
        pytest.param(3, "USING delta PARTITIONED BY (v)", {}, id="partitions"),
        pytest.param(
            *(4, "USING delta", {"delta.columnMapping.mode": "name"}),
            id="mapped columns",
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_files_that_lack_columns_or_their_names_are_read_as_they_were_touched(
    tmp_path: Path, spark: SparkSession, seed: int, form: str, properties: dict[str, str]
) -> None:
    history = History(tmp_path, spark)
    properties = {**BASE_TABLE_PROPERTIES, **properties, **to_properties(history.table, 1)}
    text = create_text(history.name, history.table.columns, properties)
    spark.sql(text.replace("USING delta", form))
    history.run(
        "INSERT INTO {r} SELECT CAST(id AS INT), array('a', 'ü /=%\\'', NULL)[CAST(id % 3 AS INT)] "
        "FROM RANGE(0, 18, 1, 1)"
    )
    start = history.newest
    history.run("DELETE FROM {r} WHERE k = 4", "INSERT INTO {r} VALUES (50, 'n')")
    assert history.rows_read(start, history.newest) == (1, 1)
    assert_net(history, seed)
    history.store.close()


def assert_net(history: History, seed: int) -> None:
    """Commits at random; the net of what they touched is the difference of the ends of each interval."""
    choices, first = random.Random(seed), history.newest
    for number, text in enumerate(choices.sample(COMMITS, min(examples(3), len(COMMITS)))):
        history.run(text.replace("{n}", str(number)).replace("{old}", str(history.newest - 1)))
    last = history.newest
    pairs = [(first, last), *((start, start + 1) for start in range(first, last))]
    pairs.append((first + 1, last - 1))
    for start, end in pairs:
        assert history.touched(start, end) == history.whole(start, end), (start, end)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statements", "rows"),
    [
        pytest.param(["UPDATE {r} SET v = 'b' WHERE k IN (1, 12)"], (2, 2), id="rows of two files"),
        pytest.param(["DELETE FROM {r} WHERE k IN (1, 2)"], (2, 0), id="deleted rows"),
        pytest.param(["DELETE FROM {r} WHERE k < 6"], (6, 0), id="a deleted file"),
        pytest.param(["INSERT INTO {r} VALUES (50, 'n')"], (0, 1), id="append"),
        pytest.param(["OPTIMIZE {r}"], (0, 0), id="OPTIMIZE"),
        pytest.param(["OPTIMIZE {r}", "DELETE FROM {r} WHERE k = 11"], (1, 0), id="OPTIMIZE, then a row"),
        pytest.param(
            ["INSERT INTO {r} VALUES (50, 'n')", "OPTIMIZE {r}", "RESTORE TABLE {r} TO VERSION AS OF 4"],
            (0, 1),
            id="INSERT, OPTIMIZE, RESTORE to the INSERT",
        ),
        pytest.param(
            ["DELETE FROM {r} WHERE k = 1", "OPTIMIZE {r}", "RESTORE TABLE {r} TO VERSION AS OF 3"],
            (0, 0),
            id="DELETE, OPTIMIZE, RESTORE to the start",
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            [
                "UPDATE {r} SET v = 'y' WHERE k = 1",
                "UPDATE {r} SET v = 'a' WHERE k = 1",
                "OPTIMIZE {r}",
                "UPDATE {r} SET v = 'z' WHERE k = 1",
            ],
            (18, 18),
            id="there and back, OPTIMIZE, UPDATE",
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            ["UPDATE {r} SET v = 'b' WHERE k = 1", "RESTORE TABLE {r} TO VERSION AS OF 3"],
            (0, 0),
            id="RESTORE",
        ),
    ],
)
def test_only_what_changed_is_read(history: History, statements: list[str], rows: tuple[int, int]) -> None:
    start = history.newest
    history.run(*statements)
    assert history.rows_read(start, history.newest) == rows
    assert history.touched(start, history.newest) == history.whole(start, history.newest)
