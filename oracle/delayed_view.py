"""The oracle: what every dynamic table must hold at every data timestamp, from the scenario alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast

import duckdb

from oracle.bag import Bag
from oracle.base_tables import BaseTables
from oracle.chain import STATE
from oracle.duck import open_duckdb, run, run_typed
from oracle.errors import OracleError, OracleQueryError
from oracle.expansion import Expansion, expand
from oracle.first_rows import RANK, FirstRows, first_rows, ranked
from oracle.zeros import zeros_told
from workload.orders import tied_order
from workload.query import Query
from workload.scenario import Scenario
from workload.schema import NO_PROMISES, Column
from workload.scope import Catalog
from workload.sql import Dialect, column_name, literal, no_rows
from workload.sql.passing_time import text_at
from workload.timeline import due_refreshes
from workload.types import INT, Row
from workload.wellformed import check_scenario

ORDERS = 3
"""The number of orders of rows in which a query is evaluated to see whether it has several right answers."""

TOGETHER = 40
"""The most data timestamps of one statement: a small query costs little beside its statement."""

Key = tuple[str, ...]
"""What decides the contents of a definition at a timestamp: see `DelayedView._key`."""


class DelayedView:
    """Delayed view semantics (DVS paper, section 3.1.1): the contents at t are the defining query at t.

    Every source is read as of t, and an upstream dynamic table means its own defining query as of t.
    Nothing that an engine stored is ever read. Timestamps are logical microseconds.

    Without a `connection` the view opens and closes one; a given connection stays open after `close` and
    may serve several views, from one thread. `catalog` is the result of `check_scenario`, if the caller
    has it already. `limit_s` limits each answer, in seconds; the base tables are made without a limit.
    Raises WorkloadError: the scenario is not well-formed; OracleQueryError: a statement fails on its data.

    `moments`: the data timestamps that each dynamic table has had, oldest first. The rows of a frozen part
    depend on them; None: on those that the scenario calls for. Without `limit_s` a definition is evaluated at
    all of its moments by one statement, the first time that it is asked for, which changes no answer.

    `tells_zeros`: whether judges tell -0.0 from 0.0, where the query does; a judge may switch it off.
    """

    def __init__(
        self,
        scenario: Scenario,
        connection: duckdb.DuckDBPyConnection | None = None,
        catalog: Catalog | None = None,
        *,
        limit_s: float | None = None,
        moments: Mapping[str, Sequence[int]] | None = None,
    ) -> None:
        self._catalog = check_scenario(scenario) if catalog is None else catalog
        self._scenario = scenario
        self._limit_s = limit_s
        self._owns_connection = connection is None
        self._connection = open_duckdb() if connection is None else connection
        self._tables = {table.name: table for table in scenario.tables}
        self._base = BaseTables(self._connection, scenario)
        self._expansions: dict[str, Expansion] = {}
        self._compared: dict[str, tuple[Column, ...]] = {}
        self.tells_zeros = True
        self._frozen = {each.name: each for each in scenario.dynamic_tables if each.frozen_where}
        self._asked: Mapping[str, Sequence[int]] = moments or {}
        self._moments = moments if moments is not None or not self._frozen else moments_due(scenario)
        self._held: dict[str, dict[int, tuple[Row, ...]]] = {}
        self._contents: dict[Key, tuple[Row, ...]] = {}
        self._ranked: dict[Key, tuple[Row, ...]] = {}
        self._first: dict[Key, FirstRows] = {}
        self._alone: set[str] = set()

    def __enter__(self) -> DelayedView:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection if the view opened it; else drops what the view stored in it."""
        if self._owns_connection:
            self._connection.close()
        else:
            self._base.close()

    def columns(self, name: str) -> tuple[Column, ...]:
        """Returns the columns of a base table, view or dynamic table. Raises KeyError: no such name."""
        return self._catalog[name]

    def compared_columns(self, name: str) -> tuple[Column, ...]:
        """Returns the columns, as `columns`, with the types by which a judge compares the values."""
        if not self.tells_zeros:
            return self.columns(name)
        if name not in self._compared:
            self._compared[name] = zeros_told(self._scenario, name, self._catalog[name])
        return self._compared[name]

    def source_rows(self, table: str, timestamp: int) -> tuple[Row, ...]:
        """Returns a base table's rows by its latest commit up to the timestamp. Raises KeyError."""
        return self._base.state(table, timestamp).rows

    def broken_promise(self, table: str, timestamp: int) -> str:
        """Returns what is promised of a base table and does not hold at a timestamp, in words; else ""."""
        given = self._tables[table]
        if given.promises == NO_PROMISES:
            return ""
        return self._base.broken_promise(given, self._scenario.tables, timestamp)

    def contents(self, name: str, timestamp: int) -> tuple[Row, ...]:
        """Returns the rows that a base table, view or dynamic table has at a data timestamp, in any order.

        Raises OracleQueryError: the query fails on its data; OracleTimeout: it takes longer than `limit_s`;
        OracleError: DuckDB gives other column types than the scenario declares; KeyError: no such name.
        """
        if name in self._tables:
            return self.source_rows(name, timestamp)
        if name in self._frozen:
            held = self._held.setdefault(name, {})
            return self.held(name, timestamp, lambda at: self.query_rows(name, at), held)
        return self.query_rows(name, timestamp)

    def held(
        self,
        name: str,
        timestamp: int,
        query_rows: Callable[[int], tuple[Row, ...]],
        known: dict[int, tuple[Row, ...]],
    ) -> tuple[Row, ...]:
        """Returns the rows that a table with a frozen part holds at a data timestamp (docs/semantics.md).

        At each of its data timestamps these are the rows that it held before and that are frozen by then, and
        the rows of its query that are not. `query_rows`: the rows of its query at a data timestamp. `known`:
        what was returned before, by data timestamp; it is added to. Raises as `contents` does.
        """
        rows: tuple[Row, ...] | None = None
        for at in (*(each for each in (self._moments or {}).get(name, ()) if each < timestamp), timestamp):
            if at not in known:
                try:
                    found = query_rows(at)
                except OracleQueryError:
                    if at == timestamp:
                        raise
                    # The refresh failed as its query does, and changed nothing.
                    continue
                if rows is not None:
                    kept, new = (
                        self._part(name, rows, at, frozen=True),
                        self._part(name, found, at, frozen=False),
                    )
                    found = (*kept, *new)
                known[at] = found
            rows = known[at]
        assert rows is not None
        return rows

    def _part(self, name: str, rows: tuple[Row, ...], timestamp: int, *, frozen: bool) -> tuple[Row, ...]:
        """Returns the rows of a table that are frozen at a data timestamp, or those that are not."""
        if not rows:
            return ()
        condition = text_at(self._frozen[name].frozen_condition, timestamp)
        where = f"{'' if frozen else 'NOT '}COALESCE(({condition}), FALSE)"
        values = _as_values(name, self._catalog[name], rows)
        text = f"SELECT * FROM ({values}) AS {name} WHERE {where}"
        return run_typed(self._connection, text, self._catalog[name], name, self._limit_s)

    def query_rows(self, name: str, timestamp: int) -> tuple[Row, ...]:
        """Returns the rows of the query of a definition at a data timestamp, whatever is frozen.

        Raises as `contents` does.
        """
        return self._evaluated(self._contents, name, timestamp, self._expansion(name), self._catalog[name])

    def _key(self, name: str, timestamp: int) -> Key:
        """Returns what decides the contents of a definition at a timestamp.

        That is the timestamp itself only where the query reads the current time: most data timestamps of a
        scenario see the same states of the base tables.
        """
        moment = (str(timestamp),) if self._expansion(name).reads_time else ()
        return (name, *self._relations(name, timestamp), *moment)

    def contents_like(
        self, name: str, timestamp: int, held: Iterable[Row], *, frozen: bool = True
    ) -> tuple[Row, ...]:
        """Returns the contents; where several are right, those that are nearest to what a table holds.

        `frozen`: whether a frozen part stays; else the rows of the query. Raises as `contents` does.
        """
        found = self.first_rows(name, timestamp)
        if found is not None:
            return found.like(held)
        return self.contents(name, timestamp) if frozen else self.query_rows(name, timestamp)

    def first_rows(self, name: str, timestamp: int) -> FirstRows | None:
        """Returns what LIMIT may keep, for a definition whose order leaves ties; None for another one.

        Raises as `contents` does.
        """
        limited = None if name in self._tables else tied_order(self._expansion(name).body)
        if limited is None:
            return None
        columns = self._catalog[name]
        expansion = replace(self._expansion(name), body=ranked(limited, columns))
        with_ranks = (*columns, Column(RANK, INT))
        rows = self._evaluated(self._ranked, name, timestamp, expansion, with_ranks)
        key = self._key(name, timestamp)
        if key not in self._first:
            self._first[key] = first_rows(limited, columns, rows)
        return self._first[key]

    def expanded(self, name: str) -> Query:
        """Returns the query of a definition over base tables only. Raises KeyError: no such name."""
        return self._expansion(name).query

    def answers(self, name: str, timestamp: int, queries: Sequence[str]) -> Row:
        """Returns the single values that queries have over the sources of a definition at a data timestamp.

        Each is a text for DuckDB, which reads the sources by their names. Raises as `contents` does.
        """
        expansion = self._expansion(name).at(timestamp)
        bound = self._bound(expansion, self._relations(name, timestamp))
        listed = ", ".join(f"({text_at(query, timestamp)})" for query in queries)
        text = f"{expansion.named(bound, Dialect.DUCKDB)}SELECT {listed}"
        (row,) = run(self._connection, text, self._limit_s).rows
        return row

    def is_ambiguous(self, name: str, timestamp: int) -> bool:
        """Tells whether the query gives other rows over the same rows in another order: several are right.

        Such are the first rows of an order that leaves some equal. Raises as `contents` does.
        """
        columns = self._catalog[name]
        types = [column.type for column in columns]
        in_first_order = Bag.of(self.query_rows(name, timestamp), types)
        for turn in range(1, ORDERS):
            text = self.sql(name, timestamp, turn=turn)
            if (
                Bag.of(run_typed(self._connection, text, columns, name, self._limit_s), types)
                != in_first_order
            ):
                return True
        return False

    def fails_over_both(self, name: str, before: int, timestamp: int) -> bool:
        """Tells whether the query fails on its data over the rows of two data timestamps together.

        What maintains a join also pairs rows that were never there together: one that is gone with one that
        is new. A query of filters and inner joins meets each such pair here.
        Raises OracleTimeout, OracleError, KeyError.
        """
        try:
            run(self._connection, self.sql(name, timestamp, before=before), self._limit_s)
        except OracleQueryError:
            return True
        return False

    def sql(
        self,
        name: str,
        timestamp: int,
        dialect: Dialect = Dialect.DUCKDB,
        before: int | None = None,
        turn: int = 0,
    ) -> str:
        """Returns the query for the contents at the timestamp, with the base tables' rows in its text.

        It needs no tables, so it can be shown, and run on another engine. `before`: each base table has its
        rows as of this data timestamp beside the others. `turn`: the number of the order in which the rows
        are written. Raises KeyError: no such name.
        """
        if name in self._tables:
            rows = self.source_rows(name, timestamp)
            return f"WITH {_as_cte(name, self._catalog[name], rows, dialect)} SELECT * FROM {name}"
        expansion = self._expansion(name).at(timestamp)
        bound = []
        for table in expansion.tables:
            rows = self.contents(table, timestamp)
            if before is not None:
                rows += self.contents(table, before)
            if turn:
                rows = tuple(sorted(rows, key=repr, reverse=turn % 2 == 0))
            bound.append(_as_cte(table, self._catalog[table], rows, dialect))
        return expansion.text(tuple(bound), dialect, separator="\n")

    def _expansion(self, name: str) -> Expansion:
        if name not in self._expansions:
            self._expansions[name] = expand(self._scenario, name)
        return self._expansions[name]

    def _relations(self, name: str, timestamp: int) -> list[str]:
        """Returns what a query reads for each table of its expansion, in their order."""
        return [self._relation(table, timestamp) for table in self._expansion(name).tables]

    def _relation(self, table: str, timestamp: int) -> str:
        """Returns what a query reads for a base table, or for a table with a frozen part, as a FROM item."""
        if table in self._tables:
            return self._base.state(table, timestamp).relation
        rows = self.contents(table, timestamp)
        return f"({_as_values(table, self._catalog[table], rows)})"

    def _bound(self, expansion: Expansion, relations: list[str]) -> tuple[str, ...]:
        """Returns the CTEs that give the tables of an expansion their rows."""
        return tuple(
            f"{table} AS (SELECT * FROM {relation})"
            for table, relation in zip(expansion.tables, relations, strict=True)
        )

    def _evaluated(
        self,
        known: dict[Key, tuple[Row, ...]],
        name: str,
        timestamp: int,
        expansion: Expansion,
        columns: tuple[Column, ...],
    ) -> tuple[Row, ...]:
        """Returns the rows of an expansion at a data timestamp.

        `known`: the rows of earlier answers, to which these are added. Raises as `contents` does.
        """
        key = self._key(name, timestamp)
        if key not in known and name not in self._alone and self._limit_s is None:
            try:
                known.update(self._together(known, name, timestamp, expansion, columns))
            except OracleError:
                # It does not tell at which timestamp it failed, and this one may have an answer.
                self._alone.add(name)
        if key not in known:
            text = self._text(name, timestamp, expansion)
            try:
                known[key] = run_typed(self._connection, text, columns, name, self._limit_s)
            except OracleQueryError as error:
                raise OracleQueryError(f"{name}: {error}") from error
        return known[key]

    def _together(
        self,
        known: Mapping[Key, tuple[Row, ...]],
        name: str,
        timestamp: int,
        expansion: Expansion,
        columns: tuple[Column, ...],
    ) -> dict[Key, tuple[Row, ...]]:
        """Returns what an expansion gives at a data timestamp and at the next moments, by one statement.

        Nothing where that would be one timestamp alone. Raises OracleError: it fails at one of them.
        """
        moments = {self._key(name, timestamp): timestamp}
        for at in self._asked.get(name, ()):
            if len(moments) < TOGETHER and (key := self._key(name, at)) not in known:
                moments.setdefault(key, at)
        if len(moments) == 1:
            return {}
        texts = (
            f'SELECT {n} AS "{STATE.name}", q.* FROM ({self._text(name, at, expansion)}) AS q'
            for n, at in enumerate(moments.values())
        )
        text = " UNION ALL ".join(texts)
        parts: list[list[Row]] = [[] for _ in moments]
        for number, *row in run_typed(self._connection, text, (STATE, *columns), name):
            parts[cast(int, number)].append(tuple(row))
        return dict(zip(moments, map(tuple, parts), strict=True))

    def _text(self, name: str, timestamp: int, expansion: Expansion) -> str:
        bound = self._bound(expansion, self._relations(name, timestamp))
        return expansion.at(timestamp).text(bound, Dialect.DUCKDB)


def moments_due(scenario: Scenario) -> Mapping[str, Sequence[int]]:
    """Returns the data timestamps that a scenario calls for, by dynamic table."""
    moments: dict[str, list[int]] = {}
    for due in (due for step in due_refreshes(scenario) for due in step):
        moments.setdefault(due.table, []).append(due.timestamp)
    return moments


def _as_cte(name: str, columns: tuple[Column, ...], rows: tuple[Row, ...], dialect: Dialect) -> str:
    """Returns a CTE with the rows, whose names stand before AS: SQLite takes none behind a sub-select."""
    if not rows:
        # VALUES needs a row in every dialect.
        return f"{name} AS ({no_rows(columns, dialect)})"
    return f"{name}({_names(columns, dialect)}) AS ({_values(columns, rows, dialect)})"


def _as_values(name: str, columns: tuple[Column, ...], rows: tuple[Row, ...]) -> str:
    """Returns a query for DuckDB with the rows."""
    if not rows:
        return no_rows(columns, Dialect.DUCKDB)
    values = _values(columns, rows, Dialect.DUCKDB)
    return f"SELECT * FROM ({values}) AS {name}({_names(columns, Dialect.DUCKDB)})"


def _values(columns: tuple[Column, ...], rows: tuple[Row, ...], dialect: Dialect) -> str:
    types = [column.type for column in columns]
    texts = [
        ", ".join(literal(value, type_, dialect) for value, type_ in zip(row, types, strict=True))
        for row in rows
    ]
    if dialect is Dialect.MYSQL:
        # MySQL writes VALUES ROW(1), ROW(2) and MariaDB VALUES (1), (2); both read this.
        return " UNION ALL ".join(f"SELECT {text}" for text in texts)
    return f"VALUES {', '.join(f'({text})' for text in texts)}"


def _names(columns: tuple[Column, ...], dialect: Dialect) -> str:
    return ", ".join(column_name(column.name, dialect) for column in columns)
