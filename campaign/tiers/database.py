"""One DuckDB per process, with a database in it for each scenario."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count

import duckdb

CONFIGURATION: dict[str, str | bool | int | float | list[str]] = {
    "default_null_order": "nulls_first_on_asc_last_on_desc",
    "ieee_floating_point_ops": False,
    "threads": 1,
    "memory_limit": "1GB",
}
"""NULL order and division by zero as in Spark."""

NUMBERS = count()


@cache
def instance() -> duckdb.DuckDBPyConnection:
    """The DuckDB of this process: opening one takes as long as a scenario's refreshes.

    Nothing outside the process can be read. DuckDB 2.0.0's statistics propagation gives wrong sums over
    outer joins (and no optimizer is of use on a dozen rows): a wrong judge would look like a wrong engine.
    """
    opened = duckdb.connect(":memory:", config=CONFIGURATION)
    optimizers = opened.execute("SELECT name FROM duckdb_optimizers()").fetchall()
    opened.execute(f"SET GLOBAL disabled_optimizers = '{','.join(name for (name,) in optimizers)}'")
    opened.execute("SET enable_external_access = false")
    opened.execute("SET lock_configuration = true")
    return opened


@contextmanager
def own_database() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to an empty database of its own, which is gone afterwards."""
    name = f"scenario_{next(NUMBERS)}"
    connection = instance().cursor()
    try:
        connection.execute(f"ATTACH ':memory:' AS {name}")
        connection.execute(f"USE {name}")
        yield connection
    finally:
        connection.close()
        instance().execute(f"DETACH DATABASE IF EXISTS {name}")
