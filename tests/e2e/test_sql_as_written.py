"""What a text means is what Spark says: queries, types and functions that the engine itself does not know.

Most tables are in memory, where Spark runs the same plans and texts as on Delta; a sample is on Delta.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
from pyspark.sql import SparkSession

from dynamic_tables.account import Account
from dynamic_tables.definition import RefreshMode
from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.schedule.clock import WallClock
from dynamic_tables.store.port import Action
from tests.views import view_rows
from tests.written_in_memory import written_in_memory

pytestmark = pytest.mark.spark

COLUMNS = {
    "k": "INT",
    "f": "BOOLEAN",
    "at": "TIMESTAMP",
    "i": "SMALLINT",
    "x": "FLOAT",
    "b": "BINARY",
    "l": "ARRAY<INT>",
    "s": "STRUCT<A: INT, t: STRING>",
}
ROWS = """
    (1, true, TIMESTAMP '2024-01-31 10:00:00', 7, 0.1, X'00FF', ARRAY(1, NULL), STRUCT(1, 'x')),
    (2, false, TIMESTAMP '2024-02-29 23:59:59.5', -7, 2.5, X'', ARRAY(), STRUCT(NULL, 'y')),
    (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
"""


@pytest.fixture
def account(spark: SparkSession) -> Iterator[Account]:
    with written_in_memory(spark) as account:
        yield with_rows(account)


@pytest.fixture(scope="module")
def on_delta(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[Account]:
    """An account of the tests of this module, each of which has dynamic tables of its own."""
    account = Account.open(str(tmp_path_factory.mktemp("sql") / "account"), spark, WallClock())
    yield with_rows(account)
    account.store.close()  # type: ignore[attr-defined]


def with_rows(account: Account) -> Account:
    account.create_base_table("r", COLUMNS)
    account.execute(f"INSERT INTO r VALUES {ROWS}")
    return account


def rows(account: Account, name: str) -> list[str]:
    return sorted(map(repr, account.read(name).collect()))


OF_EVERY_TYPE = {
    "all_of_it": "SELECT k, at, i, x, b, l, s FROM r WHERE k <> 1",
    "joined": "SELECT p.at, q.s, p.k FROM r AS p JOIN r AS q ON p.at = q.at AND p.k = q.k",
    "grouped": "SELECT at, COUNT(s) AS n, MAX(at) AS m FROM r GROUP BY at",
    "fields": "SELECT k, s.*, r.s.t AS u FROM r",
}


@pytest.mark.nightly
def test_values_of_every_type_pass_through(on_delta: Account) -> None:
    """A table that is refreshed in full stores them too."""
    account, whole = on_delta, OF_EVERY_TYPE["all_of_it"]
    account.create_dynamic_table("in_full", whole, refresh_mode=RefreshMode.FULL)
    for name, text in OF_EVERY_TYPE.items():
        assert account.create_dynamic_table(name, text, refresh_mode=RefreshMode.INCREMENTAL).incremental
    account.execute(
        "UPDATE r SET at = at + INTERVAL 1 DAY, l = ARRAY(9), x = -0.5 WHERE k IN (1, 2)",
        "DELETE FROM r WHERE k = 3",
        "INSERT INTO r SELECT k + 10, f, at, i, x, b, l, s FROM r",
    )
    view_rows(account, "r")
    for name, text in (*OF_EVERY_TYPE.items(), ("in_full", whole)):
        assert account.refresh(name)[-1].action is (Action.FULL if name == "in_full" else Action.INCREMENTAL)
        assert_equals_the_query(account, name, text)
        assert rows(account, name)


FULL = {
    "SELECT percentile(k, 0.5, 2) AS y FROM r": "unsupported: function percentile: ",
    "SELECT k, explode(l) AS e, e + 1 AS f FROM r": "unsupported: ",
    "SELECT corr(k, i) OVER () AS n FROM r": "unsupported: corr before OVER: ",
    "SELECT skewness(ceil(k)) AS y FROM r": "unsupported: function skewness: ",
    # A variable may be written in other capitals.
    "SELECT k, transform(l, V -> v + 1) AS y FROM r": "unsupported: function transform: ",
    "SELECT f, AVG(k + 0.1D) AS a FROM r GROUP BY f HAVING round(AVG(k + 0.1D)) > 0": "float aggregate",
}

PASSED = (
    "SELECT unix_timestamp(at) AS u, u + 1 AS v, to_unix_timestamp(at) AS w FROM r",
    "SELECT date_format(at, 'yyyy') AS y, k + 1.5D AS z, i * 2 AS i FROM r",
    "SELECT MAX(STRUCT(k, i)) AS m FROM r",
    # DuckDB has no such names: the output of a query that later items read.
    "SELECT k, (SELECT SUM(q.i) FROM r AS q WHERE q.f = r.f) AS n, n + k AS m, -m AS l FROM r",
    "SELECT f, EXISTS (SELECT 1 FROM r AS q WHERE q.k > 2) AS e, IF(e, COUNT(*), 0) AS n FROM r GROUP BY f",
    "SELECT f, stddev(ceil(k)) AS y, size(sort_array(collect_list(k))) AS n FROM r GROUP BY f",
    "SELECT k DIV 2, COUNT(*) FROM r GROUP BY 1",
    "SELECT date_trunc('MONTH', at) AS m, SUM(k) AS n FROM r GROUP BY date_trunc('MONTH', at)",
    "SELECT f, s.t AS t, SUM(k) AS n FROM r GROUP BY f, s.t HAVING ceil(COUNT(*)) > 0",
    "SELECT p.k, q.s.t AS t FROM r AS p LEFT JOIN r AS q ON shiftleft(p.k, 1) = q.k",
    "SELECT k, transform(l, v -> v + 1) AS w FROM r WHERE at + INTERVAL 1 MONTH > '2024-03-01'",
    # A variable may have the name of a column.
    "SELECT k, transform(l, v -> v + r.k) AS y, exists(l, k -> k = r.k) AS e FROM r",
    "SELECT k AS v, transform(l, k -> transform(l, v -> v * k + r.k)) AS y FROM r",
    "SELECT CAST(x AS STRING) AS x, s.A + 1 AS a FROM r",
    "SELECT k, at - INTERVAL 2 HOURS 3 MINUTES AS b FROM r WHERE at - INTERVAL 1 DAY 2 HOURS > '2024-01-01'",
    "SELECT k, trunc(at, s.t) AS m, date_trunc(s.t, at) AS n, log10(k * 1000) AS l FROM r WHERE k > 0",
    "SELECT k, s.t LIKE ANY ('x%', '%y') AS a, s.t NOT ILIKE ALL ('X%', s.t) AS b FROM r",
    "SELECT f, sort_array(collect_list(struct(k, at, s))) AS l FROM r GROUP BY f",
    "SELECT k, CASE WHEN k NOT IN (SELECT i FROM r) THEN 1 ELSE 2 END AS y FROM r",
    # `s` is a relation here, and a column with a field t.
    "SELECT concat_ws('-', s.k, s.s.t) AS t FROM r AS s",
    "SELECT f, round(AVG(k), 1) AS a, regexp_replace(MAX(s.t), '[a-x]', '#') AS m FROM r GROUP BY f",
    "SELECT ceil(k + 0.5) AS y, COUNT(*) AS n FROM r GROUP BY 'CEIL({1} + 0.5)', k",
    "SELECT f, AVG(k) AS m, AVG(i) AS n FROM r GROUP BY f HAVING AVG(k) > 1.2 AND AVG(k * 1L) < 99",
    "SELECT f, AVG(k) AS m FROM r GROUP BY f ORDER BY m DESC LIMIT 2",
    "SELECT k, AVG(i) OVER (PARTITION BY f) AS m, RANK() OVER (ORDER BY i) AS n FROM r",
    "SELECT r.k, c.n FROM r LEFT JOIN VALUES (1, 'one'), (2.5, NULL), (3, 'three') AS c(v, n) ON r.k = c.v",
    "SELECT k FROM r UNION ALL SELECT 7 UNION SELECT CAST(8 AS BIGINT)",
    "SELECT k, stddev(k) OVER (PARTITION BY f) AS n, var_pop(i) OVER (ORDER BY k) AS v FROM r",
    "SELECT DISTINCT f, k FROM r ORDER BY f IS NULL, f, -k LIMIT 3",
    "SELECT k, to_timestamp('2024-01-01') AS t, timestamp(date(at)) AS d FROM r",
    "SELECT k, arrays_zip(l, m) AS y, z.l, z.m FROM (SELECT k, l, array(k) AS m FROM r) AS s "
    "LATERAL VIEW explode(arrays_zip(s.l, m)) AS z",
    "SELECT k, '{}' AS braces, format_string('%s{0}', s.t) AS y FROM r WHERE k = '2' OR s.t RLIKE 'x|y'",
)
"""Queries with expressions that only Spark evaluates."""

ON_DELTA = [
    text
    for text in PASSED
    if "LIKE ANY" in text or "z.m" in text or "collect_list(struct" in text or "r.f) AS n, n" in text
]
"""A filter and a projection, a group with a nested value, a subquery."""


def assert_follow_the_queries(account: Account, texts: Sequence[str], action: Action) -> None:
    """Refreshes a table for each text over one change of its rows."""
    account.execute(
        "UPDATE r SET at = at + INTERVAL 40 DAY, i = 3, x = -0.5 WHERE k = 1",
        "DELETE FROM r WHERE k = 3",
        "INSERT INTO r SELECT k + 10, f, at, i, x, b, l, s FROM r",
    )
    view_rows(account, "r")
    for number, text in enumerate(texts):
        assert account.refresh(f"d{number}")[0].action is action
        assert_equals_the_query(account, f"d{number}", text)


@pytest.mark.nightly
def test_what_only_spark_evaluates_is_incremental(account: Account) -> None:
    for number, text in enumerate(PASSED):
        account.create_dynamic_table(f"d{number}", text, refresh_mode=RefreshMode.INCREMENTAL)
    assert_follow_the_queries(account, PASSED, Action.INCREMENTAL)


def test_what_only_spark_evaluates_is_incremental_on_delta_too(on_delta: Account) -> None:
    for number, text in enumerate(ON_DELTA):
        on_delta.create_dynamic_table(f"d{number}", text, refresh_mode=RefreshMode.INCREMENTAL)
    assert_follow_the_queries(on_delta, ON_DELTA, Action.INCREMENTAL)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT k FROM r WHERE at > 'now'",
        "SELECT k, date_trunc('month', 'now') AS m FROM r",
        "SELECT k, to_timestamp('now') AS m FROM r",
        "SELECT k, CAST(concat('to', 'day') AS DATE) AS d FROM r",
        "SELECT k, datediff(to_date('today'), at) AS d FROM r",
        "SELECT k, aes_encrypt(b, '0000111122223333') AS y FROM r",
    ],
)
def test_what_moves_with_the_time_is_refused(account: Account, text: str) -> None:
    with pytest.raises(DefinitionError, match=r"does not depend on the data alone|'now' is no TIMESTAMP"):
        account.create_dynamic_table("d", text)


def assert_equals_the_query(account: Account, name: str, text: str) -> None:
    """Compares a table with its query over the view `r`."""
    held = account.read(name)
    found, expected = held.collect(), held.sparkSession.sql(text).collect()
    assert Counter(map(repr, map(tuple, found))) == Counter(map(repr, map(tuple, expected))), text


@pytest.mark.nightly
def test_what_only_spark_can_do_is_full(account: Account) -> None:
    for number, (text, reason) in enumerate(FULL.items()):
        table = account.create_dynamic_table(f"d{number}", text)
        assert not table.incremental
        assert reason in table.reason
        with pytest.raises(UnsupportedError, match="e cannot be INCREMENTAL"):
            account.create_dynamic_table("e", text, refresh_mode=RefreshMode.INCREMENTAL)
    assert_follow_the_queries(account, tuple(FULL), Action.FULL)


OVER_MAPS = (
    "SELECT k FROM m",
    "SELECT k, v['a'] AS a, size(v) AS n FROM m WHERE v IS NOT NULL",
    "SELECT k % 2 AS odd, COUNT(*) AS n, SUM(v['a']) AS s FROM m GROUP BY k % 2",
    "SELECT m.k, n.k AS other FROM m LEFT JOIN m AS n ON m.v['a'] = n.k",
    "SELECT k, e.key, e.value FROM m LATERAL VIEW explode(v) e AS key, value",
    "SELECT DISTINCT v['a'] AS a FROM m",
    "SELECT k, v FROM m",
    # These show the order of the pairs.
    "SELECT k, map_keys(v) AS keys, to_json(v) AS j FROM m",
    "SELECT k, STRUCT(v) AS s, MAP(k, v['a']) AS m FROM m",
    "SELECT m.k, n.v FROM m LEFT JOIN m AS n ON m.k = n.k + 1",
    "SELECT k, MAP(k, MAP('x', v['a'])) AS deep, ARRAY(v, v) AS list FROM m",
    "SELECT k, v FROM m UNION ALL SELECT k + 1, v FROM m WHERE v['a'] IS NOT NULL",
)
MAPS_ON_DELTA = [text for text in OVER_MAPS if text == "SELECT k, v FROM m" or "GROUP BY" in text]
AGAIN = "UPDATE m SET v = MAP('a', NULL, 'b', 2) WHERE size(v) = 2 AND k = 2"


def in_order(value: object) -> str:
    """Returns the text of a value; the pairs of maps have no order."""
    if isinstance(value, dict):
        return str(sorted(map(in_order, value.items())))
    return str(list(map(in_order, value))) if isinstance(value, tuple) else repr(value)


@pytest.mark.nightly
def test_maps_are_compared_by_their_pairs(account: Account) -> None:
    assert_maps_are_maintained(account, OVER_MAPS)


@pytest.mark.nightly
def test_maps_are_compared_by_their_pairs_on_delta_too(on_delta: Account) -> None:
    assert_maps_are_maintained(on_delta, MAPS_ON_DELTA)


def assert_maps_are_maintained(account: Account, texts: Sequence[str]) -> None:
    spark = account.read("r").sparkSession
    account.create_base_table("m", {"k": "INT", "v": "MAP<STRING, INT>"})
    account.execute("INSERT INTO m VALUES (1, MAP('a', 1)), (2, MAP('b', 2, 'a', NULL)), (3, NULL)")
    for number, text in enumerate(texts):
        account.create_dynamic_table(f"m{number}", text, refresh_mode=RefreshMode.INCREMENTAL)
    rounds = (
        (
            "UPDATE m SET v = MAP('a', 2) WHERE k = 1",
            "INSERT INTO m VALUES (4, MAP('a', 4)), (2, MAP('b', 2))",
        ),
        # The pairs come in another order.
        ("UPDATE m SET v = MAP('a', 2, 'c', 1) WHERE k = 1", "DELETE FROM m WHERE k = 3", AGAIN),
    )
    for statements in rounds:
        account.execute(*statements)
        view_rows(account, "m")
        for number, text in enumerate(texts):
            assert account.refresh(f"m{number}")[0].action is Action.INCREMENTAL
            found = Counter(map(in_order, account.read(f"m{number}").collect()))
            assert found == Counter(map(in_order, spark.sql(text).collect())), (statements, text)
    account.execute(AGAIN)
    for number in range(len(texts)):
        changes = account.refresh(f"m{number}")[0].change_set
        assert changes is not None
        assert not changes.rows()


def test_maps_that_are_keys_or_hold_nested_values_are_full(account: Account) -> None:
    account.create_base_table("m", {"k": "INT", "v": "MAP<STRING, INT>", "w": "MAP<STRING, ARRAY<INT>>"})
    account.create_base_table("n", {"k": "INT", "v": "MAP<STRING, INT>"})
    reasons = {
        "SELECT COUNT(*) AS n FROM n GROUP BY v": "no row id can hold it",
        "SELECT COUNT(DISTINCT v) AS n FROM n": "Spark does not compare maps",
        # The values of one of its maps are arrays.
        "SELECT k FROM m": "Spark does not compare maps",
    }
    for number, (text, reason) in enumerate(reasons.items()):
        table = account.create_dynamic_table(f"d{number}", text)
        assert (table.incremental, reason in table.reason) == (False, True), table.reason


def test_a_text_that_the_engine_misreads_is_left_to_spark(
    on_delta: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How a difference is seen: tests/truth/test_reading_against_spark.py."""
    account = on_delta
    with monkeypatch.context() as patched:
        patched.setattr("dynamic_tables.store.delta.misread", lambda *_: "it is another one")
        table = account.create_dynamic_table("read_by_spark", "SELECT k FROM r")
        with pytest.raises(UnsupportedError, match="does not read as Spark does: it is another one"):
            account.create_dynamic_table("e", "SELECT k FROM r", refresh_mode=RefreshMode.INCREMENTAL)
    assert (table.incremental, table.reason.endswith("it is another one")) == (False, True)
    assert account.create_dynamic_table("read", "SELECT k FROM r").incremental
    assert rows(account, "read_by_spark") == rows(account, "read")


def test_functions_that_are_none_of_sparks_own_are_refused(on_delta: Account, spark: SparkSession) -> None:
    spark.sql("CREATE FUNCTION brought AS 'org.apache.hadoop.hive.ql.udf.generic.GenericUDFAbs'")
    try:
        with pytest.raises(DefinitionError, match="Cannot resolve routine `brought`"):
            on_delta.create_dynamic_table("refused", "SELECT brought(k) AS y FROM r")
    finally:
        spark.sql("DROP FUNCTION brought")
    with pytest.raises(DefinitionError, match=r"Spark refuses the query.*frob"):
        on_delta.create_dynamic_table("refused", "SELECT frob(k) AS y FROM r")
    assert "refused" not in on_delta.store.definitions()
