"""The engine's own plans for one definition, each evaluated on DuckDB for all worlds at once.

There are two ways. Lifted: the query gets a column `world` by which rows of different worlds stay apart, and
the engine binds and differentiates the lifted text: `GROUP BY k` becomes `GROUP BY k, world`. Apart: the
engine's plan of the query as it is, evaluated for each world by a LATERAL join over its rows. This is slower,
and serves queries that cannot be lifted (LIMIT), or whose lifted form has other operators and so would test
other rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property, partial
from typing import assert_never

from campaign.verify.definitions import Definition
from campaign.verify.universe import DELTA, EVERY_SNAPSHOT, EVERY_WORLD, SNAPSHOT, T0, T1, Universe
from dynamic_tables.definition import BaseTable
from dynamic_tables.differentiate.differentiation import At, leaf_name, operator_of
from dynamic_tables.differentiate.keys import rows_of
from dynamic_tables.differentiate.registry import Rules
from dynamic_tables.differentiate.row_id import RowIds
from dynamic_tables.explain import declare
from dynamic_tables.plan.dialects import DUCKDB
from dynamic_tables.plan.expressions import Col, Expr, walk as walk_expression
from dynamic_tables.plan.nodes import BoundQuery, Plan, walk
from dynamic_tables.plan.time import at_times
from dynamic_tables.plan.written.render import render
from dynamic_tables.reading.text.relations import Relations
from dynamic_tables.refresh.plans import Plans
from oracle.worlds import quoted
from workload.errors import WorkloadError
from workload.lift import WORLD, WORLDS, lifted_query
from workload.query import Query, names_read, with_sources
from workload.schema import Table
from workload.sql import Dialect, render_query
from workload.sql.passing_time import at_time, reads_time

MARK = "\0"
"""Stands around the names of leaves in a text; no SQL text contains it."""

AS_THEY_LIE = "/rows"
"""Ends the name of a relation with the rows of a table before they get the ids that a primary key makes."""

APART_UP_TO = 20_000
"""The most worlds for which a query whose lifted form has other operators is evaluated apart."""

AT_ONCE = 1_500
"""The number of worlds evaluated apart in one statement, whose time grows with the square of this number."""


TIMES = (0, 86_400_000_000)
"""The data timestamps before and after a change, in microseconds, if no others are given: a day passes."""


class Way(Enum):
    """How all worlds are evaluated at once; the values are printed."""

    LIFTED = "lifted"
    APART = "world by world"


@dataclass(frozen=True)
class Engine:
    """The engine's plans for one definition. `query`: lifted or not; `bound`: the same as the engine read it.

    `other_operators`: which operators the lifted query has instead of the definition's, if it has others.
    `times`: the data timestamps before and after the change.
    """

    definition: Definition
    universe: Universe
    way: Way
    query: Query
    bound: BoundQuery
    rules: Rules
    other_operators: str = ""
    times: tuple[int, int] = TIMES

    @staticmethod
    def of(definition: Definition, universe: Universe, rules: Rules) -> Engine:
        """Returns the engine for a definition, lifted if that keeps its operators, or for many worlds."""
        plain = bound_query(definition.query, definition.tables, rules)
        try:
            query = lifted_query(definition.query)
        except WorkloadError:
            return Engine(definition, universe, Way.APART, definition.query, plain, rules)
        lifted = bound_query(query, lifted_tables(definition.tables), rules)
        lost, new = difference(operators(plain), operators(lifted))
        if lost and universe.worlds <= APART_UP_TO:
            return Engine(definition, universe, Way.APART, definition.query, plain, rules)
        note = f"{' and '.join(lost)} lifted as {' and '.join(new)}" if lost else ""
        return Engine(definition, universe, Way.LIFTED, query, lifted, rules, note)

    @cached_property
    def plans(self) -> Plans:
        """The plans that refreshes run, with row ids that are made without the world (`without_worlds`)."""
        return Plans(replace(self.rules, row_ids=without_worlds(self.rules.row_ids)))

    @cached_property
    def plans_of_worlds(self) -> Plans:
        """The same with the world in row ids: for plans that look ids up among stored rows of all worlds."""
        return Plans(self.rules)

    @property
    def reads_time(self) -> bool:
        """Whether the query has other rows after the change, also where no table changed."""
        return reads_time(self.query)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the definition, without the one of the world."""
        return tuple(name for name, _ in self.bound.schema if name != WORLD.name)

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of the relations that the query reads."""
        return names_read(self.query)

    def leaves(self, before: str = T0, after: str = T1, changes: str = DELTA) -> dict[str, str]:
        """Returns by leaf of a plan the relation with its rows, at t0, at t1, and of the changes between."""
        ends: dict[str, str] = {}
        for source in self.sources:
            ends[leaf_name(source, At.T0)] = f"{source}@{before}"
            ends[leaf_name(source, At.T1)] = f"{source}@{after}"
            ends[leaf_name(source, None)] = f"{source}@{changes}"
        return ends

    def compute(
        self,
        into: str,
        plan: Plan,
        leaves: Mapping[str, str],
        *,
        every: str = EVERY_WORLD,
        times: tuple[int, int] | None = None,
    ) -> None:
        """Computes a plan for every world, or every snapshot, into a relation with the column `world`.

        `leaves`: by the name of each leaf the relation with its rows. `every`: the relation of the worlds or
        snapshots. `times`: the current time at t0 and at t1, if they are not those of the change.
        """
        plan = at_times(plan, *(times or self.times))
        # The names are quoted in the text. Without the quotes only the marks stand around a name.
        marked = {leaf: f"{MARK}{relation}{MARK}" for leaf, relation in leaves.items()}
        text = render(plan, DUCKDB, marked).text().replace(f'"{MARK}', MARK).replace(f'{MARK}"', MARK)
        self._compute(into, text, every)

    def compute_truth(self, into: str, time: int) -> None:
        """Computes the query at a time for every snapshot by the oracle's text; the engine takes no part."""
        by_key = {table.name for table in self.definition.tables if table.primary_key}
        stored = {name: f"{name}@{SNAPSHOT}{AS_THEY_LIE if name in by_key else ''}" for name in self.sources}
        names = {name: f"{MARK}{relation}{MARK}" for name, relation in stored.items()}
        text = render_query(at_time(with_sources(self.query, names), time), Dialect.DUCKDB)
        text = text.replace(f'"{MARK}', MARK).replace(f'{MARK}"', MARK)
        self._compute(into, text, EVERY_SNAPSHOT)

    def _compute(self, into: str, text: str, every: str) -> None:
        pieces, relations = text.split(MARK), self.universe.relations
        match self.way:
            case Way.LIFTED:
                relations.make(into, _around(pieces, quoted))
            case Way.APART:
                ((last,),) = relations.rows(f"SELECT coalesce(max(world), 0) FROM {quoted(every)}")
                assert isinstance(last, int)
                for first in range(0, last + 1, AT_ONCE):
                    part = f"BETWEEN {first} AND {first + AT_ONCE - 1}"
                    of_world = _around(pieces, partial(_rows_of_world, part=part))
                    worlds = f"(SELECT world FROM {quoted(every)} WHERE world {part}) AS every"
                    query = f"SELECT q.*, every.world FROM {worlds}, LATERAL ({of_world}) AS q"
                    if first:
                        relations.run(f"INSERT INTO {quoted(into)} {query}")
                    else:
                        relations.make(into, query)
            case _:
                assert_never(self.way)


def _around(pieces: Sequence[str], leaf: Callable[[str], str]) -> str:
    """Returns a text from its pieces; for every second one, a relation's name, stands `leaf(name)`."""
    return "".join(leaf(piece) if number % 2 else piece for number, piece in enumerate(pieces))


def _rows_of_world(relation: str, part: str) -> str:
    rows = f"(SELECT * FROM {quoted(relation)} WHERE world {part}) AS w"
    return f"(SELECT * EXCLUDE (world) FROM {rows} WHERE w.world = every.world)"


def bound_query(query: Query, tables: tuple[Table, ...], rules: Rules) -> BoundQuery:
    """Returns the plan that the engine reads from the text of a query over some tables."""
    return rules.bind(render_query(query, Dialect.SPARK), declared(tables), None)


def declared(tables: tuple[Table, ...]) -> Relations:
    """Returns the tables as the engine knows them."""
    return declare(f"{t.name}({', '.join(f'{c.name} {c.type}' for c in t.columns)})" for t in tables)


def lifted_tables(tables: tuple[Table, ...]) -> tuple[Table, ...]:
    """Returns the tables with the column of the world, and the table of all worlds."""
    return (*(replace(table, columns=(*table.columns, WORLD)) for table in tables), WORLDS)


def without_worlds(row_ids: RowIds) -> RowIds:
    """Returns row ids made without the world: rows of a snapshot are compared in all worlds that have it."""

    def key(values: Sequence[Expr]) -> Expr:
        return row_ids.key([value for value in values if not is_world(value)])

    def occurrence(values: Sequence[Expr], number: Expr) -> Expr:
        return row_ids.occurrence([value for value in values if not is_world(value)], number)

    return replace(row_ids, key=key, occurrence=occurrence)


def is_world(key: Expr) -> bool:
    """Tells whether a key is the world of a row: the binder may have numbered its columns (`world_1`)."""
    names = [part.name for part in walk_expression(key) if isinstance(part, Col)]
    return bool(names) and all(name.split("_")[0] == WORLD.name for name in names)


def operators(query: BoundQuery) -> Counter[str]:
    """Counts the operators of a plan, without scans, and without projections, which lifting adds."""
    return Counter(name for name in map(operator_of, walk(query.plan)) if name not in ("projection", "scan"))


def difference(plain: Counter[str], lifted: Counter[str]) -> tuple[list[str], list[str]]:
    """Returns the operators that lifting has removed, and those that it has put in their place."""
    return sorted(plain - lifted), sorted(lifted - plain)


def capture(universe: Universe, rules: Rules) -> None:
    """Computes the changes of every table by the engine's own rule for changes of a stored relation."""
    plans = Plans(rules)
    for table in lifted_tables(universe.tables)[:-1]:
        base = declared((table,))[table.name]
        assert isinstance(base, BaseTable)
        if table.primary_key:
            identify(universe, table, base, rules)
        plan = plans.of(rules.capture, table.name, base.columns)
        names = {leaf_name(table.name, at): f"{table.name}@{at.value}" for at in At}
        universe.relations.make(f"{table.name}@{DELTA}", render(plan, DUCKDB, names).text())


def identify(universe: Universe, table: Table, base: BaseTable, rules: Rules) -> None:
    """Gives the rows of a table in each world the ids that its primary key makes, and keeps the old rows."""
    for end, at in ((T0, At.T0), (T1, At.T1), (SNAPSHOT, At.T1)):
        name = f"{table.name}@{end}"
        universe.relations.make(name + AS_THEY_LIE, f"SELECT * FROM {quoted(name)}")
        plan = rules.keyed(table.name, at, base.columns, table.primary_key, rules.row_ids)
        leaves = {rows_of(table.name, at): name + AS_THEY_LIE}
        universe.relations.make(name, render(plan, DUCKDB, leaves).text())
