"""Decide the client-side levels, from read committed to serializable, with the cheapest means that suffices.

The levels are those of Biswas and Enea (2019) and Cerone and others (2015). Up to causal consistency, forced
edges decide exactly. Above it, cycles decide where version orders are known (lists); where they are not
(registers), an order of the transactions is searched for. Verdicts are passed on between levels: what
violates a weaker level violates the stronger ones, and what keeps a stronger level keeps the weaker ones.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from dvs_model.clients.basis import Basis, KeptOrder, arcs_of
from dvs_model.clients.layers import layered_cycle
from dvs_model.clients.ordering import NOT_FOUND, UNEXPLAINED, ordering, solver
from dvs_model.clients.polygraph import polygraph
from dvs_model.clients.unread import EVERY, MANY, MOST_JUDGED, MOST_ORDERS, OPEN, knots_of
from dvs_model.columns.cycles import knots
from dvs_model.columns.table import Bools
from dvs_model.columns.versions import NO_ARCS, Arcs
from dvs_model.observed.client import Answer, Client, Problem, problem
from dvs_model.observed.history import Chosen, Pair
from dvs_model.observed.recover import Finding
from dvs_model.observed.search import order_exists
from dvs_model.theory.names import Phenomenon

SEARCH_STEPS = 200_000
"""Steps of the search for an order that explains a history: conflicts of the solver, or places tried."""

SEARCHED_OF = 200_000
"""Transactions up to which an order is searched for even if the user names no level that needs it."""

BY_SEARCH = (Client.PREFIX, Client.SNAPSHOT, Client.SERIALIZABLE)
"""The levels that a search decides where no version order is known."""

NOT_SEARCHED = (
    f"an order of more than {SEARCHED_OF:,} transactions is searched for only if --client-level names "
    "the level"
)

LAYERED = (Client.PREFIX, Client.SNAPSHOT)
"""The levels that allow some cycles. Known version orders decide them nevertheless (`clients.layers`)."""

AT_MOST = 5_000_000
"""The most orders of unread appends times transactions: each order costs a pass over all transactions."""

CHAIN = tuple(level for level in Client if level is not Client.PARALLEL)
"""The client-side levels but parallel snapshot isolation, the weaker first. A violation is passed on from
each level to the next one, except from SNAPSHOT to SERIALIZABLE."""


CYCLES: Mapping[KeptOrder, Sequence[Phenomenon]] = {
    KeptOrder.NONE: (Phenomenon.G1C, Phenomenon.G_SINGLE),
    KeptOrder.SESSIONS: (Phenomenon.G1C_SESSION, Phenomenon.G_SINGLE_SESSION),
    KeptOrder.REAL_TIME: (Phenomenon.G1C_REALTIME, Phenomenon.G_SINGLE_REALTIME),
}
"""The cycles that parallel snapshot isolation (PSI) forbids, by the order kept: with one rw at most."""

UNREPEATED = "non-repeatable read"
"""The finding that a transaction read two values of one key. A search for an order counts both reads."""

CYCLIC = "cyclic versions"
EVERY_LEVEL = ("incompatible orders", "dirty write", CYCLIC)
FROM_PL_2 = ("internal", "future read", "duplicate elements", "wrong writer")
"""Findings by name. No level allows those of EVERY_LEVEL; no level from PL-2 up allows those of FROM_PL_2."""


@dataclass(slots=True)
class Asked:
    """A history, with the order of transactions that the levels in question keep.

    `time`: pairs of transactions in real time, for KeptOrder.REAL_TIME. `made`: the problem, built on first
    use: it has an object for each read, which most histories can do without.
    """

    basis: Basis
    order: KeptOrder
    time: Sequence[Pair]
    made: Problem | None = None

    def problem(self) -> Problem:
        """Returns the history in the form that `observed.client` takes; builds it on the first call."""
        if self.made is None:
            sessions = self.order is not KeptOrder.NONE
            self.made = problem(*self.basis.whole(), sessions=sessions, time=self.time)
        return self.made

    def sessions(self) -> Arcs:
        """Returns the neighbours in sessions, if their order is kept."""
        return NO_ARCS if self.order is KeptOrder.NONE else self.basis.edges.session

    def decide(self, level: Client) -> Answer:
        """Returns the verdict on a level up to causal consistency."""
        return self.basis.decide(level, self.order, arcs_of(self.time))


@dataclass(slots=True)
class Answers:
    """The client-side levels of one history.

    `search`: whether an order of the transactions is searched for where nothing else decides, which takes
    long for a large history. `steps`: the budget of that search. `serial`: whether an order that keeps
    sessions explains the history; None: not known (yet). `lost`: lost updates of keys without a known version
    order. `unsettled`: phenomena that are present in some orders of the appends that no read shows, not in
    all. `forced`: phenomena of which each such order shows either the phenomenon or a worse cycle, so that a
    level that forbids both is violated in any case.
    """

    basis: Basis
    search: bool = True
    steps: int = SEARCH_STEPS
    serial: bool | None = None
    lost: list[Finding] = field(init=False)
    unsettled: set[Phenomenon] = field(default_factory=set)
    forced: set[Phenomenon] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.lost = self.basis.lost()

    def client(self, present: Collection[Phenomenon], *, acyclic: bool) -> dict[Client, Answer]:
        """Returns the verdicts on the client-side levels, which keep the order of sessions.

        `present`: the phenomena of Adya's that are present. `acyclic`: whether sessions and dependencies
        close no cycle.
        """
        found = self._client(present, acyclic=acyclic)
        self.serial = found[Client.SERIALIZABLE].holds
        return {level: self.hidden(each) for level, each in found.items()}

    def hidden(self, answer: Answer) -> Answer:
        """Turns "holds" into unknown if a read shows a value that nobody wrote: its writer may change that.

        A violated level stays violated.
        """
        return Answer(None, self.missing()) if self.basis.missing and answer.holds else answer

    def _client(self, present: Collection[Phenomenon], *, acyclic: bool) -> dict[Client, Answer]:
        """Returns the verdicts of `client` as if no writer were missing in the file."""
        excluded = self.excluded()
        # The file does not name sessions, and that alone keeps the levels from being decided.
        if excluded is not None and excluded.holds is None and self.excluded(sessions=False) is None:
            return self.without_sessions(present, excluded)
        if excluded is not None:
            return dict.fromkeys(Client, excluded)
        if acyclic and self.basis.unordered is None:
            # A serial order that keeps sessions and version orders: every weaker level holds too.
            return dict.fromkeys(Client, Answer(True))
        return self.with_order(KeptOrder.SESSIONS, present, ())

    def without_sessions(self, present: Collection[Phenomenon], unknown: Answer) -> dict[Client, Answer]:
        """Returns the verdicts where sessions are not known: only violations.

        To keep sessions is a further demand. So what is violated without it is violated with it; what holds
        without it may not hold with it.
        """
        if len(self.basis.taken) > SEARCHED_OF:
            return dict.fromkeys(Client, unknown)
        found = self.with_order(KeptOrder.NONE, present, ())
        return {level: each if each.holds is False else unknown for level, each in found.items()}

    def excluded(self, *, sessions: bool = True) -> Answer | None:
        """Returns the verdict that all levels share: violated or unknown; None: they need not share one.

        `sessions`: the levels keep the order of sessions.
        """
        # Assumptions of the user about versions (CYCLIC) do not count: these levels are defined without the
        # order of versions.
        excluding = (*EVERY_LEVEL, *FROM_PL_2)
        wrong = [f for f in self.basis.findings if f.name in excluding and f.name != CYCLIC]
        dirty = [f for f in self.basis.findings if f.name in ("aborted read", "intermediate read")]
        if wrong or dirty:
            return Answer(False, (wrong or dirty)[0].text)
        if sessions and not self.basis.observed.records.sessions:
            return Answer(None, "the file does not say which transactions are of one session")
        return None

    def with_order(
        self, order: KeptOrder, present: Collection[Phenomenon], time: Sequence[Pair]
    ) -> dict[Client, Answer]:
        """Returns the verdicts on the levels if `order` is kept, decided one by one, the cheap ones first.

        `present`: the phenomena that are present. `time`: pairs of transactions of which the first ended
        before the second began, for KeptOrder.REAL_TIME.
        """
        unordered = self.basis.unordered is not None
        if unordered and all(first < second for first, second in time) and self.basis.in_order():
            # The order of the file keeps sessions and explains all reads, so none has to be searched for.
            return dict.fromkeys(Client, Answer(True))
        asked = Asked(self.basis, order, time)
        causal = asked.decide(Client.CAUSAL)
        if causal.holds is False:
            # Every stronger level is violated, too, so no order needs to be searched for, which takes
            # longest.
            atomic = asked.decide(Client.READ_ATOMIC)
            committed = asked.decide(Client.READ_COMMITTED) if atomic.holds is False else Answer(True)
            if committed.holds is False:
                atomic = committed
            low = {Client.READ_COMMITTED: committed, Client.READ_ATOMIC: atomic}
            causal = atomic if atomic.holds is False else causal
            return {level: low.get(level, causal) for level in Client}
        serial = self.searched(asked, Client.SERIALIZABLE)
        if serial.holds:
            return dict.fromkeys(Client, Answer(True))
        answers = {Client.SERIALIZABLE: serial, Client.SNAPSHOT: self.searched(asked, Client.SNAPSHOT)}
        snapshot = answers[Client.SNAPSHOT]
        answers[Client.PREFIX] = snapshot if snapshot.holds else self.searched(asked, Client.PREFIX)
        for level in (Client.CAUSAL, Client.READ_ATOMIC, Client.READ_COMMITTED):
            # Each level holds where the next stronger one does.
            stronger = answers[CHAIN[CHAIN.index(level) + 1]]
            decided = causal if level is Client.CAUSAL else asked.decide(level)
            answers[level] = stronger if stronger.holds else decided
        for level, other in pairwise(CHAIN):
            # A violation is passed on to the next stronger level. A search for SERIALIZABLE that has found a
            # cycle of its own keeps it; one that was not made, or not to its end, has found nothing.
            if answers[level].holds is False and (
                level is not Client.SNAPSHOT or answers[other].holds is None
            ):
                answers[other] = answers[level]
        if answers[Client.PREFIX].holds is False:
            answers[Client.SERIALIZABLE] = answers[Client.PREFIX]
        answers[Client.PARALLEL] = self.parallel(answers, present, order)
        return {level: answers[level] for level in Client}

    def parallel(
        self, answers: Mapping[Client, Answer], present: Collection[Phenomenon], order: KeptOrder
    ) -> Answer:
        """Returns the verdict on parallel snapshot isolation (PSI).

        It is violated by a cycle of session order, wr and ww with at most one rw (Cerone and others 2015).
        That needs version orders; without them it follows from weaker or stronger levels, or stays open.
        """
        if answers[Client.CAUSAL].holds is False:
            return answers[Client.CAUSAL]
        if self.lost:
            return Answer(False, self.lost[0].text)
        # A forbidden cycle, in the order: certain, or in every order of unread appends.
        for phenomenon in CYCLES[order]:
            if phenomenon in present:
                return Answer(False, f"{phenomenon.value} is present")
        if not self.forced.isdisjoint(CYCLES[order]):
            return Answer(False, EVERY)
        if answers[Client.SNAPSHOT].holds:
            return Answer(True)
        if not self.unsettled.isdisjoint(CYCLES[order]):
            return Answer(None, OPEN)
        if self.basis.unordered is None:
            # All version orders are known, and the detectors found none of the cycles.
            return Answer(True)
        return Answer(None, "the order of versions is not recorded, and no snapshots explain the history")

    def searched(self, asked: Asked, level: Client) -> Answer:
        """Returns the verdict on a level above causal consistency.

        Where version orders are known cycles decide it, else a search for an order of the transactions.
        """
        if level is Client.SNAPSHOT and self.lost:
            return Answer(False, self.lost[0].text)
        if self.basis.unordered is None:
            order = {
                "before in its session": asked.sessions(),
                "ended before the beginning of": arcs_of(asked.time),
            }
            cycle = layered_cycle(self.basis.observed, self.basis.edges, level, order)
            if cycle is not None:
                return Answer(False, cycle)
            return self.in_all_orders(level, order) if level in LAYERED else Answer(True)
        if not self.search:
            return Answer(None, NOT_SEARCHED)
        return self.ordered(asked.problem(), level)

    def in_all_orders(self, level: Client, order: Mapping[str, Arcs]) -> Answer:
        """Returns the verdict on a level that no certain cycle violates, by all orders of unread appends.

        Only appends inside one knot (strongly connected component) can matter for a cycle. Each order of
        these is tried: the level is violated if all orders of some knot violate it, and unknown if some do.
        """
        basis, edges = self.basis, self.basis.edges
        if not basis.tails:
            return Answer(True)
        labels = knots(len(basis.taken), (*order.values(), edges.wr, edges.ww, edges.rw))
        on = (np.bincount(labels) > 1)[labels]
        found = knots_of(*basis.part(on), labels) if on.any() else []
        open_ = Answer(True)
        left = min(MOST_JUDGED, AT_MOST // len(labels))
        # Knots with few orders first, so that the budget serves as many knots as possible.
        for knot in sorted(found, key=lambda each: each.count):
            left -= knot.count
            if knot.count > MOST_ORDERS or left < 0:
                open_ = Answer(None, MANY)
                continue
            inside = np.zeros(len(labels), np.bool_)
            inside[list(knot.members)] = True
            cycles = [self.cycle_of(level, order, inside, chosen) for chosen in knot.orders()]
            if None not in cycles:
                return Answer(False, f"in each order of appends that no read shows, as in one: {cycles[0]}")
            if any(cycles) and open_.holds:
                open_ = Answer(None, OPEN)
        return open_

    def cycle_of(self, level: Client, order: Mapping[str, Arcs], inside: Bools, chosen: Chosen) -> str | None:
        """Returns a cycle in words that violates a level with chosen orders of appends; None: there is none.

        `inside`: one bool per transaction, whether the cycle may pass it.
        """
        more = [pair for groups in chosen.values() for group in groups for pair in pairwise(group)]
        edges = self.basis.edges
        within = replace(
            edges,
            ww=np.concatenate((_inside(edges.ww, inside), arcs_of(more))),
            wr=_inside(edges.wr, inside),
            rw=_inside(edges.rw, inside),
        )
        kept = {name: _inside(arcs, inside) for name, arcs in order.items()}
        return layered_cycle(self.basis.observed, within, level, kept)

    def ordered(self, task: Problem, level: Client) -> Answer:
        """Returns whether some order of the transactions explains what was read.

        Forced edges and the SAT solver decide it. Without the solver a depth-first search tries what is left.
        """
        graph = polygraph(task, level)
        if graph is None:
            return Answer(None, "too many transactions wrote the same keys")
        found = ordering(graph, self.basis.observed, self.steps)
        if found.exists is not None or solver():
            return Answer(found.exists, found.because)
        exists = order_exists(task, level, self.steps)
        spent = f"{NOT_FOUND.format(steps=self.steps)}; pip install 'dvs-harness[solver]' decides more"
        return Answer(exists, {True: "", False: UNEXPLAINED, None: spent}[exists])

    def refuted(self) -> str:
        """Returns why no serial order explains the reads; empty: one does, or that is not known.

        Sessions are left aside, because Adya's PL-3 does not know them. It is asked only where version orders
        are not known: otherwise the cycles of PL-3 decide.
        """
        if self.basis.unordered is None or self.basis.missing:
            return ""
        if any(finding.name != UNREPEATED for finding in self.basis.findings):
            # A read with another finding is not among those that the search explains.
            return ""
        if not self.search or self.serial is True or self.basis.in_order():
            # A serial order that keeps sessions, or that of the file, is also one that need not keep them.
            return ""
        task = problem(*self.basis.whole(), sessions=False)
        found = self.ordered(task, Client.SERIALIZABLE)
        return found.because if found.holds is False else ""

    def missing(self) -> str:
        """Returns why reads of values that nobody wrote leave levels open."""
        count = self.basis.missing
        reads = "a read shows a value" if count == 1 else f"{count:,} reads show values"
        return f"{reads} whose writer is not in the file"


def _inside(arcs: Arcs, inside: Bools) -> Arcs:
    """Returns the arcs with both ends inside. `inside`: by transaction."""
    return arcs[inside[arcs[:, 0]] & inside[arcs[:, 1]]]
