"""DML as functions from contents to contents: what each statement does, alone and in a history."""

from __future__ import annotations

import duckdb
import pytest

from oracle.bag import Bag
from oracle.base_tables import BATCH
from oracle.delayed_view import DelayedView
from oracle.duck import open_duckdb, run
from oracle.errors import OracleQueryError
from tests.unit.oracle.words import (
    call,
    col,
    delete,
    holds,
    insert,
    merge,
    overwrite,
    plus,
    replace,
    rows,
    scenario,
    table,
    update,
)
from workload.dml import Assignment, Dml, Optimize, Restore, Truncate, Update
from workload.query import Literal
from workload.types import BOOLEAN, INT, STRING

STOCK = table("stock: id INT, item STRING, n INT")
N, ID, ITEM = col(STOCK, "n"), col(STOCK, "id"), col(STOCK, "item")
BEFORE = "1 nail 5; 2 bolt NULL; NULL nut 7"
FEW = holds("lt", N, 6)
UNKNOWN = Literal(None, BOOLEAN)


def after(database: duckdb.DuckDBPyConnection, *statements: Dml, before: str = BEFORE) -> Bag:
    """The contents after one commit of the statements."""
    case = scenario((STOCK,), commits={1: (insert(STOCK, before),), 2: statements})
    with DelayedView(case, database) as view:
        return bag(view.source_rows("stock", 2))


def bag(contents: tuple[tuple[object, ...], ...]) -> Bag:
    return Bag.of(contents, [column.type for column in STOCK.columns])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        pytest.param(insert(STOCK, "1 nail 5; 4 pin 0"), f"{BEFORE}; 1 nail 5; 4 pin 0", id="insert"),
        pytest.param(insert(STOCK, ""), BEFORE, id="insert nothing"),
        pytest.param(
            update(STOCK, "n", plus(N, 1)), "1 nail 6; 2 bolt NULL; NULL nut 8", id="update every row"
        ),
        pytest.param(
            update(STOCK, "n", plus(N, 1), FEW), "1 nail 6; 2 bolt NULL; NULL nut 7", id="NULL is not true"
        ),
        pytest.param(update(STOCK, "n", plus(N, 1), UNKNOWN), BEFORE, id="update where NULL"),
        pytest.param(
            Update("stock", (Assignment("id", N), Assignment("n", ID)), FEW),
            "5 nail 1; 2 bolt NULL; NULL nut 7",
            id="assignments read the old row",
        ),
        pytest.param(delete(STOCK, FEW), "2 bolt NULL; NULL nut 7", id="delete"),
        pytest.param(delete(STOCK, UNKNOWN), BEFORE, id="delete where NULL"),
        pytest.param(delete(STOCK), "", id="delete every row"),
        pytest.param(Truncate("stock"), "", id="truncate"),
        pytest.param(overwrite(STOCK, "9 cog 9"), "9 cog 9", id="overwrite"),
        pytest.param(overwrite(STOCK, ""), "", id="overwrite with nothing"),
        pytest.param(replace(STOCK, "9 cog 9; 9 cog 9"), "9 cog 9; 9 cog 9", id="replace"),
        pytest.param(Optimize("stock"), BEFORE, id="optimize"),
        pytest.param(
            merge(STOCK, "id", "1 nail 6; 4 pin 0"),
            "1 nail 6; 2 bolt NULL; NULL nut 7; 4 pin 0",
            id="merge updates and inserts",
        ),
        pytest.param(
            merge(STOCK, "id", "NULL nut 8"), "1 nail 5; 2 bolt NULL; NULL nut 8", id="a NULL key matches"
        ),
        pytest.param(
            merge(STOCK, "id", "1 nail 6; 4 pin 0", inserts=False),
            "1 nail 6; 2 bolt NULL; NULL nut 7",
            id="merge without insert",
        ),
        pytest.param(
            merge(STOCK, "id", "1 nail 9; 2 bolt 9", FEW), "2 bolt 9; NULL nut 7", id="merge deletes"
        ),
        pytest.param(
            merge(STOCK, "id", "1 nail 9; 4 pin 1", FEW),
            "2 bolt NULL; NULL nut 7; 4 pin 1",
            id="delete_when does not apply to inserted rows",
        ),
        pytest.param(
            merge(STOCK, "id item", "1 nail 6; 2 nail 6"),
            "1 nail 6; 2 bolt NULL; NULL nut 7; 2 nail 6",
            id="merge on two keys",
        ),
        pytest.param(merge(STOCK, "id", ""), BEFORE, id="merge of nothing"),
    ],
)
def test_one_statement(database: duckdb.DuckDBPyConnection, statement: Dml, expected: str) -> None:
    assert after(database, statement) == bag(rows(STOCK, expected))


def test_merge_changes_every_row_that_has_the_key(database: duckdb.DuckDBPyConnection) -> None:
    contents = after(
        database, merge(STOCK, "item", "7 nail 0"), before="1 nail 5; 1 nail 5; 2 nail 1; 3 nut 1"
    )
    assert contents == bag(rows(STOCK, "7 nail 0; 7 nail 0; 7 nail 0; 3 nut 1"))


def test_statements_of_a_commit_see_those_before_them(database: duckdb.DuckDBPyConnection) -> None:
    contents = after(
        database,
        update(STOCK, "n", plus(N, 10), holds("eq", ID, 1)),
        insert(STOCK, "3 cog 1"),
        delete(STOCK, FEW),
        merge(STOCK, "id", "1 nail 0; 3 cog 2"),
        Optimize("stock"),
        insert(STOCK, "3 cog 2"),
    )
    assert contents == bag(rows(STOCK, "1 nail 0; 2 bolt NULL; NULL nut 7; 3 cog 2; 3 cog 2"))


def test_a_value_that_is_not_set_is_not_computed(database: duckdb.DuckDBPyConnection) -> None:
    doubled = call("add", INT, N, N)
    near_the_bound = "1 nail 2147483647; 2 bolt 4"
    assert after(database, update(STOCK, "n", doubled, FEW), before=near_the_bound) == bag(
        rows(STOCK, "1 nail 2147483647; 2 bolt 8")
    )
    with pytest.raises(OracleQueryError, match=r"commit at 2, table stock: .*Overflow"):
        after(database, update(STOCK, "n", doubled), before=near_the_bound)


def test_restore_brings_back_an_earlier_commit_also_past_a_replacement(
    database: duckdb.DuckDBPyConnection,
) -> None:
    case = scenario(
        (STOCK,),
        commits={
            10: (insert(STOCK, "1 nail 5"),),
            20: (update(STOCK, "item", Literal("screw", STRING)),),
            30: (replace(STOCK, "9 cog 9"),),
            40: (Restore("stock", 20),),
            50: (insert(STOCK, "2 bolt 1"), Restore("stock", 10), insert(STOCK, "3 pin 1")),
        },
    )
    with DelayedView(case, database) as view:
        assert view.source_rows("stock", 40) == rows(STOCK, "1 screw 5")
        assert bag(view.source_rows("stock", 50)) == bag(rows(STOCK, "1 nail 5; 3 pin 1"))


def test_restore_to_a_commit_before_the_table_had_rows_empties_it(
    database: duckdb.DuckDBPyConnection,
) -> None:
    other = table("other: id INT")
    commits: dict[int, tuple[Dml, ...]] = {
        10: (insert(other, "1"),),
        20: (insert(STOCK, "1 nail 5"),),
        30: (Restore("stock", 10),),
    }
    with DelayedView(scenario((STOCK, other), commits=commits), database) as view:
        assert view.source_rows("stock", 20) == rows(STOCK, "1 nail 5")
        assert view.source_rows("stock", 30) == ()


def test_a_history_longer_than_one_batch_of_commits(database: duckdb.DuckDBPyConnection) -> None:
    last = 2 * BATCH + 5
    commits: dict[int, tuple[Dml, ...]] = {at: (insert(STOCK, f"{at} nail 1"),) for at in range(last)}
    commits[last] = (Restore("stock", 3), update(STOCK, "n", plus(N, 1)))
    commits[last + 1] = (Restore("stock", BATCH),)
    with DelayedView(scenario((STOCK,), commits=commits), database) as view:
        counts = [len(view.source_rows("stock", at)) for at in range(-1, last + 2)]
        assert counts == [*range(last + 1), 4, BATCH + 1]
        assert view.source_rows("stock", last + 1) is view.source_rows("stock", BATCH)
        assert view.source_rows("stock", last)[0] == (0, "nail", 2)


def test_a_failing_statement_is_named_and_leaves_nothing_behind() -> None:
    commits: dict[int, tuple[Dml, ...]] = {at: (insert(STOCK, f"{at} nail {at}"),) for at in range(9)}
    commits[9] = (update(STOCK, "n", plus(N, 2**31 - 8)),)
    commits[10] = (insert(STOCK, "1 nail 1"),)
    with open_duckdb() as connection:
        with pytest.raises(OracleQueryError, match=r"^commit at 9, table stock: .*Overflow"):
            DelayedView(scenario((STOCK,), commits=commits), connection)
        assert run(connection, "SELECT table_name FROM duckdb_tables()").rows == ()
