"""Mistakes of schedulers that other engines made; the judge of a simulated account must notice each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from campaign.faults.fault import ModelFault, sentence
from campaign.soak.plan import SECOND, TICK
from campaign.soak.result import Scheduler
from dynamic_tables.journal.events import Resumed
from dynamic_tables.refresh.execute import PROTOCOL
from dynamic_tables.refresh.versions import resolve
from dynamic_tables.schedule.due import Due, TableState, due
from dynamic_tables.schedule.graph import Graph
from dynamic_tables.schedule.timetable import Timetable
from dynamic_tables.store.port import Store
from dynamic_tables.versions import Frontier, SourceHistory, SourceVersion

States = Mapping[str, TableState]


def misaligned(table: Timetable, states: States, now: int) -> Sequence[Due]:
    """Tables of longer lags have times of their own, a second before those of the account."""
    return [
        replace(each, steps=tuple((name, at - SECOND) for name, at in each.steps))
        if table.periods[each.steps[0][0]] > TICK and each.steps[0][1] - SECOND > _stored(states, each)
        else each
        for each in due(table, states, now)
    ]


def without_arm(table: Timetable, states: States, now: int) -> Sequence[Due]:
    """A table that reads two others is refreshed as soon as one of them is."""
    tables = {
        name: replace(one, upstream=one.upstream[:1] if len(one.upstream) > 1 else one.upstream)
        for name, one in table.graph.tables.items()
    }
    return due(replace(table, graph=Graph(tables)), states, now)


def without_shared_time(table: Timetable, states: States, now: int) -> Sequence[Due]:
    """The members of a group are refreshed one after another, each to a time of its own."""
    return [
        replace(each, steps=tuple((name, at - place) for place, (name, at) in enumerate(each.steps)))
        for each in due(table, states, now)
    ]


def _stored(states: States, each: Due) -> int:
    """Returns the newest data timestamp that a table of a unit has stored."""
    return max((states[name].own or 0 for name, _ in each.steps if name in states), default=0)


def newest_version(history: SourceHistory, timestamp: int, table: str) -> SourceVersion:
    """A table above is read as it is stored now, whatever its data timestamp is."""
    return history.versions[-1] if history.dynamic else resolve(history, timestamp, table)


def after_the_skip(before: Frontier, after: Frontier, source: str, store: Store) -> SourceVersion:
    """After skipped times, the interval begins at the last of them."""
    return _version_at(before, source, store, after.timestamp - TICK)


def after_the_resume(before: Frontier, after: Frontier, source: str, store: Store) -> SourceVersion:
    """After a resume, the interval begins there."""
    resumed = [event.at for event in store.journal.all_events() if isinstance(event, Resumed)]
    return _version_at(before, source, store, max((at for at in resumed if at < after.timestamp), default=0))


def _version_at(before: Frontier, source: str, store: Store, timestamp: int) -> SourceVersion:
    """Returns the newest version of a source up to a timestamp, but none older than the frontier's."""
    definition = store.definitions()[source]
    versions = store.history(definition).versions  # type: ignore[arg-type]
    later = [
        version for version in versions if before.sources[source].timestamp < version.timestamp <= timestamp
    ]
    return later[-1] if later else before.sources[source]


def _fault(faulty: Callable[..., object], **parts: Any) -> ModelFault[Scheduler]:
    """Returns the mistake that a docstring describes. `parts`: of the scheduler, which it replaces."""
    return ModelFault(sentence(faulty), Scheduler(**parts))


FAULTS: Mapping[str, ModelFault[Scheduler]] = {
    "misaligned-period": _fault(misaligned, schedule=misaligned),
    "skipped-interval-lost": _fault(
        after_the_skip, protocol=replace(PROTOCOL, interval_start=after_the_skip)
    ),
    "resume-from-now": _fault(after_the_resume, protocol=replace(PROTOCOL, interval_start=after_the_resume)),
    "diamond-arm-stale": _fault(
        without_arm, protocol=replace(PROTOCOL, resolve=newest_version), schedule=without_arm
    ),
    "group-without-shared-snapshot": _fault(without_shared_time, schedule=without_shared_time),
}
"""The planted faults of the scheduler by name."""
