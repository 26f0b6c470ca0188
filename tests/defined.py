"""What verdicts on a history of clients are made from, by the definitions of `reference.clients`."""

from __future__ import annotations

import numpy as np

from dvs_model.clients.basis import Basis, KeptOrder, Size, Unordered, arcs_of
from dvs_model.columns.cycles import windows
from dvs_model.columns.table import Bools
from dvs_model.columns.versions import NO_ARCS, Arcs, Edges
from dvs_model.observed.client import Answer, Client
from dvs_model.observed.history import Orders
from dvs_model.observed.recover import Finding, Recovered
from dvs_model.observed.seen import READS, Observed, Status
from dvs_model.observed.time import Windows
from reference.clients import edges, holds, lost_updates, orders, recover


class Defined(Basis):
    """The basis by definition, one transaction after the other."""

    def __init__(self, observed: Observed) -> None:
        self.observed, self.found = observed, recover(observed)
        self.orders = orders(self.found)
        self.findings, self.missing = self.found.findings, self.found.missing
        self.taken = np.zeros(len(observed.transactions), np.bool_)
        self.taken[sorted(self.found.taken)] = True
        unknown = self.orders.unknown
        self.unordered = Unordered(len(unknown), *next(iter(unknown.items()))) if unknown else None
        self.tails = sum(len(tail) > 1 for tail in self.orders.tails.values())
        made = edges(self.found, self.orders)
        ww, wr, rw, session = map(arcs_of, (made.ww, made.wr, made.rw, made.session))
        self.edges = self.certain = Edges(ww, wr, rw, session, np.empty(0, np.int64))
        self.ww_names = [""] * len(ww)
        every, taken = observed.transactions, self.found.taken
        self.size = Size(
            sum(each.status is Status.COMMITTED for each in every),
            sum(each.status is Status.COMMITTED and len(each.ops) > 0 for each in every),
            sum(each.status is Status.UNKNOWN and at not in taken for at, each in enumerate(every)),
            sum(len(each.ops) for each in every),
            sum(op.kind in READS for at, each in enumerate(every) if at in taken for op in each.ops),
            len({op.key for each in every for op in each.ops}),
        )

    def part(self, members: Bools) -> tuple[Recovered, Orders]:
        # More than asked for does no harm: the caller looks at the members alone.
        return self.whole()

    def whole(self) -> tuple[Recovered, Orders]:
        return self.found, self.orders

    def lost(self) -> list[Finding]:
        return [Finding("lost update", pair, "") for pair in lost_updates(self.found, self.orders)][:1]

    def decide(self, level: Client, order: KeptOrder = KeptOrder.SESSIONS, time: Arcs = NO_ARCS) -> Answer:
        pairs = [(int(first), int(second)) for first, second in time]
        in_sessions = order is not KeptOrder.NONE
        kept = holds(self.found, self.orders, level, in_sessions=in_sessions, time=pairs)
        return Answer(kept, "" if kept else "by definition")

    def in_order(self) -> bool:
        # It would be right to test it. But the search that follows finds that order first anyway.
        return False

    def windows(self, *, timed: bool) -> Windows:
        return windows(self.observed.transactions, self.taken, timed=timed)
