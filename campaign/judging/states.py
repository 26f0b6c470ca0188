"""Counts the rare states that a run reached, such as an emptied group.

They are read off the truth and the trace; what the generator intended does not count. A run's coverage has
them, and the floors of profiles demand some of them (`campaign.runs.floors`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from campaign.judging.probes import Probe
from oracle.bag import Bag
from oracle.delayed_view import DelayedView
from oracle.errors import OracleQueryError
from workload.outcomes.trace import Action, ChangeAction, Refreshed, Trace
from workload.query import Join, Named, Query, Relation, Select, blocks, relations_of
from workload.scenario import Commit, Meanwhile, Redefine, Scenario
from workload.types import Row

STORY = 3
"""Refreshes that change one key, each right after the other, so that the state that one leaves is used."""


def reached(scenario: Scenario, trace: Trace, truth: DelayedView, probes: Sequence[Probe]) -> Counter[str]:
    """Returns how many refreshes reached each state. `truth` evaluates the scenario with its probes."""
    states = Counter(_of_other_processes(scenario))
    states["text in a style of its own"] += sum(definition.style > 0 for definition in scenario.definitions)
    replacing = {name for step in scenario.steps if isinstance(step, Redefine) for name in step.names}
    again = {definition.name for definition in scenario.definitions if definition.known_as}
    states["name given again"] += len(again - replacing)
    states.update(disturbance.value for disturbance in trace.disturbed)
    previous: dict[str, int] = {}
    keys = {table.name: _Keys() for table in scenario.dynamic_tables}
    commits = [step.at for step in scenario.steps if isinstance(step, Commit)]
    for refreshed in trace.refreshes:
        table, after = refreshed.table, refreshed.timestamp
        before = previous.get(table)
        previous[table] = after
        states.update(_of_refresh(refreshed, scenario, commits))
        if before is None or refreshed.action is Action.NO_DATA:
            continue
        query = scenario.definition(table).query
        # Where the query fails on the data no state is known; an engine may have left out what fails.
        with suppress(OracleQueryError):
            states.update(
                [
                    state
                    for probe in probes
                    if probe.table == table
                    for state in probe.matches_changed(truth, before, after)
                ]
            )
            states.update(_of_contents(table, query, truth, (before, after), keys[table]))
    return states


def _of_contents(
    table: str, query: Query, truth: DelayedView, interval: tuple[int, int], keys: _Keys
) -> Iterator[str]:
    """Yields the states that the contents of a table and its sources show at the ends of an interval."""
    if _both_sides_changed(query, truth, *interval):
        yield "both join sides changed"
    positions = _key_positions(query)
    if positions is not None:
        old, new = (_by_key(truth.contents(table, at), positions) for at in interval)
        yield from keys.changed(old, new)


def _of_other_processes(scenario: Scenario) -> Iterator[str]:
    """Yields the states that other processes, and transactions without an effect, brought about."""
    for step in scenario.steps:
        if isinstance(step, Commit) and step.rolled_back:
            yield "transaction rolled back"
        match step:
            case Commit(meanwhile=Meanwhile() as known):
                if known.clock:
                    yield "commit by a wrong clock"
                if known.foreign:
                    yield "commit by a foreign writer"
                if known.abandoned:
                    yield "abandoned transaction"
            case _:
                pass


def _of_refresh(refreshed: Refreshed, scenario: Scenario, commits: Sequence[int]) -> Iterator[str]:
    """Yields the states that a refresh shows by itself. `commits`: the times of all commits."""
    changes = refreshed.change_set or ()
    deleted = {change.row_id for change in changes if change.action is ChangeAction.DELETE}
    inserted = {change.row_id for change in changes if change.action is ChangeAction.INSERT}
    if deleted - inserted:
        yield "retraction"
    if deleted & inserted:
        yield "row updated"
    if not refreshed.contents:
        yield "empty result"
    rows = Counter(repr(stored.row) for stored in refreshed.contents)
    if any(count > 1 for count in rows.values()):
        yield "duplicate rows"
    now = scenario.steps[refreshed.step].at
    if any(refreshed.timestamp < at <= now for at in commits):
        yield "old data timestamp"
    if refreshed.timestamp in commits:
        yield "commit at the data timestamp"
    if refreshed.action is Action.INCREMENTAL and not changes:
        yield "empty change set"


def _both_sides_changed(query: Query, truth: DelayedView, before: int, after: int) -> bool:
    """Tells whether some join of a query has, on each side, a named relation whose rows changed."""
    return any(
        _changed(relation.left, truth, before, after) and _changed(relation.right, truth, before, after)
        for block in blocks(query)
        for relation in relations_of(block.source)
        if isinstance(relation, Join)
    )


def _changed(relation: Relation, truth: DelayedView, before: int, after: int) -> bool:
    """Tells whether some named part of a relation has other rows at `after` than at `before`."""
    for part in relations_of(relation):
        if isinstance(part, Named):
            try:
                types = [column.type for column in truth.columns(part.name)]
            except KeyError:
                # A CTE: the truth knows tables and definitions only.
                return False
            old, new = (truth.contents(part.name, at) for at in (before, after))
            # The same tuple where both times see the same states of the base tables.
            if old is not new and (len(old) != len(new) or Bag.of(old, types) != Bag.of(new, types)):
                return True
    return False


def _key_positions(query: Query) -> tuple[int, ...] | None:
    """Returns the positions of the keys of the outermost grouping, or DISTINCT; None without one."""
    if not isinstance(query, Select):
        return None
    if query.distinct:
        return tuple(range(len(query.items)))
    exprs = [item.expr for item in query.items]
    if not query.group_by or any(key not in exprs for key in query.group_by):
        return None
    return tuple(exprs.index(key) for key in query.group_by)


def _by_key(rows: Sequence[Row], positions: Sequence[int]) -> dict[Row, str]:
    """Returns the rows by their keys, each as text: a grouping has one row for each key."""
    return {tuple(row[i] for i in positions): repr(row) for row in rows}


@dataclass(slots=True)
class _Keys:
    """The group keys of one table over time. `emptied`: keys that had rows once and have none now.

    `refilled`: keys that were emptied and had rows again. `seen`: the rows that each key has had. `in_a_row`:
    how many refreshes one after the other have changed the row of a key.
    """

    emptied: set[Row] = field(default_factory=set)
    refilled: set[Row] = field(default_factory=set)
    seen: dict[Row, set[str]] = field(default_factory=dict)
    in_a_row: Counter[Row] = field(default_factory=Counter)

    def changed(self, before: Mapping[Row, str], after: Mapping[Row, str]) -> Iterator[str]:
        """Yields the states that one refresh shows. `before`, `after`: the rows by their keys."""
        new, removed = after.keys() - before.keys(), before.keys() - after.keys()
        touched = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
        if removed & self.refilled:
            yield "group emptied again"
        if any(after[key] in self.seen.get(key, ()) for key in touched & after.keys() & before.keys()):
            yield "group as it was before"
        self.in_a_row = Counter({key: self.in_a_row[key] + 1 for key in touched})
        if any(count >= STORY for count in self.in_a_row.values()):
            yield "group changed three times in a row"
        for rows in (before, after):
            for key, row in rows.items():
                self.seen.setdefault(key, set()).add(row)
        self.refilled |= new & self.emptied
        if removed:
            yield "group emptied"
        if new & self.emptied:
            yield "group refilled"
        if any(None in key for key in new):
            yield "null key born"
        if any(None in key for key in removed):
            yield "null key vanished"
        self.emptied = (self.emptied | removed) - new
