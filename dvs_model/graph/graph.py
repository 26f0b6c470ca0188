"""A graph that encodes Adya's DSG: vertices for transactions, auxiliary vertices, and typed arcs between
them.

An edge of the DSG (Adya 1999, section 3.1.4; DVS paper, section 4.1) is a path between two different
transactions through auxiliary vertices only. Exactly one arc of such a path is not `PART`: it gives the edge
its kind. So the transitive closure of "derives from" is never listed, and the graph stays linear in the
history.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from dvs_model.graph.cycles import strong_labels
from dvs_model.histories.history import Version


class Kind(Enum):
    """The kind of an edge, or of an arc; PART: an arc that gives the edge no kind."""

    PART = "part"
    WW = "ww"
    WR = "wr"
    RW = "rw"
    SESSION = "session"
    TIME = "time"

    # The hash function of Enum is written in Python, and took a tenth of the time for a large history.
    # Members are single objects, so the hash of their identity is right.
    __hash__ = object.__hash__


DEPENDENCIES = (Kind.WW, Kind.WR, Kind.RW)
"""Write, read and anti-dependencies: all kinds but those of an order of transactions."""


class Note(NamedTuple):
    """The reason for an arc: the part of the fields of an `Edge` that this arc knows."""

    event: int | None = None
    versions: tuple[Version, ...] = ()
    predicate: str | None = None
    certain: bool = True
    member: Version | None = None

    @property
    def silent(self) -> bool:
        """Whether the note says nothing, as on arcs between two auxiliary vertices."""
        return not self.versions and self.event is None and self.predicate is None


PLAIN = Note()


@dataclass(slots=True)
class Graph:
    """A graph, with its arcs in parallel lists: the arc i leads from `tails[i]` to `heads[i]`.

    Vertices 0 to n - 1 are the n `transactions`; auxiliary vertices follow. `kinds`, `notes`: of each arc.
    `uncertain`: whether any arc is only possible. `number`: the vertex of each transaction.
    """

    transactions: Sequence[int]
    vertices: int = 0
    tails: list[int] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    kinds: list[Kind] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    uncertain: bool = False
    number: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        self.number = {txn: vertex for vertex, txn in enumerate(self.transactions)}
        self.vertices = max(self.vertices, len(self.transactions))

    def vertex(self) -> int:
        """Adds an auxiliary vertex and returns its number."""
        self.vertices += 1
        return self.vertices - 1

    def arc(self, tail: int, head: int, kind: Kind, note: Note = PLAIN) -> None:
        """Adds an arc with its reason."""
        self.tails.append(tail)
        self.heads.append(head)
        self.kinds.append(kind)
        self.notes.append(note)
        if not note.certain:
            self.uncertain = True

    def extended(self) -> Graph:
        """Returns a copy, to which arcs can be added without changing this graph."""
        arcs = [*self.tails], [*self.heads], [*self.kinds], [*self.notes]
        return Graph(self.transactions, self.vertices, *arcs, self.uncertain)

    def components(self, kinds: Iterable[Kind], *, certain: bool) -> Components:
        """Returns the strongly connected components over the arcs of some kinds, and PART.

        `certain`: over certain arcs alone; else over those that are only possible as well.
        """
        allowed = {Kind.PART, *kinds}
        chosen = [
            number
            for number, kind in enumerate(self.kinds)
            if kind in allowed and (not certain or not self.uncertain or self.notes[number].certain)
        ]
        labels = strong_labels(
            (self.tails[n] for n in chosen), (self.heads[n] for n in chosen), self.vertices
        )
        sizes = Counter(labels[: len(self.transactions)])
        return Components(labels, frozenset(label for label, size in sizes.items() if size > 1))


@dataclass(frozen=True, slots=True)
class Components:
    """The component of each vertex.

    `knots`: the components with two transactions or more. Every cycle of the DSG lies in a knot, and every
    knot holds a cycle.
    """

    labels: list[int]
    knots: frozenset[int]
