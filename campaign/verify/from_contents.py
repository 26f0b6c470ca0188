"""Groupings that a refresh maintains from the table's own contents, in all worlds at once, there and back.

The hidden columns are checked too, but for the number of rows that have an extreme value: it may be unknown,
and what follows from it is seen on the way back, which starts from what the way there has stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from campaign.verify.engine import Engine
from campaign.verify.universe import DELTA, EVERY_WORLD, T0, T1
from dynamic_tables.differentiate.algebraic import AGAIN, GROUPS, NET_CHANGES, PARTS, Algebra
from dynamic_tables.differentiate.differentiation import CONTENTS
from oracle.worlds import Compared, End, number_rows, quoted

BEFORE = "stored before"
AFTER = "stored after"
CHANGES = "changes of groups"
BACK = "every world back"
QUIET = "worlds without groups computed anew"


@dataclass(frozen=True)
class FromContents:
    """The roads of a grouping. `known`: how the engine maintains it."""

    engine: Engine
    known: Algebra

    def compute_ends(self) -> tuple[str, str]:
        """Computes the first contents at both ends, with their hidden columns; returns the later and its truth."""
        plan = self.engine.plans_of_worlds.state(self.engine.bound)
        for end, at in ((BEFORE, T0), (AFTER, T1)):
            self.engine.compute(end, plan, self.engine.leaves(after=at))
        self.engine.universe.relations.make(
            "truth after",
            f"SELECT t.* REPLACE (w.world AS world) FROM {quoted(EVERY_WORLD)} AS w JOIN truth AS t ON t.world = w.after",
        )
        return AFTER, "truth after"

    def __iter__(self) -> Iterator[tuple[str, Compared]]:
        """Computes the changes of one road after the other."""
        relations = self.engine.universe.relations
        hidden = tuple(name for name, _ in self.known.state if not name.endswith("_ties"))
        there = Compared(
            worlds=EVERY_WORLD,
            before=End(BEFORE, "world"),
            after=End(AFTER, "world"),
            changes=CHANGES,
            columns=(*self.engine.columns, *hidden),
        )
        number_rows(relations, there)
        relations.make(CONTENTS, f"SELECT * FROM {quoted(BEFORE)}")
        yield from self._one_way("from the contents", there, self.engine.leaves())
        if self.known.has_extremum:
            self._change(self.engine.leaves(), again=True)
        relations.make(CONTENTS, self._applied())
        relations.make(
            BACK, f"SELECT world, after AS before, before AS after, changed FROM {quoted(EVERY_WORLD)}"
        )
        for source in self.engine.sources:
            other = "CASE WHEN \"$ACTION\" = 'INSERT' THEN 'DELETE' ELSE 'INSERT' END"
            relations.make(
                f"{source}@back",
                f'SELECT * REPLACE ({other} AS "$ACTION") FROM {quoted(f"{source}@{DELTA}")}',
            )
        back = replace(there, worlds=BACK, before=there.after, after=there.before)
        number_rows(relations, back)
        yield from self._one_way("back, from the contents", back, self.engine.leaves(T1, T0, "back"))

    def _one_way(
        self, road: str, compared: Compared, leaves: dict[str, str]
    ) -> Iterator[tuple[str, Compared]]:
        self._groups(leaves)
        self._change(leaves, again=self.known.has_extremum)
        yield road, compared
        if self.known.has_extremum:
            quiet = (
                f"SELECT * FROM {quoted(compared.worlds)} WHERE world NOT IN "
                f"(SELECT world FROM {quoted(GROUPS)} WHERE {quoted(AGAIN.name)})"
            )
            self.engine.universe.relations.make(QUIET, quiet)
            self._change(leaves, again=False)
            yield f"{road}, no group computed anew", replace(compared, worlds=QUIET)

    def _groups(self, leaves: dict[str, str]) -> None:
        engine, known = self.engine, self.known
        engine.compute(NET_CHANGES, engine.plans_of_worlds.net(known), leaves)
        read = {NET_CHANGES: NET_CHANGES, CONTENTS: CONTENTS}
        engine.compute(GROUPS, engine.plans_of_worlds.groups(known), read)
        if known.has_extremum:
            plan = engine.plans_of_worlds.group_parts(known)
            engine.compute(PARTS, plan, {**leaves, GROUPS: GROUPS})

    def _change(self, leaves: dict[str, str], *, again: bool) -> None:
        engine = self.engine
        plan = engine.plans_of_worlds.group_changes(self.known, again=again)
        read = {GROUPS: GROUPS} if again else {GROUPS: QUIET_GROUPS}
        if not again:
            worlds = QUIET if self.known.has_extremum else EVERY_WORLD
            engine.universe.relations.make(
                QUIET_GROUPS,
                f"SELECT * FROM {quoted(GROUPS)} WHERE world IN (SELECT world FROM {quoted(worlds)})",
            )
        engine.compute(CHANGES, plan, {**leaves, **read, PARTS: PARTS})

    def _applied(self) -> str:
        """The contents after the way there, with what it has stored in the hidden columns."""
        names = ", ".join(quoted(name) for name in (*self._stored(), "$ROW_ID", "world"))
        return (
            f"SELECT {names} FROM {quoted(CONTENTS)} AS c WHERE NOT EXISTS (SELECT 1 FROM {quoted(CHANGES)} AS d "
            'WHERE d."$ACTION" = \'DELETE\' AND d."$ROW_ID" = c."$ROW_ID" AND d.world = c.world) '
            f"UNION ALL SELECT {names} FROM {quoted(CHANGES)} WHERE \"$ACTION\" = 'INSERT'"
        )

    def _stored(self) -> tuple[str, ...]:
        return (*self.engine.columns, *(name for name, _ in self.known.state))


QUIET_GROUPS = "groups of these worlds"
