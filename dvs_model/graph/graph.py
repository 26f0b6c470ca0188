"""The graph that encodes a DSG: transactions, auxiliary vertices, and typed arcs between them.

An edge of the DSG (Adya 1999, section 3.1.4; DVS paper, section 4.1) is a path between two different
transactions through auxiliary vertices only. Exactly one arc of such a path is not `PART`: it gives the edge
its kind. So the transitive closure of "derives from" is never listed, and the graph stays linear in the
history.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from dvs_model.histories.history import Version

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Kind(Enum):
    """The kind of an edge, or of an arc; PART: an arc that gives the edge no kind."""

    PART = "part"
    WW = "ww"
    WR = "wr"
    RW = "rw"
    SESSION = "session"
    TIME = "time"

    # Enum's own, a function of Python, takes a tenth of the time of a large history.
    __hash__ = object.__hash__


DEPENDENCIES = (Kind.WW, Kind.WR, Kind.RW)


class Note(NamedTuple):
    """The reason for an arc: its part of the fields of an `Edge`."""

    event: int | None = None
    versions: tuple[Version, ...] = ()
    predicate: str | None = None
    certain: bool = True
    member: Version | None = None

    @property
    def silent(self) -> bool:
        """Whether the note says nothing, as on arcs between auxiliary vertices of one kind."""
        return not self.versions and self.event is None and self.predicate is None


PLAIN = Note()


@dataclass(slots=True)
class Graph:
    """A graph with parallel lists of its arcs. Vertices 0 to n-1 are `transactions`; auxiliary ones follow.

    `uncertain`: whether an arc is only possible. `number`: the vertex of a transaction.
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
        """Returns a copy to which arcs can be added."""
        arcs = [*self.tails], [*self.heads], [*self.kinds], [*self.notes]
        return Graph(self.transactions, self.vertices, *arcs, self.uncertain)

    def components(self, kinds: Iterable[Kind], *, certain: bool) -> Components:
        """Returns the strongly connected components over arcs of some kinds and PART, certain ones or all."""
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


def strong_labels(tails: Iterable[int], heads: Iterable[int], vertices: int) -> list[int]:
    """Returns for each vertex the number, from 0, of its strongly connected component."""
    import numpy as np

    numbers: list[int] = component_labels(
        np.fromiter(tails, np.int32), np.fromiter(heads, np.int32), vertices
    ).tolist()
    return numbers


def component_labels(
    tails: NDArray[np.integer], heads: NDArray[np.integer], vertices: int
) -> NDArray[np.int64]:
    """Returns for each vertex the number, from 0, of its strongly connected component, of arcs in arrays."""
    # Imported here: to load scipy takes as long as to judge many histories, and the process that starts a
    # campaign judges none.
    import numpy as np
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    arcs = tails.astype(np.int32, copy=False), heads.astype(np.int32, copy=False)
    matrix = csr_matrix((np.ones(len(arcs[0]), np.int8), arcs), shape=(vertices, vertices))
    _, labels = connected_components(matrix, directed=True, connection="strong")
    return np.asarray(labels, np.int64)


def topological(vertices: Iterable[int], below: Sequence[Collection[int]]) -> list[int]:
    """Returns some vertices of a graph without cycles so that every arc leads forward.

    `below`: the heads of arcs by tail, all among the vertices. (graphlib does this at three times the cost.)
    """
    entering = dict.fromkeys(vertices, 0)
    for vertex in entering:
        for head in below[vertex]:
            entering[head] += 1
    order = [vertex for vertex, arcs in entering.items() if arcs == 0]
    for vertex in order:
        for head in below[vertex]:
            entering[head] -= 1
            if entering[head] == 0:
                order.append(head)
    return order


@dataclass(frozen=True, slots=True)
class Components:
    """The component of each vertex.

    `knots`: the components with two transactions or more. Every cycle of the DSG lies in a knot, and every
    knot holds a cycle.
    """

    labels: list[int]
    knots: frozenset[int]
