"""The graph behind every DSG: transactions, auxiliary vertices, and typed arcs between them.

An edge of the DSG (Adya 1999, section 3.1.4; DVS paper, section 4.1) is a path between two different
transactions through auxiliary vertices only. Exactly one arc of such a path is not `PART`: it says what the
edge is. So the closure of "derives from" is never written down, and the graph stays linear in the history.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from dvs_model.history import Version


class Kind(Enum):
    """What an arc, or an edge, is."""

    PART = "part"
    WW = "ww"
    WR = "wr"
    RW = "rw"
    SESSION = "session"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class Note:
    """Why an arc is there: the event that reads, and the versions it speaks of, in the order of the edge."""

    event: int | None = None
    versions: tuple[Version, ...] = ()
    predicate: str | None = None
    certain: bool = True
    member: Version | None = None
    """The derived version that was read, where one was."""


PLAIN = Note()


@dataclass(slots=True)
class Graph:
    """Vertices 0..n-1 are the transactions in `transactions`; auxiliary ones follow."""

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
        """A new auxiliary vertex."""
        self.vertices += 1
        return self.vertices - 1

    def arc(self, tail: int, head: int, kind: Kind, note: Note = PLAIN) -> None:
        """A new arc."""
        self.tails.append(tail)
        self.heads.append(head)
        self.kinds.append(kind)
        self.notes.append(note)
        if not note.certain:
            self.uncertain = True

    def extended(self) -> Graph:
        """A copy to which other arcs may be added."""
        return Graph(
            self.transactions,
            self.vertices,
            [*self.tails],
            [*self.heads],
            [*self.kinds],
            [*self.notes],
            self.uncertain,
        )

    def components(self, kinds: Iterable[Kind], *, certain: bool) -> Components:
        """The strongly connected components over arcs of some kinds (PART always), certain ones or all."""
        allowed = {Kind.PART, *kinds}
        chosen = [
            number
            for number, kind in enumerate(self.kinds)
            if kind in allowed and (not certain or not self.uncertain or self.notes[number].certain)
        ]
        labels = strong_labels(
            (self.tails[n] for n in chosen), (self.heads[n] for n in chosen), self.vertices
        )
        return Components(labels, len(self.transactions))


def strong_labels(tails: Iterable[int], heads: Iterable[int], vertices: int) -> list[int]:
    """Per vertex the number, from 0, of its strongly connected component."""
    arcs = np.fromiter(tails, np.int32), np.fromiter(heads, np.int32)
    matrix = csr_matrix((np.ones(len(arcs[0]), np.int8), arcs), shape=(vertices, vertices))
    _, labels = connected_components(matrix, directed=True, connection="strong")
    found: list[int] = labels.tolist()
    return found


@dataclass(slots=True)
class Components:
    """Of every vertex its component. `knots`: the components with two transactions or more, in order.

    A cycle of the DSG lies in a knot, and every knot holds one: a closed walk through two transactions.
    """

    labels: list[int]
    count: int
    knots: list[int] = field(init=False)

    def __post_init__(self) -> None:
        seen: set[int] = set()
        knots: dict[int, None] = {}
        for vertex in range(self.count):
            label = self.labels[vertex]
            if label in seen:
                knots[label] = None
            seen.add(label)
        self.knots = list(knots)
