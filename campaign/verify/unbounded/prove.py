"""The proof of one definition for every number of rows, by every road by which a refresh computes changes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from campaign.verify.definitions import Definition
from campaign.verify.engine import TIMES, bound_query, declared
from campaign.verify.unbounded import clock
from campaign.verify.unbounded.bags import Bag
from campaign.verify.unbounded.cells import NotExpressibleError
from campaign.verify.unbounded.contents import OneRefresh
from campaign.verify.unbounded.interpret import Interpreter
from campaign.verify.unbounded.keys import IdOrder
from campaign.verify.unbounded.solve import Solver
from campaign.verify.unbounded.statement import Violation, violations, wrong_contents
from campaign.verify.unbounded.tables import Domain, SymbolicTable, leaves
from campaign.verify.unbounded.terms import Truth, both, either, forget, total
from campaign.verify.verify import Failure, registered
from dynamic_tables.definition import BaseTable
from dynamic_tables.differentiate.differentiation import CONTENTS, At, leaf_name
from dynamic_tables.differentiate.keys import keyed_capture, rows_of
from dynamic_tables.differentiate.registry import Rules, change_plan, ensure_supported, of_contents
from dynamic_tables.errors import DynamicTablesError
from dynamic_tables.plan.nodes import BoundQuery, Plan, Project
from dynamic_tables.refresh.plans import Plans
from generators.small_worlds import TableHistory
from workload.outcomes.results import Check
from workload.schema import Table
from workload.sql.passing_time import reads_time


class Outcome(Enum):
    """The verdict on a rule, as docs/proofs.md explains it."""

    PROVED = "proved"
    REFUTED = "refuted"
    NOT_EXPRESSIBLE = "not expressible"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Refutation:
    """A world in which a check fails on a `road` to the changes: the histories of its tables.

    `times`: the current time at t0 and at t1, in microseconds.
    """

    road: str
    check: Check
    world: tuple[TableHistory, ...]
    times: tuple[int, int] = TIMES


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The result for one definition. `domain`: the values of its columns.

    `roads`: how change sets were computed. `reason`: why it is not expressible, or unknown. `cases`: pairs of
    a row id and a check; `formulas`: how many of them z3 decided, the others being decided by their form.
    `not_compared`: why first contents were not compared with the meaning of the query. `not_shown`: why the
    changes from the contents are not among the `roads`, where the query has such. `failure`: what the check
    on DuckDB finds in the world of the refutation.
    """

    definition: Definition
    domain: Domain
    outcome: Outcome
    roads: tuple[str, ...] = ()
    reason: str = ""
    not_compared: str = ""
    not_shown: str = ""
    refutation: Refutation | None = None
    failure: Failure | None = None
    cases: int = 0
    formulas: int = 0
    seconds: float = 0.0


def prove(definition: Definition, domain: Domain, rules: Rules, *, effort: int) -> Proof:
    """Proves one definition, or refutes it. `effort`: as `solve.EFFORT`, for one formula."""
    start = time.process_time()
    forget()
    run = _Run(definition, domain, rules, effort)
    outcome, reason = Outcome.PROVED, ""
    try:
        run.all_roads()
    except NotExpressibleError as error:
        outcome, reason = Outcome.NOT_EXPRESSIBLE, str(error)
    except DynamicTablesError as error:
        outcome, reason = Outcome.UNKNOWN, f"the engine refuses the query: {error}"
    if run.refutation is not None:
        outcome, reason = Outcome.REFUTED, ""
    elif run.undecided and outcome is Outcome.PROVED:
        outcome, reason = Outcome.UNKNOWN, f"z3 gave up on {run.undecided} formulas"
    elif not run.cases and outcome is Outcome.PROVED:
        outcome, reason = Outcome.UNKNOWN, "nothing was to be shown"
    return Proof(
        definition=definition,
        domain=domain,
        outcome=outcome,
        roads=tuple(run.roads),
        reason=reason,
        not_compared=run.not_compared,
        not_shown=run.not_shown,
        refutation=run.refutation,
        cases=run.cases,
        formulas=run.formulas,
        seconds=time.process_time() - start,
    )


@dataclass(slots=True)
class _Run:
    """The proof of one definition while it runs: the roads so far, and what was counted on them."""

    definition: Definition
    domain: Domain
    rules: Rules
    effort: int
    roads: list[str] = field(default_factory=list)
    cases: int = 0
    formulas: int = 0
    undecided: int = 0
    not_compared: str = ""
    not_shown: str = ""
    refutation: Refutation | None = None

    def all_roads(self) -> None:
        """Shows every road to the changes, until one is refuted, or z3 gave up too often."""
        definition, rules = self.definition, self.rules
        bound = bound_query(definition.query, definition.tables, rules)
        ensure_supported(bound, rules)
        names = [table.name for table in definition.tables]
        for road in self._roads_of(bound, names):
            self.roads.append(road)
            if self.refutation is not None or self.undecided >= MOST_UNDECIDED:
                return

    def _roads_of(self, bound: BoundQuery, names: Sequence[str]) -> Iterator[str]:
        """Yields the name of each road once it is shown, so that the caller may stop before the next one."""
        world = Symbolic.of(self.definition, self.domain, self.rules, names)
        plans = Plans(self.rules)
        columns = [name for name, _ in bound.schema]
        before, after = world.ends(plans.initial(bound, True))
        if self.compared(world, bound, columns, after):
            yield "first contents"
        changes = world.rows(change_plan(bound, registered(self.rules)))
        self.show("by the rules", world, violations(before, after, changes, columns, world.changing))
        yield "by the rules"
        if of_contents(bound, self.rules) is not None and self.from_contents(world, bound, before, after):
            yield "from the contents"
        grouping = plans.stored_groups(bound)
        if grouping is not None:
            fresh = world.ends(plans.fresh_state(grouping))
            contents = OneRefresh(grouping, plans, world.rows, *fresh)
            first = world.rows(plans.state(bound))
            compared = contents.compared(columns)
            self.compared(world, bound, columns, fresh[1])
            self.show("first contents", world, wrong_contents(first, fresh[1], compared))
            for road, found in contents.roads(columns, world.changing):
                self.show(road, world, found)
                yield road
        # A bit of the mask says that a table changes. As time passes, rows may change where no table does.
        for mask in range(0 if world.timed else 1, 2 ** len(names) - 1):
            changed = [name for number, name in enumerate(names) if mask >> number & 1]
            still = [name for name in names if name not in changed]
            some = Symbolic.of(self.definition, self.domain, self.rules, changed)
            before, after = some.ends(plans.initial(bound, True))
            changes = some.rows(plans.changes(bound, still), {CONTENTS: before})
            road = f"by the rules, {' and '.join(still)} unchanged"
            self.show(road, some, violations(before, after, changes, columns, some.changing))
            yield road

    def from_contents(self, world: Symbolic, bound: BoundQuery, before: Bag, after: Bag) -> bool:
        """Shows the changes from the contents, and returns True; notes why, if that is not expressible.

        First rows are the rows at one place of an order, and are put into another order with the new ones.
        """
        try:
            changes = world.rows(change_plan(bound, self.rules), {CONTENTS: before})
        except NotExpressibleError as error:
            self.not_shown = str(error)
            return False
        columns = [name for name, _ in bound.schema]
        self.show("from the contents", world, violations(before, after, changes, columns, world.changing))
        return True

    def compared(self, world: Symbolic, bound: BoundQuery, columns: Sequence[str], state: Bag) -> bool:
        """Compares first contents with the meaning of the query; returns False where it has several.

        Which of equal rows a query without ids takes first is open, for example.
        """
        try:
            found = [*world.contents(bound, columns, state)]
        except NotExpressibleError as error:
            self.not_compared = str(error)
            return False
        self.show("first contents", world, found)
        return True

    def show(self, road: str, world: Symbolic, found: Iterable[Violation]) -> None:
        """Decides whether any of some violations has a solution; the smallest solution is the refutation."""
        listed: dict[Truth, Violation] = {}
        for violation in found:
            self.cases += 1
            if violation.formula is not False:
                listed.setdefault(violation.formula, violation)
        solver = Solver(world.laws(), self.effort)
        formulas = [*listed.values()]
        self.formulas += len(formulas)
        for start in range(0, len(formulas), AT_ONCE):
            some = formulas[start : start + AT_ONCE]
            if solver.solution(either(each.formula for each in some)) is not False:
                self.one_by_one(road, world, solver, some)
            if self.refutation is not None or self.undecided >= MOST_UNDECIDED:
                return

    def one_by_one(self, road: str, world: Symbolic, solver: Solver, found: Sequence[Violation]) -> None:
        """Decides violations one by one, when one has a solution, or they are too hard together."""
        for violation in found:
            solution = solver.solution(violation.formula)
            if solution is True:
                self.undecided += 1
                if self.undecided >= MOST_UNDECIDED:
                    return
            elif not isinstance(solution, bool):
                self.refutation = _least(road, world, solver, violation, solution)
                return


MOST_UNDECIDED = 3
"""The number of formulas on which z3 gives up before the rest of a definition is left out."""

AT_ONCE = 100
"""The number of formulas that z3 decides together, as a disjunction; most have no solution."""


def _least(
    road: str, world: Symbolic, solver: Solver, violation: Violation, solution: Mapping[str, int]
) -> Refutation:
    """Returns the world with the fewest rows in which a check fails for one row id; `solution`: any one."""
    rows = total(number for table in world.tables for number in table.numbers())
    for bound in range(1, MOST_ROWS):
        less = solver.solution(both(rows <= bound, violation.formula))
        if not isinstance(less, bool):
            solution = less
            break
    histories = tuple(table.history(solution) for table in world.tables)
    return Refutation(road, violation.check, histories, clock.times(solution) if world.timed else TIMES)


MOST_ROWS = 12
"""A world with more rows than this is shown as the solver gave it."""


@dataclass(slots=True)
class Symbolic:
    """The tables of a definition with symbols for their rows, and the rows of plans over them.

    `leaves`: the rows of each leaf. `timed`: whether the definition reads the current time.
    """

    definition: Definition
    tables: tuple[SymbolicTable, ...]
    leaves: Mapping[str, Bag]
    ids: IdOrder
    timed: bool = False

    @staticmethod
    def of(definition: Definition, domain: Domain, rules: Rules, changed: Sequence[str]) -> Symbolic:
        """Returns all worlds over a domain in which no table changes but those of `changed`."""
        tables = tuple(
            SymbolicTable.of(table, domain, changes=table.name in changed) for table in definition.tables
        )
        world = Symbolic(definition, tables, leaves(tables), IdOrder(), reads_time(definition.query))
        for table in definition.tables:
            base = declared((table,))[table.name]
            assert isinstance(base, BaseTable)
            plan = rules.capture(table.name, base.columns)
            if table.primary_key:
                world.identify(table, base, rules)
                arguments = base.columns, table.primary_key, rules.row_ids, rules.capture, rules.keyed
                plan = keyed_capture(table.name, *arguments)
            world.leaves = {**world.leaves, f"{table.name}@delta": world.rows(plan)}
        return world

    def identify(self, table: Table, base: BaseTable, rules: Rules) -> None:
        """Gives the rows of a table the ids that its primary key makes, and keeps the old rows."""
        for at in At:
            name = leaf_name(table.name, at)
            self.leaves = {**self.leaves, rows_of(table.name, at): self.leaves[name]}
            plan = rules.keyed(table.name, at, base.columns, table.primary_key, rules.row_ids)
            self.leaves = {**self.leaves, name: self.rows(plan)}

    @property
    def changing(self) -> dict[str, Truth]:
        """The places of rows that come, go or change, each with the condition that it has no rows.

        The time always changes, and it is the place of no row.
        """
        places = {name: none for table in self.tables for name, none in table.changing().items()}
        return {**places, "time": False} if self.timed else places

    def laws(self) -> list[Truth]:
        """Returns what holds of all symbols."""
        unique = [law for table in self.tables for law in table.unique()]
        return [*self.ids.laws.values(), *unique, *(clock.laws() if self.timed else ())]

    def rows(self, plan: Plan, more: Mapping[str, Bag] | None = None) -> Bag:
        """Returns the rows of a plan over the leaves."""
        return Interpreter({**self.leaves, **(more or {})}, self.ids).rows(plan)

    def ends(self, plan: Plan) -> tuple[Bag, Bag]:
        """Returns the rows at t0 and at t1 of a plan that reads sources, and the time, at t1."""
        earlier = {
            f"{table.table.name}@{At.T1.value}": self.leaves[f"{table.table.name}@{At.T0.value}"]
            for table in self.tables
        }
        return self.rows(clock.at_t0(plan), earlier), self.rows(plan)

    def contents(self, bound: BoundQuery, columns: Sequence[str], state: Bag) -> Iterator[Violation]:
        """Yields the ways in which first contents may differ from the meaning of the query's own plan."""
        sources = {table.table.name: table.rows(before=False) for table in self.tables}
        truth = self.rows(Project(bound.plan, bound.outputs), sources)
        yield from wrong_contents(state, truth, columns)
