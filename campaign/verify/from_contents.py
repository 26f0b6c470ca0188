"""Groupings that a refresh maintains from the table's own contents, in all worlds at once, there and back.

The hidden columns are checked too, but for the number of rows that have an extreme value: it may be unknown,
and what follows from it is seen on the way back, which starts from what the way there has stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from campaign.verify.engine import Engine
from campaign.verify.universe import DELTA, EVERY_WORLD, T0, T1
from dynamic_tables.differentiate.differentiation import CONTENTS
from dynamic_tables.differentiate.stored_groups import AGAIN, GROUPS, NET_CHANGES, PARTS, StoredGroups
from oracle.worlds import Compared, End, number_rows, quoted

BEFORE = "stored before"
AFTER = "stored after"
CHANGES = "changes of groups"
BACK = "every world back"


@dataclass(frozen=True)
class FromContents:
    """The roads of a grouping. `known`: how the engine maintains it."""

    engine: Engine
    known: StoredGroups

    def compute_ends(self) -> tuple[str, str]:
        """Computes first contents with hidden columns at both ends; returns the later and their truth."""
        plan = self.engine.plans_of_worlds.state(self.engine.bound)
        for end, at in ((BEFORE, T0), (AFTER, T1)):
            self.engine.compute(end, plan, self.engine.leaves(after=at))
        self.engine.universe.relations.make(
            "truth after",
            f"SELECT t.* REPLACE (w.world AS world) FROM {quoted(EVERY_WORLD)} AS w "
            "JOIN truth AS t ON t.world = w.after",
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
        self._one_way(self.engine.leaves())
        yield "from the contents", there
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
        self._one_way(self.engine.leaves(T1, T0, "back"))
        yield "back, from the contents", back

    def _one_way(self, leaves: dict[str, str]) -> None:
        """Computes the changes of every world as a refresh does: with groups computed anew if it has any."""
        engine, known, plans = self.engine, self.known, self.engine.plans_of_worlds
        engine.compute(NET_CHANGES, plans.net(known), leaves)
        engine.compute(GROUPS, plans.groups(known), {NET_CHANGES: NET_CHANGES, CONTENTS: CONTENTS})
        if not known.has_extremum:
            engine.compute(CHANGES, plans.group_changes(known, again=False), {GROUPS: GROUPS})
            return
        again = f"IN (SELECT world FROM {quoted(GROUPS)} WHERE {quoted(AGAIN.name)})"
        relations = engine.universe.relations
        for word, some in (("anew", again), ("by changes", f"NOT {again}")):
            relations.make(f"worlds {word}", f"SELECT * FROM {quoted(EVERY_WORLD)} WHERE world {some}")
            relations.make(f"groups {word}", f"SELECT * FROM {quoted(GROUPS)} WHERE world {some}")
        read = {**leaves, GROUPS: "groups anew", PARTS: PARTS}
        engine.compute(PARTS, plans.group_parts(known), read, every="worlds anew")
        engine.compute("changes anew", plans.group_changes(known, again=True), read, every="worlds anew")
        read = {GROUPS: "groups by changes"}
        engine.compute(CHANGES, plans.group_changes(known, again=False), read, every="worlds by changes")
        relations.run(f'INSERT INTO {quoted(CHANGES)} BY NAME SELECT * FROM "changes anew"')

    def _applied(self) -> str:
        """The contents after the way there, with what it has stored in the hidden columns."""
        names = [*self._stored(), "$ROW_ID", "world"]
        kept = ", ".join(f"c.{quoted(name)}" for name in names)
        came = ", ".join(map(quoted, names))
        changes = f'SELECT "$ROW_ID", world FROM {quoted(CHANGES)} WHERE "$ACTION" = \'DELETE\''
        return (
            f"SELECT {kept} FROM {quoted(CONTENTS)} AS c ANTI JOIN ({changes}) AS d "
            f'ON d.world = c.world AND d."$ROW_ID" = c."$ROW_ID" '
            f"UNION ALL SELECT {came} FROM {quoted(CHANGES)} WHERE \"$ACTION\" = 'INSERT'"
        )

    def _stored(self) -> tuple[str, ...]:
        return (*self.engine.columns, *(name for name, _ in self.known.state))
