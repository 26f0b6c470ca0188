"""The DSG as SVG: transactions in a row by commit, edges forward above the row and backward below it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from dvs_model.analysis.verdict import DirtyRead, Present
from dvs_model.checking.check import Checked
from dvs_model.checking.explain import edges_of
from dvs_model.checking.sentences import Sentences
from dvs_model.graph.edges import Adjacency, Budget, BudgetSpent, Edge, edges_among

STEP = 150
RADIUS = 21
"""Pixels between two transactions of the row, and the radius of their circles."""

LETTERS = 4
"""Letters of a name that fit into a circle at the size of the page; a longer name is written smaller."""
LIFT = 46
"""Pixels by which an edge runs higher for each transaction that it passes."""

GAP = 24
"""Pixels between two edges of the same ends."""

SMALL_HISTORY = 14
"""Transactions up to which the whole graph is drawn; of larger ones only those of the evidence."""

MOST_EDGES = 60

MOST_NODES = 12
"""Transactions in the picture of a large graph; more cannot be read."""


@dataclass(frozen=True, slots=True)
class Fold:
    """The part of a cycle that is not drawn: between two transactions, and how many others lie there."""

    begin: int
    end: int
    count: int


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture with the edges in it.

    `whole`: whether it shows the whole graph. `folded`: whether it shows a long cycle without its middle.
    """

    svg: str
    whole: bool
    edges: tuple[Edge, ...]
    folded: bool = False


def standalone(drawing: Drawing) -> str:
    """Returns the picture as a file on its own, on white."""
    style = (
        "<style>text{font:13px sans-serif;text-anchor:middle;fill:#59626b}"
        ".node circle{fill:#f3f4f5;stroke:#59626b}.node.aborted circle{stroke-dasharray:4 3}"
        ".node text{fill:#1c2024;font-weight:600}"
        ".edge path{fill:none;stroke:#59626b;stroke-width:1.3}.edge.rw path{stroke-dasharray:6 4}"
        ".edge.strong path{stroke:#a3161f;stroke-width:2.4}.edge.strong text{fill:#a3161f}"
        ".plain{fill:#59626b}.strong{fill:#a3161f}</style>"
    )
    head, _, rest = drawing.svg.partition(">")
    box = head.partition('viewBox="')[2].partition('"')[0].split()
    paper = f'<rect x="{box[0]}" y="{box[1]}" width="{box[2]}" height="{box[3]}" fill="#fff"/>'
    return f'{head} xmlns="http://www.w3.org/2000/svg">{style}{paper}{rest}\n'


def draw(checked: Checked) -> Drawing:
    """Returns a picture of the DSG, or of a large one the transactions of the evidence.

    Reads of what must not be seen are drawn too; the transactions that wrote it may have aborted.
    """
    evidence = [verdict.evidence[0] for verdict in checked.phenomena.values() if isinstance(verdict, Present)]
    strong = dict.fromkeys(edge for item in evidence for edge in edges_of(item))
    dirty = [item for item in evidence if isinstance(item, DirtyRead)]
    txns = list(checked.analysis.facts.committed)
    edges = _all_edges(checked) if len(txns) <= SMALL_HISTORY else None
    fold: Fold | None = None
    if edges is None:
        strong, fold = _readable([edges_of(item) for item in evidence])
        dirty = dirty[: MOST_NODES // 4]
        involved = {txn for edge in strong for txn in (edge.source, edge.target)}
        involved |= {txn for item in dirty for txn in (item.reader, item.path[-1].txn)}
        txns = [txn for txn in txns if txn in involved]
        if fold is not None:
            # A long cycle is drawn in its own order.
            first = dict.fromkeys(txn for edge in strong for txn in (edge.source, edge.target))
            txns = [*first, *(txn for txn in txns if txn not in first)]
    for item in dirty:
        if item.path[-1].txn not in txns:
            txns.insert(txns.index(item.reader), item.path[-1].txn)
    shown = tuple(dict.fromkeys([*strong, *(edges or ())]))
    return Drawing(
        _svg(checked, txns, shown, strong, dirty, fold), edges is not None, shown, fold is not None
    )


def _readable(cycles: Sequence[Sequence[Edge]]) -> tuple[dict[Edge, None], Fold | None]:
    """Returns edges of cycles with MOST_NODES transactions at most, the shortest cycles first.

    Of a cycle that is longer by itself, its beginning and its end, and what was folded between them.
    """
    shown: dict[Edge, None] = {}
    ordered = sorted((cycle for cycle in cycles if cycle), key=len)
    for cycle in ordered:
        both = {txn for edge in (*shown, *cycle) for txn in (edge.source, edge.target)}
        if len(both) <= MOST_NODES:
            shown |= dict.fromkeys(cycle)
    if shown or not ordered:
        return shown, None
    cycle, ends = ordered[0], MOST_NODES // 2 - 1
    fold = Fold(cycle[ends - 1].target, cycle[-ends].source, len(cycle) - 2 * ends - 1)
    return dict.fromkeys((*cycle[:ends], *cycle[-ends:])), fold


def _all_edges(checked: Checked) -> list[Edge] | None:
    """Returns every edge of a small DSG; None: there are too many to be drawn."""
    graph = checked.analysis.graph
    members = range(len(graph.transactions))
    try:
        edges = edges_among(Adjacency(graph, [0] * graph.vertices), members, Budget(20_000))
    except BudgetSpent:
        return None
    return edges if len(edges) <= MOST_EDGES else None


def _svg(
    checked: Checked,
    txns: Sequence[int],
    edges: Sequence[Edge],
    strong: Collection[Edge],
    dirty: Sequence[DirtyRead],
    fold: Fold | None = None,
) -> str:
    places = {txn: 60 + STEP * number for number, txn in enumerate(txns)}
    committed = set(checked.analysis.facts.committed)
    arcs = list(_arcs(checked, places, edges, strong))
    arcs += [_dirty_arc(item, places, aborted=item.path[-1].txn not in committed) for item in dirty]
    if fold is not None:
        arcs.append(_folded_arc(fold, places))
    above = max((arc.height for arc in arcs if arc.forward), default=0) * 0.75 + 56
    below = max((arc.height for arc in arcs if not arc.forward), default=0) * 0.75 + 56
    width = 120 + STEP * max(0, len(txns) - 1)
    nodes = "".join(
        f'<g class="node{"" if txn in committed else " aborted"}">'
        f'<circle cx="{x}" cy="0" r="{RADIUS}"/>{_label(x, txn)}</g>'
        for txn, x in places.items()
    )
    label = f"serialization graph of {len(txns)} transactions and {len(arcs)} edges"
    drawn = "".join(arc.svg() for arc in sorted(arcs, key=lambda arc: -arc.height))
    markers = "".join(
        f'<marker id="{name}" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="8" markerHeight="8" '
        f'orient="auto" markerUnits="userSpaceOnUse">'
        f'<path class="{name}" d="M 0 0 L 8 4 L 0 8 z"/></marker>'
        for name in ("plain", "strong")
    )
    return (
        f'<svg class="dsg" role="img" aria-label="{label}" viewBox="0 {-above:.0f} {width} '
        f'{above + below:.0f}" width="{width}" height="{above + below:.0f}">'
        f"<defs>{markers}</defs>{drawn}{nodes}</svg>"
    )


def _label(x: int, txn: int) -> str:
    """Returns the name of a transaction in its circle."""
    name = f"T{txn}"
    fit = f' textLength="{2 * RADIUS - 8}" lengthAdjust="spacingAndGlyphs"' if len(name) > LETTERS else ""
    return f'<text x="{x}" y="5"{fit}>{name}</text>'


@dataclass(frozen=True, slots=True)
class Arc:
    """An edge in the picture, from one place to another, with its label and its reasons as title.

    `strong`: it belongs to the evidence.
    """

    start: float
    end: float
    height: float
    label: str
    title: str
    classes: str
    strong: bool

    @property
    def forward(self) -> bool:
        """Whether it runs above the row, to a later transaction."""
        return self.start < self.end

    def svg(self) -> str:
        """Returns the arc as SVG; its title shows on hover."""
        sign = -1 if self.forward else 1
        begin, finish = sign * RADIUS, sign * (RADIUS + 7)
        bend = sign * (self.height + RADIUS)
        middle = (self.start + self.end) / 2
        level = sign * (0.75 * self.height + RADIUS) + (-5 if self.forward else 14)
        marker = "strong" if self.strong else "plain"
        return (
            f'<g class="{self.classes}"><title>{escape(self.title)}</title>'
            f'<path d="M {self.start} {begin} C {self.start} {bend:.0f}, {self.end} {bend:.0f}, '
            f'{self.end} {finish}" marker-end="url(#{marker})"/>'
            f'<text x="{middle}" y="{level:.0f}">{escape(self.label)}</text></g>'
        )


def _folded_arc(fold: Fold, places: Mapping[int, int]) -> Arc:
    """Returns the arc that stands for the part of a cycle that is not drawn."""
    start, end = places[fold.begin], places[fold.end]
    label = f"... {fold.count} more ..."
    title = f"{fold.count} more transactions of the cycle lie between T{fold.begin} and T{fold.end}"
    height = LIFT * (abs(end - start) / STEP + 0.4)
    return Arc(start, end, height, label, title, "edge fold strong", strong=True)


def _dirty_arc(item: DirtyRead, places: Mapping[int, int], *, aborted: bool) -> Arc:
    """Returns the read of a version that must not be seen, from its writer to the reader."""
    start, end = places[item.path[-1].txn], places[item.reader]
    label = f"wr {item.path[-1].obj} ({'aborted' if aborted else 'intermediate'})"
    title = f"T{item.reader} has read {' from '.join(map(str, item.path))}"
    return Arc(
        start, end, LIFT * (abs(end - start) / STEP + 0.4), label, title, "edge wr strong", strong=True
    )


def _arcs(
    checked: Checked, places: Mapping[int, int], edges: Sequence[Edge], strong: Collection[Edge]
) -> Iterator[Arc]:
    """Yields the arcs between drawn transactions; edges of the same ends and label share one."""
    sentences = Sentences(checked.analysis)
    merged: dict[tuple[int, int, str], list[Edge]] = {}
    for edge in edges:
        merged.setdefault((edge.source, edge.target, edge.label), []).append(edge)
    parallel: Counter[tuple[int, int]] = Counter()
    ends: Counter[int] = Counter()
    for (source, target, label), same in merged.items():
        if source not in places or target not in places:
            continue
        span = abs(places[target] - places[source]) / STEP
        is_strong = any(edge in strong for edge in same)
        certainty = "" if same[0].certain else " possible"
        yield Arc(
            places[source],
            places[target] + 7 * (ends[target] % 3 - 1),
            LIFT * (span + 0.4) + parallel[source, target] * GAP,
            label,
            "\n".join(sentences.edge(edge) for edge in same),
            f"edge {same[0].kind.value}{' strong' if is_strong else ''}{certainty}",
            is_strong,
        )
        parallel[source, target] += 1
        ends[target] += 1
