"""The oracle: what every dynamic table must hold at every data timestamp, from the scenario alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import duckdb

from oracle.bag import Bag
from oracle.base_tables import BaseTables
from oracle.duck import open_duckdb, run, run_typed
from oracle.errors import OracleQueryError
from oracle.expansion import Expansion, expand
from oracle.first_rows import RANK, FirstRows, first_rows, ranked
from oracle.zeros import zeros_told
from workload.orders import tied_order
from workload.query import Query
from workload.scenario import DynamicTable, Scenario
from workload.schema import NO_PROMISES, Column, Table
from workload.scope import Catalog
from workload.sql import Dialect, column_name, literal, no_rows
from workload.timeline import due_refreshes
from workload.types import INT, Row
from workload.wellformed import check_scenario

ORDERS = 3
"""The orders of rows in which a query is evaluated to see whether it has several right answers."""


class DelayedView:
    """Delayed view semantics (DVS paper, section 3.1.1): the contents at t are the defining query at t.

    Every source is read as of t, and an upstream dynamic table means its own defining query as of t.
    Nothing that an engine stored is ever read. Timestamps are logical microseconds.

    Without a `connection` the view opens and closes one; a given connection stays open after `close` and
    may serve several views, from one thread. `catalog` is the result of `check_scenario`, if the caller
    has it already. `limit_s` limits each answer, in seconds; the base tables are made without a limit.
    Raises WorkloadError: the scenario is not well-formed; OracleQueryError: a statement fails on its data.

    `tells_zeros`: whether judges tell -0.0 from 0.0, where the query does; a judge may switch it off.
    """

    def __init__(
        self,
        scenario: Scenario,
        connection: duckdb.DuckDBPyConnection | None = None,
        catalog: Catalog | None = None,
        *,
        limit_s: float | None = None,
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
        frozen = {each.name for each in scenario.dynamic_tables if each.frozen_where}
        self._first: dict[str, int] = {}
        for due in (due for step in due_refreshes(scenario) for due in step) if frozen else ():
            if due.table in frozen:
                self._first.setdefault(due.table, due.timestamp)
        self._contents: dict[tuple[str, ...], tuple[Row, ...]] = {}
        self._ranked: dict[tuple[str, ...], FirstRows] = {}

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
        """The columns of a base table, view or dynamic table. Raises KeyError: no such name."""
        return self._catalog[name]

    def compared_columns(self, name: str) -> tuple[Column, ...]:
        """The columns as `columns` gives them, with the types by which a judge compares their values."""
        if not self.tells_zeros:
            return self.columns(name)
        if name not in self._compared:
            self._compared[name] = zeros_told(self._scenario, name, self._catalog[name])
        return self._compared[name]

    def source_rows(self, table: str, timestamp: int) -> tuple[Row, ...]:
        """A base table's rows as of its latest commit up to the timestamp. Raises KeyError: no such table."""
        return self._base.state(table, timestamp).rows

    def broken_promise(self, table: str, timestamp: int) -> str:
        """What is promised of a base table and does not hold at a timestamp, in words; empty if all does."""
        given = self._tables[table]
        if given.promises == NO_PROMISES:
            return ""
        return self._base.broken_promise(given, self._scenario.tables, timestamp)

    def contents(self, name: str, timestamp: int) -> tuple[Row, ...]:
        """The rows that a base table, view or dynamic table has at a data timestamp, in no particular order.

        Raises OracleQueryError: the query fails on its data; OracleTimeout: it takes longer than `limit_s`;
        OracleError: DuckDB gives other column types than the scenario declares; KeyError: no such name.
        """
        if name in self._tables:
            return self.source_rows(name, timestamp)
        first = self._first.get(name)
        if first is not None:
            # A frozen part is that of the first contents: its condition does not depend on the time.
            return (*self._found(name, first, frozen=True), *self._found(name, timestamp, frozen=False))
        return self._found(name, timestamp)

    def _found(self, name: str, timestamp: int, frozen: bool | None = None) -> tuple[Row, ...]:
        """The rows of the query at a timestamp: all, those that are frozen, or those that are not."""
        key = (str(frozen), *self._key(name, timestamp))
        if key not in self._contents:
            relations, definition = self._relations(name, timestamp), self._scenario.definition(name)
            where = ""
            if frozen is not None and isinstance(definition, DynamicTable):
                where = f"{'' if frozen else 'NOT '}COALESCE(({definition.frozen_where}), FALSE)"
            self._contents[key] = self._rows(
                name, self._expansion(name).at(timestamp), relations, self._catalog[name], where
            )
        return self._contents[key]

    def _key(self, name: str, timestamp: int) -> tuple[str, ...]:
        """What decides the contents of a definition at a timestamp.

        That is the timestamp itself only where the query reads the current time: most data timestamps of a
        scenario see the same states of the base tables.
        """
        moment = (str(timestamp),) if self._expansion(name).reads_time else ()
        return (name, *self._relations(name, timestamp), *moment)

    def contents_like(self, name: str, timestamp: int, held: Iterable[Row]) -> tuple[Row, ...]:
        """The contents; where several are right, those that are nearest to what a table holds.

        Raises as `contents` does.
        """
        found = self.first_rows(name, timestamp)
        return self.contents(name, timestamp) if found is None else found.like(held)

    def first_rows(self, name: str, timestamp: int) -> FirstRows | None:
        """What LIMIT may keep, for a definition whose order leaves ties; None for another one.

        Raises as `contents` does.
        """
        limited = None if name in self._tables else tied_order(self._expansion(name).body)
        if limited is None:
            return None
        relations = self._relations(name, timestamp)
        key = self._key(name, timestamp)
        if key not in self._ranked:
            columns = self._catalog[name]
            expansion = replace(self._expansion(name), body=ranked(limited, columns)).at(timestamp)
            rows = self._rows(name, expansion, relations, (*columns, Column(RANK, INT)))
            self._ranked[key] = first_rows(limited, columns, rows)
        return self._ranked[key]

    def expanded(self, name: str) -> Query:
        """The query of a view or dynamic table over base tables only. Raises KeyError: no such name."""
        return self._expansion(name).query

    def answers(self, name: str, timestamp: int, queries: Sequence[str]) -> Row:
        """The single values that queries have over the sources of a definition as of a data timestamp.

        Each is a text for DuckDB, which reads the sources by their names. Raises as `contents` does.
        """
        expansion = self._expansion(name).at(timestamp)
        bound = self._bound(expansion, self._relations(name, timestamp))
        listed = ", ".join(f"({query})" for query in queries)
        text = f"{expansion.named(bound, Dialect.DUCKDB)}SELECT {listed}"
        (row,) = run(self._connection, text, self._limit_s).rows
        return row

    def is_ambiguous(self, name: str, timestamp: int) -> bool:
        """Whether the query gives other rows over the same rows in another order, so that several are right.

        Such are the first rows of an order that leaves some equal. Raises as `contents` does.
        """
        columns = self._catalog[name]
        types = [column.type for column in columns]
        known = Bag.of(self.contents(name, timestamp), types)
        for turn in range(1, ORDERS):
            text = self.sql(name, timestamp, turn=turn)
            if Bag.of(run_typed(self._connection, text, columns, name, self._limit_s), types) != known:
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
        """The query for the contents at the timestamp, with the base tables' rows written into the text.

        It needs no tables, so it can be shown, and run on another engine. `before`: each base table has its
        rows as of this data timestamp beside the others. `turn`: the number of the order in which the rows
        are written. Raises KeyError: no such name.
        """
        if name in self._tables:
            return _as_values(self._tables[name], self.source_rows(name, timestamp), dialect)
        expansion = self._expansion(name).at(timestamp)
        bound = []
        for table in expansion.tables:
            rows = self.source_rows(table, timestamp)
            if before is not None:
                rows += self.source_rows(table, before)
            if turn:
                rows = tuple(sorted(rows, key=repr, reverse=turn % 2 == 0))
            bound.append(f"{table} AS ({_as_values(self._tables[table], rows, dialect)})")
        return expansion.text(tuple(bound), dialect, separator="\n")

    def _expansion(self, name: str) -> Expansion:
        if name not in self._expansions:
            self._expansions[name] = expand(self._scenario, name)
        return self._expansions[name]

    def _relations(self, name: str, timestamp: int) -> list[str]:
        return [self._base.state(table, timestamp).relation for table in self._expansion(name).tables]

    def _bound(self, expansion: Expansion, relations: list[str]) -> tuple[str, ...]:
        return tuple(
            f"{table} AS (SELECT * FROM {relation})"
            for table, relation in zip(expansion.tables, relations, strict=True)
        )

    def _rows(
        self,
        name: str,
        expansion: Expansion,
        relations: list[str],
        columns: tuple[Column, ...],
        where: str = "",
    ) -> tuple[Row, ...]:
        text = expansion.text(self._bound(expansion, relations), Dialect.DUCKDB)
        text = f"SELECT * FROM ({text}) AS whole WHERE {where}" if where else text
        try:
            return run_typed(self._connection, text, columns, name, self._limit_s)
        except OracleQueryError as error:
            raise OracleQueryError(f"{name}: {error}") from error


def _as_values(table: Table, rows: tuple[Row, ...], dialect: Dialect) -> str:
    if not rows:
        # VALUES needs a row in both dialects.
        return no_rows(table.columns, dialect)
    types = [column.type for column in table.columns]
    texts = [
        "(" + ", ".join(literal(value, type_, dialect) for value, type_ in zip(row, types, strict=True)) + ")"
        for row in rows
    ]
    names = ", ".join(column_name(column.name, dialect) for column in table.columns)
    return f"SELECT * FROM (VALUES {', '.join(texts)}) AS {table.name}({names})"
