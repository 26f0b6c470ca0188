"""Bugs of checkers, planted in ours: the comparison with the definitions sees each, in a few events."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from campaign.faults.histories import HISTORY_FAULTS, HistoryFault
from dvs_model.check import Checked, check
from dvs_model.history import History
from dvs_model.minimise import reductions
from dvs_model.notation import parse, render
from dvs_model.verdict import Absent, Present, Unknown
from generators.histories import SMALL, HistoryShape, history_at
from tests.truth.history_reference import Reference

VALUES = {Present: True, Absent: False, Unknown: None}
ATTEMPTS = 1500
AGAIN = HistoryShape(again_percent=35, operations=(2, 5), base=(1, 2))
EVENTS = 11
"""The longest of the shrunk reproductions."""


def disagrees(history: History, checker: Callable[[History], Checked]) -> bool:
    found = {ph.value: VALUES[type(finding)] for ph, finding in checker(history).phenomena.items()}
    return found != Reference(history).verdicts()


def shrunk(history: History, fails: Callable[[History], bool]) -> History:
    progress = True
    while progress:
        progress = False
        for smaller in reductions(history):
            if fails(smaller):
                history, progress = smaller, True
                break
    return history


@pytest.mark.parametrize("fault", HISTORY_FAULTS.values(), ids=HISTORY_FAULTS)
def test_a_fault_is_killed_and_its_history_shrunk(fault: HistoryFault) -> None:
    histories = (history_at(1, (SMALL, AGAIN)[index % 2], index) for index in range(ATTEMPTS))
    killer = next((history for history in histories if disagrees(history, fault.check)), None)
    assert killer is not None, f"{fault.name} survives {ATTEMPTS} histories"
    small = shrunk(killer, lambda history: disagrees(history, fault.check))
    again = parse(render(small))
    assert disagrees(again, fault.check)
    assert not disagrees(again, check)
    assert len(again.shown_events()) <= EVENTS, render(small)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("derivation-edges-missing", "w1(x1) d3(v3 | x1) c3 w2(y2) d4(u4 | y2) c4 r1(u4) r2(v3) c1 c2"),
        ("derivation-edges-missing", "w1(x1) c1 d3(y3 | x1) c3 w2(x2) c2 r5(x2) r5(y3) c5 [x1 << x2]"),
        ("version-order-by-events", "w1(x1) w2(x2) w2(y2) c2 w1(y1) c1 [x1 << x2, y2 << y1]"),
        ("version-order-by-events", "r1(x0) w1(x1) w2(x2) c2 c1 [x0 << x1 << x2]"),
        ("predicate-read-vacuous", "r1(P: y_init;) w2(y2) w2(z2) c2 r1(z2) c1 [P matches y2]"),
        ("aborted-read-ignored", "w1(x1) r2(x1) a1 c2"),
        ("aborted-read-direct-only", "w1(x1) d3(y3 | x1) c3 r4(y3) a1 c4"),
        ("aborted-refresh-ignored", "w1(x1) c1 d3(y3 | x1) r4(y3) a3 c4"),
    ],
)
def test_the_trigger_of_the_list_of_faults(name: str, text: str) -> None:
    history = parse(text)
    assert disagrees(history, HISTORY_FAULTS[name].check)
    assert not disagrees(history, check)
