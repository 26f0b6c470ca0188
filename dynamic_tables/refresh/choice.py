"""Whether a refresh of an AUTO table is INCREMENTAL or FULL: the action that is expected to take less time.

The *work* of an action is a number of rows, estimated from what the commits touched and from the plan. Its
*pace*, seconds for a row of work, comes from the table's own refreshes. So the estimate carries what was
measured over to another number of changed rows, and the measurement corrects the estimate. Example: a refresh
of 1,000 changed rows took twice as long as others have for such work; then 4,000 rows will, too.

A choice is a function of recorded numbers alone. Nothing is chosen where none are known, such as in simulated
time, in which a refresh takes no time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from math import log
from statistics import median

from dynamic_tables.store.port import Action, Extent

Extents = Mapping[str, Extent]
"""By source what commits touched of it."""

FEW_ROWS = 50_000
"""Rows of all sources up to which nothing is chosen: both actions take as long as Spark takes for no row."""

MANY_CHANGES = 50_000
"""Changed rows above which they are no literals, and are merged by Spark (`Sizes.changed_rows`)."""

FIXED_WORK = 700_000
"""The work of a refresh without rows. This and the next numbers count rows that a FULL refresh reads and
writes in the same time: half a microsecond each on the two cores where they were measured."""

FOR_READ, FOR_WRITTEN = 0.4, 0.6
"""The work for one row of a source, and for one row of the contents."""

FOR_CHANGED, FOR_FURTHER = 30, 3
"""The work for one changed row, which is looked up, grouped and found in the stored contents; and for one of
those beyond `MANY_CHANGES`, which Spark does side by side."""

FIXED_OF_MANY, FOR_MERGED = 1_500_000, 2
"""The work of keeping many changes between queries, and of a MERGE for one row of the stored contents, all
of which it reads to find those that changed."""

COLD = 0.7
"""What a FULL refresh takes of the time of the first one, which also compiles its code."""

NEAREST = 4
"""How many refreshes of about as many changed rows a pace is the median of, at most. One of another size is
asked only where it is the nearest: its pace is another one, and would outvote a measurement."""

CLEARLY = 0.9
"""The share of the other's time that an action must need to take its place: a tenth is not worth a change."""

FADES = 0.97
"""What is left of the time expected of INCREMENTAL for each FULL refresh since the last one. So a measurement
that was bad by chance, such as that of a process that had just begun, is tried again: after 10 FULL refreshes
where it was a fifth too slow, after 27 where it took twice as long. By these numbers that costs
at most 8 % of all time, where INCREMENTAL takes six times as long; where it takes longer, it is not tried."""

UNTRIED, SAME_SIZE = 0.8, 2
"""The share of its estimate that is expected of INCREMENTAL where no refresh of about as many changed rows
was measured, up to twice or down to half as many. So it is tried once for each size for which it may well be
quicker; an estimate that is a little too high would stay, because nothing is measured that shows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A refresh of the table that was measured. `seconds`: from its beginning to its commit."""

    action: Action
    seconds: float
    extents: Extents


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a refresh has to do.

    `extents`: what the commits of its interval touched. `passes`: how often the plan of the changes reads the
    rows of the sources, beside their changes. `stored`: rows of the contents.
    """

    extents: Extents
    passes: float
    stored: int

    @property
    def rows(self) -> int:
        """The rows of all sources."""
        return sum(each.total for each in self.extents.values())

    @property
    def changed(self) -> float:
        """The number of rows that the changes concern, by the greatest share of a source that changed.

        A row of a dimension concerns as many rows of the facts as it has of them on average. Example: 10 of
        1,000 customers changed, beside 50,000 orders: 1 % of 51,000 rows.
        """
        return self.rows * max((e.touched / max(1, e.total) for e in self.extents.values()), default=0.0)

    @property
    def many(self) -> bool:
        """Whether Spark computes and merges the changes, and not the engine itself."""
        return self.changed > MANY_CHANGES

    @property
    def in_full(self) -> float:
        """The work of a FULL refresh."""
        return FIXED_WORK + FOR_READ * self.rows + FOR_WRITTEN * self.stored

    @property
    def incremental(self) -> float:
        """The work of an INCREMENTAL refresh."""
        few = min(self.changed, MANY_CHANGES)
        work = FIXED_WORK + FOR_CHANGED * few + FOR_FURTHER * (self.changed - few)
        work += FOR_READ * self.passes * self.rows
        work += FIXED_OF_MANY if self.many else 0
        # At most all stored rows come and all go.
        return work + (FOR_MERGED * self.stored if min(self.changed, 2 * self.stored) > MANY_CHANGES else 0)


@dataclass(frozen=True, slots=True)
class Choice:
    """An action, and why; `why` is empty where nothing was chosen."""

    action: Action
    why: str = ""


NO_CHOICE = Choice(Action.INCREMENTAL)
"""The usual action, where there is nothing to choose by."""


def choose(past: Sequence[Past], work: Work) -> Choice:
    """Returns the action for a refresh that may be INCREMENTAL; `past`: earlier refreshes, oldest first."""
    measured = [each for each in past if each.seconds > 0 and each.extents]
    if not measured or work.rows <= FEW_ROWS:
        return NO_CHOICE
    full = work.in_full * _pace_of_full(measured, work)
    incremental = work.incremental * _pace_of_changes(measured, work) * FADES ** _full_since(measured)
    if not _is_tried(measured, work):
        incremental *= UNTRIED
    last = next((each.action for each in reversed(measured) if each.action in PAIR), Action.INCREMENTAL)
    wins = full < CLEARLY * incremental if last is Action.INCREMENTAL else incremental >= CLEARLY * full
    chosen, expected, other = (
        (Action.FULL, full, incremental) if wins else (Action.INCREMENTAL, incremental, full)
    )
    return Choice(chosen, f"{CHOSEN}{chosen.value}: expected {expected:.1f} s against {other:.1f} s")


PAIR = (Action.INCREMENTAL, Action.FULL)
"""The actions between which a refresh chooses."""

CHOSEN = "chosen "
"""The beginning of the reason of a choice."""


def _full_since(past: Sequence[Past]) -> int:
    """Returns how many refreshes were FULL since the last INCREMENTAL one."""
    later = takewhile(lambda each: each.action is not Action.INCREMENTAL, reversed(past))
    return sum(each.action is Action.FULL for each in later)


def _pace_of_full(past: Sequence[Past], work: Work) -> float:
    """Returns the seconds for a row of work of a FULL refresh, from the last ones.

    Where none is remembered, from the refresh that wrote the first contents; else as for INCREMENTAL ones.
    """
    paces = [each.seconds / _then(each, work).in_full for each in past if each.action is Action.FULL]
    if paces:
        return median(paces[-NEAREST:])
    first = [each for each in past if each.action is not Action.INCREMENTAL]
    if first:
        return COLD * first[-1].seconds / _then(first[-1], work).in_full
    return median(each.seconds / _then(each, work).incremental for each in past)


def _pace_of_changes(past: Sequence[Past], work: Work) -> float:
    """Returns the seconds for a row of work of an INCREMENTAL refresh.

    From the one with the nearest number of changed rows of the same sources, and from those of its size;
    without one, as that of a FULL refresh.
    """
    alike = _of_this_kind(past, work)
    alike.reverse()
    # Sorting is stable: of two that are as near, the later one comes first.
    nearest = sorted(alike, key=lambda pair: _distance(pair[1], work))
    if not nearest:
        return _pace_of_full(past, work)
    of_its_size = [pair for pair in nearest if _distance(pair[1], nearest[0][1]) <= log(SAME_SIZE)]
    return median(each.seconds / then.incremental for each, then in of_its_size[:NEAREST])


def _of_this_kind(past: Sequence[Past], work: Work) -> list[tuple[Past, Work]]:
    """Returns the INCREMENTAL refreshes of changes of the same kind, each with its work, oldest first."""
    earlier = [(each, _then(each, work)) for each in past if each.action is Action.INCREMENTAL]
    return [(each, then) for each, then in earlier if _alike(then, work)]


def _distance(then: Work, now: Work) -> float:
    """Returns how far apart two numbers of changed rows are: the logarithm of the factor between them."""
    return abs(log((1 + then.changed) / (1 + now.changed)))


def _is_tried(past: Sequence[Past], work: Work) -> bool:
    """Tells whether an INCREMENTAL refresh of about as many changed rows was measured."""
    return any(_distance(then, work) <= log(SAME_SIZE) for _, then in _of_this_kind(past, work))


def _then(past: Past, work: Work) -> Work:
    """Returns the work of an earlier refresh: by the plan and the contents of today, which change slowly."""
    return replace(work, extents=past.extents)


def _alike(then: Work, now: Work) -> bool:
    """Tells whether the same sources changed, and their changes are computed in the same way."""
    one, other = ({name for name, each in work.extents.items() if each.touched} for work in (then, now))
    return one == other and then.many == now.many
