"""What a simulated account must hold, computed by hand: from the plan alone, without the engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter

import duckdb

from campaign.soak.plan import BASES, SECOND, TICK, VIEW, Declared, Kind, Write
from oracle.duck import open_duckdb

Row = tuple[object, ...]


def is_cyclic(tables: Mapping[str, Declared], group: Collection[str]) -> bool:
    """Tells whether a table would read itself at any depth; the members of a group count as one table."""
    graph: dict[str, set[str]] = {}
    for name, table in tables.items():
        node, read = (GROUP if name in group else name), {GROUP if s in group else s for s in table.sources}
        graph.setdefault(node, set()).update(read - {GROUP} if node == GROUP else read)
    return _has_cycle(graph) or _has_cycle({name: table.sources for name, table in tables.items()})


def _has_cycle(graph: Mapping[str, Collection[str]]) -> bool:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError:
        return True
    return False


GROUP = "the group"
"""The name of the group in the graph of tables; no table has it."""


@dataclass(slots=True)
class Truth:
    """The base rows at each tick, the definitions now, and DuckDB to evaluate them.

    `states`: the rows of each base table by data timestamp. `group`: the members of the refresh group;
    `repeatable`: whether its isolation is repeatable read. `suspended`: the tables suspended by command.
    `made`: by table and data timestamp the rows of each version that the judge has seen. `known`: contents
    computed since the last event. `loaded`: the rows of each table in DuckDB. `lost`: the base tables that
    are dropped. `view`: the number in the query of the view.
    """

    tables: dict[str, Declared]
    rows: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: {base: [] for base in BASES})
    states: dict[int, Mapping[str, tuple[tuple[int, int], ...]]] = field(default_factory=dict)
    group: tuple[str, ...] = ()
    repeatable: bool = False
    suspended: set[str] = field(default_factory=set)
    connection: duckdb.DuckDBPyConnection = field(default_factory=open_duckdb)
    made: dict[str, dict[int, Counter[Row]]] = field(default_factory=dict)
    known: dict[tuple[str, int], Counter[Row] | None] = field(default_factory=dict)
    loaded: dict[str, tuple[Row, ...]] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    view: int = 0

    def write(self, write: Write) -> None:
        """Applies a write to the rows of the base tables that are there."""
        for base, a, b in write.inserted:
            if base not in self.lost:
                self.rows[base].append((a, b))
        for base, column, value in write.deleted:
            if base in self.lost:
                continue
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

    def lacks_source(self, name: str) -> bool:
        """Tells whether a table reads a name that no table has now."""
        read = {BASES[0] if source == VIEW else source for source in self.tables[name].sources}
        return not ({*self.tables, *BASES} - self.lost).issuperset(read)

    def lacks(self, name: str) -> bool:
        """Tells whether a table, or one above it, lacks a source."""
        return any(map(self.lacks_source, (*self.above(name), name)))

    def with_names(self, names: Mapping[str, str]) -> dict[str, Declared]:
        """Returns the tables under other names; a table that reads a name reads whatever has that name."""
        renamed = ((names.get(old, old), table) for old, table in self.tables.items())
        return {name: replace(table, name=name) for name, table in renamed}

    def moved(self, names: Mapping[str, str]) -> None:
        """Gives tables other names. `names`: from old to new."""
        self.tables = self.with_names(names)
        self.made = {names.get(name, name): versions for name, versions in self.made.items()}
        self.suspended = {names.get(name, name) for name in self.suspended}
        self.group = tuple(names.get(name, name) for name in self.group)

    def dropped(self, name: str) -> Declared:
        """Takes a table away and returns it; a group of one member is none. Its versions stay."""
        self.group = tuple(member for member in self.group if member != name)
        if len(self.group) < 2:
            self.group, self.repeatable = (), False
        return self.tables.pop(name)

    def contents(self, name: str, timestamp: int) -> Counter[Row] | None:
        """Returns the rows of a table's query at a data timestamp; None where the query fails.

        A table above that has a version of that time already is read as it was made then, by the definitions
        that there were.
        """
        key = (name, timestamp)
        if key not in self.known:
            self.known[key] = self._computed(self.tables[name], timestamp)
        return self.known[key]

    def note(self, name: str, timestamp: int) -> None:
        """Notes that a table has a version of a data timestamp, made by its definition now."""
        rows = self.contents(name, timestamp)
        if rows is not None:
            self.made.setdefault(name, {})[timestamp] = rows

    def _computed(self, table: Declared, timestamp: int) -> Counter[Row] | None:
        """Returns the rows of a query by DuckDB; None where it divides by 0, or lacks a source."""
        sources = {source: self._rows_of(source, timestamp) for source in table.sources}
        if any(rows is None for rows in sources.values()):
            return None
        if table.kind is Kind.QUOTIENT and any(b == 0 for rows in sources.values() for _, b in rows or ()):
            return None
        for source, rows in sources.items():
            self._load(source, tuple((rows or Counter()).elements()))
        return Counter(self.connection.execute(table.query).fetchall())

    def _rows_of(self, source: str, timestamp: int) -> Counter[Row] | None:
        """Returns the rows of a base table, the view or a dynamic table; None where it has none to read."""
        if source == VIEW:
            rows = self._rows_of(BASES[0], timestamp)
            return (
                None
                if rows is None
                else Counter({(a, b): count for (a, b), count in rows.items() if int(str(b)) > self.view})
            )
        if source in BASES:
            # For the time while it was dropped, a table that is back has the rows from before the drop.
            return None if source in self.lost else Counter(self.states[timestamp][source])
        if source not in self.tables:
            return None
        version = self.made.get(source, {}).get(timestamp)
        return self.contents(source, timestamp) if version is None else version

    def _load(self, name: str, rows: tuple[Row, ...]) -> None:
        """Writes rows into a table of DuckDB, unless it has them already."""
        if self.loaded.get(name) == rows:
            return
        values = ", ".join(map(str, rows)) or "(NULL, NULL)"
        none = "" if rows else " WHERE false"
        self.connection.execute(
            f"CREATE OR REPLACE TABLE {name} AS "
            f"SELECT a::INT AS a, b::BIGINT AS b FROM (VALUES {values}) v(a, b){none}"
        )
        self.loaded[name] = rows

    def _wanted(
        self, name: str, consumers: Mapping[str, Sequence[str]], asked: tuple[str, ...] = ()
    ) -> int | None:
        """Returns the period that a table's target lag wants, or for DOWNSTREAM the lags of its readers.

        None where no lag wants any. `asked`: the tables on the way to this one, so that a circle ends.
        """
        lag = self.tables[name].lag
        if name in asked:
            return None
        if lag is None:
            asked = (*asked, name)
            below = [w for each in consumers[name] if (w := self._wanted(each, consumers, asked)) is not None]
            if not below and self.repeatable and name in self.group:
                # No table wants it, so it is as the others of its group.
                below = [w for each in self.group if (w := self._wanted(each, consumers, asked)) is not None]
            return min(below, default=None)
        period = TICK
        while period * 2 < lag * SECOND:
            period *= 2
        return period

    def periods(self) -> Mapping[str, int]:
        """Returns the period of each table by the paper's rule: durations are zero in simulated time."""
        consumers: dict[str, list[str]] = {name: [] for name in self.tables}
        for name, table in self.tables.items():
            for source in table.sources:
                if source in consumers:
                    consumers[source].append(name)

        wants = {name: self._wanted(name, consumers) for name in self.tables}
        shared = [wants[name] for name in self.group if wants[name] is not None]
        if self.repeatable and shared:
            wants.update(dict.fromkeys(self.group, min(each for each in shared if each is not None)))
        # No period is shorter than one above, and all members of a group have the same. Each round carries
        # that a step along the chains of tables, so twice as many rounds as tables are enough.
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
        ordered: dict[str, None] = {}
        for name in sorted(self.tables):
            ordered.update(dict.fromkeys((*self.above(name), name)))
        return list(ordered)
