"""Every phenomenon as one row of a table: its definition, its source and a small history that shows it.

A phenomenon that is a cycle is a row of `CYCLES`, which `dvs_model.phenomena.cycles` interprets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from dvs_model.graph.graph import DEPENDENCIES, Kind
from dvs_model.theory.names import Phenomenon

P = Phenomenon


class Order(Enum):
    """An order of transactions that a history may state. The value: the reason "unknown" without it."""

    STARTS = "the history has neither start events nor time-precedes items"
    REALTIME = "not every committed transaction has a start event"
    SESSIONS = "no session is named"


class Subject(Enum):
    """For what a cycle is searched."""

    HISTORY = "once, in the whole graph"
    OBJECT = "for each object, in the edges labelled with it"
    TRANSACTION = "for each transaction, whose reads and writes are then nodes in their order"
    READER = "in the update transactions together with at most one reader"


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A phenomenon: what it is, where it is defined, and a small history that shows it."""

    text: str
    source: str
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleSpec(Definition):
    """A cycle over `edges` with `rw_min` to `rw_max` anti-dependencies (`rw_max` None: any number).

    `items_only`: only anti-dependencies of items count, not those of predicates. `order`: edges of this order
    may be part of the cycle too; `without_order`: the phenomenon that implies this one in a history that does
    not state the order.
    """

    edges: tuple[Kind, ...] = DEPENDENCIES
    rw_min: int = 0
    rw_max: int | None = None
    items_only: bool = False
    subject: Subject = Subject.HISTORY
    order: Order | None = None
    without_order: Phenomenon | None = None


INFORMATION = (Kind.WW, Kind.WR)

CYCLES: Mapping[Phenomenon, CycleSpec] = {
    P.G0: CycleSpec(
        text="a cycle of write dependencies",
        source="Adya 1999, section 3.2.1",
        example="w1(x1) w2(x2) w2(y2) w1(y1) c1 c2 [x1 << x2, y2 << y1]",
        edges=(Kind.WW,),
    ),
    P.G1C: CycleSpec(
        text="a cycle of write and read dependencies",
        source="Adya 1999, section 3.2.2",
        example="w1(x1) w2(y2) r1(y2) r2(x1) c1 c2",
        edges=INFORMATION,
    ),
    P.G_SINGLE: CycleSpec(
        text="a cycle with exactly one anti-dependency",
        source="Adya 1999, section 4.1",
        example="r1(x0) w2(x2) w2(y2) c2 r1(y2) c1",
        rw_min=1,
        rw_max=1,
    ),
    P.G2_ITEM: CycleSpec(
        text="a cycle with an item anti-dependency",
        source="Adya 1999, section 3.2.4",
        example="r1(x0) r2(y0) w1(y1) w2(x2) c1 c2",
        rw_min=1,
        items_only=True,
    ),
    P.G2: CycleSpec(
        text="a cycle with an anti-dependency, of an item or a predicate",
        source="Adya 1999, section 3.2.3",
        example="r1(P: x_init;) w2(x2) w2(y2) c2 r1(y2) c1 [P matches x2]",
        rw_min=1,
    ),
    P.G_CURSOR: CycleSpec(
        text="for some object, a cycle of one item anti-dependency and write dependencies, all on it",
        source="Adya 1999, section 4.2.2",
        example="r1(x0) w2(x2) c2 w1(x1) c1 [x0 << x2 << x1]",
        edges=(Kind.WW, Kind.RW),
        rw_min=1,
        rw_max=1,
        items_only=True,
        subject=Subject.OBJECT,
    ),
    P.G_MONOTONIC: CycleSpec(
        text="a transaction saw effects of another and then missed some of them",
        source="Adya 1999, section 4.2.1",
        example="w1(x1) w1(y1) c1 r2(x1) r2(y0) c2",
        rw_min=1,
        rw_max=1,
        subject=Subject.TRANSACTION,
    ),
    P.G_UPDATE: CycleSpec(
        text="the update transactions, with at most one reader, have a cycle with an anti-dependency",
        source="Adya 1999, section 4.2.3",
        example="r1(x0) r2(y0) w1(y1) w2(x2) c1 c2",
        rw_min=1,
        subject=Subject.READER,
    ),
    P.G_SIB: CycleSpec(
        text="a cycle of dependencies and start order with exactly one anti-dependency",
        source="Adya 1999, section 4.3",
        example="s1 w1(x1) c1 s2 r2(x0) c2",
        rw_min=1,
        rw_max=1,
        order=Order.STARTS,
        without_order=P.G_SINGLE,
    ),
    P.G_MSRB: CycleSpec(
        text="a transaction missed effects of one that had committed before it read, or that it had seen",
        source="Adya 1999, section 4.3",
        example="s1 w1(x1) c1 s2 r2(x0) c2",
        rw_min=1,
        rw_max=1,
        subject=Subject.TRANSACTION,
        order=Order.REALTIME,
        without_order=P.G_MONOTONIC,
    ),
    P.G1C_REALTIME: CycleSpec(
        text="a cycle of write and read dependencies and the real-time order",
        source="Adya 1999, section 4.3; Herlihy and Wing 1990",
        example="s1 w1(x1) c1 s2 w2(x2) c2 [x2 << x1]",
        edges=INFORMATION,
        order=Order.REALTIME,
        without_order=P.G1C,
    ),
    P.G_SINGLE_REALTIME: CycleSpec(
        text="a cycle of dependencies and the real-time order with exactly one anti-dependency",
        source="Adya 1999, section 4.3; Herlihy and Wing 1990",
        example="s1 w1(x1) c1 s2 r2(x0) c2",
        rw_min=1,
        rw_max=1,
        order=Order.REALTIME,
        without_order=P.G_SINGLE,
    ),
    P.G2_REALTIME: CycleSpec(
        text="a cycle of dependencies and the real-time order with an anti-dependency",
        source="Adya 1999, section 4.3; Herlihy and Wing 1990",
        example="s1 w1(x1) c1 s2 r2(x0) c2",
        rw_min=1,
        order=Order.REALTIME,
        without_order=P.G2,
    ),
    P.G1C_SESSION: CycleSpec(
        text="a cycle of write and read dependencies and session order",
        source="Daudjee and Salem 2004",
        example="w1(x1) c1 w2(x2) c2 [x2 << x1] [session a: 1, 2]",
        edges=INFORMATION,
        order=Order.SESSIONS,
        without_order=P.G1C,
    ),
    P.G_SINGLE_SESSION: CycleSpec(
        text="a cycle of dependencies and session order with exactly one anti-dependency",
        source="Daudjee and Salem 2004",
        example="w1(x1) c1 r2(x0) c2 [session a: 1, 2]",
        rw_min=1,
        rw_max=1,
        order=Order.SESSIONS,
        without_order=P.G_SINGLE,
    ),
    P.G2_SESSION: CycleSpec(
        text="a cycle of dependencies and session order with an anti-dependency",
        source="Daudjee and Salem 2004",
        example="w1(x1) c1 r2(x0) c2 [session a: 1, 2]",
        rw_min=1,
        order=Order.SESSIONS,
        without_order=P.G2,
    ),
}

READS: Mapping[Phenomenon, Definition] = {
    P.G1A: Definition(
        text="a committed transaction read a version of an aborted one, or something derived from it",
        source="Adya 1999, section 3.2.2; DVS paper, section 4",
        example="w1(x1) d2(u2 | x1) r3(u2) a1 c2 c3",
    ),
    P.G1B: Definition(
        text="a committed transaction read an intermediate version of another, or something derived from it",
        source="Adya 1999, section 3.2.2; DVS paper, section 4",
        example="w1(x1.1) r2(x1.1) w1(x1.2) c1 c2",
    ),
    P.G_SIA: Definition(
        text="a read or write dependency on a transaction that had not committed before the other's start",
        source="Adya 1999, section 4.3",
        example="s1 s2 w1(x1) c1 r2(x1) c2",
    ),
    P.G_MSRA: Definition(
        text="a transaction read from one that had not committed at the time of the read",
        source="Adya 1999, section 4.3",
        example="s1 s2 w1(x1) r2(x1) c1 c2",
    ),
    P.G1_PREDA: Definition(
        text="a predicate read saw one effect of another's predicate write and missed another of the same",
        source="Adya 1999, section 3.2.2",
        example="w1(P: x0, y0; x0, y0) w1(x1) w1(y1) r2(P: x1) c1 c2",
    ),
    P.G1_PREDB: Definition(
        text="a predicate read saw one write of another transaction and missed another",
        source="Adya 1999, section 3.2.2",
        example="w1(x1) w1(y1) r2(P: x1, y_init) c1 c2",
    ),
}
"""The phenomena that are no cycles, but a property of one read or one dependency."""

DEFINITIONS: Mapping[Phenomenon, Definition] = {**CYCLES, **READS}
