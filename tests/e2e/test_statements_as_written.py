"""DML of an account takes what Spark takes: the same statements on a plain Delta table give the same rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from dynamic_tables.account import Account
from dynamic_tables.errors import DefinitionError, StoreError
from dynamic_tables.reading.text.parse import OUTSIDE
from dynamic_tables.schedule.clock import WallClock
from dynamic_tables.store.delta import DeltaStore
from tests.truth.examples_of_spark import examples

pytestmark = [pytest.mark.nightly, pytest.mark.spark]

COLUMNS = {"t": "id INT, s STRING", "u": "id INT, s STRING"}
ROWS = "(1, 'aa'), (2, NULL), (3, 'Ab')"


class Pair:
    """An account with tables t and u, and plain Delta tables of these names."""

    def __init__(self, path: Path, spark: SparkSession) -> None:
        self.account = Account.open(str(path / "account"), spark, WallClock())
        assert isinstance(self.account.store, DeltaStore)
        self.plain = spark.newSession()
        # The meaning of a text, as the account has it.
        self.plain.conf.set("spark.sql.session.timeZone", "UTC")
        self.database = f"plain_{path.name}"
        self.plain.sql(f"CREATE DATABASE {self.database} LOCATION '{path}/plain'")
        self.plain.sql(f"USE {self.database}")
        for name in COLUMNS:
            self.account.create_base_table(name, {"id": "INT", "s": "STRING"})
            self.plain.sql(f"CREATE TABLE {name} ({COLUMNS[name]}) USING delta")
            self.run(f"INSERT INTO {name} VALUES {ROWS}")

    def run(self, *texts: str) -> None:
        """Runs statements in both, in the account as one transaction."""
        self.account.execute(*texts)
        for text in texts:
            self.plain.sql(text)

    def rows(self) -> list[tuple[object, ...]]:
        """Returns the rows of the account's table t; they are those of the plain one."""
        rows = [tuple(row) for row in self.account.read("t").collect()]
        assert Counter(rows) == Counter(tuple(row) for row in self.plain.table("t").collect())
        return rows

    def close(self) -> None:
        self.plain.sql(f"DROP DATABASE {self.database} CASCADE")
        assert isinstance(self.account.store, DeltaStore)
        self.account.store.close()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[Pair]:
    pair = Pair(tmp_path_factory.mktemp("statements"), spark)
    yield pair
    pair.close()


NO_COLUMN = re.compile(
    r"(?i)\b(from|over)\b|\bas\s+\w+$|^(explode|posexplode|inline|stack|json_tuple|variant_explode)"
    r"|\btime(_|\b)|\b(try_)?(to|make|curr\w+)_time\b|avro|protobuf|X '|\\|raise_error|assert_true"
)
"""Examples that give no single value: rows, the type TIME, an error, or nothing without another library or
setting; and X '00' with a blank, which sqlglot does not read."""

MOVES = re.compile(
    r"(?i)^(uuid|(hex\()?aes_encrypt|rand\w*|shuffle|uniform|now|curdate|current_\w+|localtimestamp|unix_timestamp\(\)|input_file\w+)"
)
"""Examples whose value is another one the next time."""


def test_every_function_that_spark_has(pair: Pair, spark: SparkSession) -> None:
    found = {
        name: text
        for name, text in examples(spark).items()
        if not NO_COLUMN.search(text) and name not in OUTSIDE
    }
    assert len(found) > 340
    values = {name: f"CAST(({text}) AS STRING)" for name, text in found.items()}
    stable = [value for name, value in values.items() if not MOVES.match(found[name])]
    moving = [value for name, value in values.items() if MOVES.match(found[name])]
    assert len(moving) > 10
    pair.run(f"INSERT OVERWRITE t SELECT posexplode(array({', '.join(stable)}))")
    assert len(pair.rows()) == len(stable)
    pair.account.execute(f"INSERT OVERWRITE t SELECT id, concat({', '.join(moving)}) FROM u")
    assert pair.account.read("t").count() == 3


FORMS = (
    "INSERT INTO t (s, id) SELECT initcap(s), id + 10 FROM u -- all of u",
    "INSERT INTO t BY NAME SELECT s, id + 20 AS id FROM u /* by name */ WHERE s IS NOT NULL;",
    "INSERT INTO t WITH v AS (SELECT id + 30, to_json(named_struct('a', id)) FROM u) SELECT * FROM v",
    "FROM u INSERT INTO t SELECT id + 40, s WHERE regexp_count(s, 'a') = 2",
    "INSERT INTO t TABLE u",
    "INSERT INTO t SELECT id, s FROM u TABLESAMPLE (100 PERCENT)",
    "INSERT INTO t SELECT id + 50, s FROM range(1, 3) JOIN u USING (id)",
    "INSERT INTO t VALUES (61, DEFAULT), (62 >>> 0, 'x')",
    "UPDATE t SET s = (SELECT max_by(s, id) FROM u) WHERE id BETWEEN 40 AND 45",
    "UPDATE t AS x SET x.s = regexp_replace(x.s, 'A|a', 'b'), id = x.id + 1 WHERE x.s ILIKE ANY ('a%', 'b%')",
    "DELETE FROM t WHERE timestamp_seconds(id) > TIMESTAMP '1970-01-01 00:00:51'",
    "MERGE INTO t USING (SELECT id, soundex(s) AS s FROM u) v ON t.id = v.id + 1 "
    "WHEN MATCHED AND v.s <> '' THEN UPDATE SET s = v.s WHEN NOT MATCHED BY SOURCE AND t.id > 30 THEN DELETE",
    "INSERT INTO t SELECT /*+ BROADCAST(u) */ e, s FROM u LATERAL VIEW explode(sequence(70, 71)) AS e",
)


def test_forms_that_spark_takes(pair: Pair) -> None:
    pair.run(f"INSERT OVERWRITE t VALUES {ROWS}")
    pair.run(*FORMS[:8])
    assert len(pair.rows()) > 15
    pair.run(*FORMS[8:])
    assert len(pair.rows()) > 10


def test_a_value_of_the_moment_is_stored_once(pair: Pair) -> None:
    account = pair.account
    account.execute("INSERT OVERWRITE t SELECT id, uuid() FROM u WHERE rand() < 2")
    for name in ("first", "second"):
        account.create_dynamic_table(name, "SELECT s, COUNT(*) AS n FROM t GROUP BY s")
    merge = (
        "MERGE INTO t USING (SELECT id, s, current_timestamp() AS at FROM u) v ON t.id = v.id "
        "WHEN MATCHED AND v.id < 3 THEN UPDATE SET t.s = concat(uuid(), v.at)"
    )
    account.execute(merge, "INSERT INTO t SELECT id, CAST(rand() AS STRING) FROM u")
    account.refresh("first")
    account.reinitialize("second")
    stored = {row["s"] for row in account.read("t").collect()}
    assert len(stored) == 6
    for name in ("first", "second"):
        assert {row["s"] for row in account.read(name).collect()} == stored
    # Delta reads the source of a MERGE twice, unless it keeps what it read.
    assert isinstance(account.store, DeltaStore)
    (commit,) = (
        row
        for row in account.store.session.sql("DESCRIBE HISTORY t LIMIT 2").collect()
        if row["operation"] == "MERGE"
    )
    assert int(commit["operationMetrics"]["materializeSourceTimeMs"]) > 0


def test_an_error_names_the_statement(pair: Pair) -> None:
    broken = "UPDATE t SET s = CAST(1 % 0 AS STRING)"
    with pytest.raises(
        StoreError, match=r"^t: statement 2 of 2, UPDATE t SET s = CAST\(1 % 0 AS STRING\): .*BY_ZERO"
    ):
        pair.account.execute("DELETE FROM u WHERE id = 7", broken)
    with pytest.raises(StoreError, match=r"^t: INSERT INTO t SELECT frob\(1\), '': .*frob"):
        pair.account.execute("INSERT INTO t SELECT frob(1), ''")
    with pytest.raises(
        DefinitionError, match=r"^DELETE FROM none is refused: none is no table of this account"
    ):
        pair.account.execute("DELETE FROM u", "DELETE FROM none")
