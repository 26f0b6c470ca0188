"""A scenario under construction: its relations so far, its clock, and which refreshes are possible."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from generators import domains
from generators.choices import Choices
from generators.dml import DmlGenerator
from generators.domains import TableSketch
from generators.profiles import Profile
from generators.queries.queries import QueryGenerator
from generators.queries.relations import Generated, OutputColumn, Source
from generators.queries.styles import STYLES
from workload.dml import Dml, Replace
from workload.nested import only_in_full
from workload.query import Query
from workload.scenario import (
    Commit,
    Create,
    Definition,
    DynamicTable,
    Read,
    Refresh,
    RefreshMode,
    Scenario,
    Step,
    View,
)
from workload.schema import NO_PROMISES, Promises, Table
from workload.timeline import Timeline
from workload.types import NESTED, Row, SqlType, Value
from workload.writing import written_query

STYLES_TRIED = 12
"""The most styles that are drawn for a text of one form; each costs a millisecond."""

TICK = 10
"""Logical microseconds between steps. More than 1, so that data timestamps can lie between two steps."""


def source_of(sketch: TableSketch, rows: int) -> Source:
    """Returns a base table as queries read it; `rows`: how many it may hold at most, roughly."""
    columns = tuple(
        OutputColumn(column.name, column.type, domain.digits, column.type.kind not in NESTED)
        for column, domain in zip(sketch.columns, sketch.domains, strict=True)
    )
    return Source(sketch.name, columns, rows)


@dataclass(slots=True)
class ScenarioBuilder:
    """The tables, definitions and steps of a scenario so far. Each step moves the clock by one tick.

    `tables`: the tables that random statements write; `apart`: those that only the intent that added them
    reads and writes. `sources`: the relations that random queries read. `commit_times`: base table -> the
    times of the commits that RESTORE may go back to. `primary_keys`: base table -> the key that engines are
    told of. `outputs`: the types of the columns of the definitions. `now`: the time of the last step, `tick`:
    the time between two steps (microseconds).
    """

    choices: Choices
    profile: Profile
    tables: list[TableSketch] = field(default_factory=list)
    apart: list[TableSketch] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    definitions: dict[str, Definition] = field(default_factory=dict)
    outputs: dict[str, list[SqlType]] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    intents: list[str] = field(default_factory=list)
    commit_times: dict[str, list[int]] = field(default_factory=dict)
    primary_keys: dict[str, tuple[str, ...]] = field(default_factory=dict)
    now: int = 0
    tick: int = TICK

    timeline: Timeline = field(init=False)
    queries: QueryGenerator = field(init=False)
    dml: DmlGenerator = field(init=False)

    def __post_init__(self) -> None:
        self.timeline = Timeline(self.definitions)
        self.queries = QueryGenerator(self.choices, self.profile.query)
        self.dml = DmlGenerator(self.choices, self.profile.null_percent, self.profile.dml)

    def add_table(
        self, types: Sequence[SqlType] = (), *, shared: bool = True, digits: int = 0
    ) -> TableSketch:
        """Adds a random base table and returns it; `types` as for `domains.table`.

        Unless it is `shared`, no random statement writes it and no random query reads it. `digits`: those of
        values that will be inserted beside the drawn ones, so that nothing calculated from them overflows.
        """
        name = f"r{len(self.tables) + len(self.apart)}"
        sketch = domains.table(self.choices, name, self.profile.columns, types, self.profile.limits)
        wide = (replace(domain, digits=max(domain.digits, digits)) for domain in sketch.domains)
        sketch = replace(sketch, domains=tuple(wide))
        self.commit_times[sketch.name] = []
        if not shared:
            self.apart.append(sketch)
            return sketch
        self.tables.append(sketch)
        self.sources.append(source_of(sketch, max(8, self.profile.rows[1])))
        return sketch

    def source(self, name: str) -> Source:
        """Returns the base table, view or dynamic table of the name, as queries read it."""
        return next(source for source in self.sources if source.name == name)

    def add_view(self, generated: Generated) -> Source:
        """Defines a view by the query, creates it at the next tick, and returns it."""
        return self._define(View(f"v{len(self.definitions)}", generated.query), generated)

    def add_dynamic_table(self, generated: Generated, *, shared: bool = True, written: str = "") -> Source:
        """Defines a dynamic table of random mode and lag, creates it at the next tick, and returns it.

        Unless it is `shared`, no later random definition reads it. `written`: a pattern that its text shall
        match, if some style does: a subquery, say, where the IR has a join.
        """
        mode = RefreshMode.FULL if self.choices.chance(self.profile.full_percent) else RefreshMode.AUTO
        if mode is RefreshMode.AUTO and self.choices.chance(30) and not self._only_in_full(generated.query):
            mode = RefreshMode.INCREMENTAL
        lag = self.choices.pick((None, None, TICK * 2, TICK * 100))
        style = self._style(generated.query, written) if written else 0
        definition = DynamicTable(f"d{len(self.definitions)}", generated.query, mode, lag, style=style)
        return self._define(definition, generated, shared=shared)

    def freeze(self, name: str, condition: str) -> None:
        """Gives a dynamic table a frozen part."""
        definition = self.definitions[name]
        assert isinstance(definition, DynamicTable)
        self.definitions[name] = replace(definition, frozen_where=condition)

    def _style(self, query: Query, pattern: str) -> int:
        """Returns a style in which the text of a query matches a pattern; 0 where none was drawn."""
        names = {source.name: [column.name for column in source.columns] for source in self.sources}
        for _ in range(STYLES_TRIED):
            style = self.choices.integer(1, STYLES)
            if re.search(pattern, written_query(query, style, names), re.IGNORECASE):
                return style
        return 0

    def _only_in_full(self, query: Query) -> bool:
        """Tells whether a query reads columns of which an engine can compute no changes."""
        columns = {table.name: [c.type for c in table.columns] for table in (*self.tables, *self.apart)}
        return only_in_full(query, self.definitions, lambda name: columns.get(name) or self.outputs[name])

    def _define(self, definition: Definition, generated: Generated, *, shared: bool = True) -> Source:
        """Adds a definition, creates it at the next tick, and returns it as queries read it."""
        self.definitions[definition.name] = definition
        self.outputs[definition.name] = [column.type for column in generated.columns]
        source = Source(definition.name, generated.columns, generated.rows)
        if shared:
            self.sources.append(source)
        at = self._tick()
        self.timeline.create(definition.name, at)
        self.steps.append(Create(at, definition.name))
        return source

    @property
    def dynamic_tables(self) -> list[str]:
        """The names of the dynamic tables defined so far, upstreams first."""
        return [name for name, definition in self.definitions.items() if isinstance(definition, DynamicTable)]

    def commit(self, statements: tuple[Dml, ...]) -> None:
        """Commits the statements as one transaction at the next tick; does nothing if there are none."""
        if not statements:
            return
        at = self._tick()
        self.steps.append(Commit(at, statements))
        for statement in statements:
            times = self.commit_times[statement.table]
            if isinstance(statement, Replace):
                # RESTORE to a time before the replacement would bring back another table: never drawn.
                times.clear()
            elif not times or times[-1] != at:
                times.append(at)

    def refresh(self, name: str, timestamp: int | None = None) -> None:
        """Refreshes a dynamic table at the next tick, unless the data timestamp is impossible then.

        Without a `timestamp`, the data timestamp is the time of the refresh.
        """
        at = self.now + self.tick
        timestamp = at if timestamp is None else timestamp
        if timestamp <= at and self.timeline.possible(name, timestamp):
            self.timeline.refresh(name, timestamp)
            self.steps.append(Refresh(self._tick(), name, timestamp))

    def next_reader(self) -> int:
        """Returns the number of the next reader transaction, counted from 1."""
        return 1 + max((step.reader for step in self.steps if isinstance(step, Read)), default=0)

    def read(self, reader: int, tables: Sequence[str]) -> None:
        """Adds one statement of a reader transaction at the next tick, which reads the tables."""
        self.steps.append(Read(self._tick(), reader, tuple(tables)))

    def random_timestamp(self) -> int:
        """Returns a data timestamp: mostly the last step's or later, sometimes older than the last commit."""
        if self.choices.chance(self.profile.stale_percent):
            return self.now - self.choices.integer(0, 3) * (self.tick // 2)
        return self.choices.pick((self.now, self.now + self.tick, self.now + self.tick // 2))

    def random_statement(self) -> Dml:
        """Returns a random DML statement on a random base table."""
        table = self.choices.pick(self.tables)
        return self.dml.statement(table, self.commit_times[table.name])

    def row(self, table: TableSketch, **fixed: Value) -> Row:
        """Returns a random row of a base table, with given values for some columns."""
        row = domains.row(self.choices, table, self.profile.null_percent)
        return tuple(fixed.get(column.name, value) for column, value in zip(table.columns, row, strict=True))

    def finish(self, name: str) -> Scenario:
        """Returns the scenario under the given name, with all that was collected."""
        return Scenario(
            name,
            tuple(
                Table(table.name, table.columns, self._promises(table.name))
                for table in (*self.tables, *self.apart)
            ),
            tuple(self.definitions.values()),
            tuple(self.steps),
            tuple(dict.fromkeys(self.intents)),
        )

    def _promises(self, table: str) -> Promises:
        """Returns what a table promises: the primary key that an intent gave it, or nothing."""
        key = self.primary_keys.get(table)
        return Promises(keys=(key,), declared=key) if key else NO_PROMISES

    def _tick(self) -> int:
        self.now += self.tick
        return self.now
