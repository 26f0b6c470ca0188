"""DuckDB, set up to answer as Spark does, and closed to everything outside itself."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass

import duckdb

from oracle.arrow import nested
from oracle.errors import OracleError, OracleQueryError, OracleTimeout
from workload.errors import first_line
from workload.schema import Column
from workload.sql import Dialect, type_name
from workload.types import NESTED, Kind, Row

SETTINGS: Mapping[str, str] = {
    # Results must not depend on scheduling.
    "threads": "1",
    # As in Spark: NULLS FIRST ascending, LAST descending; and x / 0.0 is an error, not infinity.
    "default_null_order": "nulls_first_on_asc_last_on_desc",
    "ieee_floating_point_ops": "false",
    # A scenario is data from elsewhere: no files, no network, no extensions; nor does a query that needs
    # too much memory spill to disk.
    "enable_external_access": "false",
    "temp_directory": "",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
"""The settings of every connection of the oracle.

The time zone is not among them: both types of timestamps in scenarios are DuckDB's TIMESTAMP, which depends
on none.
"""

NO_PROGRESS_BAR = "PRAGMA disable_progress_bar"
"""DuckDB would print one to stdout, where JSON may be expected, for each statement that takes two seconds."""


def open_duckdb(memory_limit: str = "1GB", time_zone: str = "") -> duckdb.DuckDBPyConnection:
    """Returns a new in-memory database with `SETTINGS`, which cannot be changed. Costs about 20 ms: reuse it.

    `memory_limit`: as DuckDB writes it, such as "1GB" or "80%". `time_zone`: for values that depend on one,
    which no value of a scenario does.

    The optimizer is off, since the oracle must be right: DuckDB 2.0.0 bounds the values of a SUM by an
    estimated row count and then groups by that SUM in a table too small for them, which gives wrong rows.
    Besides, small queries are a quarter faster without it, conditions run in the order they are written, and
    fewer code paths are shared with a tier that runs on DuckDB too.
    """
    settings: dict[str, str | bool | int | float | list[str]] = {**SETTINGS, "memory_limit": memory_limit}
    connection = duckdb.connect(":memory:", config=settings)
    zone = [f"SET TimeZone = '{time_zone}'"] if time_zone else []
    for statement in ("PRAGMA disable_optimizer", NO_PROGRESS_BAR, *zone, "SET lock_configuration = true"):
        connection.execute(statement).fetchall()
    return connection


_of_thread = threading.local()


def shared_duckdb() -> duckdb.DuckDBPyConnection:
    """Returns this thread's connection, opened once: that costs more than judging a small scenario."""
    connection: duckdb.DuckDBPyConnection | None = getattr(_of_thread, "connection", None)
    if connection is None:
        connection = _of_thread.connection = open_duckdb()
    return connection


@dataclass(frozen=True, slots=True)
class QueryResult:
    """A complete result: column names and DuckDB's type names, by position, and all rows."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[Row, ...]


def run(connection: duckdb.DuckDBPyConnection, sql: str, limit_s: float | None = None) -> QueryResult:
    """Runs one statement and returns its whole result.

    Raises OracleQueryError: the statement fails on its data; OracleTimeout: it takes longer than `limit_s`
    seconds; OracleError: DuckDB cannot run the text (a mistake of the renderer), or memory ran out.
    """
    timer = None if limit_s is None else threading.Timer(limit_s, connection.interrupt)
    try:
        if timer is not None:
            timer.start()
        cursor = connection.execute(sql)
        columns = [(str(column[0]), str(column[1])) for column in cursor.description or ()]
        # All rows: in DuckDB 2.0 a result fetched in part makes the connection refuse the next statement.
        rows = tuple(cursor.fetchall())
    except duckdb.InterruptException as error:
        raise OracleTimeout(f"no answer within {limit_s} s: {sql}") from error
    except (duckdb.OutOfRangeException, duckdb.ConversionException, duckdb.InvalidInputException) as error:
        raise OracleQueryError(first_line(error)) from error
    except duckdb.Error as error:
        raise OracleError(f"DuckDB cannot run this ({first_line(error)}): {sql}") from error
    finally:
        if timer is not None:
            # Joined, so that a late interrupt cannot hit the next statement.
            timer.cancel()
            timer.join()
    return QueryResult(tuple(name for name, _ in columns), tuple(type_ for _, type_ in columns), rows)


def run_typed(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    columns: tuple[Column, ...],
    what: str,
    limit_s: float | None = None,
) -> tuple[Row, ...]:
    """Returns the rows of a query whose columns must be exactly the given ones; `what` names it in messages.

    Raises as `run` does, and OracleError: DuckDB's names or types are others (a mistake of the renderer).
    """
    result = run(connection, sql, limit_s)
    # Without the quotes, in which DuckDB shows names of fields that are keywords, though not all need them.
    actual = [(name, type_.replace('"', "")) for name, type_ in zip(result.names, result.types, strict=True)]
    declared = [(column.name, duck_type(column).replace('"', "")) for column in columns]
    if actual != declared:
        texts = [", ".join(map(" ".join, fields)) for fields in (actual, declared)]
        raise OracleError(f"{what}: DuckDB gives ({texts[0]}), declared is ({texts[1]}): {sql}")
    _check_years(result.rows, columns, what)
    if not any(column.type.kind in NESTED for column in columns):
        return result.rows
    types = [column.type for column in columns]
    return tuple(tuple(map(nested, row, types)) for row in result.rows)


def duck_type(column: Column) -> str:
    """Returns the name that DuckDB shows for the column's type when it describes a result."""
    return re.sub(r"\bINT\b", "INTEGER", type_name(column.type, Dialect.DUCKDB))


def _check_years(rows: tuple[Row, ...], columns: tuple[Column, ...], what: str) -> None:
    # Python's calendar ends at the years 1 and 9999; for a date outside them DuckDB's client returns text.
    for index, column in enumerate(columns):
        if column.type.kind in (Kind.DATE, Kind.TIMESTAMP_NTZ, Kind.TIMESTAMP):
            for row in rows:
                if isinstance(date := row[index], str):
                    raise OracleQueryError(f"{what}: {date} lies outside the years 1..9999")
