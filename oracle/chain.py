"""A table's history as one query: every statement a CTE over the contents that the one before it left."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import cast

from oracle.dml import contents_after
from oracle.duck import duck_type
from workload.dml import Dml, Optimize, Restore
from workload.schema import Column, Table
from workload.types import INT, Row

STATEMENT = Column("$statement", INT)
"""Tells whose literal rows these are; no name in a scenario can be equal to it."""

STATE = Column("$state", INT)
"""Tells which state a row belongs to, where several are kept in one table."""


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

    @classmethod
    def of(cls, table: Table) -> Timeline:
        """A table that exists and is empty."""
        items = ", ".join(f'CAST(NULL AS {duck_type(c)}) AS "{c.name}"' for c in table.columns)
        return cls([], [State(f"(SELECT {items} WHERE FALSE)", ())])

    def at(self, timestamp: int) -> State:
        """The state by the latest commit at or before the timestamp."""
        return self.states[bisect_right(self.times, timestamp)]


class Chain:
    """The states that some writes add to a timeline, as one query that yields all of them.

    `given` is a FROM item with the literal rows of all statements, marked by `STATEMENT`. RESTORE and
    OPTIMIZE make no state of their own: they lead to one that exists. Every CTE is materialized, so that
    the cost is linear in the statements.
    """

    def __init__(self, table: Table, timeline: Timeline, given: str) -> None:
        self._names = ", ".join(f'"{column.name}"' for column in table.columns)
        self._table = table
        self._times = list(timeline.times)
        self._relations = [state.relation for state in timeline.states]
        self._states = {state.relation: state for state in timeline.states}
        self._new: dict[str, int] = {}
        self._ctes = [f'"$given" AS MATERIALIZED (SELECT * FROM {given})']

    def append(self, write: Write) -> None:
        """Adds a write, later than those before."""
        relation = self._relations[-1]
        for number, statement in write.statements:
            relation = self._after(number, statement, relation)
        if relation not in self._states:
            self._new.setdefault(relation, len(self._new))
        self._relations.append(relation)
        self._times.append(write.at)

    def _after(self, number: int, statement: Dml, before: str) -> str:
        """The FROM item of the contents after a statement."""
        match statement:
            case Optimize():
                return before
            case Restore(_, to):
                return self._relations[bisect_right(self._times, to)]
            case _:
                given = f'(SELECT {self._names} FROM "$given" WHERE "{STATEMENT.name}" = {number})'
                query = contents_after(statement, self._table, before, given)
                self._ctes.append(f'"${number}" AS MATERIALIZED ({query})')
                return f'"${number}"'

    @property
    def query(self) -> str:
        """The rows of every new state, each with the number of its state before it."""
        selects = [f'SELECT {number} AS "{STATE.name}", * FROM {name}' for name, number in self._new.items()]
        # If there is no new state, the result still has the table's columns.
        nothing = f'SELECT 0 AS "{STATE.name}", * FROM {self._relations[0]}'
        return f"WITH {', '.join(self._ctes)} {' UNION ALL '.join(selects) or nothing}"

    def extend(self, timeline: Timeline, relation: str, result: Iterable[Row]) -> None:
        """Adds the states to the timeline, given the query's result and the table that keeps it."""
        contents: dict[int, list[Row]] = {number: [] for number in self._new.values()}
        for number, *row in result:
            contents[cast(int, number)].append(tuple(row))
        for name, number in self._new.items():
            kept = f'(SELECT {self._names} FROM {relation} WHERE "{STATE.name}" = {number})'
            self._states[name] = State(kept, tuple(contents[number]))
        start = len(timeline.states)
        timeline.states.extend(self._states[name] for name in self._relations[start:])
        timeline.times.extend(self._times[start - 1 :])
