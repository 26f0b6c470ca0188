"""The graph with auxiliary vertices has exactly the edges of the definition, on every small history."""

from __future__ import annotations

import random

import pytest

from dvs_model.analysis.analysis import Analysis
from dvs_model.checking.enumeration import small_histories
from dvs_model.graph import dsg
from dvs_model.graph.dsg import Construction
from dvs_model.graph.edges import Adjacency, Budget, edges_among
from dvs_model.graph.facts import facts
from dvs_model.graph.graph import Kind
from dvs_model.graph.reading import DEFAULT, Derivations, DerivedWrites, Predicates, Reading
from dvs_model.histories.history import History, Version
from dvs_model.notation import parse, render
from generators.histories import SMALL, history_at
from reference.histories import Reference
from reference.versions import Versions
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
    monkeypatch.setattr(dsg, "FEW_ARCS", few)
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
    monkeypatch.setattr(dsg, "FEW_ARCS", 1)
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


@pytest.mark.parametrize("name", ["changed", "letter"])
def test_long_chains_of_derivations(name: str) -> None:
    """Up to twelve derivations over each other, with versions from all along the chain."""
    reading, switches = READINGS[name]
    longest = 0
    for seed in range(examples(12)):
        history = parse(chain_of_derivations(random.Random(seed)))
        versions = Versions(history, ignore=False)
        longest = max(longest, *(len(height(versions, each)) for each in versions.behind_derived))
        drawn, due = edges(history, reading), defined(history, switches)
        assert {unnamed(each) for each in drawn} == {unnamed(each) for each in due}, render(history)
    assert longest >= 8


def unnamed(edge: tuple[str, int, int, str, bool, bool]) -> tuple[object, ...]:
    """An edge without the name of a derived object: of those through which it leads the graph names one."""
    return tuple("" if part in ("u", "v") else part for part in edge)


def chain_of_derivations(draw: random.Random) -> str:
    """The text of a history: writes of x and y, refreshes of u and v from some of what there is, reads."""
    text, made, derived = [], {"x": [], "y": []}, []  # type: tuple[list[str], dict[str, list[str]], list[str]]
    for txn in range(1, 25):
        obj = draw.choice("xy")
        if txn < 4 or draw.random() < 0.35:
            made[obj].append(f"{obj}{txn}")
            text.append(f"w{txn}({obj}{txn}) c{txn}")
        elif draw.random() < 0.7:
            base = draw.sample(made["x"] + made["y"], draw.randrange(1, 3))
            sources = {*base[: draw.randrange(2)], *derived[-1:], *draw.sample(derived, min(1, len(derived)))}
            name = f"{draw.choice('uv')}{txn}"
            text.append(f"d{txn}({name} | {', '.join(sorted(sources or base))}) c{txn}")
            derived.append(name)
        else:
            text.append(" ".join(f"r{txn}({each})" for each in draw.sample(derived, min(2, len(derived)))))
            text.append(f"w{txn}({obj}{txn}) c{txn}")
            made[obj].append(f"{obj}{txn}")
    return " ".join(text)


def height(versions: Versions, version: Version) -> set[Version]:
    """The derived versions behind one."""
    return {each for each in versions.behind(version) if each in versions.behind_derived}


STEP = "w1(x1) c1 w2(y2) a2 w3(z3.1) w3(z3.2) c3 w4(x4) c4 w5(z5) c5 d6(u6 | x1) c6 "
"""x1 is followed by x4, z3.1 is not final, y2 is of an aborted transaction."""


@pytest.mark.parametrize(
    ("source", "behind", "missed"),
    [
        ("x1", {1}, {4}),
        ("x4", {4}, set()),
        ("y2", set(), set()),
        ("z3.1", set(), set()),
        ("z3.2", {3}, {5}),
        ("x_init", set(), {1}),
        ("u6", {"u6"}, {"u6"}),
        ("u_init", set(), set()),
    ],
)
def test_the_step_of_the_induction_is_what_the_code_does(
    source: str, behind: set[int | str], missed: set[int | str]
) -> None:
    """The arcs of a vertex by those of its sources, whatever the arcs of these are: `Theory.encoding`."""
    history = parse(f"{STEP} d7(v7 | {source}) c7")
    built = Construction(facts(history), DEFAULT)
    lower, version = Version("u", 6, 1), Version("v", 7, 1)
    for known, expected in ((built.behind, behind), (built.missed, missed), (built.makers, behind)):
        # The vertex of the version below stands for itself: how it is connected is the assumption.
        known[lower] = built.result.vertex()
        before = len(built.result.tails)
        vertex = built.chain(known, version)
        arcs = [*zip(built.result.tails, built.result.heads, strict=True)][before:]
        others = {tail if head == vertex else head for tail, head in arcs}
        assert all((head if known is built.behind else tail) == vertex for tail, head in arcs)
        numbers = {built.result.number[txn]: txn for txn in built.facts.committed}
        assert {numbers.get(each, "u6") for each in others} == expected
