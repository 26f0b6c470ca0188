"""A table's history as one query: every statement is a CTE over the contents before it.

`oracle.base_tables` runs the query of a batch of commits; `oracle.dml` has the SELECT of each statement.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import cast

from oracle.dml import contents_after
from oracle.duck import duck_type
from workload.dml import Dml, Optimize, Restore
from workload.schema import Column, Table
from workload.types import INT, Kind, Row

STATEMENT = Column("$statement", INT)
"""The column that says which statement a literal row belongs to. No name in a scenario contains `$`."""

STATE = Column("$state", INT)
"""The column that says which state a row belongs to, in a table that holds several states."""


@dataclass(frozen=True, slots=True)
class State:
    """One contents of a base table: the FROM item under which DuckDB has it, and its rows."""

    relation: str
    rows: tuple[Row, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Write:
    """What one commit does to one table: (number, statement) pairs, numbered over the table's history."""

    at: int
    statements: tuple[tuple[int, Dml], ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """The states of a table: `states[0]` before the first commit, `states[i + 1]` from `times[i]` on.

    Times are logical microseconds, in ascending order.
    """

    times: list[int]
    states: list[State]

    @classmethod
    def of(cls, table: Table) -> Timeline:
        """Returns the timeline of a table without commits: it exists and is empty."""
        items = ", ".join(f'CAST(NULL AS {duck_type(c)}) AS "{c.name}"' for c in table.columns)
        return cls([], [State(f"(SELECT {items} WHERE FALSE)", ())])

    def at(self, timestamp: int) -> State:
        """Returns the state by the latest commit at or before the timestamp."""
        return self.states[bisect_right(self.times, timestamp)]


class Chain:
    """The states that some writes add to a timeline, as one query that yields the rows of all of them.

    `literals` is a FROM item with the literal rows of all statements, marked by `STATEMENT`. RESTORE and
    OPTIMIZE make no new state: they lead to one that exists already.
    """

    def __init__(self, table: Table, timeline: Timeline, literals: str) -> None:
        self._names = ", ".join(f'"{column.name}"' for column in table.columns)
        self._table = table
        self._times = list(timeline.times)
        self._relations = [state.relation for state in timeline.states]
        self._states = {state.relation: state for state in timeline.states}
        self._new: dict[str, int] = {}
        # Materialized, so that the cost is linear in the statements: inlined, each contents would be
        # computed again for everything after it.
        # Arrow has no type for JSON.
        casts = [
            f'CAST("{c.name}" AS JSON) AS "{c.name}"' for c in table.columns if c.type.kind is Kind.VARIANT
        ]
        items = f"* REPLACE ({', '.join(casts)})" if casts else "*"
        self._ctes = [f'"$literals" AS MATERIALIZED (SELECT {items} FROM {literals})']

    def append(self, write: Write) -> None:
        """Adds the write of a commit that is later than all commits added before."""
        relation = self._relations[-1]
        for number, statement in write.statements:
            relation = self._after(number, statement, relation)
        if relation not in self._states:
            self._new.setdefault(relation, len(self._new))
        self._relations.append(relation)
        self._times.append(write.at)

    def _after(self, number: int, statement: Dml, before: str) -> str:
        """Returns the FROM item of the contents after a statement."""
        match statement:
            case Optimize():
                return before
            case Restore(_, to):
                return self._relations[bisect_right(self._times, to)]
            case _:
                literals = f'(SELECT {self._names} FROM "$literals" WHERE "{STATEMENT.name}" = {number})'
                query = contents_after(statement, self._table, before, literals)
                self._ctes.append(f'"${number}" AS MATERIALIZED ({query})')
                return f'"${number}"'

    @property
    def query(self) -> str:
        """The SQL text that yields the rows of every new state, with the state's number as first column."""
        selects = [f'SELECT {number} AS "{STATE.name}", * FROM {name}' for name, number in self._new.items()]
        # Without a new state (only RESTORE and OPTIMIZE) the result still needs the table's columns.
        no_state = f'SELECT 0 AS "{STATE.name}", * FROM {self._relations[0]}'
        return f"WITH {', '.join(self._ctes)} {' UNION ALL '.join(selects) or no_state}"

    def extend(self, timeline: Timeline, relation: str, result: Iterable[Row]) -> None:
        """Adds the new states to the timeline, from the query's result and the table that stores it."""
        contents: dict[int, list[Row]] = {number: [] for number in self._new.values()}
        for number, *row in result:
            contents[cast(int, number)].append(tuple(row))
        for name, number in self._new.items():
            stored = f'(SELECT {self._names} FROM {relation} WHERE "{STATE.name}" = {number})'
            self._states[name] = State(stored, tuple(contents[number]))
        start = len(timeline.states)
        timeline.states.extend(self._states[name] for name in self._relations[start:])
        timeline.times.extend(self._times[start - 1 :])
