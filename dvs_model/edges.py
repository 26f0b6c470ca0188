"""Edges of the DSG as such, read off the graph where somebody wants to see them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from dvs_model.graph import Graph, Kind, Note
from dvs_model.history import Version


@dataclass(frozen=True, slots=True)
class Edge:
    """A dependency of `target` on `source`, both transactions.

    `obj`: the object it is labelled with. `event`: the read behind it. `versions`, in the order of the edge:
    wr the version that the source installed (and, of a predicate, the one selected); rw the version that
    the target replaced (of a predicate: the one selected, then the target's); ww the source's version and
    the target's, through a derived object with its two consecutive versions in between. `member`: the
    derived version that was read, where one was.
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
        """Whether the read (or predicate write) is the source's; of read dependencies it is the target's.

        A predicate write under `thesis` gives write dependencies both ways: of those into it only the
        version selected is named.
        """
        return self.kind is Kind.RW or (self.kind is Kind.WW and len(self.versions) > 1)

    @property
    def label(self) -> str:
        """How a picture shows it: `rw x`, `wr x (P)`."""
        return " ".join(
            filter(None, (self.kind.value, self.obj, f"({self.predicate})" if self.predicate else ""))
        )


class BudgetSpent(Exception):
    """The steps of an analysis are used up; what was asked is unknown."""


@dataclass(slots=True)
class Budget:
    """Steps that may be taken. No clock decides a verdict."""

    steps: int

    def spend(self, steps: int = 1) -> None:
        """Takes steps, or raises BudgetSpent."""
        self.steps -= steps
        if self.steps < 0:
            raise BudgetSpent


@dataclass(slots=True)
class Adjacency:
    """The arcs of a graph by tail."""

    graph: Graph
    arcs: dict[int, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number, tail in enumerate(self.graph.tails):
            self.arcs.setdefault(tail, []).append(number)


def edges_among(
    adjacency: Adjacency, members: Collection[int], labels: list[int], budget: Budget
) -> Iterator[Edge]:
    """The edges between transactions of one component (`members`: their vertices), each named once.

    Paths inside a component stay inside: what leaves it never comes back.
    """
    for tail in members:
        for first in adjacency.arcs.get(tail, ()):
            head = adjacency.graph.heads[first]
            # Along the chain of moments everybody has an edge to everybody later: those are not listed.
            if labels[head] == labels[tail] and adjacency.graph.kinds[first] is not Kind.TIME:
                yield from _paths(adjacency, first, labels, budget)


def _paths(adjacency: Adjacency, first: int, labels: list[int], budget: Budget) -> Iterator[Edge]:
    """The edges that begin with an arc."""
    graph, transactions = adjacency.graph, len(adjacency.graph.transactions)
    origin = graph.tails[first]
    stack: list[tuple[int, Kind, tuple[Note, ...]]] = [
        (graph.heads[first], graph.kinds[first], _kept((), graph.notes[first]))
    ]
    seen: set[tuple[int, Kind, bool]] = set()
    while stack:
        vertex, kind, notes = stack.pop()
        budget.spend()
        if vertex < transactions:
            if vertex != origin:
                yield edge(kind, graph.transactions[origin], graph.transactions[vertex], notes)
            continue
        for number in adjacency.arcs.get(vertex, ()):
            head = graph.heads[number]
            if labels[head] != labels[origin]:
                continue
            marked = graph.kinds[number] if kind is Kind.PART else kind
            gathered = _kept(notes, graph.notes[number])
            if head >= transactions:
                key = head, marked, all(note.certain for note in gathered)
                if key in seen:
                    continue
                seen.add(key)
            stack.append((head, marked, gathered))


def _kept(notes: tuple[Note, ...], note: Note) -> tuple[Note, ...]:
    """Arcs between auxiliary vertices of one kind say nothing."""
    return (*notes, note) if note.versions or note.event is not None or note.predicate is not None else notes


def edge(kind: Kind, source: int, target: int, notes: tuple[Note, ...]) -> Edge:
    """The edge that a path's notes tell."""
    versions = tuple(version for note in notes for version in note.versions)
    predicate = next((note.predicate for note in notes if note.predicate is not None), None)
    event = next((note.event for note in notes if note.event is not None), None)
    obj = ""
    if versions:
        # A write dependency through a derived object carries that object's name.
        obj = versions[1 if kind is Kind.WW and len(versions) == 4 else 0].obj
    certain = all(note.certain for note in notes)
    member = next((note.member for note in notes if note.member is not None), None)
    return Edge(kind, source, target, obj, event, versions, predicate, certain, member)
