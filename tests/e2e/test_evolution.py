"""What happens to dynamic tables on Delta when something above them changes (DVS paper, 3.4 and 5.4)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from dynamic_tables.account import Account
from dynamic_tables.errors import DefinitionError, RefreshFailed, SlowCapture
from dynamic_tables.schedule.clock import SimulatedClock
from dynamic_tables.store.delta import DeltaStore
from dynamic_tables.store.port import Action
from dynamic_tables.store.transactions.owner import dead_process
from tests.dying import Died, dies_after

pytestmark = [pytest.mark.nightly, pytest.mark.spark]

TOTALS = "SELECT city, SUM(amount) AS total FROM orders GROUP BY city"


class Shop:
    """An account with orders, a view over them, totals, and a table above totals; each step is a new time."""

    def __init__(self, path: Path, spark: SparkSession) -> None:
        self.path, self.spark, self.clock = path, spark, SimulatedClock(10)
        self.account = Account.open(str(path), spark, self.clock)

    def fill(self) -> None:
        """Creates the tables and the view."""
        account = self.account
        account.create_base_table("orders", {"id": "INT", "city": "STRING", "amount": "BIGINT"})
        account.execute("INSERT INTO orders VALUES (1, 'rome', 10), (2, 'oslo', 5)")
        account.create_view("big", "SELECT id, city FROM orders WHERE amount > 5")
        account.create_dynamic_table("totals", TOTALS)
        account.create_dynamic_table("more", "SELECT city, total + 1 AS more FROM totals")
        account.create_dynamic_table("bigs", "SELECT city, COUNT(*) AS n FROM big GROUP BY city")

    def later(self, *statements: str) -> None:
        """Moves time, and writes."""
        self.clock.set(self.clock.time + 10)
        if statements:
            self.account.execute(*statements)

    def refreshed(self, name: str) -> Action:
        """Refreshes a table to now, and returns the action of its refresh."""
        return self.account.refresh(name)[-1].action

    def refresh(self, name: str, *statements: str) -> Action:
        """Moves time, writes, refreshes a table and returns the action of its refresh."""
        self.later(*statements)
        return self.refreshed(name)

    def rows(self, name: str) -> set[tuple[object, ...]]:
        """Returns the rows of a table."""
        return {tuple(row) for row in self.account.read(name).collect()}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Path:
    """The folder of a shop, made once: to copy it is quick."""
    path = tmp_path_factory.mktemp("filled") / "account"
    made = Shop(path, spark)
    made.fill()
    assert isinstance(made.account.store, DeltaStore)
    made.account.store.close()
    return path


@pytest.fixture
def shop(tmp_path: Path, spark: SparkSession, filled: Path) -> Iterator[Shop]:
    shutil.copytree(filled, tmp_path / "account")
    made = Shop(tmp_path / "account", spark)
    yield made
    assert isinstance(made.account.store, DeltaStore)
    made.account.store.close()


def test_a_dropped_table_fails_what_reads_it_until_it_is_back(shop: Shop) -> None:
    with pytest.raises(DefinitionError, match="orders is read by big; drop that first"):
        shop.account.drop("orders")
    shop.account.drop("orders", even_if_read=True)
    with pytest.raises(DefinitionError, match="totals reads orders, which was dropped"):
        shop.refresh("totals")
    assert shop.rows("totals") == {("rome", 10), ("oslo", 5)}
    shop.account.undrop("orders")
    assert shop.refresh("more", "INSERT INTO orders VALUES (3, 'rome', 1)") is Action.INCREMENTAL
    assert shop.rows("more") == {("rome", 12), ("oslo", 6)}


def test_nothing_comes_back_that_was_not_dropped(shop: Shop) -> None:
    with pytest.raises(DefinitionError, match="no dropped table or view nothing; there are: none"):
        shop.account.undrop("nothing")
    with pytest.raises(DefinitionError, match="totals exists already"):
        shop.account.undrop("totals")


def test_a_renamed_table_is_missed_and_found_again(shop: Shop) -> None:
    shop.account.rename("orders", "purchases")
    with pytest.raises(DefinitionError, match="totals reads orders, which was dropped"):
        shop.refresh("totals")
    shop.clock.set(30)
    shop.account.execute("INSERT INTO purchases VALUES (3, 'rome', 1)")
    shop.account.rename("purchases", "orders")
    assert shop.refresh("totals") is Action.INCREMENTAL
    assert shop.rows("totals") == {("rome", 11), ("oslo", 5)}


def test_a_renamed_dynamic_table_keeps_its_contents_and_its_history(shop: Shop) -> None:
    shop.account.rename("totals", "sums")
    assert shop.refresh("sums", "INSERT INTO orders VALUES (3, 'rome', 1)") is Action.INCREMENTAL
    assert shop.rows("sums") == {("rome", 11), ("oslo", 5)}
    history = shop.account.refresh_history("sums").to_pylist()
    assert [row["refresh_action"] for row in history] == ["INITIALIZE", "INCREMENTAL"]
    assert all(row["refresh_end_time"] is not None for row in history)


def test_swapped_tables_are_read_anew(shop: Shop) -> None:
    shop.account.create_base_table("other", {"id": "INT", "city": "STRING", "amount": "BIGINT"})
    shop.clock.set(20)
    shop.account.execute("INSERT INTO other VALUES (7, 'bonn', 70)")
    shop.account.swap("orders", "other")
    assert shop.refresh("totals") is Action.REINITIALIZE
    assert shop.rows("totals") == {("bonn", 70)}
    shop.account.swap("orders", "other")
    assert shop.refresh("totals") is Action.REINITIALIZE
    assert shop.rows("totals") == {("rome", 10), ("oslo", 5)}


@pytest.mark.parametrize("steps", [3, 4])
def test_a_swap_is_finished_after_its_process_has_died(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    shop.account.create_base_table("other", {"id": "INT", "city": "STRING", "amount": "BIGINT"})
    shop.account.create_dynamic_table("doubled", "SELECT city, 2 AS total FROM orders")
    shop.account.suspend("totals")
    dying = replace(shop.account, process=dead_process())
    for pair in (("orders", "other"), ("totals", "doubled")):
        with monkeypatch.context() as patch:
            # After two or three of the three renames.
            dies_after(steps, patch, shop.account.store)
            with pytest.raises(Died):
                dying.swap(*pair)
        shop.account = Account.open(str(shop.path), shop.spark, shop.clock)
        assert {row["name"] for row in shop.account.dynamic_tables().to_pylist()} >= {"totals", "doubled"}
    assert shop.rows("orders") == set()
    assert len(shop.rows("other")) == 2
    assert shop.account.dynamic_table("doubled").text == TOTALS
    (state,) = (row for row in shop.account.dynamic_tables().to_pylist() if row["name"] == "doubled")
    assert state["scheduling_state"] == "SUSPENDED"
    assert shop.refresh("more") is Action.REINITIALIZE


def test_a_replaced_definition_has_new_contents_and_columns(shop: Shop) -> None:
    shop.clock.set(20)
    shop.account.create_dynamic_table(
        "totals",
        "SELECT city, SUM(amount) AS total, COUNT(*) AS n FROM orders GROUP BY city",
        or_replace=True,
    )
    assert shop.rows("totals") == {("rome", 10, 1), ("oslo", 5, 1)}
    assert shop.account.describe("totals").refreshes[-1].action is Action.REINITIALIZE
    assert shop.refresh("more", "INSERT INTO orders VALUES (3, 'rome', 1)") is not Action.NO_DATA
    assert shop.rows("more") == {("rome", 12), ("oslo", 6)}


def test_a_replacement_that_fails_changes_nothing(shop: Shop) -> None:
    shop.clock.set(20)
    with pytest.raises(RefreshFailed, match="DIVIDE_BY_ZERO"):
        shop.account.create_dynamic_table("totals", "SELECT id / 0 AS x FROM orders", or_replace=True)
    assert shop.account.dynamic_table("totals").text == TOTALS
    assert shop.refresh("totals", "INSERT INTO orders VALUES (3, 'rome', 1)") is Action.INCREMENTAL
    assert shop.rows("totals") == {("rome", 11), ("oslo", 5)}


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("SELECT total FROM totals", "totals reads totals"),
        ("SELECT more AS total FROM more", "totals reads more reads totals"),
    ],
)
def test_a_definition_that_would_read_itself_is_refused(shop: Shop, text: str, way: str) -> None:
    with pytest.raises(DefinitionError, match=f"totals would read itself: {way}"):
        shop.account.create_dynamic_table("totals", text, or_replace=True)
    with pytest.raises(DefinitionError, match="big would read itself: big reads bigs reads big"):
        shop.account.create_view("big", "SELECT city FROM bigs", or_replace=True)


def test_a_replaced_view_is_read_by_the_next_refresh(shop: Shop) -> None:
    shop.account.create_view("big", "SELECT id, city FROM orders WHERE amount > 1", or_replace=True)
    assert shop.refresh("bigs") is Action.REINITIALIZE
    assert shop.rows("bigs") == {("rome", 1), ("oslo", 1)}
    shop.account.create_view("big", "SELECT total AS id, city FROM totals", or_replace=True)
    assert shop.refresh("bigs", "INSERT INTO orders VALUES (3, 'bonn', 1)") is Action.REINITIALIZE
    assert shop.rows("bigs") == {("rome", 1), ("oslo", 1), ("bonn", 1)}
    assert shop.refresh("bigs", "INSERT INTO orders VALUES (4, 'kiel', 1)") is Action.INCREMENTAL


ALTERED = {
    "an added column that nobody reads": ("ADD COLUMNS (note STRING)", Action.INCREMENTAL),
    "columns in another order": ("ALTER COLUMN amount FIRST", Action.INCREMENTAL),
}


@pytest.mark.parametrize("change", ALTERED)
def test_what_nobody_reads_may_change(shop: Shop, change: str) -> None:
    alter, action = ALTERED[change]
    shop.spark.sql(f"ALTER TABLE delta.`{shop.path}/orders` {alter}")
    assert shop.refresh("totals", "INSERT INTO orders (id, city, amount) VALUES (3, 'rome', 1)") is action
    assert shop.rows("totals") == {("rome", 11), ("oslo", 5)}


TAKEN_OVER = {
    "an_output_that_a_later_item_names": "SELECT id, amount * 2 AS extra, extra + 1 AS more FROM orders",
    "a_column_of_the_query_outside": "SELECT city FROM (SELECT city, more AS extra FROM more) AS m "
    "WHERE EXISTS (SELECT 1 FROM orders WHERE orders.city = m.city AND extra > 1)",
}


def test_an_added_column_takes_over_a_name_of_the_query(shop: Shop) -> None:
    """All rows are read anew: those that nobody wrote mean something else too."""
    for name, text in TAKEN_OVER.items():
        shop.account.create_dynamic_table(name, text, refresh_mode="INCREMENTAL")
    before = {name: shop.rows(name) for name in TAKEN_OVER}
    shop.spark.sql(f"ALTER TABLE delta.`{shop.path}/orders` ADD COLUMNS (extra BIGINT)")
    shop.later("INSERT INTO orders VALUES (3, 'rome', 1, 7)")
    assert {name: shop.refreshed(name) for name in TAKEN_OVER} == dict.fromkeys(
        TAKEN_OVER, Action.REINITIALIZE
    )
    for relation in ("orders", "more"):
        shop.account.read(relation).createOrReplaceTempView(relation)
    for name, text in TAKEN_OVER.items():
        assert shop.rows(name) == {tuple(row) for row in shop.spark.sql(text).collect()} != before[name]
    shop.later("INSERT INTO orders VALUES (4, 'kiel', 1, 7)")
    assert {name: shop.refreshed(name) for name in TAKEN_OVER} == dict.fromkeys(
        TAKEN_OVER, Action.INCREMENTAL
    )


BY_ALL_COLUMNS: dict[str, dict[str, set[tuple[object, ...]]]] = {
    # The join gets another key.
    "ADD COLUMNS (amount BIGINT)": {"SELECT city FROM orders NATURAL JOIN lists": set()},
    "DROP COLUMN kind": {
        # PIVOT groups by all columns that it does not name.
        "SELECT x FROM (SELECT * FROM lists) PIVOT (COUNT(*) FOR city IN ('rome' AS x))": {(2,)},
        # Rows that differed in this column alone are equal now.
        "SELECT COUNT(*) AS n FROM (SELECT DISTINCT * FROM lists) AS q": {(1,)},
    },
}


@pytest.mark.parametrize("change", BY_ALL_COLUMNS)
def test_columns_that_nobody_names_decide_about_rows(shop: Shop, change: str) -> None:
    texts = BY_ALL_COLUMNS[change]
    shop.clock.set(20)
    shop.account.create_base_table("lists", {"city": "STRING", "kind": "INT"})
    shop.account.execute("INSERT INTO lists VALUES ('rome', 1), ('rome', 2)")
    place = f"delta.`{shop.path}/lists`"
    shop.spark.sql(f"ALTER TABLE {place} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    for number, (text, due) in enumerate(texts.items()):
        shop.account.create_dynamic_table(f"d{number}", text, refresh_mode="INCREMENTAL")
        assert shop.rows(f"d{number}") != due
    shop.spark.sql(f"ALTER TABLE {place} {change}")
    shop.later()
    for relation in ("orders", "lists"):
        shop.account.read(relation).createOrReplaceTempView(relation)
    for number, (text, due) in enumerate(texts.items()):
        assert shop.refreshed(f"d{number}") is Action.REINITIALIZE
        assert shop.rows(f"d{number}") == {tuple(row) for row in shop.spark.sql(text).collect()} == due


OF_OTHER_VALUES = {
    "two columns that change names": ("RENAME COLUMN amount TO t", "RENAME COLUMN id TO amount"),
    "a column dropped and added again": ("DROP COLUMN amount", "ADD COLUMNS (amount BIGINT)"),
}


@pytest.mark.parametrize("name", OF_OTHER_VALUES)
def test_a_name_that_stands_for_other_values_is_read_anew(shop: Shop, name: str) -> None:
    """With column mapping no file is written: Delta's log alone shows what the name means."""
    text, place = "SELECT city, amount FROM orders", f"delta.`{shop.path}/orders`"
    shop.account.create_dynamic_table("d", text)
    shop.account.create_dynamic_table("cities", "SELECT city FROM orders")
    shop.spark.sql(f"ALTER TABLE {place} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    assert shop.refresh("d") is Action.NO_DATA
    for change in OF_OTHER_VALUES[name]:
        shop.spark.sql(f"ALTER TABLE {place} {change}")
    assert shop.refresh("d") is Action.REINITIALIZE
    shop.account.read("orders").createOrReplaceTempView("orders")
    assert shop.rows("d") == {tuple(row) for row in shop.spark.sql(text).collect()}
    assert shop.rows("d") != {("rome", 10), ("oslo", 5)}
    assert shop.refresh("cities") is Action.NO_DATA


OF_ANOTHER_TYPE = (
    "SELECT CAST(price AS STRING) AS p, COUNT(*) AS n FROM priced GROUP BY CAST(price AS STRING)",
    "SELECT id, hash(price) AS p FROM priced",
    "SELECT id, CAST(price AS STRING) AS p FROM copied",
)


def test_a_column_of_another_type_is_read_anew_though_the_outputs_have_theirs(shop: Shop) -> None:
    account = shop.account
    shop.clock.set(20)
    account.create_base_table("priced", {"id": "INT", "price": "DECIMAL(5,2)"})
    account.execute("INSERT INTO priced VALUES (1, 1.5)")
    account.create_dynamic_table("copied", "SELECT id, price FROM priced")
    for number, text in enumerate(OF_ANOTHER_TYPE):
        account.create_dynamic_table(f"shown{number}", text)
    place = f"delta.`{shop.path}/priced`"
    shop.spark.sql(f"ALTER TABLE {place} SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')")
    shop.spark.sql(f"ALTER TABLE {place} ALTER COLUMN price TYPE DECIMAL(10,4)")
    shop.later("INSERT INTO priced VALUES (3, 1.5)")
    done = [shop.refreshed(f"shown{number}") for number in range(len(OF_ANOTHER_TYPE))]
    assert done == [Action.REINITIALIZE] * len(OF_ANOTHER_TYPE)
    for name in ("priced", "copied"):
        shop.spark.read.format("delta").load(f"{shop.path}/{name}").createOrReplaceTempView(name)
    for number, text in enumerate(OF_ANOTHER_TYPE):
        assert shop.rows(f"shown{number}") == {tuple(row) for row in shop.spark.sql(text).collect()}


BLANKS = (
    "SELECT code FROM orders EXCEPT SELECT code FROM plain",
    "SELECT id FROM orders WHERE code IN (SELECT code FROM plain)",
    "SELECT id FROM orders WHERE code = 'ab'",
)


def test_blanks_of_an_added_char_column_count_where_they_do_in_spark(shop: Shop) -> None:
    shop.spark.sql(f"ALTER TABLE delta.`{shop.path}/orders` ADD COLUMNS (code CHAR(4))")
    shop.account.create_base_table("plain", {"code": "STRING"})
    shop.later("INSERT INTO plain VALUES ('ab'), ('cd  ')", "INSERT INTO orders VALUES (3, 'rome', 1, 'ab')")
    for number, text in enumerate(BLANKS):
        shop.account.create_dynamic_table(f"d{number}", text)
    shop.later("INSERT INTO orders VALUES (4, 'rome', 1, 'ab'), (5, 'rome', 1, 'cd')")
    for relation in ("orders", "plain"):
        shop.account.read(relation).createOrReplaceTempView(relation)
    for number, text in enumerate(BLANKS):
        shop.refreshed(f"d{number}")
        assert shop.rows(f"d{number}") == {tuple(row) for row in shop.spark.sql(text).collect()}


def test_select_star_gets_an_added_column(shop: Shop) -> None:
    shop.account.create_dynamic_table("copy", "SELECT * FROM orders")
    shop.spark.sql(f"ALTER TABLE delta.`{shop.path}/orders` ADD COLUMNS (note STRING)")
    assert shop.refresh("copy", "INSERT INTO orders VALUES (3, 'rome', 1, 'new')") is Action.REINITIALIZE
    assert shop.rows("copy") == {(1, "rome", 10, None), (2, "oslo", 5, None), (3, "rome", 1, "new")}


def test_columns_of_a_table_without_row_ids_are_read_anew(shop: Shop, tmp_path: Path) -> None:
    """The ids of its rows are made of all their values, so that each one changes with the columns."""
    place = f"delta.`{tmp_path}/plain`"
    shop.spark.sql(f"CREATE TABLE {place} (k INT, a INT, t STRING) USING delta")
    shop.spark.sql(f"INSERT INTO {place} VALUES (1, 2, 'x'), (2, 3, 'y')")
    with pytest.warns(SlowCapture):
        shop.account.attach("plain", f"{tmp_path}/plain")
    shop.clock.set(20)
    with pytest.warns(SlowCapture):
        shop.account.create_dynamic_table("some", "SELECT k, a FROM plain WHERE a > 1")
    for change in ("ALTER COLUMN t FIRST", "ADD COLUMNS (more INT)"):
        shop.spark.sql(f"ALTER TABLE {place} {change}")
        shop.spark.sql(f"UPDATE {place} SET t = 'z' WHERE k = 1")
        assert shop.refresh("some") is Action.REINITIALIZE
        shop.spark.sql(f"UPDATE {place} SET a = a + 1 WHERE k = 1")
        assert shop.refresh("some") is Action.INCREMENTAL
    assert shop.rows("some") == {(1, 4), (2, 3)}


def test_a_query_that_can_no_longer_be_maintained_is_evaluated_in_full(shop: Shop) -> None:
    query, table = "SELECT * FROM orders WHERE id > 0", f"delta.`{shop.path}/orders`"
    shop.account.create_dynamic_table("kinds", query)
    shop.account.create_dynamic_table("cities", "SELECT DISTINCT city FROM kinds")
    shop.account.create_dynamic_table("strict", query, refresh_mode="INCREMENTAL")
    shop.spark.sql(f"ALTER TABLE {table} ADD COLUMNS (tags ARRAY<MAP<STRING, INT>>)")
    # What changed in an array of maps cannot be told. The rows of `kinds` have no ids then, and get none.
    insert = "INSERT INTO orders VALUES (3, 'bonn', 1, ARRAY(MAP('new', 1)))"
    assert shop.refresh("cities", insert) is Action.FULL
    assert shop.account.describe("kinds").refreshes[-1].action is Action.FULL
    assert (
        "column tags of orders, of type array<map<string,int>>" in shop.account.dynamic_table("kinds").reason
    )
    assert (3, "bonn", 1, [{"new": 1}]) in [tuple(row) for row in shop.account.read("kinds").collect()]
    assert shop.refresh("cities", "UPDATE orders SET city = 'kiel' WHERE id = 3") is Action.FULL
    assert shop.rows("cities") == {("rome",), ("oslo",), ("kiel",)}
    with pytest.raises(
        DefinitionError, match="strict cannot be INCREMENTAL any more: unsupported: column tags"
    ):
        shop.refresh("strict")
    assert shop.rows("strict") == {(1, "rome", 10), (2, "oslo", 5)}


def test_a_dropped_column_fails_who_reads_it_until_it_is_back(shop: Shop) -> None:
    table = f"delta.`{shop.path}/orders`"
    shop.spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    shop.spark.sql(f"ALTER TABLE {table} RENAME COLUMN amount TO price")
    with pytest.raises((DefinitionError, RefreshFailed), match="amount"):
        shop.refresh("totals")
    assert shop.rows("totals") == {("rome", 10), ("oslo", 5)}
    shop.spark.sql(f"ALTER TABLE {table} RENAME COLUMN price TO amount")
    shop.refresh("totals", "INSERT INTO orders VALUES (3, 'rome', 1)")
    assert shop.rows("totals") == {("rome", 11), ("oslo", 5)}


def test_a_column_of_a_type_that_does_not_fit_fails_with_the_name_of_the_table(shop: Shop) -> None:
    table = f"delta.`{shop.path}/orders`"
    shop.spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    shop.spark.sql(f"ALTER TABLE {table} RENAME COLUMN amount TO price")
    shop.spark.sql(f"ALTER TABLE {table} ADD COLUMNS (amount BOOLEAN)")
    with pytest.raises(DefinitionError, match=r"totals cannot be refreshed: SUM is not defined"):
        shop.refresh("totals")


def test_a_clone_goes_on_by_itself(shop: Shop) -> None:
    clone = shop.account.clone("totals", "totals_test")
    assert clone.text == TOTALS
    assert shop.rows("totals_test") == {("rome", 10), ("oslo", 5)}
    assert shop.refresh("totals_test", "INSERT INTO orders VALUES (3, 'rome', 1)") is Action.INCREMENTAL
    assert shop.rows("totals_test") == {("rome", 11), ("oslo", 5)}
    assert shop.rows("totals") == {("rome", 10), ("oslo", 5)}


def test_a_clone_shares_the_files_of_its_original_and_outlives_it(shop: Shop) -> None:
    # One file with a deletion vector, and another one.
    shop.refresh("totals", "INSERT INTO orders VALUES (3, 'rome', 1)")
    before = {file.name: file.stat().st_ino for file in (shop.path / "totals").glob("*.parquet")}
    shop.spark.sql(f"VACUUM delta.`{shop.path}/totals`")
    shop.account.clone("totals", "totals_test")
    shared = {file.name: file.stat().st_ino for file in (shop.path / "totals_test").glob("*.parquet")}
    assert shared
    assert shared.items() <= before.items()
    shop.account.drop("more")
    shop.account.drop("totals")
    shutil.rmtree(shop.path / ".dropped")
    assert shop.rows("totals_test") == {("rome", 11), ("oslo", 5)}
    assert shop.refresh("totals_test", "DELETE FROM orders WHERE id = 2") is Action.INCREMENTAL
    assert shop.rows("totals_test") == {("rome", 11)}
    table = DeltaTable(str(shop.path / "totals_test"))
    assert table.version() == len(table.history()) - 1


def test_a_cloned_graph_reads_its_own_tables(shop: Shop) -> None:
    shop.account.clone_graph({"more": "more_test", "totals": "totals_test"})
    assert shop.account.dynamic_table("more_test").sources == ("totals_test",)
    assert shop.refresh("more_test", "INSERT INTO orders VALUES (3, 'rome', 1)") is Action.INCREMENTAL
    assert shop.rows("more_test") == {("rome", 12), ("oslo", 6)}
    assert shop.account.describe("totals").data_timestamp == 10


def test_a_creation_that_fails_leaves_what_was_dropped_before_it(shop: Shop) -> None:
    shop.account.drop("more")
    shop.clock.set(20)
    with pytest.raises(RefreshFailed):
        shop.account.create_dynamic_table("more", "SELECT id / 0 AS x FROM orders")
    shop.account.undrop("more")
    assert shop.rows("more") == {("rome", 11), ("oslo", 6)}


def test_a_clone_that_fails_leaves_nothing(shop: Shop) -> None:
    shop.account.create_dynamic_table("empty", TOTALS, initialize=False)
    with pytest.raises(DefinitionError, match="empty has no contents yet"):
        shop.account.clone_graph({"totals": "totals_test", "empty": "empty_test"})
    assert {"totals_test", "empty_test"}.isdisjoint(shop.account.store.definitions())
    with pytest.raises(DefinitionError, match="no dropped table or view empty_test"):
        shop.account.undrop("empty_test")


def test_a_table_that_is_always_written_in_full_is_cloned(shop: Shop) -> None:
    shop.account.create_dynamic_table("full", TOTALS, refresh_mode="FULL")
    shop.account.clone("full", "full_test")
    assert shop.refresh("full_test", "INSERT INTO orders VALUES (3, 'rome', 1)") is Action.FULL
    assert shop.rows("full_test") == {("rome", 11), ("oslo", 5)}


def test_an_attached_table_is_renamed_and_dropped_where_it_lies(shop: Shop, tmp_path: Path) -> None:
    shop.spark.sql(
        f"CREATE TABLE delta.`{tmp_path}/there` (k INT) USING delta "
        "TBLPROPERTIES ('delta.enableRowTracking' = 'true')"
    )
    shop.spark.sql(f"INSERT INTO delta.`{tmp_path}/there` VALUES (1)")
    shop.account.attach("there", f"{tmp_path}/there")
    shop.clock.set(20)
    shop.account.create_dynamic_table("copied", "SELECT k FROM there")
    shop.account.rename("there", "elsewhere")
    with pytest.raises(DefinitionError, match="copied reads there, which was dropped"):
        shop.refresh("copied")
    shop.account.rename("elsewhere", "there")
    shop.spark.sql(f"INSERT INTO delta.`{tmp_path}/there` VALUES (2)")
    assert shop.refresh("copied") is Action.INCREMENTAL
    shop.account.drop("there", even_if_read=True)
    shop.account.undrop("there")
    shop.spark.sql(f"INSERT INTO delta.`{tmp_path}/there` VALUES (3)")
    assert shop.refresh("copied") is Action.INCREMENTAL
    assert shop.rows("copied") == {(1,), (2,), (3,)}


def test_another_refresh_mode_for_the_same_query_writes_the_contents_anew(shop: Shop) -> None:
    """Found by a simulated account: rows without ids were taken for those of a maintained table."""
    account = shop.account

    def replaced(mode: str) -> None:
        shop.later()
        account.create_dynamic_table("totals", TOTALS, refresh_mode=mode, or_replace=True)

    replaced("FULL")
    assert shop.refresh("more") is Action.REINITIALIZE
    replaced("AUTO")
    assert shop.refresh("more", "INSERT INTO orders VALUES (3, 'rome', 7)") is Action.REINITIALIZE
    assert shop.refresh("totals", "DELETE FROM orders WHERE id = 1") is Action.INCREMENTAL
    assert shop.refreshed("more") is Action.INCREMENTAL
    assert shop.rows("totals") == {("rome", 7), ("oslo", 5)}
    assert shop.rows("more") == {("rome", 8), ("oslo", 6)}
