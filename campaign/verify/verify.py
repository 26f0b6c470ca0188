"""The verification of one definition in all worlds of a universe, by every road to the changes.

A world is one small database with one change: all rows of the tables before it and after it (`universe`). A
road is a way in which a refresh computes the change set: by the registered rules, or from the rows that the
table itself stores (groupings, windows, first rows). Groupings also go back: the change is undone by a second
refresh, which reads what the first one stored, so hidden columns must be right too. All worlds are computed
and compared at once, by SQL over relations with a column `world`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from campaign.verify.counterexample import contradiction, counterexample
from campaign.verify.definitions import Definition
from campaign.verify.engine import TIMES, Engine
from campaign.verify.from_contents import BACK, FromContents
from campaign.verify.universe import EVERY_SNAPSHOT, EVERY_WORLD, SNAPSHOT, Universe
from dynamic_tables.differentiate.differentiation import CONTENTS
from dynamic_tables.differentiate.registry import Rules, change_plan, ensure_supported, of_contents
from dynamic_tables.errors import DynamicTablesError
from oracle.errors import OracleError
from oracle.worlds import (
    Broken,
    Compared,
    End,
    amplification,
    check_changes,
    check_contents,
    number_rows,
    quoted,
)
from workload.errors import first_line
from workload.lift import WORLDS
from workload.outcomes.results import Check

# Names of relations in the DuckDB of the universe.
STATE = "state"
STATE_BEFORE = "state before"
TRUTH = "truth"
CHANGES = "changes"
ALL_CHANGES = "changes of all worlds"
SOME_WORLDS = "some worlds"
TIMED_WORLDS = "worlds as time passes"

CHECKS_OF_CHANGES = 4
"""Checks of every world: the invariants 1 to 4, the row ids of a fresh initialization among them."""

CHECKS_OF_CONTENTS = 2
"""Checks of contents: the rows are the oracle's, and the row ids are unique."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A check that fails on a `road` to the changes. `worlds`: how many; `world`: the smallest, as text."""

    road: str
    check: Check
    message: str
    worlds: int
    world: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """The result for one definition. `way`: how all worlds were evaluated at once (`engine.Way`).

    `note`: which operators were lifted as other ones. `roads`: the names of the roads. `worlds`, `changes`,
    `checks`: the numbers of worlds, of rows in the change sets of all roads, and of checks. `amplification`:
    the number of pairs of a DELETE and an INSERT of identical rows. `seconds`: CPU time.
    """

    definition: Definition
    way: str
    note: str = ""
    roads: tuple[str, ...] = ()
    worlds: int
    changes: int = 0
    checks: int = 0
    amplification: int = 0
    seconds: float = 0.0
    failures: tuple[Failure, ...] = ()


def verify(
    definition: Definition, universe: Universe, rules: Rules, times: tuple[int, int] = TIMES
) -> Verified:
    """Verifies one definition in every world. `times`: the current time before and after, in microseconds.

    What the engine or DuckDB refuses is a failure of the result, and is not raised.
    """
    start = time.process_time()
    try:
        engine = replace(Engine.of(definition, universe, rules), times=times)
        ensure_supported(engine.bound, rules)
    except DynamicTablesError as error:
        refused = Failure(
            road="the engine refuses the query",
            check=Check.REFRESH_MODE,
            message=str(error),
            worlds=universe.worlds,
            world="",
        )
        return Verified(definition=definition, way="", worlds=universe.worlds, failures=(refused,))
    run = _Run(engine)
    try:
        run.all_roads()
    except OracleError as error:
        text = first_line(error)
        run.failures.append(
            Failure(
                road="the engine's query",
                check=Check.REFRESH_ERROR,
                message=text,
                worlds=universe.worlds,
                world="",
            )
        )
    return Verified(
        definition=definition,
        way=engine.way.value,
        note=engine.other_operators,
        roads=tuple(run.roads),
        worlds=universe.worlds,
        changes=run.changes,
        checks=run.checks,
        amplification=run.amplification,
        seconds=time.process_time() - start,
        failures=tuple(run.failures),
    )


@dataclass(slots=True)
class _Run:
    """The verification of one definition while it runs: the roads so far, and what was counted on them."""

    engine: Engine
    roads: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    changes: int = 0
    checks: int = 0
    amplification: int = 0

    def all_roads(self) -> None:
        """Checks the contents of every snapshot, then the changes by every road that the engine has."""
        engine = self.engine
        initial = engine.plans.initial(engine.bound, True)
        # Only a query that reads the time has other rows before the change than after it over one snapshot.
        # For any other query the two states are one, which the dict computes once.
        states = (STATE_BEFORE if engine.reads_time else STATE, STATE)
        for state, now in dict(zip(states, engine.times, strict=True)).items():
            leaves = engine.leaves(after=SNAPSHOT)
            engine.compute(state, initial, leaves, every=EVERY_SNAPSHOT, times=(now, now))
            engine.compute_truth(TRUTH, now)
            self.contents(state, TRUTH)
        ends = (End(states[0], "before"), End(states[1], "after"))
        compared = Compared(
            worlds=EVERY_WORLD, before=ends[0], after=ends[1], changes=CHANGES, columns=engine.columns
        )
        if engine.reads_time:
            self.as_time_passes(compared)
            return
        number_rows(engine.universe.relations, compared)
        self.by_rules(compared)
        if engine.definition.inner is None:
            self.with_unchanged_sources(compared)
        grouping = engine.plans_of_worlds.stored_groups(engine.bound)
        if grouping is not None:
            roads = FromContents(engine, grouping)
            self.contents(*roads.compute_ends())
            for road, of_road in roads:
                self.road(road, of_road)

    def as_time_passes(self, compared: Compared) -> None:
        """Checks the changes by the rules, and by plans without changes of tables where no table changed."""
        engine, relations = self.engine, self.engine.universe.relations
        # No world counts as unchanged: rows may come and go in it.
        relations.make(TIMED_WORLDS, f"SELECT * REPLACE (TRUE AS changed) FROM {quoted(EVERY_WORLD)}")
        compared = replace(compared, worlds=TIMED_WORLDS)
        number_rows(relations, compared)
        self.by_rules(compared)
        names = [table.name for table in engine.definition.tables]
        unchanged = f"SELECT * FROM {quoted(TIMED_WORLDS)} WHERE tables_changed = 0"
        relations.make(SOME_WORLDS, unchanged)
        plan = engine.plans.changes(engine.bound, (*names, WORLDS.name), contents=False)
        engine.compute(ALL_CHANGES, plan, engine.leaves())
        relations.make(
            CHANGES,
            f"SELECT c.* FROM {quoted(ALL_CHANGES)} AS c SEMI JOIN {quoted(SOME_WORLDS)} USING (world)",
        )
        self.road("by time alone", replace(compared, worlds=SOME_WORLDS))

    def by_rules(self, compared: Compared) -> None:
        """Checks the changes by the registered rules; of windows and first rows also from the contents."""
        engine, rules = self.engine, self.engine.plans.rules
        engine.compute(CHANGES, change_plan(engine.bound, registered(rules)), engine.leaves())
        self.road("by the rules", compared)
        if of_contents(engine.bound, rules) is not None:
            engine.universe.relations.make(CONTENTS, rows_before(compared))
            engine.compute(CHANGES, change_plan(engine.bound, rules), {**engine.leaves(), CONTENTS: CONTENTS})
            self.road("from the contents", compared)

    def with_unchanged_sources(self, compared: Compared) -> None:
        """Checks the changes where only some tables change, by the plans of a refresh without the others."""
        engine, relations = self.engine, self.engine.universe.relations
        names = [table.name for table in engine.definition.tables]
        # A bit of the mask says that a table changes: at least one does, and at least one does not.
        for mask in range(1, 2 ** len(names) - 1):
            worlds = f"SELECT * FROM {quoted(EVERY_WORLD)} WHERE tables_changed = {mask}"
            relations.make(SOME_WORLDS, worlds)
            unchanged = [name for number, name in enumerate(names) if not mask >> number & 1]
            plan = engine.plans.changes(engine.bound, (*unchanged, WORLDS.name), contents=False)
            engine.compute(ALL_CHANGES, plan, engine.leaves())
            relations.make(
                CHANGES,
                f"SELECT c.* FROM {quoted(ALL_CHANGES)} AS c SEMI JOIN {quoted(SOME_WORLDS)} USING (world)",
            )
            self.road(
                f"by the rules, {' and '.join(unchanged)} unchanged", replace(compared, worlds=SOME_WORLDS)
            )

    def contents(self, state: str, truth: str) -> None:
        """Checks the engine's rows (`state`) of every snapshot, or world, against the oracle's (`truth`)."""
        engine = self.engine
        relations = engine.universe.relations
        self.checks += CHECKS_OF_CONTENTS * (
            engine.universe.snapshots if state in (STATE, STATE_BEFORE) else engine.universe.worlds
        )
        for broken in check_contents(relations, state, truth, engine.columns):
            if broken is not None:
                world = contradiction(engine, broken.world, state, truth)
                self.failures.append(_failure("first contents", broken, world))

    def road(self, name: str, compared: Compared) -> None:
        """Checks and counts the changes that a road has computed into the relation `compared.changes`."""
        universe = self.engine.universe
        relations = universe.relations
        ((worlds, unchanged),) = relations.rows(
            f"SELECT count(*), count(*) FILTER (NOT changed) FROM {quoted(compared.worlds)}"
        )
        ((rows,),) = relations.rows(f"SELECT count(*) FROM {quoted(compared.changes)}")
        assert isinstance(worlds, int)
        assert isinstance(unchanged, int)
        assert isinstance(rows, int)
        self.roads.append(name)
        self.checks += CHECKS_OF_CHANGES * worlds + unchanged
        self.changes += rows
        for broken in check_changes(relations, compared):
            back = compared.worlds == BACK
            world = counterexample(self.engine, compared, broken.world, back=back)
            self.failures.append(_failure(name, broken, world))
        self.amplification += amplification(relations, compared)


def _failure(road: str, broken: Broken, world: str) -> Failure:
    return Failure(road=road, check=broken.check, message=broken.message, worlds=broken.worlds, world=world)


ON_TOP = ("limit", "window", "distinct", "grouped aggregation", "scalar aggregation")
"""The operators that may be maintained from the table's own contents at the top of a query."""


def registered(rules: Rules) -> Rules:
    """Returns the rules so that operators are maintained by them, not from the table's own contents."""
    # A copy is enough: contents are read only where the entry of an operator is the engine's own object.
    own = {name: replace(rules.operators[name]) for name in ON_TOP if name in rules.operators}
    return replace(rules, operators={**rules.operators, **own})


def rows_before(compared: Compared) -> str:
    """Returns the query of the rows that are stored in every world before the change."""
    return (
        f"SELECT s.* REPLACE (w.world AS world) FROM {quoted(compared.worlds)} AS w "
        f"JOIN {quoted(compared.before.relation)} AS s ON s.world = w.{compared.before.by}"
    )
