"""What read committed, read atomic and causal consistency force, by arrays (Biswas and Enea 2019, section 4).

An edge (a, b) with a key says that a's version of the key came before b's, because b's was read by a
transaction that had seen a. The rules, for one transaction after the other, are in `observed.client`.
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

MOST_CLOCKS = 400_000_000
"""Transactions times sessions up to which causal consistency is decided: four bytes of memory each."""

AT_ONCE = 4_000_000
"""Candidates of edges that are looked at in one step."""

LARGEST = 2**62


@dataclass(frozen=True, slots=True)
class Forced:
    """Edges, a row each, with the key of each and its rule: a place in `RULES`."""

    arcs: Arcs
    key: Ints
    rule: Ints


RULES = ("read committed", "read atomic", "session", "causal")


def forced(world: World, reads: Reads, installed: Installed, level: Client) -> Forced | None:
    """Returns the edges that a level up to CAUSAL forces by the reads and versions of some keys.

    None: there are too many to be computed.
    """
    of = _Forcing(world, reads, installed)
    match level:
        case Client.READ_COMMITTED:
            return of.direct(RULES.index("read committed"))
        case Client.READ_ATOMIC:
            own = of.in_session()
            return None if own is None else joined([of.direct(RULES.index("read atomic")), own])
        case _:
            return of.causal()


class _Forcing:
    def __init__(self, world: World, reads: Reads, installed: Installed) -> None:
        self.world, self.reads, self.installed = world, reads, installed
        self.count, self.keys = world.count, len(installed.starts) - 1

    def installed_by(self, key: Ints, txn: Ints) -> Bools:
        """Tells for keys and transactions whether one installed a version of the other."""
        codes = self.installed.key * self.count + self.installed.txn
        wanted = key * self.count + txn
        at = np.minimum(below(codes, wanted), max(len(codes) - 1, 0))
        return codes[at] == wanted if len(codes) else np.zeros(len(key), np.bool_)

    # Read committed and read atomic

    def direct(self, rule: int) -> Forced:
        """Returns what is forced by the transactions from which one has read, up to a read or at all."""
        reads, sources = self.reads, self.world.read_from().reads
        found = []
        for read, source, known in self.candidates():
            other = sources.writer[source]
            kept = other != reads.writer[read]
            if RULES[rule] == "read committed":
                kept &= sources.op[source] <= reads.op[read]
            read, other = read[kept], other[kept]
            if not known:
                there = self.installed_by(reads.key[read], other)
                read, other = read[there], other[there]
            found.append(_edges(other, reads.writer[read], reads.key[read], rule))
        return joined(found)

    def candidates(self) -> Iterator[tuple[Ints, Ints, bool]]:
        """Yields reads with sources of their transactions, and whether these are known to write their keys.

        All pairs of both, or all that the sources wrote, whichever is less for a transaction.
        """
        reads, sources, of_reader = self.reads, self.world.read_from().reads, self.world.read_from().starts
        by_txn = np.argsort(self.installed.txn, kind="stable")
        of_writer = np.searchsorted(self.installed.txn[by_txn], np.arange(self.count + 1))
        written = (of_writer[1:] - of_writer[:-1])[sources.writer]
        by_writes = np.bincount(sources.reader, written, self.count).astype(np.int64)
        many = of_reader[1:] - of_reader[:-1]
        by_reads = np.bincount(reads.reader, minlength=self.count) * many
        heavy = by_reads > by_writes
        width = np.where(heavy, 0, many)[reads.reader]
        for begin, end in _steps(np.cumsum(width)):
            at = np.arange(begin, end)
            start = of_reader[reads.reader[at]]
            source, of = spread(start, start + width[at])
            yield at[of], source, False
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
        """Returns what is forced by the writes of one session before its reads; None: no codes are left."""
        reads, session, sessions = self.reads, self.world.session, self.world.sessions
        if self.keys * sessions * self.count >= LARGEST:
            return None
        key, txn = self.installed.key, self.installed.txn
        codes = np.sort((key * sessions + session[txn]) * self.count + txn)
        wanted = (reads.key * sessions + session[reads.reader]) * self.count + reads.reader
        at = below(codes, wanted) - 1
        there = (at >= 0) & (codes[at] // self.count == wanted // self.count) if len(codes) else at >= 0
        other = codes[at[there]] % self.count
        found = _edges(other, reads.writer[there], reads.key[there], RULES.index("session"))
        kept = found.arcs[:, 0] != found.arcs[:, 1]
        return Forced(found.arcs[kept], found.key[kept], found.rule[kept])

    # Causal consistency

    def causal(self) -> Forced | None:
        """Returns what is forced if a transaction has seen all that happened before it."""
        reads, session, sessions = self.reads, self.world.session, self.world.sessions
        if self.count * sessions > MOST_CLOCKS or self.keys * sessions * self.count >= LARGEST:
            return None
        within, clocks = within_session(session, self.world.taken), self.world.seen()
        # The versions by key, session and place in it, and the sessions that wrote each key.
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
                    RULES.index("causal"),
                )
            )
        return joined(found)


def _steps(widths: Ints) -> list[tuple[int, int]]:
    """Returns ranges of places of which each holds about `AT_ONCE`, given the sums of widths up to each."""
    if not len(widths):
        return []
    goals = np.arange(AT_ONCE, int(widths[-1]) + AT_ONCE, AT_ONCE)
    ends = np.unique(np.minimum(np.searchsorted(widths, goals) + 1, len(widths))).tolist()
    ends = ends if ends and ends[-1] == len(widths) else [*ends, len(widths)]
    return list(zip([0, *ends[:-1]], ends, strict=True))


def _edges(tails: Ints, heads: Ints, key: Ints, rule: int) -> Forced:
    return _once(Forced(np.column_stack((tails, heads)), key, np.full(len(key), rule, np.int64)))


def _once(found: Forced) -> Forced:
    """Returns each edge once."""
    if not len(found.arcs):
        return found
    # INITIAL is -1, so that codes begin at 0 with it.
    width = int(found.arcs.max()) + 2
    _, first = np.unique((found.arcs[:, 0] + 1) * width + found.arcs[:, 1] + 1, return_index=True)
    return Forced(found.arcs[first], found.key[first], found.rule[first])


def joined(parts: list[Forced]) -> Forced:
    """Returns all edges, each once."""
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
