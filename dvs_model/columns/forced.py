"""Compute the edges that read committed, read atomic and causal consistency force, with NumPy.

Biswas and Enea (2019, section 4) define these levels without version orders, and Plume and AWDIT check them
too: if a transaction had seen a's version of a key and yet read b's, then a's version must be the older one.
That is an edge from a to b. A level holds exactly if its edges close no cycle with session order and
read-from. `reference.clients` defines the same, one transaction after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dvs_model.columns.lookup import below, spread
from dvs_model.columns.match import Installed, Reads
from dvs_model.columns.table import Bools, Ints
from dvs_model.columns.versions import Arcs
from dvs_model.columns.world import World, within_session
from dvs_model.observed.client import Client
from dvs_model.observed.guarantees import Guarantee

AT_ONCE = 4_000_000
"""Candidates for edges that are looked at in one step; it bounds the memory of the temporary arrays."""

LARGEST = 2**62
"""Codes of (key, session, transaction) must be below this, so that they fit into an int64."""


@dataclass(frozen=True, slots=True)
class Forced:
    """Forced edges. `arcs`: a row (older, newer) of transactions per edge. `key`, `rule`: one int64 per edge.

    The newer one is INITIAL (-1) where a transaction read what was there before the run although it had seen
    a writer of the key: such an edge alone violates the level. `rule`: a place in `RULES`.
    """

    arcs: Arcs
    key: Ints
    rule: Ints


RULES = ("read committed", "read atomic", "session", "causal", "real time", *(g.value for g in Guarantee))


def forced(world: World, reads: Reads, installed: Installed, level: Client) -> Forced | None:
    """Returns the edges that a level up to CAUSAL forces by the reads and versions of some keys.

    `world`: all transactions, also what they did with other keys. `reads`, `installed`: those of the keys at
    hand, all keys or a share of them. Returns None if there are too many edges to be computed.
    """
    of = _Forcing(world, reads, installed)
    match level:
        case Client.READ_COMMITTED:
            return of.direct(RULES.index("read committed"))
        case Client.READ_ATOMIC:
            parts = [of.direct(RULES.index("read atomic")), of.in_session()]
            if len(world.time):
                # What real time puts before a transaction is visible to it.
                parts.insert(0, _Forcing(world.by_order(), reads, installed).causal("real time"))
            return None if None in parts else joined([part for part in parts if part is not None])
        case _:
            return of.causal("causal")


class _Forcing:
    """The computation of forced edges. `count`: of all transactions. `keys`: the number of keys at hand."""

    def __init__(self, world: World, reads: Reads, installed: Installed) -> None:
        self.world, self.reads, self.installed = world, reads, installed
        self.count, self.keys = world.count, len(installed.starts) - 1

    def installed_by(self, key: Ints, txn: Ints) -> Bools:
        """Tells for each key and transaction whether the transaction installed a version of the key."""
        # `Installed` is sorted by key and transaction, so the codes are sorted as well.
        codes = self.installed.key * self.count + self.installed.txn
        wanted = key * self.count + txn
        at = np.minimum(below(codes, wanted), max(len(codes) - 1, 0))
        return codes[at] == wanted if len(codes) else np.zeros(len(key), np.bool_)

    # Read committed and read atomic

    def direct(self, rule: int) -> Forced:
        """Returns the edges from the sources of a transaction: the transactions from which it has read.

        A source that also wrote the key of a read, and is not the one that was read, is older than the one
        that was read. For read committed only sources count that were read before; for read atomic all do.
        """
        reads, sources = self.reads, self.world.read_from().reads
        found = []
        for read, source, key in self.candidates():
            other = sources.writer[source]
            kept = other != reads.writer[read]
            if RULES[rule] == "read committed":
                # Operations are numbered in the order of the file, so within one transaction a smaller number
                # is earlier. `sources.op` is the first read from the source.
                kept &= sources.op[source] <= reads.op[read]
            read, other = read[kept], other[kept]
            if not key:
                there = self.installed_by(reads.key[read], other)
                read, other = read[there], other[there]
            found.append(_edges(other, reads.writer[read], reads.key[read], rule))
        return joined(found)

    def candidates(self) -> Iterator[tuple[Ints, Ints, bool]]:
        """Yields pairs of a read and a source of its transaction, in steps of about `AT_ONCE` pairs.

        The third part tells whether the source is known to write the key of the read. Either all reads of a
        transaction are paired with all its sources, or all versions that the sources wrote are looked up
        among the reads; for each transaction the way with fewer candidates is taken. A transaction that reads
        a thousand keys from a thousand sources would give a million pairs in the first way.
        """
        reads, sources, of_reader = self.reads, self.world.read_from().reads, self.world.read_from().starts
        by_txn = np.argsort(self.installed.txn, kind="stable")
        of_writer = np.searchsorted(self.installed.txn[by_txn], np.arange(self.count + 1))
        written = (of_writer[1:] - of_writer[:-1])[sources.writer]
        by_writes = np.bincount(sources.reader, written, self.count).astype(np.int64)
        many = of_reader[1:] - of_reader[:-1]
        by_reads = np.bincount(reads.reader, minlength=self.count) * many
        heavy = by_reads > by_writes
        # First way: each read with each source. Heavy transactions have width 0, so they are passed over.
        width = np.where(heavy, 0, many)[reads.reader]
        for begin, end in _steps(np.cumsum(width)):
            at = np.arange(begin, end)
            start = of_reader[reads.reader[at]]
            source, of = spread(start, start + width[at])
            yield at[of], source, False
        # Second way, for heavy transactions: each version that a source wrote, with the reads of its key. All
        # reads of one key by one transaction have the same code, so they are the range from the wanted code
        # up to the next one.
        codes = reads.key * self.count + reads.reader
        by_code = np.argsort(codes, kind="stable")
        codes = codes[by_code]
        width = np.where(heavy[sources.reader], written, 0)
        for begin, end in _steps(np.cumsum(width)):
            at = np.arange(begin, end)
            start = of_writer[sources.writer[at]]
            version, of = spread(start, start + width[at])
            wanted = self.installed.key[by_txn[version]] * self.count + sources.reader[at[of]]
            first = below(codes, wanted)
            place, which = spread(first, below(codes, wanted + 1))
            yield by_code[place], at[of[which]], True

    def in_session(self) -> Forced | None:
        """Returns the edges from earlier writers of the reader's session; None: codes would be too large.

        Only the last writer of the key before the reader needs an edge: the earlier ones come before it by
        the order of the session, which the search for cycles includes.
        """
        reads, session, sessions = self.reads, self.world.session, self.world.sessions
        if self.keys * sessions * self.count >= LARGEST:
            return None
        key, txn = self.installed.key, self.installed.txn
        codes = np.sort((key * sessions + session[txn]) * self.count + txn)
        wanted = (reads.key * sessions + session[reads.reader]) * self.count + reads.reader
        # Indexes of transactions ascend within a session. So the last code below that of the reader is the
        # writer looked for, if it has the same key and session.
        at = below(codes, wanted) - 1
        there = (at >= 0) & (codes[at] // self.count == wanted // self.count) if len(codes) else at >= 0
        other = codes[at[there]] % self.count
        found = _edges(other, reads.writer[there], reads.key[there], RULES.index("session"))
        kept = found.arcs[:, 0] != found.arcs[:, 1]
        return Forced(found.arcs[kept], found.key[kept], found.rule[kept])

    # Causal consistency

    def causal(self, rule: str) -> Forced | None:
        """Returns the edges if a transaction has seen everything that happened before it; None: too many.

        Happened before is the closure of session order and read-from and, if it is kept, real time. A vector
        clock holds it: `clocks[t, s]` is how many transactions of session s happened before t. Of each
        session only the last writer of the key that t has seen needs an edge, as in `in_session`. `rule`: the
        name of the edges.
        """
        reads, session, sessions = self.reads, self.world.session, self.world.sessions
        if self.count * sessions > self.world.most or self.keys * sessions * self.count >= LARGEST:
            return None
        within, clocks = within_session(session, self.world.taken), self.world.seen()
        # Sort versions by key, then session, then place in the session. A group is a key with a session that
        # wrote it; the groups of a key are neighbours, from `of_key[key]` up to `of_key[key + 1]`.
        key, txn = self.installed.key, self.installed.txn
        group = key * sessions + session[txn]
        order = np.lexsort((within[txn], group))
        group, txn = group[order], txn[order]
        codes = group * self.count + within[txn]
        groups = np.unique(group)
        of_key = np.searchsorted(groups, np.arange(self.keys + 1) * sessions)
        found = []
        for begin, end in _steps(np.cumsum(of_key[reads.key + 1] - of_key[reads.key])):
            at = np.arange(begin, end)
            which, of = spread(of_key[reads.key[at]], of_key[reads.key[at] + 1])
            read = at[of]
            seen = clocks[reads.reader[read], groups[which] % sessions].astype(np.int64)
            # The last version of the group among the first `seen` transactions of its session. If there is
            # none, the place found belongs to an earlier group.
            number = below(codes, groups[which] * self.count + seen) - 1
            there = number >= 0
            there[there] = group[number[there]] == groups[which[there]]
            read, other = read[there], txn[number[there]]
            kept = (other != reads.writer[read]) & (other != reads.reader[read])
            found.append(
                _edges(
                    other[kept],
                    reads.writer[read[kept]],
                    reads.key[read[kept]],
                    RULES.index(rule),
                )
            )
        return joined(found)


def _steps(widths: Ints) -> list[tuple[int, int]]:
    """Cuts places into ranges with about `AT_ONCE` candidates each; returns (begin, end) of each range.

    `widths`: one int64 per place, the sum of candidates up to and with it.
    """
    if not len(widths):
        return []
    goals = np.arange(AT_ONCE, int(widths[-1]) + AT_ONCE, AT_ONCE)
    ends = np.unique(np.minimum(np.searchsorted(widths, goals) + 1, len(widths))).tolist()
    ends = ends if ends and ends[-1] == len(widths) else [*ends, len(widths)]
    return list(zip([0, *ends[:-1]], ends, strict=True))


def _edges(tails: Ints, heads: Ints, key: Ints, rule: int) -> Forced:
    """Returns edges of one rule, each pair of transactions once."""
    return _once(Forced(np.column_stack((tails, heads)), key, np.full(len(key), rule, np.int64)))


def _once(found: Forced) -> Forced:
    """Returns each pair of transactions once, with its first key and rule: one reason is enough."""
    if not len(found.arcs):
        return found
    # INITIAL is -1; one is added to both ends so that no code is negative.
    width = int(found.arcs.max()) + 2
    _, first = np.unique((found.arcs[:, 0] + 1) * width + found.arcs[:, 1] + 1, return_index=True)
    return Forced(found.arcs[first], found.key[first], found.rule[first])


def joined(parts: list[Forced]) -> Forced:
    """Returns the edges of several parts, each pair of transactions once."""
    if not parts:
        nothing = np.empty(0, np.int64)
        return Forced(np.empty((0, 2), np.int64), nothing, nothing)
    return _once(
        Forced(
            np.concatenate([part.arcs for part in parts]),
            np.concatenate([part.key for part in parts]),
            np.concatenate([part.rule for part in parts]),
        )
    )
