"""The smallest account that shows what is wrong: a plan is made smaller as long as it shows the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from campaign.soak.plan import BASES, TICK, Declared, Happening, Kind, Plan, Write
from campaign.soak.result import Scheduler, Wrong
from campaign.soak.run import soak
from dynamic_tables.errors import DynamicTablesError
from shrink.loop import Candidates, smallest
from shrink.reduction import chunks


@dataclass(frozen=True, slots=True)
class ShrunkPlan:
    """A plan made smaller, after `attempts` runs. `wrong`: the first mistake that it shows.

    `complete`: whether no reduction makes it smaller.
    """

    plan: Plan
    wrong: Wrong
    attempts: int
    complete: bool


def shrink(plan: Plan, wrong: Wrong, scheduler: Scheduler, *, attempts: int) -> ShrunkPlan:
    """Returns the smallest plan found whose first mistake is found by the same check, of whatever table.

    `wrong`: the first mistake of the plan. `attempts`: the most smaller plans that run.
    """
    first = wrong

    def failing(candidate: Plan) -> Plan | None:
        nonlocal wrong
        try:
            found = soak(candidate, scheduler, most=1).wrong
        except DynamicTablesError:
            # A command that made sense only after another one.
            return None
        if not found or found[0].check is not first.check:
            return None
        wrong = found[0]
        return _until(candidate, wrong.at)

    small = smallest(_until(plan, wrong.at), REDUCTIONS, failing, attempts)
    return ShrunkPlan(small.found, wrong, small.attempts, small.complete)


def _until(plan: Plan, at: int) -> Plan:
    """Returns a plan that ends with the look at a time."""
    return replace(plan, ticks=plan.ticks[: -(-at // TICK)])


def _fewer_tables(plan: Plan) -> Iterator[Plan]:
    """Yields plans without some tables and those that read them."""
    for dropped in chunks([table.name for table in plan.tables]):
        kept: list[Declared] = []
        gone = set(dropped)
        for table in plan.tables:
            # Every table stands after those that it reads.
            if table.name in gone or gone.intersection(table.sources):
                gone.add(table.name)
            else:
                kept.append(table)
        if kept:
            yield replace(plan, tables=tuple(kept))


def _fewer_ticks(plan: Plan) -> Iterator[Plan]:
    """Yields plans without some ticks, but never without the first, which fills the base tables."""
    for dropped in chunks(range(1, len(plan.ticks))):
        yield replace(plan, ticks=tuple(tick for n, tick in enumerate(plan.ticks) if n not in dropped))


def _fewer_happenings(plan: Plan) -> Iterator[Plan]:
    places = [(n, place) for n, tick in enumerate(plan.ticks) for place in range(len(tick))]
    for dropped in chunks(places):
        ticks = (
            tuple(each for place, each in enumerate(tick) if (n, place) not in dropped)
            for n, tick in enumerate(plan.ticks)
        )
        yield replace(plan, ticks=tuple(ticks))


def _fewer_rows(plan: Plan) -> Iterator[Plan]:
    for n, place, each in _happenings(plan):
        if isinstance(each, Write):
            # Rows and deletions in one list, so that one pass drops some of each.
            parts = [*each.inserted, *each.deleted]
            for dropped in chunks(range(len(parts))):
                if len(dropped) == len(parts):
                    continue
                kept = [part for number, part in enumerate(parts) if number not in dropped]
                inserted = tuple(part for part in kept if part in each.inserted)
                deleted = tuple(part for part in kept if part in each.deleted)
                yield _with(plan, n, place, Write(inserted, deleted))


def _simpler_tables(plan: Plan) -> Iterator[Plan]:
    for number, table in enumerate(plan.tables):
        simpler = [
            *(replace(table, kind=Kind.FILTER, sources=(source,)) for source in table.sources),
            *(replace(table, sources=(base, *table.sources[1:])) for base in BASES),
            replace(table, lag=60),
            replace(table, number=0),
        ]
        for other in simpler:
            if _weight(other) < _weight(table):
                tables = (*plan.tables[:number], other, *plan.tables[number + 1 :])
                yield replace(plan, tables=tables)


def _weight(table: Declared) -> tuple[int, ...]:
    """Returns what makes a table hard to read, the most important first."""
    of_tables = [source not in BASES for source in table.sources]
    return len(of_tables), sum(of_tables), table.kind is not Kind.FILTER, table.lag != 60, table.number


def _happenings(plan: Plan) -> Iterator[tuple[int, int, Happening]]:
    """Yields each event with the number of its tick and its place in it."""
    for n, tick in enumerate(plan.ticks):
        for place, each in enumerate(tick):
            yield n, place, each


def _with(plan: Plan, n: int, place: int, each: Happening) -> Plan:
    """Returns the plan with another event at a place of a tick."""
    tick = (*plan.ticks[n][:place], each, *plan.ticks[n][place + 1 :])
    return replace(plan, ticks=(*plan.ticks[:n], tick, *plan.ticks[n + 1 :]))


REDUCTIONS: tuple[Candidates[Plan], ...] = (
    _fewer_tables,
    _fewer_happenings,
    _fewer_ticks,
    _simpler_tables,
    _fewer_rows,
)
