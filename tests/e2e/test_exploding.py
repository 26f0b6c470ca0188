"""explode, inline and LATERAL joins: refreshed from the changes, and equal to the query.

All in memory, where Spark runs the same plans and texts as on Delta; a sample on Delta.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from dynamic_tables.account import Account
from dynamic_tables.definition import RefreshMode
from dynamic_tables.errors import DefinitionError
from dynamic_tables.schedule.clock import WallClock
from dynamic_tables.store.port import Action
from tests.views import view_rows
from tests.written_in_memory import written_in_memory

pytestmark = [pytest.mark.nightly, pytest.mark.spark]

INCREMENTAL = (
    "SELECT k, e FROM r LATERAL VIEW OUTER explode(x) v e",
    "SELECT k, v.*, f FROM r LATERAL VIEW posexplode(x) v LATERAL VIEW OUTER explode(array(col, k)) w AS f",
    "SELECT k, p, q FROM r LATERAL VIEW OUTER inline(z) v",
    "SELECT k, posexplode_outer(w) AS (p, e) FROM r WHERE k <> 4",
    "SELECT k, explode(split(b, ',')) AS e, explode(sequence(1, k)) AS n FROM r WHERE k > 0",
    "SELECT k, explode(map(k, b, 0, 'zero')) FROM r WHERE k > 0",
    "SELECT e, COUNT(*) AS n FROM r LATERAL VIEW explode(x) v AS e GROUP BY e",
    "SELECT r.k, e, s.c FROM r LEFT JOIN LATERAL explode(x) AS v(e) ON TRUE LEFT JOIN s ON s.k = v.e",
    "SELECT r.k, q.* FROM r, LATERAL (SELECT c, c + r.k AS d FROM s WHERE s.k = r.k) AS q",
    "SELECT r.k, q.c FROM r LEFT JOIN LATERAL (SELECT c FROM s WHERE s.k = r.k) AS q ON q.c > 10",
    "SELECT r.k, q.c FROM r, LATERAL (SELECT DISTINCT c FROM s WHERE s.k = r.k) AS q",
    "SELECT r.k, q.c FROM r LEFT JOIN LATERAL (SELECT c FROM s WHERE s.k <= r.k ORDER BY c DESC LIMIT 2) q",
    "SELECT r.k, q.m, q.n FROM r, LATERAL (SELECT MAX(c) AS m, COUNT(*) AS n FROM s WHERE s.k = r.k) AS q",
)

FULL = {
    "SELECT k, explode(x) AS e, e + 1 AS f FROM r": "unknown column e",
    "SELECT explode(array(MAX(k))) AS e FROM r": "explode beside groups or windows",
    "SELECT r.k, q.n FROM r, LATERAL (SELECT COUNT(*) AS n FROM s WHERE s.k = r.k HAVING n > 1) AS q": (
        "an aggregate without GROUP BY inside LATERAL"
    ),
    "SELECT k, e FROM r LEFT JOIN LATERAL explode(x) v(e) ON e > 1": "LEFT JOIN LATERAL with a condition",
    "SELECT k, n FROM r LATERAL VIEW stack(2, k, 7) v AS n": "function stack",
}


@pytest.fixture
def account(spark: SparkSession) -> Iterator[Account]:
    with written_in_memory(spark) as account:
        yield with_rows(account)


def with_rows(account: Account) -> Account:
    nested = {"x": "ARRAY<INT>", "w": "ARRAY<STRING>", "z": "ARRAY<STRUCT<p: INT, q: STRING>>"}
    account.create_base_table("r", {"k": "INT", "b": "STRING", **nested})
    account.create_base_table("s", {"k": "INT", "c": "INT"})
    account.execute(
        """
        INSERT INTO r VALUES
        (1, 'a,b', ARRAY(1, 2), ARRAY('x', 'x'), ARRAY(STRUCT(1, 'p'), NULL)),
        (2, '', ARRAY(), ARRAY(NULL), ARRAY()), (3, NULL, NULL, NULL, NULL),
        (4, 'c', ARRAY(4, 4), ARRAY(), NULL)
        """,
        "INSERT INTO s VALUES (1, 10), (1, 20), (2, 30)",
    )
    return account


CHANGES = (
    "UPDATE r SET x = ARRAY(1, 9, 2), w = ARRAY('x'), b = 'a,,b' WHERE k = 1",
    "UPDATE r SET x = ARRAY(7), z = ARRAY(named_struct('p', 2, 'q', 'q')) WHERE k = 2",
    "UPDATE r SET x = ARRAY() WHERE k = 4",
    "DELETE FROM r WHERE k = 3",
    "INSERT INTO r VALUES (5, 'e', ARRAY(NULL, 5), ARRAY('y'), ARRAY())",
    "UPDATE s SET c = c + 5 WHERE c < 20",
    "INSERT INTO s VALUES (5, 1), (9, 2)",
)
"""Elements come in the middle, go, and are all gone; equal elements; rows that come and go."""


def change(account: Account) -> None:
    """Changes the rows of both tables, and views them."""
    account.execute(*CHANGES)
    view_rows(account, "r", "s")


def assert_equals_the_query(account: Account, name: str, text: str) -> None:
    """Compares a table with its query over the views `r` and `s`."""
    held = account.read(name)
    found, expected = held.collect(), held.sparkSession.sql(text).collect()
    assert Counter(map(repr, map(tuple, found))) == Counter(map(repr, map(tuple, expected))), text
    assert found


@pytest.mark.nightly
def test_elements_are_maintained_from_the_changes(account: Account) -> None:
    for number, text in enumerate(INCREMENTAL):
        account.create_dynamic_table(f"d{number}", text, refresh_mode=RefreshMode.INCREMENTAL)
    change(account)
    for number, text in enumerate(INCREMENTAL):
        assert account.refresh(f"d{number}")[0].action is Action.INCREMENTAL
        assert_equals_the_query(account, f"d{number}", text)


@pytest.mark.nightly
def test_what_cannot_be_maintained_is_full_with_the_reason(account: Account) -> None:
    for number, (text, reason) in enumerate(FULL.items()):
        table = account.create_dynamic_table(f"d{number}", text)
        assert not table.incremental
        assert reason in table.reason
    change(account)
    for number, text in enumerate(FULL):
        assert account.refresh(f"d{number}")[0].action is Action.FULL
        assert_equals_the_query(account, f"d{number}", text)


def test_explode_of_a_number_is_refused_as_spark_does(account: Account) -> None:
    with pytest.raises(DefinitionError, match=r"explode\(k\): k is of type INT; it must be") as caught:
        account.create_dynamic_table("d", "SELECT k, explode(k) AS e FROM r")
    assert "\n" not in str(caught.value)


def test_a_sample_is_maintained_on_delta_too(tmp_path: Path, spark: SparkSession) -> None:
    account = with_rows(Account.open(str(tmp_path / "account"), spark, WallClock()))
    sample = [text for text in INCREMENTAL if "OUTER explode(x) v e" in text or "DISTINCT c" in text]
    in_full = next(text for text in FULL if "stack" in text)
    for number, text in enumerate((*sample, in_full)):
        account.create_dynamic_table(f"d{number}", text)
    change(account)
    for number, text in enumerate((*sample, in_full)):
        action = account.refresh(f"d{number}")[0].action
        assert action is (Action.FULL if text == in_full else Action.INCREMENTAL)
        assert_equals_the_query(account, f"d{number}", text)
    account.store.close()  # type: ignore[attr-defined]
