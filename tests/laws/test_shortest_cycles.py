"""The cycle that is shown is a shortest one, also where edges of time are a part of it."""

from __future__ import annotations

import itertools

import networkx as nx
from hypothesis import given, strategies as st

from dvs_model.analysis import search
from dvs_model.analysis.verdict import Cycle, Present
from dvs_model.checking.check import check
from dvs_model.checking.minimise import minimise, reductions
from dvs_model.graph.edges import Budget, Edge
from dvs_model.graph.graph import Kind
from dvs_model.notation import parse, render
from dvs_model.theory.names import Phenomenon
from generators.histories import SMALL, HistoryShape, history_at
from reference.histories import Reference
from tests.depth import examples

TIMED = HistoryShape(transactions=(3, 6), operations=(1, 3), base=(1, 3), newest_percent=50, again_percent=20)
SEARCHED = {
    Phenomenon.G1C_REALTIME: ("ww", "wr", "order"),
    Phenomenon.G1C: ("ww", "wr"),
    Phenomenon.G_SINGLE_REALTIME: ("ww", "wr", "order"),
}


def shortest(reference: Reference, phenomenon: Phenomenon) -> int:
    """The length of a shortest cycle, from all edges of the definition."""
    edges = [edge for edge in reference.edges if edge.certain]
    graph = nx.DiGraph((e.source, e.target) for e in edges if e.kind in SEARCHED[phenomenon])
    if "order" in SEARCHED[phenomenon]:
        pairs = reference.text_precedes() or set()
        graph.add_edges_from((i, j) for i, j in pairs if {i, j} <= reference.commit.keys())
    if phenomenon is Phenomenon.G_SINGLE_REALTIME:
        anti = [(e.source, e.target) for e in edges if e.kind == "rw"]
        graph.add_nodes_from(txn for pair in anti for txn in pair)
        ways = [nx.shortest_path_length(graph, v, u) + 1 for u, v in anti if nx.has_path(graph, v, u)]
        return int(min(ways))
    return min(len(cycle) for cycle in nx.simple_cycles(graph))


def test_no_cycle_is_shorter_than_the_one_shown() -> None:
    compared = dict.fromkeys(SEARCHED, 0)
    for index in range(examples(1500)):
        history = history_at(23, TIMED, index)
        if history.precedes:
            continue
        found = check(history, only=[*SEARCHED]).phenomena
        for phenomenon in SEARCHED:
            verdict = found[phenomenon]
            if isinstance(verdict, Present) and isinstance(verdict.evidence[0], Cycle):
                compared[phenomenon] += 1
                due = shortest(Reference(history), phenomenon)
                assert len(verdict.evidence[0].edges) == due, f"{phenomenon.value}: {render(history)}"
    assert all(count > 20 for count in compared.values()), compared


def test_nothing_can_be_left_out_of_the_smallest_history() -> None:
    texts = (
        "w9(z9) c9 w8(z8) c8 r1(P: ;) w2(x2) w2(y2) c2 r1(y2) c1 [P matches x2]",
        "w1(x1) w1(y1) c1 d2(u2|x1) c2 d3(v3|u2) c3 d4(z4|v3) c4 w5(x5) w5(y5) c5 r6(z4) r6(y5) c6",
    )
    histories = [parse(text) for text in texts]
    histories += [history_at(29, SMALL, index) for index in range(examples(50))]
    left = 0
    for history in histories:
        checked = check(history)
        for phenomenon, verdict in checked.phenomena.items():
            if isinstance(verdict, Present):
                least = minimise(checked, phenomenon, verdict.evidence[0])
                for smaller in reductions(least):
                    again = check(smaller, only=[phenomenon]).phenomena[phenomenon]
                    assert not isinstance(again, Present), f"{phenomenon.value}: {render(least)}"
                left += 1
    assert left > 200


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=20))
def test_a_search_that_knows_the_last_edges_finds_as_short_a_way(pairs: list[tuple[int, int]]) -> None:
    edges = [Edge(Kind.WW, a, b) for a, b in pairs if a != b]
    made = search.web(edges)
    for start, goal in itertools.permutations(made.number, 2):
        ends = made.number[start], made.number[goal]
        closing = {made.number[edge.source]: edge for edge in edges if edge.target == goal}
        plain, quick = (search.shortest(made, *ends, Budget(1000), known) for known in ({}, closing))
        assert (plain and len(plain)) == (quick and len(quick))
        if quick:
            assert [quick[0].source, quick[-1].target] == [start, goal]
            assert all(before.target == after.source for before, after in itertools.pairwise(quick))
