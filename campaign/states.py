"""Which rare states a run actually reached, measured on the truth, not on what was intended.

Some need queries of their own (which rows of an outer join have no match?): probes, views that are added
to the scenario for the oracle alone and that the engine never sees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from oracle.bag import Bag
from oracle.delayed_view import DelayedView
from workload.query import (
    Call,
    ColumnRef,
    Derived,
    Item,
    Join,
    JoinKind,
    Literal,
    Named,
    Query,
    Relation,
    Select,
    blocks,
    relations_of,
)
from workload.scenario import Commit, Definition, Scenario, View
from workload.scope import Catalog, relation_scope
from workload.trace import Action, ChangeAction, Refreshed, Trace
from workload.types import BOOLEAN, Row
from workload.wellformed import check_scenario

MARKER = "probe_marker"


@dataclass(frozen=True, slots=True)
class OuterProbe:
    """Two views over one outer join: all preserved rows, and those without a match."""

    table: str
    preserved: str
    unmatched: str


def with_probes(scenario: Scenario) -> tuple[Scenario, tuple[OuterProbe, ...]]:
    """The scenario with the views that measure its outer joins (those in the outermost FROM)."""
    catalog = check_scenario(scenario)
    views: list[Definition] = []
    probes = []
    for definition in scenario.dynamic_tables:
        if not isinstance(definition.query, Select):
            continue
        for join in relations_of(definition.query.source):
            made = _probe(join, catalog, len(views)) if isinstance(join, Join) else None
            if made is not None:
                views.extend(made)
                probes.append(OuterProbe(definition.name, made[0].name, made[1].name))
                break
    return replace(scenario, definitions=scenario.definitions + tuple(views)), tuple(probes)


def _probe(join: Join, catalog: Catalog, number: int) -> tuple[View, View] | None:
    match join.kind:
        case JoinKind.LEFT | JoinKind.FULL:
            kept, other = join.left, join.right
        case JoinKind.RIGHT:
            kept, other = join.right, join.left
        case _:
            return None
    if not isinstance(other, Named):
        return None
    items = tuple(
        Item(ColumnRef(alias, name, type_), f"p{i}")
        for i, (alias, name, type_) in enumerate(
            (alias, name, type_)
            for alias, names in relation_scope(kept, catalog).items()
            for name, type_ in names.items()
        )
    )
    columns = relation_scope(other, catalog)[other.alias]
    marked = Select(
        (
            *(Item(ColumnRef(other.alias, name, type_), name) for name, type_ in columns.items()),
            Item(Literal(True, BOOLEAN), MARKER),
        ),
        other,
    )
    padded = Join(JoinKind.LEFT, kept, Derived(marked, other.alias), join.on)
    unmatched = Call("is_null", (ColumnRef(other.alias, MARKER, BOOLEAN),), BOOLEAN)
    return View(f"probe{number}", Select(items, kept)), View(
        f"probe{number + 1}", Select(items, padded, unmatched)
    )


def reached(
    scenario: Scenario, trace: Trace, truth: DelayedView, probes: Sequence[OuterProbe]
) -> Counter[str]:
    """How many refreshes reached each state."""
    states: Counter[str] = Counter()
    previous: dict[str, int] = {}
    keys = {table.name: _KeyHistory() for table in scenario.dynamic_tables}
    commits = [step.at for step in scenario.steps if isinstance(step, Commit)]
    for refreshed in trace.refreshes:
        before = previous.get(refreshed.table)
        previous[refreshed.table] = refreshed.timestamp
        states.update(_general(refreshed, scenario, commits))
        if before is None or refreshed.action is Action.NO_DATA:
            continue
        query = scenario.definition(refreshed.table).query
        states.update(_both_sides(query, truth, before, refreshed.timestamp))
        for probe in probes:
            if probe.table == refreshed.table:
                states.update(_matches(probe, truth, before, refreshed.timestamp))
        positions = _key_positions(query)
        if positions is not None:
            rows = [truth.contents(refreshed.table, at) for at in (before, refreshed.timestamp)]
            states.update(
                keys[refreshed.table].step(*({tuple(row[i] for i in positions) for row in r} for r in rows))
            )
    return states


def _general(refreshed: Refreshed, scenario: Scenario, commits: Sequence[int]) -> Iterator[str]:
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


def _both_sides(query: Query, truth: DelayedView, before: int, after: int) -> Iterator[str]:
    for block in blocks(query):
        for join in relations_of(block.source):
            if isinstance(join, Join) and all(
                _changed(side, truth, before, after) for side in (join.left, join.right)
            ):
                yield "both join sides changed"
                return


def _changed(relation: Relation, truth: DelayedView, before: int, after: int) -> bool:
    for part in relations_of(relation):
        if isinstance(part, Named):
            try:
                columns = truth.columns(part.name)
            except KeyError:
                return False
            types = [column.type for column in columns]
            if Bag.of(truth.contents(part.name, before), types) != Bag.of(
                truth.contents(part.name, after), types
            ):
                return True
    return False


def _matches(probe: OuterProbe, truth: DelayedView, before: int, after: int) -> Iterator[str]:
    def bag(name: str, at: int) -> set[str]:
        return {repr(row) for row in truth.contents(name, at)}

    lone_before, lone_after = bag(probe.unmatched, before), bag(probe.unmatched, after)
    if (lone_after - lone_before) & bag(probe.preserved, before):
        yield "outer row lost its last match"
    if (lone_before - lone_after) & bag(probe.preserved, after):
        yield "outer row found its first match"


def _key_positions(query: Query) -> tuple[int, ...] | None:
    """Where the keys of the outermost grouping (or DISTINCT) stand among the columns; None without one."""
    if not isinstance(query, Select):
        return None
    if query.distinct:
        return tuple(range(len(query.items)))
    if not query.group_by or any(key not in [item.expr for item in query.items] for key in query.group_by):
        return None
    exprs = [item.expr for item in query.items]
    return tuple(exprs.index(key) for key in query.group_by)


class _KeyHistory:
    """The groups of one table over time."""

    def __init__(self) -> None:
        self.gone: set[Row] = set()

    def step(self, before: set[Row], after: set[Row]) -> Iterator[str]:
        born, emptied = after - before, before - after
        if emptied:
            yield "group emptied"
        if born & self.gone:
            yield "group refilled"
        if any(None in key for key in born):
            yield "null key born"
        if any(None in key for key in emptied):
            yield "null key vanished"
        self.gone = (self.gone | emptied) - born
