"""What a simulated account must hold, computed by hand: from the plan alone, without the engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import duckdb

from campaign.soak.plan import BASES, SECOND, TICK, Declared, Kind, Write

Row = tuple[object, ...]


@dataclass(slots=True)
class Truth:
    """The base rows at each tick, the definitions now, and DuckDB to evaluate them.

    `states`: the rows of each base table by data timestamp. `groups`: members that are published together.
    """

    tables: dict[str, Declared]
    rows: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: {base: [] for base in BASES})
    states: dict[int, Mapping[str, tuple[tuple[int, int], ...]]] = field(default_factory=dict)
    group: tuple[str, ...] = ()
    repeatable: bool = False
    suspended: set[str] = field(default_factory=set)
    connection: duckdb.DuckDBPyConnection = field(default_factory=lambda: duckdb.connect(":memory:"))
    loaded: int | None = None

    def write(self, write: Write) -> None:
        """Applies a write to the base rows."""
        for base, a, b in write.inserted:
            self.rows[base].append((a, b))
        for base, column, value in write.deleted:
            place = ("a", "b").index(column)
            self.rows[base] = [row for row in self.rows[base] if row[place] != value]

    def keep(self, timestamp: int) -> None:
        """Remembers the base rows as those of a data timestamp."""
        self.states[timestamp] = {base: tuple(rows) for base, rows in self.rows.items()}

    def above(self, name: str) -> list[str]:
        """Returns all dynamic tables that a table reads, at any depth, each after those it reads."""
        found: dict[str, None] = {}

        def visit(each: str) -> None:
            for source in self.tables[each].sources:
                if source in self.tables:
                    visit(source)
                    found[source] = None

        visit(name)
        return list(found)

    def contents(self, name: str, timestamp: int) -> Counter[Row] | None:
        """Returns the rows of a table's query at a data timestamp; None where the query fails."""
        if any(self._fails(each, timestamp) for each in (*self.above(name), name)):
            return None
        return Counter(self._run(f"SELECT a, b FROM {name}", name, timestamp))

    def fails(self, name: str, timestamp: int) -> bool:
        """Tells whether the query of a table itself fails, where those above it do not."""
        above_fails = any(self._fails(each, timestamp) for each in self.above(name))
        return not above_fails and self._fails(name, timestamp)

    def _fails(self, name: str, timestamp: int) -> bool:
        table = self.tables[name]
        if table.kind is not Kind.QUOTIENT:
            return False
        if any(self._fails(each, timestamp) for each in self.above(name)):
            return False
        return bool(self._run(f"SELECT 1 FROM {table.sources[0]} WHERE b = 0", name, timestamp))

    def _run(self, query: str, name: str, timestamp: int) -> list[Row]:
        if self.loaded != timestamp:
            for base, rows in self.states[timestamp].items():
                values = ", ".join(str(row) for row in rows) or "(NULL::INT, NULL::INT)"
                none = "" if rows else " WHERE false"
                self.connection.execute(
                    f"CREATE OR REPLACE TABLE {base} AS "
                    f"SELECT a::INT AS a, b::INT AS b FROM (VALUES {values}) v(a, b){none}"
                )
            self.loaded = timestamp
        views = ", ".join(f"{each} AS ({self.tables[each].query})" for each in (*self.above(name), name))
        return self.connection.execute(f"WITH {views} {query}").fetchall()

    def periods(self) -> Mapping[str, int]:
        """Returns the period of each table by the paper's rule: durations are zero in simulated time."""
        consumers: dict[str, list[str]] = {name: [] for name in self.tables}
        for name, table in self.tables.items():
            for source in table.sources:
                if source in consumers:
                    consumers[source].append(name)

        def wanted(name: str, asked: tuple[str, ...] = ()) -> int | None:
            lag = self.tables[name].lag
            if lag is None:
                below = [w for each in consumers[name] if (w := wanted(each, asked)) is not None]
                if not below and self.repeatable and name in self.group:
                    # No table wants it, so it is as the others of its group.
                    others = [each for each in self.group if each not in (name, *asked)]
                    below = [w for each in others if (w := wanted(each, (*asked, name))) is not None]
                return min(below, default=None)
            period = TICK
            while period * 2 < lag * SECOND:
                period *= 2
            return period

        wants = {name: wanted(name) for name in self.tables}
        shared = [wants[name] for name in self.group if wants[name] is not None]
        if self.repeatable and shared:
            wants.update(dict.fromkeys(self.group, min(each for each in shared if each is not None)))
        # Not shorter than those above, all members of a group alike; twice as often as any chain is long.
        periods = {name: period for name, period in wants.items() if period is not None}
        for _ in range(2 * len(self.tables)):
            for name, period in periods.items():
                above = [periods[s] for s in self.tables[name].sources if s in periods]
                periods[name] = max([period, *above])
            if self.repeatable:
                most = max((periods[name] for name in self.group if name in periods), default=0)
                periods.update({name: most for name in self.group if name in periods})
        return periods

    def order(self) -> Sequence[str]:
        """Returns the tables, each after those that it reads."""
        return sorted(self.tables, key=lambda name: int(name[1:]))
