"""Which refresh modes and actions are due, by the harness's own rules.

They are written by hand and apart from the engine, and the judge compares the engine's decisions with them.
For example, a table whose base tables nobody wrote since its last refresh must be refreshed by NO_DATA.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from generators.coverage import operators
from workload.dml import Delete, Dml, Merge, Optimize, Overwrite, Replace, Restore, Truncate, Update
from workload.outcomes.trace import Action
from workload.query import ColumnRef, Named, Query, RowSource, Select, With, inputs, names_read, walk
from workload.scenario import Commit, Definition, DynamicTable, RefreshMode, Scenario, View
from workload.sql.passing_time import reads_time

SUPPORTED = frozenset(
    {
        "filter",
        "projection",
        "inner join",
        "cross join",
        "left join",
        "right join",
        "full join",
        "semi join",
        "anti join",
        "union all",
        "union",
        "except all",
        "except",
        "intersect all",
        "intersect",
        "distinct",
        "limit",
        "window",
        "grouping sets",
        "explode",
        "grouped aggregation",
        "scalar aggregation",
    }
)
"""Operators that the engine promises to maintain incrementally, as its documentation lists them.

Its own set on purpose: an operator that disappears from the engine's registry must not disappear here.
"""


MOST_NESTED = 32
"""The greatest nesting of a query that the engine must maintain incrementally. Its plans have a greatest
depth, which its documentation gives, so it may refuse deeper queries."""

KEEPING = Update | Delete | Merge | Truncate | Restore | Optimize
"""Statements that keep the identities of all rows if the rows are the same after them. RESTORE may bring back
other identities; then the row ids tell."""


def incremental_due(table: DynamicTable, operators: frozenset[str]) -> bool:
    """Tells whether a table over these operators (views expanded) must be maintained incrementally."""
    return table.mode is not RefreshMode.FULL and operators <= SUPPORTED


def keeps_rows(statement: Dml) -> bool:
    """Tells whether a statement surely leaves every row and its identity as they are."""
    match statement:
        case Optimize():
            return True
        case Update(table, assignments, _):
            return all(
                isinstance(a.value, ColumnRef) and (a.value.relation, a.value.name) == (table, a.column)
                for a in assignments
            )
        case _:
            return False


@dataclass(frozen=True, slots=True)
class SourceHistory:
    """What happened to the base tables of a scenario, which decides the actions that are due.

    `written`: for each table, the times at which the platform made a new version of it. A statement without
    any effect makes a version in memory and none on Delta, unless it is a part of a larger transaction; none
    is wrong. `without_effect`: the writes (table, time) that left the rows as they were.
    """

    scenario: Scenario
    written: Mapping[str, Collection[int]]
    without_effect: Collection[tuple[str, int]] = ()

    def base_tables(self, name: str) -> frozenset[str]:
        """Returns the base tables behind a relation, at any depth."""
        definition = self._definitions.get(name)
        if definition is None:
            return frozenset({name})
        return frozenset().union(*map(self.base_tables, names_read(definition.query)))

    def direct_sources(self, name: str) -> frozenset[str]:
        """Returns the base and dynamic tables that a definition reads, directly or through views."""
        sources = names_read(self._definitions[name].query)
        through_views = (
            self.direct_sources(source) if isinstance(self._definitions.get(source), View) else {source}
            for source in sources
        )
        return frozenset().union(*through_views)

    def reads_by_views(self, name: str, source: str) -> bool:
        """Tells whether a definition is `source`, or reads it as a view, directly or through other views."""
        definitions = self._definitions
        views = (
            read for read in names_read(definitions[name].query) if isinstance(definitions.get(read), View)
        )
        return name == source or any(self.reads_by_views(view, source) for view in views)

    @property
    def _definitions(self) -> Mapping[str, Definition]:
        return {definition.name: definition for definition in self.scenario.definitions}

    def statements(self, tables: frozenset[str], after: int, until: int) -> list[Dml]:
        """Returns the statements on some base tables committed in (after, until]."""
        return [
            statement
            for step in self.scenario.steps
            if isinstance(step, Commit) and after < step.at <= until
            for statement in step.statements
            if statement.table in tables and step.at in self.written.get(statement.table, ())
        ]

    def last_commit(self, table: str, until: int) -> int:
        """Returns the time of the newest version of a base table up to a time; -1 if there is none yet."""
        return max((at for at in self.written.get(table, ()) if at <= until), default=-1)

    def unchanged(self, name: str, after: int, until: int) -> bool:
        """Tells whether every row behind a relation is surely the same at both times, with its identity."""
        return not (after < until and self.moves(name)) and all(
            keeps_rows(statement)
            for table in self.base_tables(name)
            for at in self.written.get(table, ())
            if after < at <= until and not self._same_by_key(table, at)
            for statement in self.statements(frozenset({table}), at - 1, at)
        )

    def moves(self, name: str) -> bool:
        """Tells whether the rows of a relation may change as time passes, though nobody writes a source."""
        definition = self._definitions.get(name)
        if definition is None:
            return False
        return reads_time(definition.query) or any(map(self.moves, names_read(definition.query)))

    def reads_time(self, name: str) -> bool:
        """Tells whether a definition reads the current time itself, or in a view."""
        return any(
            reads_time(each.query)
            for each in self.scenario.definitions
            if self.reads_by_views(name, each.name)
        )

    def only_time_passed(self, name: str, after: int, until: int) -> bool:
        """Tells whether a definition moves with the time, and nobody wrote below it in (after, until]."""
        written = self.statements(self.base_tables(name), after, until)
        return self.moves(name) and all(isinstance(each, Optimize) for each in written)

    def _same_by_key(self, table: str, at: int) -> bool:
        """Tells whether a commit wrote the rows of a table with a primary key again as they were."""
        return table in self._keyed and (table, at) in self.without_effect

    @property
    def _keyed(self) -> frozenset[str]:
        return frozenset(table.name for table in self.scenario.tables if table.primary_key)

    def actions_due(
        self, name: str, incremental: bool, previous: int | None, timestamp: int
    ) -> frozenset[Action]:
        """Returns the actions that may rightly refresh a table from its previous data timestamp to a new one.

        `incremental`: whether the table is maintained incrementally. `previous`: None at its first refresh.
        """
        if previous is None:
            return frozenset({Action.INITIALIZE})
        statements = self.statements(self.base_tables(name), previous, timestamp)
        due = {Action.INCREMENTAL if incremental else Action.FULL}
        if not statements or all(isinstance(s, Optimize) for s in statements):
            if not self.moves(name):
                return frozenset({Action.NO_DATA})
            # The contents say whether rows had to come or go; a FULL table is written anew as time passes.
            own = not incremental and self.reads_time(name)
            return frozenset(due if own else {*due, Action.NO_DATA})
        bases = frozenset(source for source in self.direct_sources(name) if source in self.base_tables(name))
        if any(isinstance(s, Replace) for s in statements if s.table in bases - self._keyed):
            return frozenset({Action.REINITIALIZE if incremental else Action.FULL})
        if all(self._idle(source, previous, timestamp) for source in bases) and (
            incremental or not self.reads_time(name)
        ):
            # Changes may have died out in an upstream dynamic table, or there were none.
            due.add(Action.NO_DATA)
        return frozenset(due)

    def _idle(self, table: str, after: int, until: int) -> bool:
        """Tells whether no commit in (after, until] changed rows of a base table, or their identities."""
        times = (at for at in self.written.get(table, ()) if after < at <= until)
        return all(
            all(isinstance(s, Optimize) for s in statements)
            or self._same_by_key(table, at)
            or ((table, at) in self.without_effect and all(map(_keeps_identities, statements)))
            for at in times
            if (statements := self.statements(frozenset({table}), at - 1, at))
        )


def _keeps_identities(statement: Dml) -> bool:
    """Tells whether a statement after which the rows are the same keeps their identities too."""
    # Where an overwrite with no rows has no effect, there was no row before either.
    return isinstance(statement, KEEPING) or (isinstance(statement, Overwrite) and not statement.rows)


def nesting(scenario: Scenario, query: Query) -> int:
    """Returns how many blocks, joins and set operations stand inside one another, views included."""

    def depth(node: RowSource, depths: Mapping[str, int]) -> int:
        match node:
            case Named(name, _):
                return 1 + depths.get(name, 0)
            case With(ctes, body):
                for cte in ctes:
                    depths = {**depths, cte.name: depth(cte.query, depths)}
                return 1 + depth(body, depths)
            case _:
                return 1 + max((depth(part, depths) for part in inputs(node)), default=0)

    views: dict[str, int] = {}
    for each in scenario.definitions:
        if isinstance(each, View):
            views[each.name] = depth(each.query, views)
    return depth(query, views)


UNRESOLVED = "UNRESOLVED_COLUMN"
"""What Spark calls the error for a name that it does not find."""


def unreadable_by_spark(scenario: Scenario, query: Query, message: str) -> bool:
    """Tells whether a refusal is Spark's: in QUALIFY over groups Spark 4.2 finds no column of FROM.

    An engine that asks Spark what a text means cannot take such a query. `message`: what the engine said.
    """
    definitions = {each.name: each for each in scenario.definitions}

    def has_it(query: Query) -> bool:
        blocks = (node for node in walk(query) if isinstance(node, Select))
        views = (definitions[name] for name in names_read(query) if isinstance(definitions.get(name), View))
        return any(b.qualify is not None and b.group_by is not None for b in blocks) or any(
            has_it(view.query) for view in views
        )

    return UNRESOLVED in message and has_it(query)


def operators_of(scenario: Scenario, query: Query) -> frozenset[str]:
    """Returns the operators of a query, including those of the views that it reads."""
    views = {
        definition.name: definition for definition in scenario.definitions if isinstance(definition, View)
    }
    of_views = (operators_of(scenario, views[name].query) for name in names_read(query) if name in views)
    return frozenset(operators(query)).union(*of_views)
