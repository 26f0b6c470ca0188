"""Reduce a large history in Adya's notation to the part on which its verdicts depend.

Detectors of phenomena need objects for each event and edge; most transactions of a large history take part in
no phenomenon. A cycle lies in a strongly connected component of all arcs, so transactions outside of
components can be left out. Is that sound? Version orders close over the gaps, and an edge over a gap stands
for a path through what was left out. If the edge closed a cycle, the whole path would lie in the component,
so nothing of it would have been left out. The part keeps the transactions of components, those of dirty and
late reads, and of other transactions the writes that these have read.
`tests/laws/test_parts_of_stated_histories.py` compares the verdicts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from dvs_model.analysis.verdict import Absent
from dvs_model.checking.check import check
from dvs_model.columns.table import Bools, Ints
from dvs_model.graph.wellformed import well_formed
from dvs_model.histories.draft import Chain, Draft, Session
from dvs_model.histories.history import History
from dvs_model.notation.scan import Scanner
from dvs_model.stated.arcs import Arcs, DependentReads, dependencies, in_sessions, in_time, reads_of
from dvs_model.stated.behind import Behind
from dvs_model.stated.core import core
from dvs_model.stated.dirty_reads import dirty, freshest, late, points
from dvs_model.stated.made import Made, made
from dvs_model.stated.rows import ABORT, COMMIT, READ, START, EventRows


@dataclass(frozen=True, slots=True)
class Reduced:
    """The part of a history that its verdicts depend on, and how much the whole has: counts by name."""

    history: History
    size: Mapping[str, int]


FEW_TRANSACTIONS = 2_000
"""Transactions on cycles up to which all are kept. Of more, a few cycles are kept if these tell enough."""


def part(rows: EventRows, name: str, small: int = FEW_TRANSACTIONS) -> Reduced | None:
    """Returns the part of a history on which its verdicts depend, for the default reading and all phenomena.

    None: the history is not well-formed, or this module does not know how to reduce it, such as a history
    with derivations and a cycle. The readable code takes it as a whole then. `small`: see FEW_TRANSACTIONS.
    """
    versions = made(rows)
    members = None if versions is None else _sessions(rows)
    if versions is None or members is None:
        return None
    whole = _Whole(rows, versions, reads_of(rows, versions), members, name)
    kept, knots = whole.bad(), whole.knots()
    if len(versions.derived) and (whole.unclear or kept.any() or knots.any()):
        return None
    if versions.implicit and knots[-1]:
        # T0 is on a cycle: some order puts a version before one of T0. Then all versions of T0 may matter,
        # but an implicit T0 has no events that could keep them in the part.
        return None
    history = whole.of_cycles(kept) if knots.sum() > small else None
    return Reduced(history or whole.history(kept | knots), _size(rows, versions))


def _sessions(rows: EventRows) -> list[Ints] | None:
    """Returns the transactions of each session; None: one is unknown, or in two sessions."""
    members: list[Ints] = []
    for numbers in rows.sessions.values():
        if not numbers or not 0 <= min(numbers) <= max(numbers) < 2**62:
            return None
        given = np.asarray(numbers, np.int64)
        at = np.minimum(np.searchsorted(rows.numbers, given), len(rows.numbers) - 1)
        if (rows.numbers[at] != given).any():
            return None
        members.append(at)
    everyone = np.concatenate([np.empty(0, np.int64), *members])
    return members if len(np.unique(everyone)) == len(everyone) else None


def _timed(rows: EventRows, versions: Made) -> bool:
    """Tells whether each committed transaction has a start event: only then starts tell something."""
    started = versions.lives.start[: len(rows.numbers)] >= 0
    return bool(started.any() and started[versions.lives.committed[: len(rows.numbers)]].all())


class _Whole:
    """A well-formed history that is being reduced.

    `timed`: whether starts count. `found`, `session`: its dependencies and neighbours in sessions. `unclear`:
    whether a read through derivations may be dirty or late, which only the readable code can tell.
    """

    def __init__(
        self, rows: EventRows, versions: Made, reads: DependentReads, members: list[Ints], name: str
    ) -> None:
        self.rows, self.versions, self.reads = rows, versions, reads
        self.members, self.name = members, name
        self.timed = _timed(rows, versions)
        self.found = dependencies(versions, reads)
        self.session = in_sessions(members, versions.lives.committed)
        self.behind = Behind.of(rows, versions) if len(versions.derived) else None
        self.unclear = False

    def bad(self) -> Bools:
        """Returns one bool per transaction: whether it is part of a dirty or late read of a base version."""
        bad = np.zeros(len(self.versions.lives.end), np.bool_)
        bad[dirty(self.versions, self.reads)] = True
        if self.timed:
            bad[late(self.versions, self.reads)] = True
        return bad

    def knots(self) -> Bools:
        """Returns one bool per transaction: whether it is on a cycle of any arcs. Sets `unclear`, too."""
        arcs = Arcs(len(self.versions.lives.end))
        if self.behind is not None:
            self.behind.connect(arcs, self.reads)
            seen = self.behind.place[self.reads.version[self.reads.derived]]
            self.unclear = bool(self.behind.dirty()[seen].any())
            self.unclear |= self.timed and self.behind.late(self.reads)
        for pairs in (self.found.ww, self.found.wr, self.found.rw, self.session):
            arcs.add(*pairs)
        if self.timed:
            fresh = freshest(self.versions, self.reads, self.behind)
            in_time(points(self.rows, self.versions, fresh), self.versions, arcs)
        labels = arcs.labels()[: len(self.versions.lives.end)]
        on: Bools = (np.bincount(labels) > 1)[labels]
        return on

    def of_cycles(self, kept: Bools) -> History | None:
        """Returns the history of a few cycles, and of what is kept anyway; None: they may show too little.

        They show enough if each phenomenon that they do not show is excluded for the whole history (`core`).
        """
        found = core(self.versions, self.reads, self.found, self.session)
        if found is None:
            return None
        some = kept.copy()
        some[found.members] = True
        history = self.history(some)
        verdicts = check(history).phenomena
        absent = {phenomenon for phenomenon, verdict in verdicts.items() if isinstance(verdict, Absent)}
        return history if absent <= found.excluded else None

    def history(self, kept: Bools) -> History:
        """Returns the history of the kept transactions, with the writes of others that these have read.

        If the whole history has a committed transaction, a start event or a session, so has the part, because
        verdicts depend on whether there is any. If some committed transaction lacks a start event, starts
        tell nothing, and are left out.
        """
        rows, versions, members = self.rows, self.versions, self.members
        kept = kept[: len(rows.numbers)]
        inside = kept[rows.txn]
        read = versions.seen[inside[versions.reads]]
        read = read[versions.event[read] >= 0]
        span = len(versions.lives.end)
        # Of a transaction whose version was read, all its versions of that object are kept: the number of a
        # version counts the earlier ones, and whether it is intermediate depends on the later ones.
        wanted = np.unique(versions.obj[read] * span + versions.txn[read])
        creations = np.flatnonzero(versions.event >= 0)
        group = versions.obj[creations] * span + versions.txn[creations]
        there = inside.copy()
        there[versions.event[creations[np.isin(group, wanted)]]] = True
        named = np.zeros(len(rows.numbers), np.bool_)
        named[rows.txn[there]] = True
        _witnesses(named, versions, members)
        ends = (rows.kind == COMMIT) | (rows.kind == ABORT) | (rows.kind == START)
        there |= ends & named[rows.txn]
        if not self.timed:
            there &= rows.kind != START
        draft = Draft(self.name, rows.drafts(np.flatnonzero(there)))
        draft.chains = list(_chains(rows, versions, there))
        for session, txns in zip(rows.sessions, members, strict=True):
            if numbers := rows.numbers[txns[named[txns]]].tolist():
                draft.sessions.append(Session(session, tuple(numbers)))
        return well_formed(draft)


def _witnesses(named: Bools, versions: Made, members: list[Ints]) -> None:
    """Adds a committed transaction, one with a start event and one of a session, if `named` has none.

    A detector distinguishes "absent" from "unknown, for the history has no starts" (or sessions). `named`:
    one bool per transaction, whether it is in the part.
    """
    lives, sessions = versions.lives, [txns for txns in members if len(txns)]
    wanted = [np.flatnonzero(lives.committed[: len(named)]), np.flatnonzero(lives.start[: len(named)] >= 0)]
    for some in [*wanted, *([np.concatenate(sessions)] if sessions else [])]:
        if len(some) and not named[some].any():
            named[some[0]] = True


def _chains(rows: EventRows, versions: Made, there: Bools) -> Iterator[Chain]:
    """Yields the stated version orders, without the versions that are left out. `there`: by event."""
    names = Scanner("", "")
    for chain in rows.chains:
        places = np.asarray(chain, np.int64)
        event = versions.event[versions.meaning[places]]
        # A version of an implicit T0 has no event. It stays as long as another version of its object does.
        texts = [rows.names.texts[place] for place in places[(event < 0) | there[event]].tolist()]
        if (there[event] & (event >= 0)).any():
            yield Chain(tuple(names.version(text, -1) for text in texts))


def _size(rows: EventRows, versions: Made) -> Mapping[str, int]:
    """Returns how much a history has, as reports count it."""
    initial = int((versions.event < 0).sum())
    return {
        "transactions": len(versions.lives.end),
        "committed": int(versions.lives.committed.sum()),
        "events": len(rows.kind) + initial + versions.implicit,
        "reads": int((versions.lives.committed[rows.txn] & (rows.kind == READ)).sum()),
        "objects": len(np.unique(versions.obj)),
        "derivations": len(versions.derived),
    }
