"""The basis of verdicts on a history of clients: its reads, version orders and dependencies, in arrays.

`InColumns` has the whole history in memory, `on_disk.Apart` one share of the keys at a time. Tests hold both
equal to the definitions, read by read, in `reference.clients`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import numpy as np

from dvs_model.clients.lost import lost_updates
from dvs_model.columns.cycles import windows
from dvs_model.columns.forced import RULES, Forced, forced
from dvs_model.columns.match import Matched, match
from dvs_model.columns.names import Named
from dvs_model.columns.part import part, whole
from dvs_model.columns.serial import explained_in_order
from dvs_model.columns.table import COMMITTED, UNKNOWN, Bools
from dvs_model.columns.versions import NO_ARCS, Arcs, Edges, Versions, edges, reason, unordered_keys, versions
from dvs_model.columns.world import world_of
from dvs_model.graph.cycles import labels_of
from dvs_model.observed.client import TOO_MANY, Answer, Client, Reason, in_words
from dvs_model.observed.history import Orders, Pair
from dvs_model.observed.recover import INITIAL, Finding, Recovered
from dvs_model.observed.seen import Observed
from dvs_model.observed.time import Windows

TOO_MANY_PAIRS = "too many reads of it come before too many appends that no read shows"


@dataclass(frozen=True, slots=True)
class Unordered:
    """Keys whose version order is not known: how many, the first one of them, and why it is not."""

    count: int
    key: str
    reason: str


@dataclass(frozen=True, slots=True)
class Size:
    """How large a history is, as counts for reports.

    `committed`: transactions that the file calls committed. `judged`: those of them with an operation.
    `unanswered`: transactions without an answer from which nobody read. `reads`: those of transactions that
    count as committed.
    """

    committed: int
    judged: int
    unanswered: int
    operations: int
    reads: int
    keys: int


def unordered_of(matched: Matched, known: Versions, dependencies: Edges) -> Unordered | None:
    """Returns the keys without a known version order, so that no phenomenon is surely absent; None: none."""
    keys = unordered_keys(known, dependencies)
    if not len(keys):
        return None
    first = int(keys[0])
    why = reason(matched, known, first) if known.unknown[first] else TOO_MANY_PAIRS
    return Unordered(len(keys), matched.columns.keys[first], why)


class KeptOrder(Enum):
    """The order of transactions that a level keeps beside the dependencies: none, sessions, or real time."""

    NONE = "without sessions"
    SESSIONS = "sessions"
    REAL_TIME = "strict"


class Basis(Protocol):
    """The basis of the verdicts on a history.

    `findings`: anomalies of single reads or keys. `missing`: the number of reads of values that nobody wrote.
    `taken`: one bool per transaction, whether it counts as committed. `unordered`: the keys whose version
    order is not known; None: every order is known. `tails`: the number of keys that end in several appends
    that no read shows. `edges`: the dependencies that are certain. `certain`: those of them that do not rest
    on what the user assumes of versions; levels for clients are defined without version orders. `ww_names`:
    by write dependency of these its key.
    """

    observed: Observed
    findings: list[Finding]
    missing: int
    taken: Bools
    unordered: Unordered | None
    tails: int
    edges: Edges
    certain: Edges
    ww_names: Sequence[str]
    size: Size

    def part(self, members: Bools) -> tuple[Recovered, Orders]:
        """Returns the reads of some transactions, and all versions of the keys that they read or wrote."""

    def whole(self) -> tuple[Recovered, Orders]:
        """Returns all reads and versions."""

    def lost(self) -> list[Finding]:
        """Returns lost updates of keys whose version order is not known."""

    def decide(self, level: Client, order: KeptOrder = KeptOrder.SESSIONS, time: Arcs = NO_ARCS) -> Answer:
        """Returns the verdict on a level up to causal consistency, if it keeps an order of transactions.

        `time`: for KeptOrder.REAL_TIME, which also keeps sessions, the pairs of which the first one ended
        before the second one began.
        """

    def in_order(self) -> bool:
        """Tells whether each read shows what was written last in the order of the file."""

    def windows(self, *, timed: bool) -> Windows:
        """Returns when the transactions that count as committed began and ended."""


class InColumns(Basis):
    """The basis by NumPy arrays, of the whole history in memory."""

    def __init__(self, observed: Observed) -> None:
        self.observed = observed
        self.matched: Matched = match(observed)
        self.versions: Versions = versions(self.matched)
        self.edges = edges(self.matched, self.versions)
        self.world = world_of(self.matched, self.edges.session)
        self.findings = [*self.matched.noted.findings, *self.versions.told.findings]
        self.missing = self.matched.noted.missing
        self.taken = self.matched.taken
        assumed = observed.records.assumed
        self.certain = edges(self.matched, self.versions, assumed=False) if assumed else self.edges
        self.ww_names: Sequence[str] = Named(self.certain.ww_key, self.matched.columns.keys)
        self.unordered = unordered_of(self.matched, self.versions, self.edges)
        self.tails = self.versions.tails
        columns = self.matched.columns
        self.size = Size(
            int((columns.status == COMMITTED).sum()),
            int(((columns.status == COMMITTED) & (columns.first[1:] > columns.first[:-1])).sum()),
            int(((columns.status == UNKNOWN) & ~self.taken).sum()),
            len(columns.txn),
            self.matched.read_count(),
            len(columns.keys),
        )

    def part(self, members: Bools) -> tuple[Recovered, Orders]:
        return part(self.matched, self.versions, members)

    def whole(self) -> tuple[Recovered, Orders]:
        return whole(self.matched, self.versions)

    def lost(self) -> list[Finding]:
        return lost_updates(self.matched, self.versions)

    def decide(self, level: Client, order: KeptOrder = KeptOrder.SESSIONS, time: Arcs = NO_ARCS) -> Answer:
        world = self.world.kept(sessions=order is not KeptOrder.NONE, time=time)
        found = forced(world, self.matched.reads, self.matched.installed, level)
        return verdict(self, world.order, found, self.matched.columns.keys, time)

    def in_order(self) -> bool:
        return explained_in_order(self.matched, self.versions)

    def windows(self, *, timed: bool) -> Windows:
        return windows(self.observed.transactions, self.taken, timed=timed)


def verdict(
    basis: Basis, session: Arcs, found: Forced | None, keys: Sequence[str], time: Arcs = NO_ARCS
) -> Answer:
    """Returns the verdict on a level: whether forced edges close a cycle with the other dependencies.

    `session`, `time`: pairs of transactions in the order of sessions and in real time, if these are kept.
    `found`: the forced edges; None: there are too many. `keys`: the names of keys by `found.key`.
    """
    if found is None:
        return TOO_MANY
    # Nothing comes before what was there before the run.
    early = np.flatnonzero(found.arcs[:, 1] == INITIAL)
    if len(early):
        tail, key = int(found.arcs[early[0], 0]), keys[int(found.key[early[0]])]
        seen = f"one that had seen T{basis.observed.number(tail)}'s write of it"
        return Answer(False, f"key {key} was read as it was before the run by {seen}")
    edges = basis.certain
    ordered = (edges.ww, session, time, edges.wr, found.arcs)
    labels = labels_of(ordered, len(basis.observed.transactions))
    inside = [np.flatnonzero(labels[each[:, 0]] == labels[each[:, 1]]) for each in ordered]
    if not any(map(len, inside)):
        return Answer(True)
    # A pair may have several reasons; the last one given stays.
    why: dict[Pair, Reason] = {}
    ww, in_session, timed, wr, more = inside
    for at, pair in zip(ww.tolist(), _pairs(edges.ww[ww]), strict=True):
        why[pair] = "version order", basis.ww_names[at]
    why |= dict.fromkeys(_pairs(session[in_session]), ("session", ""))
    why |= dict.fromkeys(_pairs(time[timed]), ("real time", ""))
    why |= dict.fromkeys(_pairs(edges.wr[wr]), ("reads from", ""))
    of = zip(_pairs(found.arcs[more]), found.rule[more].tolist(), found.key[more].tolist(), strict=True)
    for pair, rule, code in of:
        why[pair] = RULES[rule], keys[code]
    return Answer(False, in_words(basis.observed, list(why), why))


def arcs_of(pairs: Iterable[Pair]) -> Arcs:
    """Returns pairs as rows of an array."""
    found = list(pairs)
    return np.array(found, np.int64).reshape(-1, 2) if found else NO_ARCS


def _pairs(arcs: Arcs) -> list[Pair]:
    return [(tail, head) for tail, head in arcs.tolist()]
