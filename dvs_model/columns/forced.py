"""What read committed, read atomic and causal consistency force, by arrays (Biswas and Enea 2019, section 4).

An edge (a, b) with a key says that a's version of the key came before b's, because b's was read by a
transaction that had seen a. The rules, for one transaction after the other, are in `observed.client`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dvs_model.columns.lookup import below, spread
from dvs_model.columns.match import Matched, Reads
from dvs_model.columns.table import Bools, Ints
from dvs_model.columns.versions import Arcs
from dvs_model.graph import topological
from dvs_model.observed.client import Client
from dvs_model.observed.recover import INITIAL

MOST_CLOCKS = 500_000_000
"""Transactions times sessions up to which causal consistency is decided.

Two bytes and a half of memory each.
"""

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


def forced(matched: Matched, session: Arcs, level: Client) -> Forced | None:
    """Returns the edges that a level up to CAUSAL forces; None: there are too many to be computed.

    `session`: the pairs of neighbours in sessions.
    """
    of = _Forcing(matched)
    match level:
        case Client.READ_COMMITTED:
            return of.direct(RULES.index("read committed"))
        case Client.READ_ATOMIC:
            own = of.in_session()
            return None if own is None else _joined([of.direct(RULES.index("read atomic")), own])
        case _:
            return of.causal(session)


class _Forcing:
    def __init__(self, matched: Matched) -> None:
        self.matched, self.reads, self.installed = matched, matched.reads, matched.installed
        self.count = matched.columns.count

    def installed_by(self, key: Ints, txn: Ints) -> Bools:
        """Tells for keys and transactions whether one installed a version of the other."""
        codes = self.installed.key * self.count + self.installed.txn
        wanted = key * self.count + txn
        at = np.minimum(below(codes, wanted), max(len(codes) - 1, 0))
        return codes[at] == wanted if len(codes) else np.zeros(len(key), np.bool_)

    # Read committed and read atomic

    def direct(self, rule: int) -> Forced:
        """Returns what is forced by the transactions from which one has read, up to a read or at all."""
        reads, sources = self.reads, _sources(self.reads)
        found = []
        for read, source, known in self.candidates(sources):
            other = sources.writer[source]
            kept = other != reads.writer[read]
            if RULES[rule] == "read committed":
                kept &= sources.op[source] <= reads.op[read]
            read, other = read[kept], other[kept]
            if not known:
                there = self.installed_by(reads.key[read], other)
                read, other = read[there], other[there]
            found.append(_edges(other, reads.writer[read], reads.key[read], rule))
        return _joined(found)

    def candidates(self, sources: Reads) -> Iterator[tuple[Ints, Ints, bool]]:
        """Yields reads with sources of their transactions, and whether these are known to write their keys.

        All pairs of both, or all that the sources wrote, whichever is less for a transaction.
        """
        reads = self.reads
        of_reader = np.searchsorted(sources.reader, np.arange(self.count + 1))
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
        reads, session = self.reads, self.matched.columns.session
        sessions = int(session.max(initial=0)) + 1
        keys = len(self.matched.columns.keys)
        if keys * sessions * self.count >= LARGEST:
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

    def causal(self, session: Arcs) -> Forced | None:
        """Returns what is forced if a transaction has seen all that happened before it."""
        columns, reads = self.matched.columns, self.reads
        sessions = int(columns.session.max(initial=0)) + 1
        if self.count * sessions > MOST_CLOCKS or len(columns.keys) * sessions * self.count >= LARGEST:
            return None
        within = _within(self.matched)
        clocks = self.clocks(session, within, sessions)
        # The versions by key, session and place in it, and the sessions that wrote each key.
        key, txn = self.installed.key, self.installed.txn
        group = key * sessions + columns.session[txn]
        order = np.lexsort((within[txn], group))
        group, txn = group[order], txn[order]
        codes = group * self.count + within[txn]
        groups = np.unique(group)
        of_key = np.searchsorted(groups, np.arange(len(columns.keys) + 1) * sessions)
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
        return _joined(found)

    def clocks(
        self, session: Arcs, within: Ints, sessions: int
    ) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
        """Returns by transaction and session how many of the session's transactions happened before it.

        What lies on a cycle has seen nothing: the cycle itself decides.
        """
        reads, columns = self.reads, self.matched.columns
        written = reads.writer != INITIAL
        tails = np.concatenate((session[:, 0], reads.writer[written]))
        heads = np.concatenate((session[:, 1], reads.reader[written]))
        tails, heads = _distinct(tails, heads, self.count)
        order = self.order(tails, heads)
        by_head = np.argsort(heads, kind="stable")
        before = tails[by_head]
        first = np.searchsorted(heads[by_head], np.arange(self.count + 1)).tolist()
        clocks = np.zeros((self.count, sessions), np.int32)
        # With itself: what a transaction gives to those after it.
        place, own = (within + 1).tolist(), columns.session.tolist()
        for index in order:
            begin, end = first[index], first[index + 1]
            if end > begin:
                clocks[before[begin:end]].max(axis=0, out=clocks[index])
            clocks[index, own[index]] = place[index]
        clocks[np.arange(self.count), columns.session] -= 1
        return clocks

    def order(self, tails: Ints, heads: Ints) -> list[int]:
        """Returns the transactions so that arcs lead forward; those on cycles and after them are left out."""
        if (tails < heads).all():
            return np.flatnonzero(self.matched.taken).tolist()
        by_tail = np.argsort(tails, kind="stable")
        starts = np.searchsorted(tails[by_tail], np.arange(self.count + 1)).tolist()
        below_ = heads[by_tail].tolist()
        heads_of = [below_[starts[at] : starts[at + 1]] for at in range(self.count)]
        return topological(np.flatnonzero(self.matched.taken).tolist(), heads_of)


def _within(matched: Matched) -> Ints:
    """Returns by transaction its place among those of its session that count as committed."""
    taken = np.flatnonzero(matched.taken)
    taken = taken[np.argsort(matched.columns.session[taken], kind="stable")]
    of = matched.columns.session[taken]
    begin = np.searchsorted(of, of)
    within = np.zeros(matched.columns.count, np.int64)
    within[taken] = np.arange(len(taken)) - begin
    return within


def _sources(reads: Reads) -> Reads:
    """Returns for each transaction the first read from each one from which it read."""
    written = np.flatnonzero(reads.writer != INITIAL)
    order = written[np.lexsort((reads.op[written], reads.writer[written], reads.reader[written]))]
    reader, writer = reads.reader[order], reads.writer[order]
    first = np.ones(len(order), np.bool_)
    first[1:] = (reader[1:] != reader[:-1]) | (writer[1:] != writer[:-1])
    chosen = order[first]
    return Reads(*(each[chosen] for each in (reads.reader, reads.writer, reads.key, reads.op, reads.value)))


def _steps(widths: Ints) -> list[tuple[int, int]]:
    """Returns ranges of places of which each holds about `AT_ONCE`, given the sums of widths up to each."""
    if not len(widths):
        return []
    goals = np.arange(AT_ONCE, int(widths[-1]) + AT_ONCE, AT_ONCE)
    ends = np.unique(np.minimum(np.searchsorted(widths, goals) + 1, len(widths))).tolist()
    ends = ends if ends and ends[-1] == len(widths) else [*ends, len(widths)]
    return list(zip([0, *ends[:-1]], ends, strict=True))


def _distinct(tails: Ints, heads: Ints, count: int) -> tuple[Ints, Ints]:
    codes = np.unique(tails * count + heads)
    return codes // count, codes % count


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


def _joined(parts: list[Forced]) -> Forced:
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
