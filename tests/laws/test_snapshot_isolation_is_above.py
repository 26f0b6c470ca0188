"""PL-SI is above PL-MSR: what is snapshot isolation never violates monotonic snapshot reads."""

from __future__ import annotations

from dvs_model.checking.check import Holds, Violated, check
from dvs_model.notation import parse, render
from dvs_model.theory.names import Level
from generators.histories import SMALL, HistoryShape, history_at
from reference.histories import Reference
from tests.depth import examples

SERIAL = HistoryShape(
    transactions=(2, 4), operations=(1, 3), base=(1, 2), newest_percent=60, again_percent=20
)
FORBIDDEN = ("G1a", "G1b", "G1c", "G-SIa", "G-SIb")


def test_a_read_of_the_snapshot_after_another_commit_is_no_violation() -> None:
    levels = check(parse("s1 s2 w2(x2) c2 r1(x0) c1")).levels
    assert isinstance(levels[Level.PL_SI], Holds)
    assert isinstance(levels[Level.PL_MSR], Holds)


def test_a_snapshot_that_is_newer_by_what_was_read_is_kept() -> None:
    """T1 has read from T3, which began after T2 had committed, so T1's snapshot has T2 as well."""
    levels = check(parse("s1 s2 w2(x2) c2 s3 w3(y3) c3 r1(y3) r1(x0) c1")).levels
    assert isinstance(levels[Level.PL_MSR], Violated)
    other_order = check(parse("s1 s2 w2(x2) c2 s3 w3(y3) c3 r1(x0) r1(y3) c1")).levels
    assert isinstance(other_order[Level.PL_MSR], Holds)


def test_no_random_history_is_snapshot_isolation_and_violates_monotonic_snapshot_reads() -> None:
    met = 0
    for shape in (SMALL, SERIAL):
        for index in range(examples(1500)):
            history = history_at(3, shape, index)
            if history.precedes:
                # PL-SI is judged by these, PL-MSR by the text.
                continue
            verdicts = Reference(history).verdicts()
            if any(verdicts[name] is not False for name in FORBIDDEN):
                continue
            met += 1
            level = check(history).levels[Level.PL_MSR]
            assert not isinstance(level, Violated), render(history)
    assert met > 100
