"""Every isolation level as one row of a table: what it forbids, what is weaker, where it is defined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dvs_model.theory.names import Level, Phenomenon

P = Phenomenon
G1 = (P.G1A, P.G1B, P.G1C)


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelSpec:
    """A level. It holds only when every phenomenon in `forbids` was searched for and is absent.

    `below`: the next weaker levels in the lattice of the literature. It serves display and the naming of the
    strongest levels that hold; no verdict follows from it. `example`: a small history that violates the level
    and keeps a level in `below`. `aliases`: other names that `--level` takes.
    """

    meaning: str
    forbids: tuple[Phenomenon, ...]
    below: tuple[Level, ...]
    source: str
    example: str
    aliases: tuple[str, ...] = ()


LEVELS: Mapping[Level, LevelSpec] = {
    Level.PL_1: LevelSpec(
        meaning="the writes of all transactions have a serial order",
        forbids=(P.G0,),
        below=(),
        source="Adya 1999, section 3.2.1",
        example="w1(x1) w2(x2) w2(y2) w1(y1) c1 c2 [x1 << x2, y2 << y1]",
    ),
    Level.PL_2: LevelSpec(
        meaning="read committed: only final versions of committed transactions are read, without cycles",
        forbids=G1,
        below=(Level.PL_1,),
        source="Adya 1999, section 3.2.2",
        example="w1(x1) r2(x1) a1 c2",
        aliases=("read-committed",),
    ),
    Level.PL_CS: LevelSpec(
        meaning="cursor stability: no lost updates",
        forbids=(*G1, P.G_CURSOR),
        below=(Level.PL_2,),
        source="Adya 1999, section 4.2.2",
        example="r1(x0) w2(x2) c2 w1(x1) c1 [x0 << x2 << x1]",
        aliases=("cursor-stability",),
    ),
    Level.PL_2L: LevelSpec(
        meaning="monotonic view: a transaction never misses an effect that it has already seen",
        forbids=(*G1, P.G_MONOTONIC),
        below=(Level.PL_2,),
        source="Adya 1999, section 4.2.1",
        example="w1(x1) w1(y1) c1 r2(x1) r2(y0) c2",
        aliases=("monotonic-view",),
    ),
    Level.PL_MSR: LevelSpec(
        meaning="monotonic snapshot reads: every read is as fresh as a snapshot at that time",
        forbids=(*G1, P.G_MSRA, P.G_MSRB),
        below=(Level.PL_2L,),
        source="Adya 1999, section 4.3",
        example="s1 w1(x1) c1 s2 w2(x2) c2 s3 r3(x1) c3 [x1 << x2]",
        aliases=("monotonic-snapshot-reads",),
    ),
    Level.PL_2_PLUS: LevelSpec(
        meaning="consistent view: what is read could have been a state of the database",
        forbids=(*G1, P.G_SINGLE),
        below=(Level.PL_2L, Level.PL_CS),
        source="Adya 1999, section 4.1",
        example="r1(x0) w2(x2) w2(y2) c2 r1(y2) c1",
        aliases=("consistent-view",),
    ),
    Level.PL_FCV: LevelSpec(
        meaning="forward consistent view: no effect is missed that was committed before the start",
        forbids=(*G1, P.G_SIB),
        below=(Level.PL_2_PLUS,),
        source="Adya 1999, section 4.3",
        example="w1(x1) c1 r2(x0) c2 [c1 < s2]",
        aliases=("forward-consistent-view",),
    ),
    Level.PL_SI: LevelSpec(
        meaning="snapshot isolation",
        forbids=(*G1, P.G_SIA, P.G_SIB),
        below=(Level.PL_FCV,),
        source="Adya 1999, section 4.3",
        example="w1(z1) w2(z2) r1(x0) r2(x0) c1 c2 [c0 < s1]",
        aliases=("snapshot-isolation",),
    ),
    Level.PL_2_99: LevelSpec(
        meaning="repeatable read: serializable except for phantoms",
        forbids=(*G1, P.G2_ITEM),
        below=(Level.PL_CS,),
        source="Adya 1999, section 3.2.4",
        example="r1(x0) r2(y0) w1(y1) w2(x2) c1 c2",
        aliases=("repeatable-read",),
    ),
    Level.PL_3U: LevelSpec(
        meaning="update serializability: every single reader sees a serial order of the updates",
        forbids=(*G1, P.G_UPDATE),
        below=(Level.PL_2_PLUS,),
        source="Adya 1999, section 4.2.3",
        example="r1(x0) r2(y0) w1(y1) w2(x2) c1 c2",
        aliases=("update-serializable",),
    ),
    Level.PL_3: LevelSpec(
        meaning="serializability",
        forbids=(*G1, P.G2),
        below=(Level.PL_3U, Level.PL_2_99),
        source="Adya 1999, section 3.2.3",
        example="w1(x1) c1 w2(y2) c2 r3(x1) r3(y0) c3 r4(x0) r4(y2) c4",
        aliases=("serializable",),
    ),
    Level.PL_SS: LevelSpec(
        meaning="strict serializability: serializable in an order that real time allows",
        forbids=(*G1, P.G2, P.G1C_REALTIME, P.G2_REALTIME),
        below=(Level.PL_3, Level.STRICT_2_PLUS),
        source="Adya 1999, section 4.3; Herlihy and Wing 1990",
        example="s1 w1(x1) c1 s2 r2(x0) c2",
        aliases=("strict-serializable",),
    ),
    Level.SESSION_2_PLUS: LevelSpec(
        meaning="consistent view that moves forward within a session",
        forbids=(*G1, P.G1C_SESSION, P.G_SINGLE_SESSION),
        below=(Level.PL_2_PLUS,),
        source="Daudjee and Salem 2004",
        example="w1(x1) c1 r2(x0) c2 [session a: 1, 2]",
    ),
    Level.SESSION_3: LevelSpec(
        meaning="strong session serializability",
        forbids=(*G1, P.G1C_SESSION, P.G2_SESSION),
        below=(Level.PL_3, Level.SESSION_2_PLUS),
        source="Daudjee and Salem 2004",
        example="w1(x1) c1 r2(x0) c2 [session a: 1, 2]",
        aliases=("strong-session-serializable",),
    ),
    Level.STRICT_2_PLUS: LevelSpec(
        meaning="consistent view that moves forward in real time",
        forbids=(*G1, P.G1C_REALTIME, P.G_SINGLE_REALTIME),
        below=(Level.PL_2_PLUS,),
        source="this project; relates to PL-2+ as PL-SS to PL-3",
        example="s1 w1(x1) c1 s2 r2(x0) c2",
    ),
}

BY_NAME: Mapping[str, Level] = {
    name: level for level, spec in LEVELS.items() for name in (level.value, *spec.aliases)
}
"""The levels by every name that people use for them."""


def weaker(level: Level) -> set[Level]:
    """Returns all levels below one in the lattice."""
    return {other for below in LEVELS[level].below for other in (below, *weaker(below))}
