"""Theorem 1 and corollary 2, on every history of three operations and on random ones."""

from __future__ import annotations

from unittest.mock import patch

import pytest

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
from dvs_model.histories.history import History, Version
from dvs_model.notation import parse, render
from dvs_model.theory.names import Phenomenon
from generators.histories import SMALL, history_at
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
