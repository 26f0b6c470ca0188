"""The changes of a grouping from the table's own stored rows, in all worlds at once, there and back.

There: a refresh from the tables at t0 to the tables at t1. It reads the stored rows, with their hidden
columns, and the changes of the tables. Back: a second refresh, which undoes these changes and starts from
what the first one has stored. Its result must be the first contents again.

The hidden columns are compared too, but for the numbers of rows that have an extreme value (`..._ties`). Such
a number may be unknown (NULL). If it is wrong, the way back shows it.
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
    """The roads of a grouping from its contents. `known`: how the engine maintains it."""

    engine: Engine
    known: StoredGroups

    def compute_ends(self) -> tuple[str, str]:
        """Computes first contents with hidden columns at t0 and t1; returns those at t1 and their truth."""
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
        """Yields each road by name when its changes are computed; the next road overwrites its relations."""
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
        engine, grouping, plans = self.engine, self.known, self.engine.plans_of_worlds
        engine.compute(NET_CHANGES, plans.net(grouping), leaves)
        engine.compute(GROUPS, plans.groups(grouping), {NET_CHANGES: NET_CHANGES, CONTENTS: CONTENTS})
        if not grouping.has_extremum:
            engine.compute(CHANGES, plans.group_changes(grouping, again=False), {GROUPS: GROUPS})
            return
        again = f"IN (SELECT world FROM {quoted(GROUPS)} WHERE {quoted(AGAIN.name)})"
        relations = engine.universe.relations
        for word, condition in (("anew", again), ("by changes", f"NOT {again}")):
            relations.make(f"worlds {word}", f"SELECT * FROM {quoted(EVERY_WORLD)} WHERE world {condition}")
            relations.make(f"groups {word}", f"SELECT * FROM {quoted(GROUPS)} WHERE world {condition}")
        read = {**leaves, GROUPS: "groups anew", PARTS: PARTS}
        engine.compute(PARTS, plans.group_parts(grouping), read, every="worlds anew")
        engine.compute("changes anew", plans.group_changes(grouping, again=True), read, every="worlds anew")
        read = {GROUPS: "groups by changes"}
        engine.compute(CHANGES, plans.group_changes(grouping, again=False), read, every="worlds by changes")
        relations.run(f'INSERT INTO {quoted(CHANGES)} BY NAME SELECT * FROM "changes anew"')

    def _applied(self) -> str:
        """Returns the query of the contents after the way there, with the hidden columns that it stored."""
        names = [*self._stored(), "$ROW_ID", "world"]
        kept = ", ".join(f"c.{quoted(name)}" for name in names)
        inserted = ", ".join(map(quoted, names))
        changes = f'SELECT "$ROW_ID", world FROM {quoted(CHANGES)} WHERE "$ACTION" = \'DELETE\''
        return (
            f"SELECT {kept} FROM {quoted(CONTENTS)} AS c ANTI JOIN ({changes}) AS d "
            f'ON d.world = c.world AND d."$ROW_ID" = c."$ROW_ID" '
            f"UNION ALL SELECT {inserted} FROM {quoted(CHANGES)} WHERE \"$ACTION\" = 'INSERT'"
        )

    def _stored(self) -> tuple[str, ...]:

        return (*self.engine.columns, *(name for name, _ in self.known.state))
