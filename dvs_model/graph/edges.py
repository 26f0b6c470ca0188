"""Read explicit edges of Adya's DSG off the graph with auxiliary vertices, with a budget of steps.

An edge is a path between two transactions through auxiliary vertices only. There may be quadratically many,
so edges are listed only inside one component, where cycles are searched and shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dvs_model.graph.graph import Graph, Kind, Note
from dvs_model.histories.history import Version


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
    """Returns the reason, in words, why the first possible edge among some edges is not certain."""
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


class Arc(NamedTuple):
    """An arc as a walk follows it.

    `noted`: its note, in a tuple that is empty where the note says nothing. `written`: the base version at
    the end of a write dependency through a derived object, where this arc names it.
    """

    head: int
    kind: Kind
    noted: tuple[Note, ...]
    certain: bool
    written: Version | None


@dataclass(slots=True)
class Adjacency:
    """The arcs of a graph by tail, without those between components and those of time.

    `labels`: the component of each vertex. A path that leaves a component never returns, so such an arc is on
    no cycle. The chain of moments gives every transaction an edge to every later one: these are too many to
    list.
    """

    graph: Graph
    labels: Sequence[int]
    arcs: dict[int, list[Arc]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        graph, labels = self.graph, self.labels
        for tail, head, kind, note in zip(graph.tails, graph.heads, graph.kinds, graph.notes, strict=True):
            if labels[tail] == labels[head] and kind is not Kind.TIME and tail != head:
                written = note.versions[1] if len(note.versions) == 2 else None
                arc = Arc(head, kind, () if note.silent else (note,), note.certain, written)
                self.arcs.setdefault(tail, []).append(arc)


def edges_among(adjacency: Adjacency, members: Iterable[int], budget: Budget) -> list[Edge]:
    """Returns the edges between transactions of one component (`members`: their vertices), each once.

    Of write dependencies through derived objects that differ in the derived versions alone, the first one.
    Raises BudgetSpent.
    """
    names = adjacency.graph.transactions
    found: list[Edge] = []
    for tail in members:
        # Write dependencies found so far: by the version at the start the versions at the end. Other derived
        # versions in between may give the same edge again.
        linked: dict[Version, set[Version]] = {}
        for first in adjacency.arcs.get(tail, ()):
            if first.head < len(names):
                budget.spend()
                versions = first.noted[0].versions if first.noted else ()
                if first.kind is Kind.WW and len(versions) == 4:
                    if versions[3] in linked.setdefault(versions[0], set()):
                        continue
                    linked[versions[0]].add(versions[3])
                found.append(edge(first.kind, names[tail], names[first.head], first.noted))
            else:
                # The head is an auxiliary vertex: the edges are the paths that go on from it.
                _add_paths(found, adjacency, tail, first, budget, linked)
    return found


def _add_paths(
    found: list[Edge],
    adjacency: Adjacency,
    origin: int,
    first: Arc,
    budget: Budget,
    linked: dict[Version, set[Version]],
) -> None:
    """Adds the edges of the paths that begin with an arc to an auxiliary vertex.

    `origin`: the vertex where the paths begin, `first`: their first arc. `linked`: see `edges_among`.
    """
    names, arcs = adjacency.graph.transactions, adjacency.arcs
    transactions, source = len(names), names[origin]
    start = first.noted[0].versions[:1] if first.noted else ()
    before = linked.setdefault(start[0], set()) if start else None
    steps, stack = len(found), [(first.head, first.kind, first.noted, first.certain)]
    # A path is known by its vertex, its kind so far and whether it is certain; other paths there give the
    # same edges, so the first one is enough.
    seen: set[tuple[int, Kind, bool]] = set()
    while stack:
        vertex, kind, notes, certain = stack.pop()
        steps -= 1
        for head, marked, noted, sure, written in arcs.get(vertex, ()):
            # Exactly one arc of a path is no PART: it gives the edge its kind.
            if kind is not Kind.PART:
                marked = kind
            if head >= transactions:
                state = head, marked, certain and sure
                if state not in seen:
                    seen.add(state)
                    stack.append((head, marked, notes + noted, state[2]))
            elif head != origin:
                if before is not None and written is not None and marked is Kind.WW:
                    if written in before:
                        continue
                    before.add(written)
                found.append(edge(marked, source, names[head], notes + noted))
    # One step for each vertex passed and for each edge.
    budget.spend(len(found) - steps)


def edge(kind: Kind, source: int, target: int, notes: tuple[Note, ...]) -> Edge:
    """Returns the edge of a path through auxiliary vertices, put together from the notes of its arcs.

    Each arc knows a part of the evidence: the first that has an event, a predicate or a member gives it;
    versions are joined in the order of the path; the edge is certain if all arcs are.
    """
    event: int | None = None
    versions: tuple[Version, ...] = ()
    predicate: str | None = None
    certain = True
    member: Version | None = None
    for note in notes:
        event = note.event if event is None else event
        versions += note.versions
        predicate = note.predicate if predicate is None else predicate
        certain = certain and note.certain
        member = note.member if member is None else member
    obj = ""
    if versions:
        # A write dependency through a derived object carries that object's name.
        obj = versions[1 if kind is Kind.WW and len(versions) == 4 else 0].obj
    return Edge(kind, source, target, obj, event, versions, predicate, certain, member)
