"""Every phenomenon and level with its definition, source and a tiny example, executed by the tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dvs_model.names import Level, Phenomenon

P = Phenomenon


@dataclass(frozen=True, slots=True)
class Definition:
    """What a phenomenon is, where it is defined, and the smallest history that shows it."""

    text: str
    source: str
    example: str


DEFINITIONS: Mapping[Phenomenon, Definition] = {
    P.G0: Definition(
        "a cycle of write dependencies",
        "Adya 1999, section 3.2.1",
        "w1(x1) w2(x2) w2(y2) w1(y1) c1 c2 [x1 << x2, y2 << y1]",
    ),
    P.G1A: Definition(
        "a committed transaction read a version of an aborted one, or something derived from it",
        "Adya 1999, section 3.2.2; DVS paper, section 4",
        "w1(x1) d2(u2 | x1) r3(u2) a1 c2 c3",
    ),
    P.G1B: Definition(
        "a committed transaction read an intermediate version of another, or something derived from it",
        "Adya 1999, section 3.2.2; DVS paper, section 4",
        "w1(x1.1) r2(x1.1) w1(x1.2) c1 c2",
    ),
    P.G1C: Definition(
        "a cycle of write and read dependencies",
        "Adya 1999, section 3.2.2",
        "w1(x1) w2(y2) r1(y2) r2(x1) c1 c2",
    ),
    P.G_SINGLE: Definition(
        "a cycle with exactly one anti-dependency",
        "Adya 1999, section 4.1",
        "r1(x0) w2(x2) w2(y2) c2 r1(y2) c1",
    ),
    P.G2_ITEM: Definition(
        "a cycle with an item anti-dependency",
        "Adya 1999, section 3.2.4",
        "r1(x0) r2(y0) w1(y1) w2(x2) c1 c2",
    ),
    P.G2: Definition(
        "a cycle with an anti-dependency, of an item or a predicate",
        "Adya 1999, section 3.2.3",
        "r1(P: x_init;) w2(x2) w2(y2) c2 r1(y2) c1 [P matches x2]",
    ),
    P.G_CURSOR: Definition(
        "for some object, a cycle of one item anti-dependency and write dependencies, all on it",
        "Adya 1999, section 4.2.2",
        "r1(x0) w2(x2) c2 w1(x1) c1 [x0 << x2 << x1]",
    ),
    P.G_MONOTONIC: Definition(
        "a transaction saw effects of another and then missed some of them",
        "Adya 1999, section 4.2.1",
        "w1(x1) w1(y1) c1 r2(x1) r2(y0) c2",
    ),
    P.G_UPDATE: Definition(
        "the update transactions, with at most one reader, have a cycle with an anti-dependency",
        "Adya 1999, section 4.2.3",
        "r1(x0) r2(y0) w1(y1) w2(x2) c1 c2",
    ),
    P.G_SIA: Definition(
        "a read or write dependency on a transaction that had not committed before the other's start",
        "Adya 1999, section 4.3",
        "s1 s2 w1(x1) c1 r2(x1) c2",
    ),
    P.G_SIB: Definition(
        "a cycle of dependencies and start order with exactly one anti-dependency",
        "Adya 1999, section 4.3",
        "s1 w1(x1) c1 s2 r2(x0) c2",
    ),
    P.G_MSRA: Definition(
        "a transaction read from one that had not committed at the time of the read",
        "Adya 1999, section 4.3",
        "s1 s2 w1(x1) r2(x1) c1 c2",
    ),
    P.G_MSRB: Definition(
        "a transaction missed effects of one that had committed before it read, or that it had seen",
        "Adya 1999, section 4.3",
        "s1 w1(x1) c1 s2 r2(x0) c2",
    ),
    P.G1_PREDA: Definition(
        "a predicate read saw one effect of another's predicate write and missed another of the same",
        "Adya 1999, section 3.2.2",
        "w1(P: x0, y0) w1(x1) w1(y1) r2(P: x1, y0) c1 c2 [P matches x0, y0, x1, y1]",
    ),
    P.G1_PREDB: Definition(
        "a predicate read saw one write of another transaction and missed another",
        "Adya 1999, section 3.2.2",
        "w1(x1) w1(y1) r2(P: x1, y0) c1 c2 [P matches x0, y0, x1, y1]",
    ),
    P.G1C_REALTIME: Definition(
        "a cycle of write and read dependencies and the real-time order",
        "Adya 1999, section 4.3; Herlihy and Wing 1990",
        "s1 w1(x1) c1 s2 w2(x2) c2 [x2 << x1]",
    ),
    P.G_SINGLE_REALTIME: Definition(
        "a cycle of dependencies and the real-time order with exactly one anti-dependency",
        "Adya 1999, section 4.3; Herlihy and Wing 1990",
        "s1 w1(x1) c1 s2 r2(x0) c2",
    ),
    P.G2_REALTIME: Definition(
        "a cycle of dependencies and the real-time order with an anti-dependency",
        "Adya 1999, section 4.3; Herlihy and Wing 1990",
        "s1 w1(x1) c1 s2 r2(x0) c2",
    ),
    P.G1C_SESSION: Definition(
        "a cycle of write and read dependencies and session order",
        "Daudjee and Salem 2004",
        "w1(x1) c1 w2(x2) c2 [x2 << x1] [session a: 1, 2]",
    ),
    P.G_SINGLE_SESSION: Definition(
        "a cycle of dependencies and session order with exactly one anti-dependency",
        "Daudjee and Salem 2004",
        "w1(x1) c1 r2(x0) c2 [session a: 1, 2]",
    ),
    P.G2_SESSION: Definition(
        "a cycle of dependencies and session order with an anti-dependency",
        "Daudjee and Salem 2004",
        "w1(x1) c1 r2(x0) c2 [session a: 1, 2]",
    ),
}

MEANINGS: Mapping[Level, str] = {
    Level.PL_1: "writes of transactions are not mixed up",
    Level.PL_2: "read committed: only final versions of committed transactions are read, without circles",
    Level.PL_CS: "cursor stability: no lost updates",
    Level.PL_2L: "monotonic view: what was seen stays seen",
    Level.PL_MSR: "monotonic snapshot reads: every read is as fresh as a snapshot at that time",
    Level.PL_2_PLUS: "consistent view: what is read could have been a state of the database",
    Level.PL_FCV: "forward consistent view: nothing is missed that had committed before the start",
    Level.PL_SI: "snapshot isolation",
    Level.PL_2_99: "repeatable read: serializable but for phantoms",
    Level.PL_3U: "update serializability: every single reader sees a serial order of the updates",
    Level.PL_3: "serializability",
    Level.PL_SS: "strict serializability: in an order that real time allows",
    Level.SESSION_2_PLUS: "consistent view that moves forward within a session",
    Level.SESSION_3: "strong session serializability",
    Level.STRICT_2_PLUS: "consistent view that moves forward in real time",
}

BROKEN: Mapping[Level, tuple[str, str]] = {
    Level.PL_1: ("Adya 1999, section 3.2.1", "w1(x1) w2(x2) w2(y2) w1(y1) c1 c2 [x1 << x2, y2 << y1]"),
    Level.PL_2: ("Adya 1999, section 3.2.2", "w1(x1) r2(x1) a1 c2"),
    Level.PL_CS: ("Adya 1999, section 4.2.2", "r1(x0) w2(x2) c2 w1(x1) c1 [x0 << x2 << x1]"),
    Level.PL_2L: ("Adya 1999, section 4.2.1", "w1(x1) w1(y1) c1 r2(x1) r2(y0) c2"),
    Level.PL_MSR: ("Adya 1999, section 4.3", "s1 w1(x1) c1 s2 w2(x2) c2 s3 r3(x1) c3 [x1 << x2]"),
    Level.PL_2_PLUS: ("Adya 1999, section 4.1", "r1(x0) w2(x2) w2(y2) c2 r1(y2) c1"),
    Level.PL_FCV: ("Adya 1999, section 4.3", "w1(x1) c1 r2(x0) c2 [c1 < s2]"),
    Level.PL_SI: ("Adya 1999, section 4.3", "w1(z1) w2(z2) r1(x0) r2(x0) c1 c2 [c0 < s1]"),
    Level.PL_2_99: ("Adya 1999, section 3.2.4", "r1(x0) r2(y0) w1(y1) w2(x2) c1 c2"),
    Level.PL_3U: ("Adya 1999, section 4.2.3", "r1(x0) r2(y0) w1(y1) w2(x2) c1 c2"),
    Level.PL_3: (
        "Adya 1999, section 3.2.3",
        "w1(x1) c1 w2(y2) c2 r3(x1) r3(y0) c3 r4(x0) r4(y2) c4",
    ),
    Level.PL_SS: ("Adya 1999, section 4.3; Herlihy and Wing 1990", "s1 w1(x1) c1 s2 r2(x0) c2"),
    Level.SESSION_2_PLUS: ("Daudjee and Salem 2004", "w1(x1) c1 r2(x0) c2 [session a: 1, 2]"),
    Level.SESSION_3: ("Daudjee and Salem 2004", "w1(x1) c1 r2(x0) c2 [session a: 1, 2]"),
    Level.STRICT_2_PLUS: ("ours, as PL-SS to PL-3", "s1 w1(x1) c1 s2 r2(x0) c2"),
}
"""Of every level its source, and a small history that breaks it and keeps a level just below."""

ALIASES: Mapping[str, Level] = {
    "read-committed": Level.PL_2,
    "cursor-stability": Level.PL_CS,
    "monotonic-view": Level.PL_2L,
    "monotonic-snapshot-reads": Level.PL_MSR,
    "consistent-view": Level.PL_2_PLUS,
    "forward-consistent-view": Level.PL_FCV,
    "snapshot-isolation": Level.PL_SI,
    "repeatable-read": Level.PL_2_99,
    "update-serializable": Level.PL_3U,
    "serializable": Level.PL_3,
    "strict-serializable": Level.PL_SS,
    "strong-session-serializable": Level.SESSION_3,
}
"""Names that people use for levels."""
