"""The progress of a command that goes through a list."""

from __future__ import annotations

import pytest
from rich.console import Console

from campaign.cli import progress
from campaign.cli.progress import steps_of


def test_outputs_that_are_no_terminal_get_a_line_for_each_step(capsys: pytest.CaptureFixture[str]) -> None:
    with steps_of("auditing", quiet=False) as step:
        step("orders", 2)
        step("revenue", 1)
    assert capsys.readouterr().err == "orders (2 left)\nrevenue (1 left)\n"


def test_nothing_where_it_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    with steps_of("auditing", quiet=True) as step:
        step("orders", 2)
    assert capsys.readouterr().err == ""


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def terminal(*, stderr: bool) -> Console:
        return Console(stderr=stderr, force_terminal=True, width=100)

    monkeypatch.setattr(progress, "Console", terminal)
    with steps_of("auditing", quiet=False) as step:
        step("orders", 2)
        step("revenue", 1)
    shown = capsys.readouterr().err
    assert "auditing" in shown
    assert "revenue" in shown
