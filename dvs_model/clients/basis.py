"""What verdicts on a history of clients are made from, in three implementations of one protocol.

`Defined` computes it by the readable definitions in `observed`; `InColumns` by NumPy arrays, for most files;
`on_disk.Apart` by arrays in shares, for files larger than memory. A test holds definitions and arrays equal.
Arrays do not know commit timestamps, version orders that a file states, and assumptions of the user.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dvs_model.clients.lost import lost_updates, lost_updates_of
from dvs_model.columns.cycles import windows
from dvs_model.columns.forced import RULES, Forced, forced
from dvs_model.columns.match import Matched, match
from dvs_model.columns.names import Named
from dvs_model.columns.part import part, whole
from dvs_model.columns.serial import explained_in_order
from dvs_model.columns.table import COMMITTED, UNKNOWN, Bools
from dvs_model.columns.versions import NO_ARCS, Arcs, Edges, Versions, edges, unordered_keys, versions
from dvs_model.columns.world import world_of
from dvs_model.graph.cycles import labels_of
from dvs_model.observed import graph
from dvs_model.observed.client import TOO_MANY, Answer, Client, Reason, decide, in_words, problem
from dvs_model.observed.graph import Pair
from dvs_model.observed.recover import INITIAL, Finding, Recovered, recover
from dvs_model.observed.seen import READS, Observed, Status
from dvs_model.observed.time import Windows

UNRECORDED = "the order of its versions is not recorded"
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


def unordered_of(matched: Matched, known: Versions, made: Edges) -> Unordered | None:
    """Returns the keys because of which no phenomenon can be said to be absent; None: there are none."""
    keys = unordered_keys(known, made)
    if not len(keys):
        return None
    name = matched.columns.keys[int(keys[0])]
    reason = matched.noted.broken.get(name, UNRECORDED if known.unknown[keys[0]] else TOO_MANY_PAIRS)
    return Unordered(len(keys), name, reason)


class Basis(Protocol):
    """What the verdicts on a history are made from.

    `findings`: anomalies of single reads or keys. `missing`: the number of reads of values that nobody wrote.
    `taken`: one bool per transaction, whether it counts as committed. `unordered`: the keys whose version
    order is not known; None: every order is known. `tails`: the number of keys that end in several appends
    that no read shows. `edges`: the dependencies that are certain.
    """

    observed: Observed
    findings: list[Finding]
    missing: int
    taken: Bools
    unordered: Unordered | None
    tails: int
    edges: Edges
    size: Size

    def part(self, members: Bools) -> tuple[Recovered, graph.Orders]:
        """Returns the reads of some transactions, and all versions of the keys that they read or wrote."""

    def whole(self) -> tuple[Recovered, graph.Orders]:
        """Returns all reads and versions."""

    def lost(self) -> list[Finding]:
        """Returns lost updates of keys whose version order is not known."""

    def decide(self, level: Client) -> Answer:
        """Returns the verdict on a level up to causal consistency, which keeps the order of sessions."""

    def in_order(self) -> bool:
        """Tells whether each read shows what was written last in the order of the file."""

    def windows(self, *, timed: bool) -> Windows:
        """Returns when the transactions that count as committed began and ended."""


class Defined(Basis):
    """The basis by the readable definitions, one transaction after the other."""

    def __init__(self, observed: Observed) -> None:
        self.observed, self.found = observed, recover(observed)
        self.orders = graph.orders(self.found)
        self.findings, self.missing = self.found.findings, self.found.missing
        self.taken = np.zeros(len(observed.transactions), np.bool_)
        self.taken[sorted(self.found.taken)] = True
        # Every unknown key has a reason, so an empty one means that there is no such key.
        key, reason = next(iter(self.orders.unknown.items()), ("", ""))
        self.unordered = Unordered(len(self.orders.unknown), key, reason) if reason else None
        self.tails = sum(len(tail) > 1 for tail in self.orders.tails.values())
        made = graph.edges(self.found, self.orders)
        ww, wr, rw, session = map(arcs_of, (made.ww, made.wr, made.rw, made.session))
        self.edges = Edges(ww, wr, rw, session, np.empty(0, np.int64))
        every, taken = observed.transactions, self.found.taken
        self.size = Size(
            sum(each.status is Status.COMMITTED for each in every),
            sum(each.status is Status.COMMITTED and len(each.ops) > 0 for each in every),
            sum(each.status is Status.UNKNOWN and at not in taken for at, each in enumerate(every)),
            sum(len(each.ops) for each in every),
            sum(op.kind in READS for at, each in enumerate(every) if at in taken for op in each.ops),
            len({op.key for each in every for op in each.ops}),
        )

    def part(self, members: Bools) -> tuple[Recovered, graph.Orders]:
        # More than asked for does no harm: the caller looks at the members alone.
        return self.whole()

    def whole(self) -> tuple[Recovered, graph.Orders]:
        return self.found, self.orders

    def lost(self) -> list[Finding]:
        return lost_updates(self.found, self.orders)

    def decide(self, level: Client) -> Answer:
        return decide(problem(self.found, self.orders, sessions=True), level)

    def in_order(self) -> bool:
        # It would be right to test it. But the search that follows finds that order first anyway.
        return False

    def windows(self, *, timed: bool) -> Windows:
        return windows(self.observed.transactions, self.taken, timed=timed)


class InColumns(Basis):
    """The basis by NumPy arrays, of the whole history in memory."""

    def __init__(self, observed: Observed) -> None:
        self.observed = observed
        self.matched: Matched = match(observed)
        self.versions: Versions = versions(self.matched)
        self.edges = edges(self.matched, self.versions)
        self.world = world_of(self.matched, self.edges.session)
        self.findings, self.missing = self.matched.noted.findings, self.matched.noted.missing
        self.taken = self.matched.taken
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

    def part(self, members: Bools) -> tuple[Recovered, graph.Orders]:
        return part(self.matched, members)

    def whole(self) -> tuple[Recovered, graph.Orders]:
        return whole(self.matched)

    def lost(self) -> list[Finding]:
        return lost_updates_of(self.matched, self.versions)

    def decide(self, level: Client) -> Answer:
        found = forced(self.world, self.matched.reads, self.matched.installed, level)
        keys = self.matched.columns.keys
        ww_names = Named(self.edges.ww_key, keys)
        return verdict(self.edges, found, Reasons(self.observed, ww_names, keys))

    def in_order(self) -> bool:
        return explained_in_order(self.matched, self.versions)

    def windows(self, *, timed: bool) -> Windows:
        return windows(self.observed.transactions, self.taken, timed=timed)


@dataclass(frozen=True, slots=True)
class Reasons:
    """Names of keys for the words of a verdict.

    `ww`: by write dependency, the name of its key. `forced`: by the number of a key in `Forced.key`.
    """

    observed: Observed
    ww: Sequence[str]
    forced: Sequence[str]


def verdict(edges: Edges, found: Forced | None, reasons: Reasons) -> Answer:
    """Returns the verdict on a level: whether forced edges close a cycle with the other dependencies.

    `found`: the forced edges; None: there are too many. `observed.client.settled` defines the same.
    """
    if found is None:
        return TOO_MANY
    # Nothing comes before what was there before the run.
    early = np.flatnonzero(found.arcs[:, 1] == INITIAL)
    if len(early):
        tail, key = int(found.arcs[early[0], 0]), reasons.forced[int(found.key[early[0]])]
        seen = f"one that had seen T{reasons.observed.number(tail)}'s write of it"
        return Answer(False, f"key {key} was read as it was before the run by {seen}")
    ordered = (edges.ww, edges.session, edges.wr, found.arcs)
    labels = labels_of(ordered, len(reasons.observed.transactions))
    inside = [np.flatnonzero(labels[each[:, 0]] == labels[each[:, 1]]) for each in ordered]
    if not any(map(len, inside)):
        return Answer(True)
    # A pair may have several reasons; the last one given stays.
    why: dict[Pair, Reason] = {}
    ww, session, wr, more = inside
    for at, pair in zip(ww.tolist(), _pairs(edges.ww[ww]), strict=True):
        why[pair] = "version order", reasons.ww[at]
    why |= dict.fromkeys(_pairs(edges.session[session]), ("session", ""))
    why |= dict.fromkeys(_pairs(edges.wr[wr]), ("reads from", ""))
    of = zip(_pairs(found.arcs[more]), found.rule[more].tolist(), found.key[more].tolist(), strict=True)
    for pair, rule, code in of:
        why[pair] = RULES[rule], reasons.forced[code]
    return Answer(False, in_words(reasons.observed, list(why), why))


def arcs_of(pairs: Iterable[Pair]) -> Arcs:
    """Returns pairs as rows of an array."""
    found = list(pairs)
    return np.array(found, np.int64).reshape(-1, 2) if found else NO_ARCS


def _pairs(arcs: Arcs) -> list[Pair]:
    return [(tail, head) for tail, head in arcs.tolist()]
