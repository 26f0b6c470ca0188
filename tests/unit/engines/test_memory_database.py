"""Databases of scenarios that threads of one process open at the same time, as the Spark tiers do."""

from concurrent.futures import ThreadPoolExecutor

from engines.memory.database import own_database


def opened_and_closed(number: int) -> int:
    with own_database() as connection:
        connection.execute("CREATE TABLE t (n INT)")
        connection.execute(f"INSERT INTO t VALUES ({number})")
        (row,) = connection.execute("SELECT n FROM t").fetchall()
    return int(row[0])


def test_threads_open_and_drop_their_databases_at_the_same_time() -> None:
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(opened_and_closed, range(300))) == list(range(300))
