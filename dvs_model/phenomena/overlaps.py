"""Detects G-SIa and G-MSRa: dependencies on transactions that committed too late (Adya 1999, section 4.3).

The search does not list all edges. For each auxiliary vertex the search keeps two of the transactions that
reach the vertex: those with the latest commits. Two are enough: if one of them is the reader itself, the
other decides whether a late edge exists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dvs_model.analysis.analysis import Analysis
from dvs_model.analysis.verdict import ABSENT, Overlap, PhenomenonVerdict, Present, Unknown
from dvs_model.graph.cycles import topological
from dvs_model.graph.edges import Edge, doubt, edge
from dvs_model.graph.graph import Graph, Kind, Note
from dvs_model.histories.clock import Clock
from dvs_model.theory.definitions import Order


def interference(analysis: Analysis) -> PhenomenonVerdict:
    """Returns the verdict on G-SIa: a read or write dependency on a transaction that commits too late.

    It must commit before the dependent transaction starts.
    """
    clock = analysis.clock
    if clock is None:
        return Unknown(Order.STARTS.value)
    starts = clock.starts
    late = LateEdges(analysis.graph, clock, (Kind.WW, Kind.WR), lambda txn, note: starts[txn])
    return _verdict(late, lambda edge: Overlap(edge))


def read_before_commit(analysis: Analysis) -> PhenomenonVerdict:
    """Returns the verdict on G-MSRa: a read dependency on a transaction that commits after the read."""
    clock = analysis.text_clock
    if clock is None:
        return Unknown(Order.REALTIME.value)
    late = LateEdges(analysis.graph, clock, (Kind.WR,), lambda txn, note: float(note.event or 0))
    return _verdict(late, lambda edge: Overlap(edge, f"T{edge.target}", "read"))


def _verdict(late: LateEdges, evidence: Callable[[Edge], Overlap]) -> PhenomenonVerdict:
    """Returns the verdict with the first late edge of each subject. `evidence`: from an edge to evidence."""
    overlaps = [evidence(edge) for edge in late.edges(certain=True)]
    if overlaps:
        return Present(tuple({overlap.subject: overlap for overlap in reversed(overlaps)}.values()))
    possible = late.edges(certain=False) if late.graph.uncertain else []
    return Unknown(doubt(possible), (evidence(possible[0]),)) if possible else ABSENT


@dataclass(frozen=True, slots=True)
class Committer:
    """A transaction that reaches an auxiliary vertex.

    `commit`: the time of its commit on the clock. `notes`: the notes of the arcs between the transaction and
    the vertex, without silent ones.
    """

    commit: float
    txn: int
    notes: tuple[Note, ...]


Carried = Mapping[Kind, Sequence[Committer]]
"""The latest committers, by the kind of the arcs passed."""


@dataclass(slots=True)
class LateEdges:
    """Searches for late edges: edges of `kinds` whose source commits at or after `limit(target, note)`.

    `note` belongs to the arc into the target.
    """

    graph: Graph
    clock: Clock
    kinds: tuple[Kind, ...]
    limit: Callable[[int, Note], float]

    def edges(self, *, certain: bool) -> list[Edge]:
        """Returns late edges: at most one of each kind for each arc into a transaction."""
        graph, count = self.graph, len(self.graph.transactions)
        into_auxiliary: dict[int, list[int]] = {}
        into_transactions: list[int] = []
        below: list[list[int]] = [[] for _ in range(graph.vertices)]
        for number, head in enumerate(graph.heads):
            if graph.kinds[number] not in (Kind.PART, Kind.WW, Kind.WR):
                continue
            if certain and not graph.notes[number].certain:
                continue
            if head < count:
                into_transactions.append(number)
            else:
                into_auxiliary.setdefault(head, []).append(number)
                below[graph.tails[number]].append(head)
        latest: dict[int, Carried] = {}
        for vertex in topological(range(count, graph.vertices), below):
            latest[vertex] = self.latest_at(into_auxiliary.get(vertex, ()), latest)
        late: list[Edge] = []
        for number in into_transactions:
            target, note = graph.transactions[graph.heads[number]], graph.notes[number]
            for kind, committers in self.through(number, latest).items():
                for committer in committers if kind in self.kinds else ():
                    if committer.txn != target and committer.commit >= self.limit(target, note):
                        late.append(edge(kind, committer.txn, target, (*committer.notes, note)))
                        break
        return late

    def latest_at(self, arcs: Iterable[int], latest: Mapping[int, Carried]) -> Carried:
        """Returns the two latest committers that enter an auxiliary vertex, of each kind."""
        best: dict[Kind, list[Committer]] = {}
        for number in arcs:
            note = self.graph.notes[number]
            for kind, committers in self.through(number, latest).items():
                entered = best.setdefault(kind, [])
                for committer in committers:
                    if all(other.txn != committer.txn for other in entered):
                        notes = committer.notes if note.silent else (*committer.notes, note)
                        entered.append(replace(committer, notes=notes))
                        entered.sort(key=lambda committer: -committer.commit)
                        del entered[2:]
        return best

    def through(self, number: int, latest: Mapping[int, Carried]) -> Carried:
        """Returns the committers at the tail of an arc, by their kind after it."""
        tail = self.graph.tails[number]
        if tail < len(self.graph.transactions):
            txn = self.graph.transactions[tail]
            return {self.graph.kinds[number]: [Committer(self.clock.commits[txn], txn, ())]}
        kind = self.graph.kinds[number]
        return {kind if carried is Kind.PART else carried: some for carried, some in latest[tail].items()}
