"""The contents of every base table after every commit, computed with the oracle's own meaning of DML."""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

import duckdb

from oracle.arrow import to_arrow
from oracle.bag import Canonical, canonical
from oracle.chain import STATE, STATEMENT, Chain, State, Timeline, Write
from oracle.duck import run, run_typed
from oracle.errors import OracleError, OracleQueryError
from workload.dml import Dml, Insert, Merge, Overwrite, Replace
from workload.scenario import Commit, Scenario
from workload.schema import ForeignKey, Table
from workload.types import Row

LITERALS = "$literal rows"
"""Name of the relation with all literal rows of a table's history, while its states are computed."""

BATCH = 40
"""Commits computed by one SQL statement: half the time of one by one, and far from any limit of depth."""

schema_numbers = itertools.count()
"""Numbers the schemas, so that several BaseTables can share a connection."""


class BaseTables:
    """The states of a scenario's base tables over time. Each table exists, empty, before the first commit.

    The states live in a DuckDB schema of their own until `close`. A commit makes one state: its statements
    apply in order, and a reader sees all of them or none. Raises OracleQueryError: a statement fails on
    its data; OracleError: a literal row does not fit the columns.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, scenario: Scenario) -> None:
        self._connection = connection
        self._schema = f'"oracle {next(schema_numbers)}"'
        run(connection, f"CREATE SCHEMA {self._schema}")
        commits = [step for step in scenario.steps if isinstance(step, Commit)]
        self._written = {table.name: _writes(table, commits) for table in scenario.tables}
        try:
            self._timelines = {table.name: self._timeline(table) for table in scenario.tables}
        except OracleError:
            self.close()
            raise

    def state(self, table: str, timestamp: int) -> State:
        """Returns the table's state by its latest commit at or before the timestamp (logical microseconds).

        Raises KeyError: the scenario has no such base table.
        """
        return self._timelines[table].at(timestamp)

    def broken_promise(self, table: Table, tables: Sequence[Table], timestamp: int) -> str:
        """Returns what is promised of a table and does not hold at a timestamp, in words; else "".

        A promise that names a column or another table that there is not says nothing.
        """
        state = self.state(table.name, timestamp)
        names = {column.name for column in table.columns}
        for name in names.intersection(table.promises.required):
            if any(None in key for key in _keys(table, state.rows, (name,))):
                return f"{table.name}.{name} is NULL"
        for columns in table.promises.keys:
            if names.issuperset(columns):
                keys = [key for key in _keys(table, state.rows, columns) if None not in key]
                if len(set(keys)) < len(keys):
                    return f"two rows of {table.name} have the same {', '.join(columns)}"
        for foreign in table.promises.foreign:
            other = next((each for each in tables if each.name == foreign.table), None)
            if other is not None and self._has_orphan(table, foreign, other, timestamp):
                return f"a row of {table.name} refers to no row of {other.name}"
        for check in table.promises.checks:
            if names.issuperset(check.columns):
                text = f"SELECT bool_and(({check.text}) IS NOT FALSE) FROM {state.relation}"
                if run(self._connection, text).rows == ((False,),):
                    return f"a row of {table.name} breaks CHECK ({check.text})"
        return self._merged_too_much(table, timestamp)

    def _merged_too_much(self, table: Table, timestamp: int) -> str:
        """Returns the first column that a MERGE at a timestamp changes and should not, in words; else "".

        An UPDATE names the columns that it sets; what a MERGE changes depends on the rows that it meets.
        """
        if table.promises.updated is None:
            return ""
        timeline, written = self._timelines[table.name], self._written[table.name]
        first, end = bisect_left(timeline.times, timestamp), bisect_right(timeline.times, timestamp)
        for n in range(first, end):
            for merge in (each for _, each in written[n].statements if isinstance(each, Merge)):
                before, after = timeline.states[n].rows, timeline.states[n + 1].rows
                for column in table.columns:
                    if column.name not in (*table.promises.updated, *merge.keys):
                        pairs = (*merge.keys, column.name)
                        keys_before = set(_keys(table, before, pairs))
                        merge_keys_before = {key[:-1] for key in keys_before}
                        if any(
                            key[:-1] in merge_keys_before and key not in keys_before
                            for key in _keys(table, after, pairs)
                        ):
                            return f"a MERGE changes {table.name}.{column.name}"
        return ""

    def _has_orphan(self, table: Table, foreign: ForeignKey, other: Table, timestamp: int) -> bool:
        """Tells whether a row's foreign key refers to no row; never where a column of it is not there."""
        for each, columns in ((table, foreign.columns), (other, foreign.referred)):
            if not {column.name for column in each.columns}.issuperset(columns):
                return False
        referred_keys = set(_keys(other, self.state(other.name, timestamp).rows, foreign.referred))
        keys = _keys(table, self.state(table.name, timestamp).rows, foreign.columns)
        return any(None not in key and key not in referred_keys for key in keys)

    def close(self) -> None:
        """Drops the schema that holds the states."""
        run(self._connection, f"DROP SCHEMA {self._schema} CASCADE")

    def _timeline(self, table: Table) -> Timeline:
        """Returns all states of a table, computed a batch of commits at a time."""
        writes = self._written[table.name]
        timeline = Timeline.of(table)
        rows = [(n, *row) for w in writes for n, dml in w.statements for row in _literal_rows(dml)]
        what = f"literal rows of table {table.name}"
        # Through Arrow: literal rows never become SQL text, and a thousand rows load as fast as one.
        self._connection.register(LITERALS, to_arrow((STATEMENT, *table.columns), rows, what))
        try:
            for start in range(0, len(writes), BATCH):
                self._append(table, timeline, writes[start : start + BATCH])
        finally:
            self._connection.unregister(LITERALS)
        return timeline

    def _append(self, table: Table, timeline: Timeline, writes: Sequence[Write]) -> None:
        """Appends the states after some writes, all computed by one SQL statement."""
        chain = Chain(table, timeline, f'"{LITERALS}"')
        for write in writes:
            chain.append(write)
        relation = f'{self._schema}."{table.name} {len(timeline.states)}"'
        what = f"commit at {writes[0].at}, table {table.name}"
        try:
            run(self._connection, f"CREATE TABLE {relation} AS {chain.query}")
        except OracleQueryError as error:
            if len(writes) == 1:
                raise OracleQueryError(f"{what}: {error}") from error
            # DuckDB does not tell which commit of the batch failed; one by one, the error names it.
            for write in writes:
                self._append(table, timeline, (write,))
            return
        rows = run_typed(self._connection, f"SELECT * FROM {relation}", (STATE, *table.columns), what)
        chain.extend(timeline, relation, rows)


def _keys(table: Table, rows: Iterable[Row], columns: Sequence[str]) -> Iterable[tuple[Canonical, ...]]:
    """Yields the values of some columns of each row, as SQL compares them."""
    places = [(table.position(name), table.columns[table.position(name)].type) for name in columns]
    for row in rows:
        yield tuple(canonical(row[n], type_) for n, type_ in places)


def _writes(table: Table, commits: Iterable[Commit]) -> list[Write]:
    """Returns the writes of a table: one for each commit, or each statement if its effect must be seen."""
    numbers = itertools.count()
    writes: list[Write] = []
    for commit in commits:
        statements = tuple((next(numbers), s) for s in commit.statements if s.table == table.name)
        alone = table.promises.updated is not None
        parts = [(each,) for each in statements] if alone else [statements] if statements else []
        writes.extend(Write(commit.at, part) for part in parts)
    return writes


def _literal_rows(statement: Dml) -> tuple[Row, ...]:
    return statement.rows if isinstance(statement, Insert | Overwrite | Replace | Merge) else ()
