"""Choose a few transactions that show what is wrong with a history in which very many lie on cycles.

The detectors of phenomena look at a strongly connected component as a whole, with objects for each edge. So
they are given some components at a time, and of each only the cycles that show a phenomenon are kept. For a
component that is too large even so, arrays find those phenomena that are just cycles of certain kinds of
edges; all others stay open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dvs_model.analysis.verdict import ABSENT, Cycle, Present
from dvs_model.checking.check import check
from dvs_model.clients.basis import Basis
from dvs_model.columns.table import Bools, Ints
from dvs_model.columns.versions import NO_ARCS, Arcs
from dvs_model.graph.cycles import labels_of, short_cycle
from dvs_model.graph.reading import Reading
from dvs_model.observed.history import Part
from dvs_model.theory.names import Phenomenon

P = Phenomenon

SESSION_PHENOMENA = (P.G1C_SESSION, P.G_SINGLE_SESSION, P.G2_SESSION)

TRIES = 5
"""Edges of a component through each of which a shortest cycle is looked for; the shortest of all is kept."""


@dataclass(slots=True)
class Kept:
    """What is kept of a history.

    `members`: one bool per transaction, whether it is kept. `open`: the phenomena that the history may have
    although the kept transactions do not show them.
    """

    members: Bools
    open: set[Phenomenon] = field(default_factory=set)


def shown(basis: Basis, reading: Reading, steps: int, phenomena: Sequence[Phenomenon], most: int) -> Kept:
    """Returns transactions that show each of the given phenomena that the history has.

    Where that cannot be told, the phenomenon is in `open`. `most`: transactions that the definitions are
    given at a time.
    """
    result = Kept(np.zeros(len(basis.taken), np.bool_))
    edges = basis.edges
    labels = labels_of((edges.ww, edges.wr, edges.rw, edges.session), len(basis.taken))
    for members in _batches(labels, most):
        if members.sum() > most:
            _by_arrays(basis, members, phenomena, result)
        else:
            _by_definition(basis, members, reading, steps, phenomena, result)
    return result


def _batches(labels: Ints, most: int) -> Iterator[Bools]:
    """Yields the transactions of some components at a time, as one bool per transaction.

    The small components come first, as many together as `most` allows; at least one, even if it is larger.
    """
    sizes = np.bincount(labels)
    components = np.flatnonzero(sizes > 1)
    components = components[np.argsort(sizes[components], kind="stable")]
    begin = 0
    while begin < len(components):
        total = np.cumsum(sizes[components[begin:]])
        end = begin + max(1, int(np.searchsorted(total, most, "right")))
        wanted = np.zeros(len(sizes), np.bool_)
        wanted[components[begin:end]] = True
        yield wanted[labels]
        begin = end


def _by_definition(
    basis: Basis, members: Bools, reading: Reading, steps: int, phenomena: Sequence[Phenomenon], result: Kept
) -> None:
    """Keeps the transactions of one cycle for each phenomenon that the detectors find among the members."""
    indexes: list[int] = np.flatnonzero(members).tolist()
    part = Part(*basis.part(members), set(indexes))
    history = part.history("", None)
    checked = check(history, reading, steps=steps)
    # If no two members are of one session, an unknown verdict on sessions means that these add nothing.
    nothing = () if history.sessions else SESSION_PHENOMENA
    at = {basis.observed.number(index): index for index in indexes}
    for phenomenon in phenomena:
        verdict = checked.phenomena[phenomenon]
        if isinstance(verdict, Present):
            kept = [at[txn] for txn in _txns(verdict) if txn in at]
            result.members[kept] = True
            if not kept:
                # Evidence without a cycle names no transactions to keep.
                result.open.add(phenomenon)
        elif verdict != ABSENT and phenomenon not in nothing:
            result.open.add(phenomenon)


def _txns(verdict: Present) -> set[int]:
    """Returns the transactions of the cycle that is shown."""
    item = verdict.evidence[0]
    edges = item.edges if isinstance(item, Cycle) else ()
    return {end for edge in edges for end in (edge.source, edge.target)}


def _by_arrays(basis: Basis, members: Bools, phenomena: Sequence[Phenomenon], result: Kept) -> None:
    """Keeps a cycle for each phenomenon that is a cycle of certain kinds of edges; the others become open.

    Such a cycle is found in a graph of these kinds alone, through an edge of a kind that must be on it.
    """
    edges = basis.edges
    ww, wr, rw, so = (
        each[members[each[:, 0]] & members[each[:, 1]]]
        for each in (edges.ww, edges.wr, edges.rw, edges.session)
    )
    kinds: Mapping[Phenomenon, tuple[Sequence[Arcs], Arcs]] = {
        P.G0: ((ww,), ww),
        P.G1C: ((ww, wr), np.concatenate((NO_ARCS, ww, wr))),
        P.G2_ITEM: ((ww, wr, rw), rw),
        P.G1C_SESSION: ((ww, wr, so), np.concatenate((NO_ARCS, ww, wr))),
        P.G2_SESSION: ((ww, wr, rw, so), rw),
    }
    # G2 needs no search of its own: there are no predicates, so it is G2-item.
    for arcs, needed in kinds.values():
        result.members[short_cycle(np.concatenate(arcs), TRIES, needed)] = True
    result.open |= {each for each in phenomena if each not in kinds and each is not P.G2}
