"""One refresh of one table, from frontier to commit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import assert_never

from dynamic_tables.definition import BaseTable, DynamicTable
from dynamic_tables.differentiate.apply import CHANGES, CONTENTS
from dynamic_tables.differentiate.differentiation import At, leaf_name
from dynamic_tables.errors import RefreshFailed, StoreError
from dynamic_tables.plan.nodes import ACTION, ROW_ID, BoundQuery
from dynamic_tables.refresh import action as actions
from dynamic_tables.refresh import versions
from dynamic_tables.refresh.action import Action, Readable
from dynamic_tables.refresh.change_set import ChangeSet
from dynamic_tables.refresh.frontier import Frontier, SourceVersion
from dynamic_tables.refresh.plans import Plans
from dynamic_tables.refresh.validate import validate
from dynamic_tables.refresh.versions import SourceHistory
from dynamic_tables.store.port import RefreshRecord, Relation, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshProtocol:
    """The steps of a refresh, as one argument: a test replaces a step, never a module."""

    resolve: Callable[[SourceHistory, int, str], SourceVersion] = versions.resolve
    decide: Callable[[Frontier | None, Frontier, bool, Readable], tuple[Action, str]] = actions.decide
    interval_start: Callable[[Frontier, Frontier, str, Store], SourceVersion] = (
        lambda before, after, source, store: before.sources[source]
    )
    """Where a source's interval starts, of the frontiers at both its ends."""
    contents_at: Callable[[Frontier, Store], Frontier] = lambda frontier, store: frontier
    """The versions from which contents are written anew: those of the frontier that is recorded."""
    validations: bool = True


PROTOCOL = RefreshProtocol()


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshResult:
    """A committed refresh. `version`: the table's version that holds it."""

    table: str
    version: int
    record: RefreshRecord
    change_set: ChangeSet | None = None

    @property
    def action(self) -> Action:
        """The action taken."""
        return self.record.action

    @property
    def timestamp(self) -> int:
        """The data timestamp."""
        return self.record.frontier.timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshing:
    """One refresh under way. `bound` None: the query has no plan, and the table is FULL."""

    table: DynamicTable
    bound: BoundQuery | None
    definitions: Mapping[str, BaseTable | DynamicTable]
    store: Store
    plans: Plans = field(default_factory=Plans)
    protocol: RefreshProtocol = PROTOCOL
    views: Mapping[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    scratch: list[Relation] = field(default_factory=list)

    def run(self, timestamp: int) -> RefreshResult:
        """Refreshes to a data timestamp. Raises RefreshFailed with nothing committed."""
        before = self._frontier()
        if before is not None and timestamp <= before.timestamp:
            raise RefreshFailed(
                self.table.name,
                timestamp,
                f"its data timestamp is {before.timestamp}, and time does not go back",
            )
        try:
            with self._timed("resolve"):
                after = self._resolve(timestamp)
                action, reason = self.protocol.decide(
                    before, after, self.table.incremental, self.store.readable
                )
            record = RefreshRecord(
                action=action, reason=reason, frontier=after, changed=True, seconds=self.seconds
            )
            return self._take(action, before, record)
        except StoreError as error:
            raise RefreshFailed(self.table.name, timestamp, str(error)) from error
        finally:
            self.store.release(self.scratch)

    def _take(self, action: Action, before: Frontier | None, record: RefreshRecord) -> RefreshResult:
        match action:
            case Action.NO_DATA:
                return self._commit(replace(record, changed=False, inserted=0, deleted=0), self.store.touch)
            case Action.INCREMENTAL:
                if before is None:
                    raise RefreshFailed(
                        self.table.name,
                        record.frontier.timestamp,
                        "an interval needs a frontier to start from",
                    )
                return self._incremental(before, record)
            case Action.INITIALIZE | Action.REINITIALIZE | Action.FULL:
                return self._anew(record)
            case _:
                assert_never(action)

    def _frontier(self) -> Frontier | None:
        history = self.store.refreshes(self.table)
        return history[-1].frontier if history else None

    def _resolve(self, timestamp: int) -> Frontier:
        sources = {
            name: self.protocol.resolve(
                self.store.history(self.definitions[name]), timestamp, self.table.name
            )
            for name in self.table.sources
        }
        return Frontier(timestamp, sources, self.table.expanded)

    def _anew(self, record: RefreshRecord) -> RefreshResult:
        with self._timed("query"):
            contents = self._keep(self.fresh(self.protocol.contents_at(record.frontier, self.store)))
        return self._commit(record, lambda table, record: self.store.overwrite(table, contents, record))

    def fresh(self, frontier: Frontier) -> Relation:
        """The defining query at a frontier, with row ids if the table keeps them."""
        if self.bound is None:
            relations = {
                name: self._snapshot(name, source.version) for name, source in frontier.sources.items()
            }
            return self.store.compute_text(self.table.text, relations)
        leaves: dict[str, Relation] = {}
        for name, source in frontier.sources.items():
            self._bind_end(leaves, name, source.version, At.T1, self.table.incremental)
        plan = self.plans.initial(self.bound, ids=self.table.incremental)
        return self.store.compute(plan, leaves, once=False)

    def _incremental(self, before: Frontier, record: RefreshRecord) -> RefreshResult:
        if self.bound is None:
            raise RefreshFailed(
                self.table.name, record.frontier.timestamp, "the query has no plan to differentiate"
            )
        with self._timed("changes"):
            leaves: dict[str, Relation] = {}
            for name, source in record.frontier.sources.items():
                start = self.protocol.interval_start(before, record.frontier, name, self.store)
                self._bind_interval(leaves, name, start, source)
            changes = self._keep(self.store.compute(self.plans.changes(self.bound), leaves, once=True))
        change_set = ChangeSet((*(name for name, _ in self.table.columns), ACTION, ROW_ID), changes)
        contents = self._keep(self.store.current(self.table))
        with self._timed("validate"):
            inserted, deleted = validate(
                self.table,
                record.frontier.timestamp,
                change_set,
                contents,
                self.store,
                self.plans,
                self.protocol.validations,
            )
        record = replace(record, inserted=inserted, deleted=deleted, changed=inserted + deleted > 0)
        if not record.changed:
            return replace(self._commit(record, self.store.touch), change_set=change_set)
        bound = {CHANGES: changes, CONTENTS: contents}
        with self._timed("fold"):
            folded = self._keep(self.store.compute(self.plans.fold(self.table.columns), bound, once=True))
        apply = self.plans.apply(self.table.columns)
        result = self._commit(record, lambda table, record: self.store.merge(table, folded, apply, record))
        return replace(result, change_set=change_set)

    def _bind_interval(
        self, leaves: dict[str, Relation], name: str, start: SourceVersion, end: SourceVersion
    ) -> None:
        ends: dict[str, Relation] = {}
        self._bind_end(ends, name, start.version, At.T0, True)
        self._bind_end(ends, name, end.version, At.T1, True)
        captured = self.plans.capture(name, self.definitions[name].columns)
        leaves |= {**ends, leaf_name(name, None): self._keep(self.store.compute(captured, ends, once=True))}

    def _bind_end(self, leaves: dict[str, Relation], name: str, version: int, at: At, ids: bool) -> None:
        definition = self.definitions[name]
        keeps_ids = isinstance(definition, BaseTable) or definition.incremental
        if keeps_ids or not ids:
            leaves[leaf_name(name, at)] = self._keep(self.store.snapshot(name, version, ids=ids))
            return
        rows = {f"{leaf_name(name, at)}/rows": self._snapshot(name, version)}
        plan = self.plans.identified(name, at, definition.columns)
        leaves[leaf_name(name, at)] = self._keep(self.store.compute(plan, rows, once=True))

    def _snapshot(self, name: str, version: int) -> Relation:
        return self._keep(self.store.snapshot(name, version, ids=False))

    def _commit(
        self, record: RefreshRecord, write: Callable[[DynamicTable, RefreshRecord], int]
    ) -> RefreshResult:
        with self._timed("commit"):
            version = write(self.table, record)
        return RefreshResult(table=self.table.name, version=version, record=record)

    def _keep(self, relation: Relation) -> Relation:
        self.scratch.append(relation)
        return relation

    @contextmanager
    def _timed(self, phase: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[phase] = self.seconds.get(phase, 0.0) + time.perf_counter() - start
