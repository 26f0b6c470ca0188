"""Edges of the DSG as values, read off the graph with auxiliary vertices where edges must be explicit."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from dvs_model.graph import Graph, Kind, Note
from dvs_model.history import Version


@dataclass(frozen=True, slots=True)
class Edge:
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

    Raises BudgetSpent. Only paths inside a component are followed: a path that leaves it never returns.
    """
    for tail in members:
        for first in adjacency.arcs.get(tail, ()):
            head = adjacency.graph.heads[first]
            # The chain of moments gives every transaction an edge to every later one: too many to list.
            if labels[head] == labels[tail] and adjacency.graph.kinds[first] is not Kind.TIME:
                yield from _paths(adjacency, first, labels, budget)


def _paths(adjacency: Adjacency, first: int, labels: list[int], budget: Budget) -> Iterator[Edge]:
    """Yields the edges that begin with an arc."""
    graph, transactions = adjacency.graph, len(adjacency.graph.transactions)
    origin = graph.tails[first]
    note = graph.notes[first]
    stack: list[tuple[int, Kind, tuple[Note, ...]]] = [
        (graph.heads[first], graph.kinds[first], () if note.silent else (note,))
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
            head, note = graph.heads[number], graph.notes[number]
            if labels[head] != labels[origin]:
                continue
            # Exactly one arc of a path is no PART: it gives the edge its kind.
            marked = graph.kinds[number] if kind is Kind.PART else kind
            gathered = notes if note.silent else (*notes, note)
            if head >= transactions:
                key = head, marked, all(note.certain for note in gathered)
                if key in seen:
                    continue
                seen.add(key)
            stack.append((head, marked, gathered))


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
