"""Transactions at levels of their own: all at one level are that level, and a higher one never helps."""

from __future__ import annotations

from random import Random

import networkx as nx
import pytest

from dvs_model.analysis.verdict import Absent, Present, Unknown
from dvs_model.checking.check import Holds, Violated, check
from dvs_model.checking.mixing import MIXED, mixing
from dvs_model.histories.history import Commit
from dvs_model.notation import parse, render
from dvs_model.theory.names import Level
from generators.histories import SMALL, HistoryShape, history_at
from reference.histories import Reference
from tests.depth import examples

TANGLED = HistoryShape(transactions=(2, 5), operations=(1, 4), base=(1, 2))


def test_all_transactions_at_one_level_are_that_level() -> None:
    met = {level: {Present: 0, Absent: 0, Unknown: 0} for level in MIXED}
    for shape in (SMALL, TANGLED):
        for index in range(examples(400)):
            checked = check(history_at(5, shape, index))
            text = render(checked.history)
            for level in MIXED:
                verdict, whole = mixing(checked.analysis, {}, level).verdict, checked.levels[level]
                met[level][type(verdict)] += 1
                if level is Level.PL_2_99:
                    # G2-item has cycles with anti-dependencies on predicates too, which do not matter here.
                    assert isinstance(verdict, Absent | Unknown) or not isinstance(whole, Holds), text
                    continue
                assert isinstance(verdict, Present) == isinstance(whole, Violated), text
                assert isinstance(verdict, Absent) == isinstance(whole, Holds), text
    assert all(counts[Present] > 10 for counts in met.values()), met
    assert all(counts[Absent] > 20 for counts in met.values()), met


def test_a_higher_level_of_one_transaction_never_helps() -> None:
    random, worse = Random(71), 0
    for index in range(examples(300)):
        history = history_at(7, TANGLED, index)
        analysis = check(history).analysis
        txns = [event.txn for event in history.events if isinstance(event, Commit)]
        if not txns:
            continue
        levels = {txn: random.choice(MIXED) for txn in txns}
        raised = random.choice(txns)
        higher = {**levels, raised: MIXED[min(MIXED.index(levels[raised]) + 1, len(MIXED) - 1)]}
        before = mixing(analysis, levels, Level.PL_3).verdict
        after = mixing(analysis, higher, Level.PL_3).verdict
        assert isinstance(after, Present) or not isinstance(before, Present), render(history)
        worse += isinstance(after, Present) and not isinstance(before, Present)
    assert worse > 5


def test_a_mixed_history_is_judged_by_the_edges_that_matter() -> None:
    """Against the literal definitions: the edges that matter to nobody are left out."""
    random, met = Random(73), {True: 0, False: 0}
    for index in range(examples(300)):
        history = history_at(11, TANGLED, index)
        reference = Reference(history)
        if not all(edge.certain for edge in reference.edges):
            continue
        levels = {event.txn: random.choice(MIXED) for event in history.events if isinstance(event, Commit)}
        rank = {txn: MIXED.index(level) for txn, level in levels.items()}
        least = {"ww": 0, "wr": 1, "rw": 2}
        graph = nx.DiGraph(
            (edge.source, edge.target)
            for edge in reference.edges
            if rank.get(edge.source if edge.kind == "rw" else edge.target, 3)
            >= least[edge.kind] + (edge.kind == "rw" and edge.predicate)
        )
        dirty = any(
            rank.get(reader, 3) >= 1
            for readers in (reference.aborted_readers(), reference.intermediate_readers())
            for reader in readers
        )
        due = dirty or not nx.is_directed_acyclic_graph(graph)
        verdict = mixing(check(history).analysis, levels, Level.PL_3).verdict
        assert isinstance(verdict, Present) == due, render(history)
        met[due] += 1
    assert min(met.values()) > 50, met


@pytest.mark.parametrize(
    ("levels", "violated"),
    [
        ({}, True),
        ({1: Level.PL_2}, False),
        ({2: Level.PL_2_99}, True),
        ({1: Level.PL_1, 2: Level.PL_1}, False),
    ],
)
def test_write_skew(levels: dict[int, Level], violated: bool) -> None:
    analysis = check(parse("r1(x0) r1(y0) r2(x0) r2(y0) w1(x1) w2(y2) c1 c2")).analysis
    assert isinstance(mixing(analysis, levels, Level.PL_3).verdict, Present) == violated


def test_an_aborted_read_matters_to_who_forbids_it() -> None:
    analysis = check(parse("w1(x1) r2(x1) a1 c2")).analysis
    assert isinstance(mixing(analysis, {2: Level.PL_1}, Level.PL_3).verdict, Absent)
    assert mixing(analysis, {2: Level.PL_2}, Level.PL_1).words == (
        "T2 read x at version 1, which T1 made before it aborted",
    )
