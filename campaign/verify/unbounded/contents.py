"""Groupings that a refresh maintains from the table's own contents, for every number of refreshes.

What a table stores in hidden columns depends on its past: the number of rows that have an extreme value (the
ties) may be right, or unknown. So the proof is an induction. One refresh is shown to be right for all
contents in which each such number is unknown or right, and to leave contents of this kind. First contents
have unknown numbers, so every sequence of refreshes is covered: a group is emptied and filled again, its
extreme value is computed anew, beaten by a better one, and left by that one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from campaign.verify.unbounded.bags import Alike, Bag, one_row
from campaign.verify.unbounded.cells import Cell, same, same_cells
from campaign.verify.unbounded.keys import key_of
from campaign.verify.unbounded.statement import Violation, violations
from campaign.verify.unbounded.terms import Truth, both, either, equal, negated, variable
from dynamic_tables.differentiate.accumulators import TIES
from dynamic_tables.differentiate.differentiation import CONTENTS
from dynamic_tables.differentiate.stored_groups import AGAIN, GROUPS, NET_CHANGES, PARTS, StoredGroups
from dynamic_tables.plan.nodes import ACTION, INSERT, ROW_ID, Plan
from dynamic_tables.refresh.plans import Plans
from workload.outcomes.results import Check

FROM_CONTENTS = "from the contents"
"""How the names of these roads begin."""

Rows = Callable[[Plan, Mapping[str, Bag]], Bag]
"""Returns the rows of a plan, over the tables and some more leaves by name."""


@dataclass(frozen=True)
class OneRefresh:
    """One refresh of a grouping from any contents that may be stored. `known`: how the engine maintains it.

    `before`, `after`: the right rows at t0 and t1, with every hidden column.
    """

    known: StoredGroups
    plans: Plans
    rows: Rows
    before: Bag
    after: Bag

    def roads(
        self, columns: Sequence[str], changing: Mapping[str, Truth]
    ) -> Iterator[tuple[str, list[Violation]]]:
        """Yields each road to the changes, with the ways in which these may be wrong."""
        stored = self.stored()
        net = self.rows(self.plans.net(self.known), {})
        groups = self.rows(self.plans.groups(self.known), {NET_CHANGES: net, CONTENTS: stored})
        compared = self.compared(columns)
        at = groups.at(AGAIN.name) if self.known.has_extremum else None
        for again in (False, True)[: 2 if self.known.has_extremum else 1]:
            read = {GROUPS: groups}
            premise: Truth = True
            if at is not None:
                # The cheaper plan runs where there is no group to compute anew.
                some = either(both(entry.some, entry.cells[at].value) for entry in groups.entries)
                premise = some if again else negated(some)
            if again:
                read[PARTS] = self.rows(self.plans.group_parts(self.known), {GROUPS: groups})
            changes = self.rows(self.plans.group_changes(self.known, again=again), read)
            found = [
                *violations(stored, self.after, changes, compared, changing),
                *self.wrong_ties(stored, changes),
            ]
            road = f"{FROM_CONTENTS}, some groups anew" if again else FROM_CONTENTS
            yield road, [Violation(one.check, both(premise, one.formula)) for one in found]

    def compared(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Returns the columns that are compared: all but the numbers of ties, which may be unknown."""
        return (*columns, *(name for name, _ in self.known.state if not name.endswith(TIES)))

    def stored(self) -> Bag:
        """Returns the contents before, in which each number of ties may be unknown."""
        entries = []
        for number, entry in enumerate(self.before.entries):
            cells = list(entry.cells)
            for at in self._ties():
                unknown = equal(variable(f"ties {at} of group {number} are known"), 0)
                cells[at] = Cell(either((cells[at].null, unknown)), cells[at].value)
            entries.append(replace(entry, cells=tuple(cells)))
        return Bag(self.before.columns, tuple(entries))

    def _ties(self) -> list[int]:
        return [at for at, name in enumerate(self.before.columns) if name.endswith(TIES)]

    def wrong_ties(self, stored: Bag, changes: Bag) -> Iterator[Violation]:
        """Yields the ways in which a number of ties may be known and wrong after the refresh."""
        actions = changes.at(ACTION)
        written = [entry for entry in changes.entries if entry.cells[actions].value.parts == (INSERT,)]
        deleted = [entry for entry in changes.entries if entry.cells[actions].value.parts != (INSERT,)]
        for at in self._ties():
            name = self.before.columns[at]
            for group in self.after.entries:
                right = group.cells[at]
                for entry, there in _with_id(group, self.after, written, changes):
                    yield _wrong(group, there, entry.cells[changes.at(name)], right)
                gone = either(there for _, there in _with_id(group, self.after, deleted, changes))
                for entry, there in _with_id(group, self.after, stored.entries, stored):
                    yield _wrong(group, both(there, negated(gone)), entry.cells[at], right)


def _wrong(group: Alike, there: Truth, kept: Cell, right: Cell) -> Violation:
    wrong = both(negated(kept.null), negated(same(kept, right)))
    return Violation(Check.EQUALITY, both(group.count.some, there, wrong))


def _with_id(group: Alike, of: Bag, entries: Sequence[Alike], bag: Bag) -> Iterator[tuple[Alike, Truth]]:
    """Yields the rows that may have a group's id, each with the condition that it is there and has it."""
    own = key_of(group, (group.cells[of.at(ROW_ID)],))
    for entry in entries:
        other = key_of(entry, (entry.cells[bag.at(ROW_ID)],))
        if own[0] == other[0]:
            there = both(one_row(entry)[0].some, same_cells(own[1], other[1]))
            if there is not False:
                yield entry, there
