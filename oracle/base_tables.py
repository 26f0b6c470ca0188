"""The contents of every base table after every commit, computed by the oracle's own DML."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import duckdb

from oracle.arrow import to_arrow
from oracle.bag import Bag
from oracle.dml import contents_after
from oracle.duck import duck_type, run, run_typed
from oracle.errors import OracleQueryError
from workload.dml import Dml, Insert, Merge, Optimize, Overwrite, Replace, Restore
from workload.scenario import Commit, Scenario
from workload.schema import Column, Table
from workload.types import INT, Row

STATEMENT = Column("$statement", INT)
"""Tells whose literal rows these are; no name in a scenario can be equal to it."""

STATE = Column("$state", INT)
"""Tells which state a row belongs to, where several are kept in one table."""

BATCH = 40
"""Commits computed by one SQL statement: half the time of one by one, and far from any limit of depth."""

instances = itertools.count()
"""Numbers the schemas, so that several BaseTables can share a connection."""


@dataclass(frozen=True, slots=True)
class State:
    """One contents of a base table: where DuckDB keeps it (as a FROM item), and its rows."""

    relation: str
    rows: tuple[Row, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Write:
    """What one commit does to one table; the statements are numbered within the table's history."""

    at: int
    statements: tuple[tuple[int, Dml], ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """The states of a table: `states[0]` from before all time, `states[i + 1]` from `times[i]` on."""

    times: list[int]
    states: list[State]

    def at(self, timestamp: int) -> State:
        """The state by the latest commit at or before the timestamp."""
        return self.states[bisect_right(self.times, timestamp)]


class BaseTables:
    """The states of a scenario's base tables in time. Each table exists, empty, before the first commit.

    The states live in a schema of their own in the connection until `close`. A commit is one state: its
    statements apply in order, and a reader sees all of them or none. Raises OracleQueryError: a statement
    fails on its data; OracleError: its values have another type than the column.
    """

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, scenario: Scenario, limit_s: float | None
    ) -> None:
        self._connection = connection
        self._limit_s = limit_s
        self._schema = f'"oracle {next(instances)}"'
        self._tables = {table.name: table for table in scenario.tables}
        self._bags: dict[str, Bag] = {}
        run(connection, f"CREATE SCHEMA {self._schema}")
        commits = [step for step in scenario.steps if isinstance(step, Commit)]
        self._timelines = {table.name: self._timeline(table, commits) for table in scenario.tables}

    def state(self, table: str, timestamp: int) -> State:
        """The table's state by the latest commit at or before the timestamp."""
        return self._timelines[table].at(timestamp)

    def bag(self, table: str, timestamp: int) -> Bag:
        """The table's rows at the timestamp, as a bag."""
        state = self.state(table, timestamp)
        if state.relation not in self._bags:
            types = [column.type for column in self._tables[table].columns]
            self._bags[state.relation] = Bag.of(state.rows, types)
        return self._bags[state.relation]

    def written_between(self, table: str, after: int, until: int) -> bool:
        """Whether a commit in (after, until] has a statement on the table, whether or not it changed rows."""
        times = self._timelines[table].times
        return bisect_right(times, after) < bisect_right(times, until)

    def close(self) -> None:
        """Drops the states."""
        run(self._connection, f"DROP SCHEMA {self._schema} CASCADE")

    def _timeline(self, table: Table, commits: Iterable[Commit]) -> Timeline:
        writes = _writes(table, commits)
        timeline = Timeline([], [State(_no_rows(table), ())])
        given = [(n, *row) for w in writes for n, dml in w.statements for row in _literal_rows(dml)]
        what = f"literal rows of table {table.name}"
        # Through Arrow: they never become SQL text, and a thousand rows load as fast as one.
        self._connection.register("$arrow", to_arrow((STATEMENT, *table.columns), given, what))
        try:
            for start in range(0, len(writes), BATCH):
                self._append(table, timeline, writes[start : start + BATCH])
        finally:
            self._connection.unregister("$arrow")
        return timeline

    def _append(self, table: Table, timeline: Timeline, writes: Sequence[Write]) -> None:
        """Appends the states after some writes, all computed by one SQL statement."""
        chain = _Chain(table, timeline)
        for write in writes:
            chain.append(write)
        relation = f'{self._schema}."{table.name} {len(timeline.states)}"'
        what = f"commit at {writes[0].at}, table {table.name}"
        try:
            run(self._connection, f"CREATE TABLE {relation} AS {chain.text}", self._limit_s)
        except OracleQueryError as error:
            if len(writes) == 1:
                raise OracleQueryError(f"{what}: {error}") from error
            # Which one? It will say so itself.
            for write in writes:
                self._append(table, timeline, (write,))
            return
        rows = run_typed(self._connection, f"SELECT * FROM {relation}", (STATE, *table.columns), what)
        contents: dict[int, list[Row]] = {number: [] for number in chain.new.values()}
        for number, *row in rows:
            contents[int(str(number))].append(tuple(row))
        names = _names(table)
        for name, number in chain.new.items():
            stored = f'(SELECT {names} FROM {relation} WHERE "{STATE.name}" = {number})'
            chain.states[name] = State(stored, tuple(contents[number]))
        timeline.states.extend(chain.states[name] for name in chain.after)
        timeline.times.extend(write.at for write in writes)


class _Chain:
    """Writes as one query: a CTE for each statement, over the CTE before it, and all states as the result."""

    def __init__(self, table: Table, timeline: Timeline) -> None:
        self._table = table
        self._times = list(timeline.times)
        self._relations = [state.relation for state in timeline.states]
        self._first = len(timeline.states)
        self._ctes = ['"$given" AS MATERIALIZED (SELECT * FROM "$arrow")']
        self.states = {state.relation: state for state in timeline.states}
        self.new: dict[str, int] = {}
        """The relations that are new states, and the numbers under which the query yields them."""

    @property
    def after(self) -> list[str]:
        """The relation after each write."""
        return self._relations[self._first :]

    @property
    def text(self) -> str:
        """The query: the rows of every new state, with the state's number."""
        new = [f'SELECT {number} AS "{STATE.name}", * FROM {name}' for name, number in self.new.items()]
        # Without a new state there is nothing to yield; the columns are still the table's.
        nothing = f'SELECT 0 AS "{STATE.name}", * FROM {self._relations[0]}'
        return f"WITH {', '.join(self._ctes)} {' UNION ALL '.join(new) or nothing}"

    def append(self, write: Write) -> None:
        """Adds the state after a write; an existing one where nothing but a RESTORE or OPTIMIZE happens."""
        relation = self._relations[-1]
        for number, statement in write.statements:
            relation = self._after(statement, number, relation)
        if relation not in self.states:
            self.new.setdefault(relation, len(self.new))
        self._relations.append(relation)
        self._times.append(write.at)

    def _after(self, statement: Dml, number: int, before: str) -> str:
        match statement:
            case Optimize():
                return before
            case Restore(_, to):
                return self._as_of(to)
            case _:
                pass
        given = f'(SELECT {_names(self._table)} FROM "$given" WHERE "{STATEMENT.name}" = {number})'
        query = contents_after(statement, self._table, before, given, self._as_of)
        self._ctes.append(f'"${number}" AS MATERIALIZED ({query})')
        return f'"${number}"'

    def _as_of(self, to: int) -> str:
        return self._relations[bisect_right(self._times, to)]


def _writes(table: Table, commits: Iterable[Commit]) -> list[Write]:
    numbers = itertools.count()
    found = []
    for commit in commits:
        statements = tuple((next(numbers), s) for s in commit.statements if s.table == table.name)
        if statements:
            found.append(Write(commit.at, statements))
    return found


def _literal_rows(statement: Dml) -> tuple[Row, ...]:
    match statement:
        case Insert(_, rows) | Overwrite(_, rows) | Replace(_, rows) | Merge(_, _, rows, _, _):
            return rows
        case _:
            return ()


def _names(table: Table) -> str:
    return ", ".join(f'"{column.name}"' for column in table.columns)


def _no_rows(table: Table) -> str:
    items = ", ".join(f'CAST(NULL AS {duck_type(column)}) AS "{column.name}"' for column in table.columns)
    return f"(SELECT {items} WHERE FALSE)"
