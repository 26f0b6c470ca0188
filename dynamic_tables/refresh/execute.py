"""One refresh of one table, from its frontier to its commit.

A refresh to data timestamp t resolves the version of each source at t (the new frontier), decides on an
action (INITIALIZE, NO_DATA, FULL, INCREMENTAL, REINITIALIZE), and commits the new rows together with the
frontier. An INCREMENTAL one runs the plan of the changes between the old and the new frontier, validates the
change set (DVS paper, section 6.1), folds it to one row for each row id, and merges it. Until the commit
nothing is written to the table, so a refresh that fails leaves contents and frontier as they were.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import assert_never

from dynamic_tables.definition import BaseTable, DynamicTable, RefreshMode
from dynamic_tables.differentiate.apply import CHANGES, CONTENTS, fold
from dynamic_tables.differentiate.changes import identify
from dynamic_tables.differentiate.differentiation import CONTENTS as CONTENTS_AT_T0, At, leaf_name
from dynamic_tables.differentiate.keys import keyed_capture, rows_of
from dynamic_tables.differentiate.stored_groups import GROUPS, NET_CHANGES, PARTS, StoredGroups
from dynamic_tables.errors import ChangeDoesNotFit, RefreshFailed, StoreError
from dynamic_tables.frozen import Bind, FrozenPart
from dynamic_tables.journal.state import KEPT_PER_TABLE
from dynamic_tables.moment import moment
from dynamic_tables.plan.branches import Branch
from dynamic_tables.plan.nodes import ACTION, ROW_ID, BoundQuery, Leaf, Plan, walk
from dynamic_tables.plan.time import at_times
from dynamic_tables.reading.values.passed import TypeOf
from dynamic_tables.refresh.action import Readable, decide
from dynamic_tables.refresh.change_set import ChangeSet, ChangeSetRefused
from dynamic_tables.refresh.choice import Choice, Past, Work, choose
from dynamic_tables.refresh.frozen_rows import active_changes, history_of, with_history
from dynamic_tables.refresh.keys import ensure_unique, key_of
from dynamic_tables.refresh.plans import Plans
from dynamic_tables.refresh.validate import Validated, count_rows, read_validation, validated_here
from dynamic_tables.refresh.versions import resolve
from dynamic_tables.store.port import Action, Extent, RefreshRecord, Relation, Store, TextAnalyzer
from dynamic_tables.versions import Frontier, SourceHistory, SourceVersion

Ends = Mapping[str, tuple[SourceVersion, SourceVersion]]
"""By source: the versions at the start and at the end of its interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshProtocol:
    """The steps of a refresh in one argument, so that a test can plant a fault in one step.

    The defaults are what the engine does; those that are identity functions exist only for faults.
    """

    resolve: Callable[[SourceHistory, int, str], SourceVersion] = resolve
    choose: Callable[[Sequence[Past], Work], Choice] = choose
    """(earlier refreshes of the table, what there is to do) -> INCREMENTAL or FULL, and why."""
    decide: Callable[[Frontier | None, Frontier, bool, Readable], tuple[Action, str]] = decide
    interval_start: Callable[[Frontier, Frontier, str, Store], SourceVersion] = (
        lambda before, after, source, store: before.sources[source]
    )
    """(frontier before, frontier after, source, store) -> the version where the source's interval starts."""
    contents_at: Callable[[Frontier, Store], Frontier] = lambda frontier, store: frontier
    """(recorded frontier, store) -> the frontier at which contents that are written anew are read."""
    time: Callable[[Frontier], int] = lambda frontier: frontier.timestamp
    """(frontier) -> the current time of a query as of it, in microseconds."""
    validations: bool = True
    evaluates_anew: bool = True
    """Whether the query is evaluated as a whole where the query of its changes fails."""
    frozen: Callable[[DynamicTable, int, Bind, TypeOf | None], FrozenPart] = FrozenPart.of
    """(table, data timestamp, how a condition is read) -> which of its rows are frozen."""
    give_up: Callable[[Store, DynamicTable, RefreshRecord], None] = lambda store, table, record: None
    """What a refresh that failed leaves behind: nothing."""


PROTOCOL = RefreshProtocol()

LEAST_COUNTED = 50_000
"""Touched rows of a table with a primary key from which on those that differ are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshResult:
    """A committed refresh. `version`: the table's version that holds it. `change_set`: if INCREMENTAL."""

    table: str
    version: int
    record: RefreshRecord
    change_set: ChangeSet | None = None

    @property
    def action(self) -> Action:
        """The action that was taken."""
        return self.record.action

    @property
    def timestamp(self) -> int:
        """The data timestamp in microseconds."""
        return self.record.frontier.timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshing:
    """One refresh of one table, to be run once.

    `bound`: the query with its plan; None for a query that only Spark can read, whose table is FULL.
    `reads_time`: whether the query reads the current time, so that its result may change by itself.
    `definitions`: the sources by name. `seconds`: duration of each phase so far. `scratch`: relations to
    release at the end, whether the refresh succeeds or not. `captured`: the changes of sources, as far as
    they are known. `took`: the duration of earlier refreshes by data timestamp, both in microseconds.
    """

    table: DynamicTable
    bound: BoundQuery | None
    definitions: Mapping[str, BaseTable | DynamicTable]
    store: Store
    plans: Plans
    protocol: RefreshProtocol
    reads_time: bool = False
    took: Mapping[int, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    scratch: list[Relation] = field(default_factory=list)
    captured: dict[str, Relation] = field(default_factory=dict)

    def run(self, timestamp: int, *, anew: str = "") -> RefreshResult:
        """Refreshes the table to a data timestamp. Raises RefreshFailed; then nothing is committed.

        `anew`: the reason to write the contents anew, whatever has changed; empty for a usual refresh.
        """
        # Rows that another writer has edited are an error, except where they are all replaced now.
        history = self.store.refreshes(self.table, edited=bool(anew))
        before = history[-1].frontier if history else None
        if before is not None and timestamp <= before.timestamp:
            raise self._failed(
                timestamp, f"its data timestamp is {moment(before.timestamp)}, and time does not go back"
            )
        record: RefreshRecord | None = None
        try:
            with self._timed("resolve"):
                after = self._resolve(timestamp)
                start = None if before is None else self._going_on(before, after)
                start, action, reason, idle = self._due(start, after, anew)
            if action is not Action.NO_DATA:
                with self._timed("keys"):
                    self._ensure_keys(start if action is Action.INCREMENTAL else None, after)
            with self._timed("resolve"):
                # Only an interval has an extent; whatever is written anew has no more than its sources' rows.
                interval = start if action is Action.INCREMENTAL else None
                extents = {} if action is Action.NO_DATA else self._extents(interval, after)
                if action is Action.INCREMENTAL and not idle:
                    action, reason = self._chosen(history, extents, reason)
            record = RefreshRecord(
                action=action,
                reason=reason,
                frontier=after,
                changed=True,
                seconds=self.seconds,
                extents=extents,
            )
            match action:
                case Action.NO_DATA:
                    unchanged = replace(record, changed=False, inserted=0, deleted=0)
                    return self._commit(unchanged, self.store.touch)
                case Action.INCREMENTAL:
                    if start is None:
                        raise self._failed(timestamp, "an interval needs a frontier to start from")
                    return self._incremental(start, record, idle=idle)
                case Action.INITIALIZE | Action.REINITIALIZE | Action.FULL:
                    return self._overwrite(record, first=before is None)
                case _:
                    assert_never(action)
        except StoreError as error:
            # A refresh that failed must leave no trace; a planted fault leaves one here.
            if record is not None:
                self.protocol.give_up(self.store, self.table, record)
            raise self._failed(timestamp, str(error)) from error
        finally:
            self.store.release(self.scratch)

    def _due(
        self, start: Frontier | None, after: Frontier, anew: str
    ) -> tuple[Frontier | None, Action, str, bool]:
        """Returns where the interval starts, the action and its reason, and whether no source changed."""
        action, reason = self.protocol.decide(start, after, self.table.incremental, self.store.readable)
        idle = action is Action.NO_DATA
        if anew:
            return start, Action.REINITIALIZE, anew, idle
        if idle and self.reads_time and start is not None:
            # The same rows under other version numbers: the older ones need not be readable.
            start = replace(start, sources=after.sources)
            action = Action.INCREMENTAL if self.table.incremental else Action.FULL
            reason = "no source changed, and time passed"
        return start, action, reason, idle

    def _failed(self, timestamp: int, reason: str) -> RefreshFailed:
        """Returns the error that this refresh failed."""
        return RefreshFailed(self.table.name, timestamp, reason)

    def _resolve(self, timestamp: int) -> Frontier:
        """Returns the frontier of a data timestamp: the version that each source had then."""
        sources = {
            name: self.protocol.resolve(
                self.store.history(self.definitions[name]), timestamp, self.table.name
            )
            for name in self.table.sources
        }
        return Frontier(timestamp, sources, self.table.expanded)

    def _going_on(self, before: Frontier, after: Frontier) -> Frontier:
        """Returns the frontier where an interval starts, in which a table with a key may have been replaced.

        The rows of the new table are told from those of the old one by their key, so it is one table still.
        """
        replaced = {
            name: replace(start, identity=after.sources[name].identity)
            for name, start in before.sources.items()
            if name in after.sources
            and start.identity != after.sources[name].identity
            and key_of(self.definitions[name])
            and self.store.goes_on(name, start)
        }
        return replace(before, sources={**before.sources, **replaced}) if replaced else before

    def _ensure_keys(self, before: Frontier | None, after: Frontier) -> None:
        """Raises StoreError: two rows of a source have one primary key at the end of the interval.

        `before`: where the interval starts; None where all rows are read, and all keys are looked at.
        """
        for name, source in after.sources.items():
            definition = self.definitions[name]
            if not isinstance(definition, BaseTable) or not definition.key:
                continue
            start = None if before is None else before.sources[name]
            if start is not None and start.content == source.content:
                continue
            changes = None if start is None else self._captured(name, start, source)
            rows = self._snapshot(name, source.version)
            ensure_unique(definition, rows, changes, self.store, self.plans)

    def _extents(self, before: Frontier | None, after: Frontier) -> dict[str, Extent]:
        """Returns what commits touched of each source, from the log alone; none where a log does not tell.

        `before`: where the interval starts; None where there is none, and nothing was touched.
        """
        extents = {}
        for name, source in after.sources.items():
            definition = self.definitions[name]
            start = source if before is None else before.sources[name]
            extent = self.store.extent(definition, start, source)
            if extent is None:
                return {}
            if key_of(definition) and before is not None and extent.touched > LEAST_COUNTED:
                # Commits may have written every row again: what differs by key is what counts.
                changes = self._captured(name, start, source)
                extent = replace(extent, touched=count_rows(changes, definition, self.store, self.plans))
            extents[name] = extent
        return extents

    def _chosen(
        self, history: Sequence[RefreshRecord], extents: Mapping[str, Extent], reason: str
    ) -> tuple[Action, str]:
        """Returns what an AUTO table chooses, and why; INCREMENTAL where a log does not tell enough."""
        if self.table.mode is not RefreshMode.AUTO or not extents or self.bound is None:
            return Action.INCREMENTAL, reason
        choice = self.protocol.choose(self._past(history), self._work(self.bound, extents))
        return choice.action, f"{reason}; {choice.why}" if choice.why else reason

    def _work(self, query: BoundQuery, extents: Mapping[str, Extent]) -> Work:
        """Returns what an INCREMENTAL refresh, and a FULL one, would have to do."""
        unchanged = frozenset(name for name, extent in extents.items() if not extent.touched)
        groups = self.plans.stored_groups(query) if self.table.state else None
        plan = self._change_plan(query, unchanged) if groups is None else self.plans.net(groups, unchanged)
        read = {node.name for node in walk(plan) if isinstance(node, Leaf)}
        ends = sum(each.total for name, each in extents.items() for at in At if leaf_name(name, at) in read)
        versions = self.store.history(self.table).versions
        extent = self.store.extent(self.table, versions[-1], versions[-1])
        stored = 0 if extent is None else extent.total
        ends += stored if CONTENTS_AT_T0 in read else 0
        passes = ends / max(1, sum(each.total for each in extents.values()))
        return Work(extents=extents, passes=passes, stored=stored)

    def _past(self, history: Sequence[RefreshRecord]) -> list[Past]:
        """Returns the refreshes whose duration is known, oldest first."""
        return [
            Past(
                action=record.action,
                seconds=self.took[record.frontier.timestamp] / 1e6,
                extents=record.extents,
            )
            for record in history[-KEPT_PER_TABLE:]
            if self.took.get(record.frontier.timestamp) and record.extents
        ]

    def _overwrite(self, record: RefreshRecord, *, first: bool = False) -> RefreshResult:
        """Computes the contents anew and commits them, frozen rows as they were. `first`: there were none."""
        with self._timed("query"):
            frontier = self.protocol.contents_at(record.frontier, self.store)
            contents = self._scratch(self.fresh(frontier, hidden=True))
            if self.table.frozen_where:
                part = self._frozen(record.frontier.timestamp)
                kept = history_of(self.table, self.store, self.plans, first=first)
                contents = self._scratch(with_history(part, self.table, contents, kept, self.store))
        return self._commit(record, lambda table, record: self.store.overwrite(table, contents, record))

    def _without_changes(self, record: RefreshRecord, error: StoreError) -> RefreshResult:
        """Writes the contents anew after the query of the changes failed.

        That query also evaluates expressions on rows that the defining query never sees: a term of a join
        pairs rows of one side at the new data timestamp with rows of the other side at the old one, and such
        a pair may divide by zero. So the defining query alone decides whether the refresh fails.
        """
        self.plans.rules.met(Branch.EVALUATED_ANEW)
        reason = f"the changes could not be computed ({error}), so the query was evaluated anew"
        return self._overwrite(replace(record, action=Action.FULL, reason=reason))

    def fresh(self, frontier: Frontier, *, hidden: bool = False) -> Relation:
        """Returns the rows of the query at a frontier, with `$ROW_ID` if the table is incremental.

        `hidden`: with the hidden columns, if the table has any.
        """
        if self.bound is None:
            relations = {
                name: self._snapshot(name, source.version) for name, source in frontier.sources.items()
            }
            return self.store.compute_text(self.table.text, relations, self.protocol.time(frontier))
        if hidden and self.table.state:
            plan = self.plans.state(self.bound)
        else:
            plan = self.plans.initial(self.bound, self.table.incremental)
        return self._at(frontier, plan)

    def fresh_state(self, frontier: Frontier) -> Relation | None:
        """Returns the rows of the query at a frontier with every hidden column and `$ROW_ID`.

        None for a table without hidden columns.
        """
        stored = self.plans.stored_groups(self.bound) if self.table.state and self.bound is not None else None
        return None if stored is None else self._at(frontier, self.plans.fresh_state(stored))

    def _at(self, frontier: Frontier, plan: Plan) -> Relation:
        """Returns the rows of a plan that reads all sources at t1."""
        leaves: dict[str, Relation] = {}
        for name, source in frontier.sources.items():
            self._bind_end(leaves, name, source.version, At.T1, self.table.incremental)
        # Over few rows of every source the result is likely small, too; if not, it is computed once more.
        few = all(relation.local for relation in leaves.values())
        return self.store.compute(self._timed_plan(plan, None, frontier), leaves, once=False, few=few)

    def _timed_plan(self, plan: Plan, before: Frontier | None, after: Frontier) -> Plan:
        """Returns a plan with the current time at both ends of the interval, if the query reads it."""
        if not self.reads_time:
            return plan
        start = None if before is None else self.protocol.time(before)
        return at_times(plan, start, self.protocol.time(after))

    def _incremental(self, before: Frontier, record: RefreshRecord, *, idle: bool) -> RefreshResult:
        """Computes the change set, validates it, and merges it; raises ChangeSetRefused or StoreError.

        A change set without rows is a commit of the frontier alone. If the query of the changes fails, the
        contents are written anew. `idle`: no source changed, only time passed.
        """
        columns, rules, timestamp = self.table.stored, self.plans.rules, record.frontier.timestamp
        if self.bound is None:
            raise self._failed(timestamp, "the query has no plan to differentiate")
        try:
            with self._timed("changes"):
                changes = self._scratch(self._changes(before, record.frontier, self.bound))
        except StoreError as error:
            if not self.protocol.evaluates_anew:
                raise
            return self._without_changes(record, error)
        if self.table.frozen_where:
            with self._timed("changes"):
                part = self._frozen(timestamp)
                active = self._scratch(active_changes(part, changes, self.store))
                sizes = [count_rows(each, self.table, self.store, self.plans) for each in (changes, active)]
            changes, record = active, replace(record, late=sizes[0] - sizes[1])
        shown = (*(name for name, _ in self.table.columns), ACTION, ROW_ID)
        change_set = ChangeSet(shown, changes, len(self.table.state))
        bound = {CHANGES: changes}
        with self._timed("validate"):
            if not self.store.merge_validates:
                bound[CONTENTS] = self._scratch(self.store.current(self.table))
            validated = self._validated(changes, bound)
            if validated.violations and self.protocol.validations:
                reason = "; ".join(validated.violations)
                raise ChangeSetRefused(self.table.name, timestamp, reason, change_set)
        inserted, deleted = validated.inserted, validated.deleted
        record = replace(record, inserted=inserted, deleted=deleted, changed=inserted + deleted > 0)
        if not record.changed:
            if idle:
                reason = "no source changed, and no row crossed a limit of time"
                record = replace(record, action=Action.NO_DATA, reason=reason)
            # Sources changed and the result did not: the new frontier is committed without rows.
            return replace(self._commit(record, self.store.touch), change_set=change_set)
        with self._timed("fold"):
            # A `fold` that a test has replaced must run: then the store's shortcut for few rows is not taken.
            folded = self.store.folded(self.table, changes) if rules.fold is fold else None
            if folded is None:
                folded = self.store.compute(self.plans.of(rules.fold, columns), bound, once=True)
            self._scratch(folded)
        apply = self.plans.of(rules.apply, columns)
        try:
            result = self._commit(
                record, lambda table, record: self.store.merge(table, folded, apply, record)
            )
        except ChangeDoesNotFit as error:
            raise ChangeSetRefused(self.table.name, timestamp, str(error), change_set) from error
        return replace(result, change_set=change_set)

    def _validated(self, changes: Relation, bound: Mapping[str, Relation]) -> Validated:
        """Returns the violations of a change set, and its numbers of rows.

        A store whose merge refuses changes that do not fit (Delta) needs no look at the contents: there only
        duplicates are counted, in Python for few rows.
        """
        if CONTENTS not in bound and changes.local:
            return validated_here(changes.last(2))
        rules = self.plans.rules
        rule = rules.validate if CONTENTS in bound else rules.validate_changes
        plan = self.plans.of(rule, self.table.stored)
        return read_validation(self.store.compute(plan, bound, once=False).rows())

    def _frozen(self, timestamp: int) -> FrozenPart:
        """Returns which rows are frozen at a data timestamp."""
        type_of = self.store.type_of if isinstance(self.store, TextAnalyzer) else None
        return self.protocol.frozen(self.table, timestamp, self.plans.rules.bind, type_of)

    def _changes(self, before: Frontier, after: Frontier, query: BoundQuery) -> Relation:
        """Returns the consolidated changes between two frontiers; only what the plan reads is bound.

        `content` of a version is the version in which its rows were written, so equal contents mean that no
        row changed: OPTIMIZE, or a refresh with NO_DATA, makes a new version with the same content.
        """
        starts = {
            name: self.protocol.interval_start(before, after, name, self.store) for name in after.sources
        }
        unchanged = frozenset(
            name for name, source in after.sources.items() if starts[name].content == source.content
        )
        ends = {name: (starts[name], source) for name, source in after.sources.items()}
        stored = self.plans.stored_groups(query) if self.table.state else None
        if stored is None:
            plan = self._timed_plan(self._change_plan(query, unchanged), before, after)
            return self.store.compute(plan, self._leaves(plan, ends), once=True)
        return self._changes_of_groups(
            stored, ends, unchanged, partial(self._timed_plan, before=before, after=after)
        )

    def _change_plan(self, query: BoundQuery, unchanged: frozenset[str]) -> Plan:
        """Returns the plan of the changes. Frozen rows are not taken for rows of the query at t0."""
        return self.plans.changes(query, unchanged, contents=not self.table.frozen_where)

    def _changes_of_groups(
        self,
        stored: StoredGroups,
        ends: Ends,
        unchanged: frozenset[str],
        timed: Callable[[Plan], Plan],
    ) -> Relation:
        """Returns the changes of a table that is maintained from its own contents.

        Up to four queries, each over the results of those before: see `differentiate.stored_groups`.
        `timed`: gives plans over the sources the times of the interval.
        """
        plan = timed(self.plans.net(stored, unchanged))
        leaves = self._leaves(plan, ends)
        # At most as many groups changed as rows, so few changed rows give few groups.
        few = all(relation.local for relation in leaves.values())
        net = self._scratch(self.store.compute(plan, leaves, once=True, few=few))
        # The last column of `net` is the group's row id: only the stored rows of these groups are read. The
        # ids of many groups are not fetched to Python; then Spark joins with all stored rows.
        contents = (
            self.store.current_rows(self.table, [str(row_id) for (row_id,) in net.last(1)])
            if net.local
            else self.store.current(self.table)
        )
        read = {NET_CHANGES: net, CONTENTS_AT_T0: self._scratch(contents)}
        groups = self._scratch(self.store.compute(self.plans.groups(stored), read, once=True, few=net.local))
        read = {GROUPS: groups}
        again = stored.has_extremum and self._any_again(stored, groups)
        # Usually no group lost its extremum, and the rows of the sources at t1 are not read at all.
        if again:
            stored.record_again(self.plans.rules.met)
            plan = timed(self.plans.group_parts(stored))
            parts = {**self._leaves(plan, ends), **read}
            read[PARTS] = self._scratch(self.store.compute(plan, parts, once=True))
        return self.store.compute(self.plans.group_changes(stored, again=again), read, once=True)

    def _any_again(self, stored: StoredGroups, groups: Relation) -> bool:
        """Tells whether a group must be computed anew."""
        wanted = self.store.compute(self.plans.groups_again(stored), {GROUPS: groups}, once=False)
        return bool(wanted.rows())

    def _leaves(self, plan: Plan, ends: Ends) -> dict[str, Relation]:
        """Returns what a plan reads of the sources between two versions of each."""
        # Only what the plan reads is bound: a filter over one source needs the changes of it, and no version.
        read = {node.name for node in walk(plan) if isinstance(node, Leaf)}
        leaves: dict[str, Relation] = {}
        for name, (start, end) in ends.items():
            for at, version in ((At.T0, start.version), (At.T1, end.version)):
                if leaf_name(name, at) in read:
                    self._bind_end(leaves, name, version, at, True)
            if leaf_name(name, None) in read:
                leaves[leaf_name(name, None)] = self._captured(name, start, end)
        if CONTENTS_AT_T0 in read:
            leaves[CONTENTS_AT_T0] = self._scratch(self.store.current(self.table))
        return leaves

    def _captured(self, name: str, start: SourceVersion, end: SourceVersion) -> Relation:
        """Returns the changes of a source, from the rows that its commits touched or from whole versions.

        The store returns only the rows of files that the commits of the interval added, removed or gave
        another deletion vector; a row outside of these files is the same at both ends. Where the log does not
        tell the files, both versions are compared as a whole, by the same plan.
        """
        if name in self.captured:
            return self.captured[name]
        definition, rules = self.definitions[name], self.plans.rules
        key = key_of(definition)
        ends: dict[str, Relation] = {}
        touched = self.store.touched(definition, start, end)
        if touched is not None:
            for at, rows in ((At.T0, touched.before), (At.T1, touched.after)):
                ends[rows_of(name, at) if key else leaf_name(name, at)] = self._scratch(rows)
        else:
            for at, version in ((At.T0, start.version), (At.T1, end.version)):
                if key:
                    ends[rows_of(name, at)] = self._snapshot(name, version)
                else:
                    self._bind_end(ends, name, version, at, True)
        if key:
            plan = self.plans.of(
                keyed_capture, name, definition.columns, key, rules.row_ids, rules.capture, rules.keyed
            )
        else:
            plan = self.plans.of(rules.capture, name, definition.columns)
        self.captured[name] = self._scratch(self.store.compute(plan, ends, once=True))
        return self.captured[name]

    def _bind_end(self, leaves: dict[str, Relation], name: str, version: int, at: At, ids: bool) -> None:
        """Adds the rows of a source at a version to `leaves`, with `$ROW_ID` if `ids`.

        The ids of a base table with a primary key are made of it. A source that has neither key nor stored
        row ids (a FULL dynamic table, a base table without row tracking) gets ids that are made of content
        and occurrence.
        """
        definition, leaf, rules = self.definitions[name], leaf_name(name, at), self.plans.rules
        key = key_of(definition)
        has_ids = definition.row_ids if isinstance(definition, BaseTable) else definition.incremental
        if not ids or (has_ids and not key):
            leaves[leaf] = self._scratch(self.store.snapshot(name, version, ids=ids))
            return
        rows = self._snapshot(name, version)
        if key:
            plan = self.plans.of(rules.keyed, name, at, definition.columns, key, rules.row_ids)
        else:
            plan = self.plans.of(identify, name, at, definition.columns, rules.row_ids)
        # A key needs the row alone, so the rows of a large table are not computed before they are read.
        once = rows.local or not key
        leaves[leaf] = self._scratch(self.store.compute(plan, {rows_of(name, at): rows}, once=once))

    def _snapshot(self, name: str, version: int) -> Relation:
        """Returns the rows of a source at a version, without row ids."""
        return self._scratch(self.store.snapshot(name, version, ids=False))

    def _commit(
        self, record: RefreshRecord, write: Callable[[DynamicTable, RefreshRecord], int]
    ) -> RefreshResult:
        """Commits the refresh by `write`, which returns the version, and returns the result."""
        with self._timed("commit"):
            version = write(self.table, record)
        return RefreshResult(table=self.table.name, version=version, record=record)

    def _scratch(self, relation: Relation) -> Relation:
        """Returns a relation that is released at the end of the refresh."""
        self.scratch.append(relation)
        return relation

    @contextmanager
    def _timed(self, phase: str) -> Iterator[None]:
        """Opens a block whose duration is added to that of a phase."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[phase] = self.seconds.get(phase, 0.0) + time.perf_counter() - start
