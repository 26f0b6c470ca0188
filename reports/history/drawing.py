"""The DSG as SVG: transactions in a row by commit, edges forward above the row and backward below it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from dvs_model.check import Checked
from dvs_model.edges import Adjacency, Budget, BudgetSpent, Edge, edges_among
from dvs_model.explain import Explanation
from dvs_model.verdict import Cycle, Overlap, Present

STEP = 150
RADIUS = 21
LIFT = 46
"""How much higher an edge runs per transaction that it passes."""

GAP = 24
"""Between two edges of the same ends."""

SMALL = 14
"""Transactions up to which the whole graph is drawn; of larger ones only those of the evidence."""

MOST_EDGES = 60


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture. `whole`: whether it shows the whole graph; `edges`: those it shows."""

    svg: str
    whole: bool
    edges: tuple[Edge, ...]


def standalone(drawn: Drawn) -> str:
    """The picture as a file of its own, on white."""
    style = (
        "<style>text{font:13px sans-serif;text-anchor:middle;fill:#59626b}"
        ".node circle{fill:#f3f4f5;stroke:#59626b}.node text{fill:#1c2024;font-weight:600}"
        ".edge path{fill:none;stroke:#59626b;stroke-width:1.3}.edge.rw path{stroke-dasharray:6 4}"
        ".edge.strong path{stroke:#a3161f;stroke-width:2.4}.edge.strong text{fill:#a3161f}"
        ".plain{fill:#59626b}.strong{fill:#a3161f}</style>"
    )
    head, _, rest = drawn.svg.partition(">")
    box = head.partition('viewBox="')[2].partition('"')[0].split()
    paper = f'<rect x="{box[0]}" y="{box[1]}" width="{box[2]}" height="{box[3]}" fill="#fff"/>'
    return f'{head} xmlns="http://www.w3.org/2000/svg">{style}{paper}{rest}\n'


def all_edges(checked: Checked) -> list[Edge]:
    """Every edge of a small DSG."""
    graph = checked.analysis.graph
    members = range(len(graph.transactions))
    try:
        return list(edges_among(Adjacency(graph), members, [0] * graph.vertices, Budget(20_000)))
    except BudgetSpent:
        return []


def draw(checked: Checked) -> Drawn:
    """The DSG, or of a large one the transactions of the evidence."""
    shown = evidence_edges(checked)
    txns = checked.analysis.facts.committed
    whole = len(txns) <= SMALL
    edges = all_edges(checked) if whole else []
    if len(edges) > MOST_EDGES:
        whole, edges = False, []
    if not whole:
        involved = {txn for edge in shown for txn in (edge.source, edge.target)}
        txns = [txn for txn in txns if txn in involved]
    everything = list(dict.fromkeys([*shown, *edges]))
    merged = merge(everything)
    return Drawn(_svg(checked, txns, merged, set(shown)), whole, tuple(everything))


def evidence_edges(checked: Checked) -> list[Edge]:
    """The edges of the first evidence of every phenomenon."""
    found: dict[Edge, None] = {}
    for finding in checked.phenomena.values():
        if isinstance(finding, Present):
            first = finding.evidence[0]
            if isinstance(first, Cycle):
                found.update(dict.fromkeys(first.edges))
            elif isinstance(first, Overlap):
                found[first.edge] = None
    return list(found)


def merge(edges: Sequence[Edge]) -> dict[tuple[int, int, str], list[Edge]]:
    """Edges that a picture cannot tell apart: the same ends and label."""
    merged: dict[tuple[int, int, str], list[Edge]] = {}
    for edge in edges:
        merged.setdefault((edge.source, edge.target, edge.label), []).append(edge)
    return merged


def _svg(
    checked: Checked,
    txns: Sequence[int],
    merged: dict[tuple[int, int, str], list[Edge]],
    shown: Collection[Edge],
) -> str:
    places = {txn: 60 + STEP * number for number, txn in enumerate(txns)}
    arcs = list(placed_arcs(checked, places, merged, shown))
    above = max((arc.height for arc in arcs if arc.forward), default=0) * 0.75 + 56
    below = max((arc.height for arc in arcs if not arc.forward), default=0) * 0.75 + 56
    width = 120 + STEP * max(0, len(txns) - 1)
    nodes = "".join(
        f'<g class="node"><circle cx="{x}" cy="0" r="{RADIUS}"/><text x="{x}" y="5">T{txn}</text></g>'
        for txn, x in places.items()
    )
    label = f"serialization graph of {len(txns)} transactions and {len(arcs)} edges"
    drawn = "".join(arc.svg() for arc in sorted(arcs, key=lambda arc: -arc.height))
    return (
        f'<svg class="dsg" role="img" aria-label="{label}" viewBox="0 {-above:.0f} {width} '
        f'{above + below:.0f}" width="{width}" height="{above + below:.0f}">{_markers()}{drawn}{nodes}</svg>'
    )


@dataclass(frozen=True, slots=True)
class Arc:
    """An edge in the picture: from one place to another, so high, with its label and its reasons."""

    start: float
    end: float
    height: float
    label: str
    title: str
    classes: str
    strong: bool

    @property
    def forward(self) -> bool:
        """Whether it runs above, to a later transaction."""
        return self.start < self.end

    def svg(self) -> str:
        """The arc as SVG; its reasons show on hover."""
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


def placed_arcs(
    checked: Checked,
    places: Mapping[int, int],
    merged: dict[tuple[int, int, str], list[Edge]],
    shown: Collection[Edge],
) -> Iterator[Arc]:
    """The edges between the transactions that are drawn, those of the same ends above one another."""
    explanation = Explanation(checked.analysis)
    parallel: dict[tuple[int, int], int] = {}
    ends: dict[int, int] = {}
    for (source, target, label), edges in merged.items():
        if source not in places or target not in places:
            continue
        nth = parallel[source, target] = parallel.get((source, target), -1) + 1
        span = abs(places[target] - places[source]) / STEP
        shift = 7 * (ends.get(target, 0) % 3 - 1)
        ends[target] = ends.get(target, 0) + 1
        strong = any(edge in shown for edge in edges)
        possible = "" if edges[0].certain else " possible"
        yield Arc(
            places[source],
            places[target] + shift,
            LIFT * (span + 0.4) + nth * GAP,
            label,
            "\n".join(explanation.edge(edge) for edge in edges),
            f"edge {edges[0].kind.value}{' strong' if strong else ''}{possible}",
            strong,
        )


def _markers() -> str:
    return "<defs>" + "".join(_marker(name) for name in ("plain", "strong")) + "</defs>"


def _marker(name: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="8" markerHeight="8" '
        f'orient="auto" markerUnits="userSpaceOnUse">'
        f'<path class="{name}" d="M 0 0 L 8 4 L 0 8 z"/></marker>'
    )
