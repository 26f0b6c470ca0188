"""The graph with auxiliary vertices has exactly the edges of the definition, on every small history."""

from __future__ import annotations

import pytest

from dvs_model.analysis.analysis import Analysis
from dvs_model.checking.enumeration import small_histories
from dvs_model.graph import dsg
from dvs_model.graph.edges import Adjacency, Budget, edges_among
from dvs_model.graph.graph import Kind
from dvs_model.graph.reading import DEFAULT, Derivations, DerivedWrites, Predicates, Reading
from dvs_model.histories.history import History
from dvs_model.notation import parse, render
from generators.histories import SMALL, history_at
from reference.histories import Reference
from tests.depth import examples

pytestmark = pytest.mark.slow

READINGS = {
    "changed": (DEFAULT, {}),
    "letter": (Reading(derived_writes=DerivedWrites.LETTER), {"letter": True}),
    "ignored": (Reading(derivations=Derivations.IGNORE), {"ignore": True}),
    "thesis": (Reading(predicates=Predicates.THESIS), {"thesis": True}),
}


def edges(history: History, reading: Reading) -> set[tuple[str, int, int, str, bool, bool]]:
    graph = Analysis(history, reading).graph
    everyone = range(len(graph.transactions))
    listed = edges_among(Adjacency(graph, [0] * graph.vertices), everyone, Budget(10**7))
    return {(e.kind.value, e.source, e.target, e.obj, e.predicate is not None, e.certain) for e in listed}


def defined(history: History, switches: dict[str, bool]) -> set[tuple[str, int, int, str, bool, bool]]:
    reference = Reference(history, **switches)
    return {(e.kind, e.source, e.target, e.label, e.predicate, e.certain) for e in reference.edges}


@pytest.mark.parametrize("name", READINGS)
def test_every_history_of_three_operations(name: str) -> None:
    reading, switches = READINGS[name]
    for history in small_histories(3):
        assert edges(history, reading) == defined(history, switches), render(history)


@pytest.mark.parametrize("name", READINGS)
def test_one_in_a_hundred_of_the_histories_of_four_operations(name: str) -> None:
    reading, switches = READINGS[name]
    for history in small_histories(4, every=101):
        assert edges(history, reading) == defined(history, switches), render(history)


@pytest.mark.parametrize("name", READINGS)
def test_random_histories(name: str) -> None:
    reading, switches = READINGS[name]
    for index in range(examples(400)):
        history = history_at(11, SMALL, index)
        assert edges(history, reading) == defined(history, switches), render(history)


@pytest.mark.parametrize(("few", "least"), [(0, 20), (1, 1)])
def test_derived_versions_that_differ_in_much(few: int, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vertices between the writers of two derived versions stand for the same edges as arcs between them.

    With 1 both stand in one graph.
    """
    monkeypatch.setattr(dsg, "FEW", few)
    passed = 0
    for index in range(examples(800)):
        history = history_at(11, SMALL, index)
        assert edges(history, DEFAULT) == defined(history, {}), render(history)
        graph = Analysis(history).graph
        doors = {h for h, kind in zip(graph.heads, graph.kinds, strict=True) if kind is Kind.PART}
        entered = (t in doors and kind is Kind.WW for t, kind in zip(graph.tails, graph.kinds, strict=True))
        passed += any(entered)
    assert passed >= least


@pytest.mark.parametrize(
    "derivations", [("d3(u3|a1,b1) c3", "d5(v5|a1) c5"), ("d5(v5|a1) c5", "d3(u3|a1,b1) c3")]
)
def test_two_writers_get_one_edge(derivations: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Through u by a vertex and through v by an arc: both lead from a1 to a2."""
    monkeypatch.setattr(dsg, "FEW", 1)
    later = "w2(a2) w2(b2) w2(c2) c2 d4(u4|a2,b2,c2) c4 d6(v6|a2) c6"
    history = parse(
        f"w1(a1) w1(b1) c1 {' '.join(derivations)} {later} [a1 << a2, b1 << b2, u3 << u4, v5 << v6]"
    )
    graph = Analysis(history).graph
    listed = edges_among(Adjacency(graph, [0] * graph.vertices), range(len(graph.transactions)), Budget(100))
    through_derived = [e for e in listed if len(e.versions) == 4]
    assert len(through_derived) == len({(e.versions[0], e.versions[3]) for e in through_derived}) == 6


def test_the_closure_is_not_written_down() -> None:
    """A chain of derivations, each from the last and one more write, all read: arcs grow with the chain."""

    def arcs(length: int) -> int:
        parts = []
        for n in range(length):
            write, refresh, reader = 3 * n, 3 * n + 1, 3 * n + 2
            last = f"u{refresh - 3}, " if n else ""
            parts.append(f"w{write}(x_{write}) c{write} d{refresh}(u{refresh} | {last}x_{write}) c{refresh}")
            parts.append(f"r{reader}(u{refresh}) c{reader}")
        return len(Analysis(parse(" ".join(parts))).graph.tails)

    assert arcs(200) < 2.2 * arcs(100)
