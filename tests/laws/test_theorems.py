"""Theorem 1 and corollary 2: on every history of three operations, on random ones, and by induction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product
from operator import not_
from unittest.mock import patch

import pytest

from campaign.verify.unbounded.prove import Outcome
from campaign.verify.unbounded.theorems import Claim, Edge, Parts, Theory
from dvs_model.analysis.verdict import Absent
from dvs_model.checking import theorems
from dvs_model.checking.check import check
from dvs_model.checking.enumeration import small_histories
from dvs_model.checking.theorems import (
    Condition,
    Tally,
    broken_conditions,
    dependencies,
    encapsulated,
    moved,
    without,
)
from dvs_model.graph.facts import facts
from dvs_model.graph.reading import DEFAULT, DerivedWrites, Reading
from dvs_model.histories.history import History, Version, unborn
from dvs_model.notation import parse, render
from dvs_model.theory.names import Phenomenon
from generators.histories import SMALL, history_at
from reference.versions import Versions
from tests.depth import examples


def test_every_small_history() -> None:
    tally = Tally()
    assert all(tally.check(history) for history in small_histories(3)), tally.failure
    assert tally.moves > 3000
    assert tally.removals > 50
    assert tally.false_as_worded > 5


def test_random_histories() -> None:
    tally = Tally()
    assert all(tally.check(history_at(5, SMALL, index)) for index in range(examples(2500))), tally.failure
    assert tally.moves > 500
    assert tally.removals > 10


def test_theorem_1_covers_every_phenomenon_but_dirty_reads() -> None:
    compared = 0
    for index in range(examples(1250)):
        history = history_at(6, SMALL, index)
        index_of = facts(history)
        moves = [
            (version, txn)
            for version in index_of.sources
            for txn in index_of.commits
            if txn != version.txn and txn > 0
        ]
        for version, txn in moves[:2]:
            changed = moved(history, version, txn)
            if changed is not None:
                compared += 1
                assert verdicts(history) == verdicts(changed), render(history) + "\n" + render(changed)
    assert compared > 300


def verdicts(history: History) -> dict[str, str]:
    found = check(history).phenomena
    return {
        phenomenon.value: type(verdict).__name__
        for phenomenon, verdict in found.items()
        # An aborted or intermediate version is one whoever computed it (docs/notation.md, rule 5).
        if phenomenon not in (Phenomenon.G1A, Phenomenon.G1B)
    }


@pytest.mark.parametrize("derived", ["d1(z1|x1) c1 c3", "c1 d3(z3|x1) c3"])
def test_who_derived_a_version_is_no_part_of_a_mixed_version_set(derived: str) -> None:
    found = check(parse(f"w1(x1) {derived} r2(P: x1, z_init;) c2")).phenomena[Phenomenon.G1_PREDB]
    assert isinstance(found, Absent)


@pytest.mark.parametrize(
    ("condition", "version", "text"),
    [
        (
            Condition.NO_OUTSIDE_DERIVATION,
            Version("y", 1, 1),
            "w1(x1) d1(y1 | x1) c1 d2(z2 | y1) c2 r3(z2) c3",
        ),
        (Condition.OWN_TO_THE_BOTTOM, Version("z", 2, 1), "w1(x1) c1 d2(y2 | x1) d2(z2 | y2) r2(z2) c2"),
        (
            Condition.ONLY_VERSION,
            Version("z", 1, 1),
            "w1(x1) d1(z1 | x1) c1 w2(y2) d2(z2 | y2) c2 [z1 << z2]",
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Condition) else "",
)
def test_each_condition_of_corollary_2_is_needed(condition: Condition, version: Version, text: str) -> None:
    history = parse(text)
    measured = facts(history)
    assert encapsulated(measured, version)
    assert broken_conditions(measured, version) == {condition}
    if condition is Condition.NO_OUTSIDE_DERIVATION:
        # Left out with all that hangs on it, as the corollary says, not bridged over as `without` does.
        smaller = parse("w1(x1) c1 c2 c3")
    else:
        left_out = without(history, version)
        assert left_out is not None
        smaller = left_out
    assert dependencies(smaller) != dependencies(history)


def test_a_move_takes_the_reads_along() -> None:
    history = parse("w1(x1) c1 d3(y3 | x1) c3 r4(y3) c4 w2(x2) c2 [x1 << x2]")
    to_reader = moved(history, Version("y", 3, 1), 4)
    assert to_reader is not None
    assert render(to_reader).splitlines()[0] == "w1(x1) c1 d4(y4 | x1) c3 r4(y4) c4 w2(x2) c2"
    assert moved(history, Version("y", 3, 1), 1) is None, "T1 has ended when y is derived"


def test_a_false_theorem_is_noticed() -> None:
    """Corollary 2 without its conditions is refuted by the same search."""
    with patch.object(theorems, "broken_conditions", return_value=frozenset()):
        tally = Tally()
        assert not all(tally.check(history) for history in small_histories(3))
    assert tally.failure is not None
    claim, before, after = tally.failure
    assert claim == "corollary 2"
    assert dependencies(before) != dependencies(after)


THEORY = Theory()


def refuted(claims: Iterable[Claim], without: str) -> set[str]:
    """The claims that z3 refutes when a law is left out."""
    return {c.name for c in claims if THEORY.shown(c, without).outcome is Outcome.REFUTED}


@pytest.mark.parametrize(
    ("law", "edge"),
    [
        ("only its transaction reads it", "wr"),
        ("every version behind it is the transaction's own", "rw"),
        ("its object has no other version", "ww through derived versions, letter"),
    ],
)
def test_a_false_claim_about_histories_of_any_length_is_refuted(law: str, edge: str) -> None:
    claims = [claim for claim in THEORY.corollary_2() if f"no {edge} is lost" in claim.name]
    assert refuted(claims, "") == set()
    assert refuted(claims, law) == {claims[0].name}


@pytest.mark.parametrize(
    ("law", "claim"),
    [
        ("all are carried", "a reader that is not carried"),
        ("arcs of the vertex", "the vertex `missed` of a version is connected with all"),
        ("arcs of the vertex", "the vertex `behind` of a version is connected with nothing else"),
        ("who is carried", "`carried` names all"),
    ],
)
def test_a_wrong_encoding_is_refuted(law: str, claim: str) -> None:
    claims = [each for each in THEORY.encoding() if each.name.startswith(claim)]
    assert refuted(claims, law) == {each.name for each in claims}


def test_laws_that_no_history_keeps_prove_nothing() -> None:
    (claim, *_) = THEORY.encoding()
    impossible = replace(claim, laws={**claim.laws, "false": THEORY.z3.BoolVal(False)})
    assert THEORY.shown(impossible).outcome is Outcome.UNKNOWN


class Plain:
    """The connectives of z3 on plain truth values: a formula over one history is then true or false."""

    And = staticmethod(lambda *parts: all(parts))
    Or = staticmethod(lambda *parts: any(parts))
    Not = staticmethod(not_)
    If = staticmethod(lambda test, then, otherwise: then if test else otherwise)


LETTER = Reading(derived_writes=DerivedWrites.LETTER)


@pytest.mark.parametrize(
    ("name", "reading"), [("changed", DEFAULT), pytest.param("letter", LETTER, marks=pytest.mark.nightly)]
)
def test_the_edges_of_the_proof_are_those_that_the_product_draws(name: str, reading: Reading) -> None:
    """For histories without predicates, of so few versions that all combinations can be tried."""
    THEORY.z3, z3 = Plain, THEORY.z3
    compared = 0
    try:
        for index in range(examples(60)):
            history = history_at(3, replace(SMALL, predicate_percent=0, derived=(1, 2)), index)
            versions = Versions(history, ignore=False)
            if len(versions.made) <= 8:
                compared += 1
                drawn = {edge[:4] for edge in dependencies(history, reading)}
                assert said(THEORY.edges(parts_of(versions)), versions, name) == drawn, render(history)
    finally:
        THEORY.z3 = z3
    assert compared > 20


def parts_of(versions: Versions) -> Parts:
    """The relations of one history, looked up."""
    reads = {(txn, version) for txn, version in versions.reads()}
    return Parts(
        object=lambda v: v.obj,
        derived=lambda v: v.obj in versions.derived_objects,
        by=lambda v: v.txn,
        installed=lambda v: versions.installer(v) is not None,
        source=lambda v, s: False,
        behind=lambda v, b: b in versions.base_behind(v),
        following=lambda v, w: w in versions.following(v)[:1],
        read=lambda txn, v: (txn, v) in reads,
        made=lambda v: versions.made.get(v, -1),
        ended=lambda txn: versions.commit.get(txn, -1),
    )


def said(edges: Mapping[str, Edge], versions: Versions, name: str) -> set[tuple[str, int, int, str]]:
    """The edges for which some versions make the body of a definition true."""
    found = set()
    every = [*versions.made, *(unborn(obj) for obj in {version.obj for version in versions.made})]
    ends = [*product(versions.commit, versions.commit, {version.obj for version in every})]
    following = {(v, w) for v, w in product(every, every) if w in versions.following(v)[:1]}
    for kind, edge in edges.items():
        if "," in kind and name not in kind:
            continue
        # Which versions follow each other is a part of most bodies, and looked at first.
        pair = slice(0, 2) if "through" in kind else slice(-2, None)
        for chosen in product(every, repeat=edge.versions):
            if kind == "wr" or chosen[pair] in following:
                found |= {(kind[:2], i, j, o) for i, j, o in ends if i != j and edge.body(i, j, o, *chosen)}
    return found
