"""Edges of the DSG as values, read off the graph with auxiliary vertices where edges must be explicit."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from dvs_model.graph import Graph, Kind, Note
from dvs_model.history import Version


class Edge(NamedTuple):
    """A dependency of transaction `target` on transaction `source` (Adya 1999, section 3.1.4).

    `obj`: the object that labels it. `event`: the number of the read behind it. `versions`, in the order of
    the edge: for wr the version that the source installed (and, of a predicate, the one selected); for rw the
    version that the target replaced (of a predicate: the one selected, then the target's); for ww the version
    of the source and that of the target, through a derived object with its two consecutive versions in
    between. `member`: the derived version that was read, if one was. `certain`: False if the history does not
    say whether a version matches the predicate.
    """

    kind: Kind
    source: int
    target: int
    obj: str = ""
    event: int | None = None
    versions: tuple[Version, ...] = ()
    predicate: str | None = None
    certain: bool = True
    member: Version | None = None

    @property
    def event_at_source(self) -> bool:
        """Whether the read (or predicate write) is an event of the source; else it is one of the target.

        Under the reading `thesis` a predicate write gives write dependencies in both directions: those into
        it name only the version selected.
        """
        return self.kind is Kind.RW or (self.kind is Kind.WW and len(self.versions) > 1)

    @property
    def label(self) -> str:
        """The edge's text in a picture: `rw x`, `wr x (P)`."""
        return " ".join(
            filter(None, (self.kind.value, self.obj, f"({self.predicate})" if self.predicate else ""))
        )


def doubt(edges: Iterable[Edge]) -> str:
    """Returns the reason why a possible edge among some edges is not certain."""
    for edge in edges:
        if not edge.certain:
            txns = f"T{edge.source} {edge.label} T{edge.target}"
            missing = f"which versions of {edge.obj} match {edge.predicate}"
            return f"the history does not say {missing}, so {txns} is only possible"
    return "the history does not say which versions match a predicate"


class BudgetSpent(Exception):
    """An analysis has used up its steps; what it searches for is unknown."""


@dataclass(slots=True)
class Budget:
    """The steps that a search may take. Steps are counted, not seconds, so that verdicts are repeatable."""

    steps: int

    def spend(self, steps: int = 1) -> None:
        """Takes steps. Raises BudgetSpent: none are left."""
        self.steps -= steps
        if self.steps < 0:
            raise BudgetSpent


@dataclass(slots=True)
class Adjacency:
    """The numbers of a graph's arcs by tail."""

    graph: Graph
    arcs: dict[int, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number, tail in enumerate(self.graph.tails):
            self.arcs.setdefault(tail, []).append(number)


def edges_among(
    adjacency: Adjacency, members: Collection[int], labels: list[int], budget: Budget
) -> Iterator[Edge]:
    """Yields the edges between transactions of one component (`members`: their vertices), each once.

    Of write dependencies through derived objects that differ in the derived versions alone, the first one.
    Raises BudgetSpent. Only paths inside a component are followed: a path that leaves it never returns.
    """
    graph = adjacency.graph
    for tail in members:
        known: set[tuple[Version, Version]] = set()
        for first in adjacency.arcs.get(tail, ()):
            head, kind = graph.heads[first], graph.kinds[first]
            # The chain of moments gives every transaction an edge to every later one: too many to list.
            if labels[head] != labels[tail] or kind is Kind.TIME:
                continue
            if head < len(graph.transactions):
                if head != tail:
                    budget.spend()
                    yield edge(
                        kind, graph.transactions[tail], graph.transactions[head], (graph.notes[first],)
                    )
            else:
                yield from _paths(adjacency, first, labels, budget, known)


def _paths(
    adjacency: Adjacency, first: int, labels: list[int], budget: Budget, known: set[tuple[Version, Version]]
) -> Iterator[Edge]:
    """Yields the edges that begin with an arc to an auxiliary vertex.

    `known`: the pairs of versions written by the ends of the write dependencies that were yielded before.
    """
    graph, transactions = adjacency.graph, len(adjacency.graph.transactions)
    heads, kinds, all_notes, arcs = graph.heads, graph.kinds, graph.notes, adjacency.arcs
    origin = graph.tails[first]
    label, source, note = labels[origin], graph.transactions[origin], graph.notes[first]
    stack: list[tuple[int, Kind, tuple[Note, ...], bool]] = [
        (graph.heads[first], graph.kinds[first], () if note.silent else (note,), note.certain)
    ]
    seen: set[tuple[int, Kind, bool]] = set()
    while stack:
        vertex, kind, notes, certain = stack.pop()
        budget.spend()
        for number in arcs.get(vertex, ()):
            head = heads[number]
            if labels[head] != label or head == origin:
                continue
            # Exactly one arc of a path is no PART: it gives the edge its kind.
            marked = kinds[number] if kind is Kind.PART else kind
            note = all_notes[number]
            if head < transactions:
                if marked is Kind.WW and notes and len(note.versions) == 2:
                    written = notes[0].versions[0], note.versions[1]
                    if written in known:
                        continue
                    known.add(written)
                budget.spend()
                gathered = notes if note.silent else (*notes, note)
                yield edge(marked, source, graph.transactions[head], gathered)
                continue
            gathered = notes if note.silent else (*notes, note)
            key = head, marked, certain and note.certain
            if key not in seen:
                seen.add(key)
                stack.append((head, marked, gathered, key[2]))


def edge(kind: Kind, source: int, target: int, notes: tuple[Note, ...]) -> Edge:
    """Returns the edge of a path through auxiliary vertices, from the notes of its arcs."""
    versions = tuple(version for note in notes for version in note.versions)
    obj = ""
    if versions:
        # A write dependency through a derived object carries that object's name.
        obj = versions[1 if kind is Kind.WW and len(versions) == 4 else 0].obj
    return Edge(
        kind,
        source,
        target,
        obj,
        next((note.event for note in notes if note.event is not None), None),
        versions,
        next((note.predicate for note in notes if note.predicate is not None), None),
        all(note.certain for note in notes),
        next((note.member for note in notes if note.member is not None), None),
    )
