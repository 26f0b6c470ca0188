"""Every planted fault says what it does wrong: `dvs mutants --list` shows the sentence."""

from __future__ import annotations

from campaign.faults import FAULTS


def test_every_fault_has_a_sentence() -> None:
    assert [fault.name for fault in FAULTS.values() if not fault.wrong.endswith(".")] == []
