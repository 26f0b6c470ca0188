"""One DuckDB for each process, with a database in it for each scenario (tiers `rules` and `spark`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import count
from threading import Lock
from typing import Any

import duckdb

from workload.types import of_map

MEMORY = "1GB"
"""The memory that a scenario may take; one that takes more is stopped before it stops the machine."""

CONFIGURATION: dict[str, str | bool | int | float | list[str]] = {
    "default_null_order": "nulls_first_on_asc_last_on_desc",
    "ieee_floating_point_ops": False,
    "threads": 1,
    "max_expression_depth": 4000,
}
"""NULL order and division by zero as in Spark; one thread, because workers are processes. The plan of the
changes of ten blocks, one over the other, is deeper than the 1,000 operators that DuckDB allows at first."""

NUMBERS = count()
"""Numbers the databases of this process."""

USED_BY_ONE = Lock()
"""Held by the thread that uses the connection of `instance`, because DuckDB refuses a second one."""


Connection = duckdb.DuckDBPyConnection
"""A connection to DuckDB, for callers that need not import DuckDB themselves."""


@cache
def instance(memory: str = MEMORY) -> duckdb.DuckDBPyConnection:
    """Returns the DuckDB of this process with a limit of memory, opened once: that takes some time.

    It cannot read files. All optimizers are off: the statistics propagation of DuckDB 2.0.0 gives wrong sums
    over outer joins, which would look like a bug of the engine, and none helps on a dozen rows.
    """
    opened = duckdb.connect(":memory:", config={**CONFIGURATION, "memory_limit": memory})
    optimizers = opened.execute("SELECT name FROM duckdb_optimizers()").fetchall()
    opened.execute(f"SET GLOBAL disabled_optimizers = '{','.join(name for (name,) in optimizers)}'")
    opened.execute("SET enable_external_access = false")
    opened.execute("SET lock_configuration = true")
    return opened


@contextmanager
def own_database(memory: str = MEMORY) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yields a connection to an empty database, which is dropped after the block. `memory`: its limit."""
    name = f"scenario_{next(NUMBERS)}"
    with USED_BY_ONE:
        connection = instance(memory).cursor()
    try:
        connection.execute(f"ATTACH ':memory:' AS {name}")
        connection.execute(f"USE {name}")
        yield connection
    finally:
        connection.close()
        with USED_BY_ONE:
            instance(memory).execute(f"DETACH DATABASE IF EXISTS {name}")


NESTED = {"list", "struct", "map"}
"""What DuckDB calls the types whose values are made of others."""


def fetched(cursor: duckdb.DuckDBPyConnection) -> Sequence[tuple[Any, ...]]:
    """Returns all rows of a result; values of nested types are tuples, as in the harness."""
    rows: Sequence[tuple[Any, ...]] = cursor.fetchall()
    types = [column[1] for column in cursor.description or ()]
    if not any(type_.id in NESTED for type_ in types):
        return rows
    return [tuple(map(_plain, row, types)) for row in rows]


def _plain(value: Any, type_: Any) -> Any:
    if value is None or type_.id not in NESTED:
        return value
    inside = [part for _, part in type_.children]
    match type_.id:
        case "list":
            return tuple(_plain(element, inside[0]) for element in value)
        case "struct":
            return tuple(map(_plain, value.values(), inside))
        case _:
            pairs = value.items()
            return of_map({_plain(key, inside[0]): _plain(each, inside[1]) for key, each in pairs})
