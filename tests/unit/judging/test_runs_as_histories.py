"""Runs judged from their versions alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from campaign.faults import plant
from campaign.faults.fault import Subject
from campaign.judging.expectations import SourceHistory
from campaign.judging.run_history import Observed, observe
from campaign.lanes.spec import LaneSpec
from dvs_model.checking.check import Violated, check
from dvs_model.notation import render
from dvs_model.theory.names import Level
from tests.in_memory import in_memory
from tests.ir import columns, named, select, table, union_all
from workload.dml import Assignment, Insert, Update
from workload.outcomes.results import Check, OutcomeClass
from workload.scenario import Commit, Create, DynamicTable, Read, Refresh, Scenario, Step
from workload.types import INT

R, S = table("r", k=INT), table("s", k=INT)
COPY_OF_R = select({"k": columns(R)["k"]}, named("r"))
COPY_OF_S = select({"k": columns(S)["k"]}, named("s"))
OVER_A = select({"k": columns(R, "a")["k"]}, named("a"))
SAME = Update("r", (Assignment("k", columns(R)["k"]),), None)


def one(name: str, value: int) -> Insert:
    return Insert(name, ((value,),))


def scenario(*steps: Step) -> Scenario:
    """a copies r, b copies s, c copies a; all created at 20 to 40 over r and s of one row each."""
    first: tuple[Step, ...] = (
        Commit(10, (one("r", 1), one("s", 1))),
        Create(20, "a"),
        Create(30, "b"),
        Create(40, "c"),
    )
    definitions = (DynamicTable("a", COPY_OF_R), DynamicTable("b", COPY_OF_S), DynamicTable("c", OVER_A))
    return Scenario("run", (R, S), definitions, (*first, *steps))


def observed(of: Scenario, *faults: str) -> Observed:
    subject = Subject()
    for fault in faults:
        subject = plant(fault, subject)
    trace = in_memory(subject.variant).run(of)
    return observe(of, trace, SourceHistory(of, {}).base_tables, subject.recording)


def test_commits_write_refreshes_derive_readers_read() -> None:
    run = scenario(Commit(50, (one("r", 2),)), Refresh(60, "c", 60), Read(70, 1, ("c", "s")))
    history = observed(run).history
    assert history is not None
    # r and s are written by T1; a, b and c initialized by T2 to T4; T5 writes r, T6 and T7 refresh a and c.
    assert render(history).splitlines()[0] == (
        "w1(r1) w1(s1) c1 d2(a2 | r1) c2 d3(b3 | s1) c3 d4(c4 | a2) c4 "
        "w5(r5) c5 d6(a6 | r5) c6 d7(c7 | a6) c7 r8(c7) r8(s1) c8"
    )


def test_an_engine_that_keeps_its_word() -> None:
    run = scenario(
        Read(45, 1, ("c",)),
        Commit(50, (one("r", 2), one("s", 2))),
        Read(55, 2, ("c",)),
        Refresh(60, "a", 60),
        Read(70, 3, ("a", "b")),
        Read(80, 4, ("a",)),
        Commit(90, (one("s", 3),)),
        Read(100, 4, ("s",)),
    )
    observations = observed(run)
    assert observations.anomalies == ()
    assert observations.skewed, "a is as of 60, b as of 30, and T5 wrote what is behind both"
    assert observations.readers == {
        "reader of one dynamic table": 2,
        "reader of several dynamic tables": 1,
        "reader of dynamic and base tables": 1,
        "reader with several statements": 1,
    }
    history = observations.history
    assert history is not None
    verdicts = check(history).levels
    assert isinstance(verdicts[Level.PL_2_PLUS], Violated)


def test_readers_without_skew() -> None:
    run = scenario(
        Commit(50, (one("r", 2),)), Refresh(60, "a", 60), Refresh(70, "b", 70), Read(80, 1, ("a", "b"))
    )
    observations = observed(run)
    assert (observations.anomalies, observations.skewed) == ((), False)


@pytest.mark.parametrize(
    ("fault", "phenomenon"),
    [
        ("version-strictly-before", "G-SIb"),
        ("read-latest-not-snapshot", "G-SIa"),
        ("upstream-by-commit-time", "G-SIa"),
    ],
)
def test_wrong_versions_are_seen_where_contents_agree(fault: str, phenomenon: str) -> None:
    """Every commit after the first sets k to itself: whichever version is read, the rows are the same."""
    run = scenario(
        Commit(50, (SAME,)),
        Refresh(60, "c", 50),
        Commit(70, (SAME,)),
        Refresh(80, "a", 75),
        Commit(85, (SAME,)),
        Refresh(87, "a", 80),
        Refresh(95, "a", 95),
        Refresh(100, "c", 75),
    )
    lane = LaneSpec(tier="rules", faults=(fault,), validations=False).build()
    outcome = lane.judge(run)
    checks = {finding.check for finding in outcome.findings}
    assert Check.HISTORY in checks
    assert Check.EQUALITY not in checks
    observations = next(finding for finding in outcome.findings if finding.check is Check.HISTORY)
    assert phenomenon in observations.message
    assert "was derived in" in observations.message
    assert LaneSpec(tier="rules").build().judge(run).outcome is OutcomeClass.PASSED


def test_a_derivation_without_one_of_its_sources() -> None:
    both = select({"k": columns(R)["k"]}, named("r"))
    run = scenario()
    joined = replace(run, definitions=(*run.definitions[:2], DynamicTable("c", union_all(both, COPY_OF_S))))
    (anomaly,) = observed(joined, "derivation-edge-missing").anomalies
    assert anomaly.message == "c derives from versions of r; due: r, s"
    assert observed(joined).anomalies == ()


def test_a_write_that_was_not_recorded() -> None:
    (anomaly,) = observed(scenario(), "recorder-first-row-only").anomalies
    assert anomaly.message == "the refresh of b at 30 used version 1 of s, which nothing recorded made"


def test_a_run_without_commits() -> None:
    bare = scenario(Read(50, 1, ("a",)))
    empty = replace(bare, steps=bare.steps[1:])
    assert observed(empty).anomalies == ()
