"""Collect the dependencies of a large history as arcs in arrays, and find their components with SciPy.

Every edge of any graph in which a phenomenon is searched (DSG, with sessions, with real time) is a path along
these arcs. So a cycle of any phenomenon lies in one of their strongly connected components, and everything
outside of them can be left out. Vertices are the transactions, then two for each derived version (see
`stated.behind`), then those of chains that stand for orders.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from dvs_model.columns.cycles import moments
from dvs_model.columns.table import Bools, Ints
from dvs_model.graph.cycles import component_labels
from dvs_model.stated.made import NOBODY, Made
from dvs_model.stated.rows import EventRows


@dataclass(slots=True)
class Arcs:
    """Arcs in batches: arrays of tails and arrays of heads. `vertices`: how many there are so far."""

    vertices: int
    tails: list[Ints] = field(default_factory=list)
    heads: list[Ints] = field(default_factory=list)

    def add(self, tails: Ints, heads: Ints) -> None:
        """Adds the arcs from tails[i] to heads[i]."""
        self.tails.append(tails)
        self.heads.append(heads)

    def fresh(self, count: int) -> int:
        """Adds `count` vertices, and returns the number of the first one."""
        self.vertices += count
        return self.vertices - count

    def labels(self) -> Ints:
        """Returns the strongly connected component of each vertex."""
        return component_labels(self.tails, self.heads, self.vertices)


@dataclass(frozen=True, slots=True)
class DependentReads:
    """The reads that make dependencies, one entry each: of versions that others wrote, or that are derived.

    `event`: the place of the read. `reader`: its transaction, which committed. `version`: what it read.
    `derived`: whether the version is derived.
    """

    event: Ints
    reader: Ints
    version: Ints
    derived: Bools


def reads_of(rows: EventRows, versions: Made) -> DependentReads:
    """Returns the reads that make dependencies.

    A read of a derived version counts even if the reader derived it itself: others wrote what is behind it.
    """
    reader = rows.txn[versions.reads]
    derived = versions.is_derived[versions.seen]
    counts = versions.lives.committed[reader] & (derived | (versions.txn[versions.seen] != reader))
    return DependentReads(versions.reads[counts], reader[counts], versions.seen[counts], derived[counts])


Pairs = tuple[Ints, Ints]
"""Arcs between transactions: their tails, and their heads."""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The dependencies by versions that were written, not derived."""

    ww: Pairs
    wr: Pairs
    rw: Pairs


def dependencies(versions: Made, reads: DependentReads) -> Dependencies:
    """Returns the dependencies that reads and neighbours in version orders give."""
    base = ~reads.derived
    reader, version = reads.reader[base], reads.version[base]
    ordered = versions.ordered[version]
    following = versions.following[version]
    missed = following != NOBODY
    # A transaction that replaced what it had read itself has no anti-dependency.
    missed[missed] = versions.txn[following[missed]] != reader[missed]
    return Dependencies(
        overwrites(versions),
        (versions.txn[version[ordered]], reader[ordered]),
        (reader[missed], versions.txn[following[missed]]),
    )


def overwrites(versions: Made) -> Pairs:
    """Returns the write dependencies: the writers of neighbours in a version order, the earlier one first.

    Versions of derived objects are left out: see `stated.behind`.
    """
    line = versions.line
    same = (versions.obj[line[1:]] == versions.obj[line[:-1]]) & ~versions.is_derived[line[1:]]
    return versions.txn[line[:-1][same]], versions.txn[line[1:][same]]


def in_sessions(sessions: Iterable[Ints], committed: Bools) -> Pairs:
    """Returns each transaction with the next committed one of its session."""
    nothing = np.empty(0, np.int64)
    members = [txns[committed[txns]] for txns in sessions]
    return (
        np.concatenate([nothing, *(txns[:-1] for txns in members)]),
        np.concatenate([nothing, *(txns[1:] for txns in members)]),
    )


def in_time(starts: Ints, versions: Made, arcs: Arcs) -> None:
    """Adds paths for "commits before the start of".

    `starts`: by transaction the latest point at which an edge of time may enter it.
    """
    time = np.column_stack((starts, versions.lives.end)).astype(np.float64)
    time[~versions.lives.committed] = np.nan
    chain, arcs.vertices = moments(time, arcs.vertices)
    arcs.add(chain[:, 0], chain[:, 1])
