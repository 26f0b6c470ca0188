"""The progress of a command that goes through a list."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

import pytest
from rich.console import Console
from rich.progress import Progress

from campaign.cli import progress
from campaign.cli.progress import steps_of, waiting


def test_outputs_that_are_no_terminal_get_a_line_for_each_step(capsys: pytest.CaptureFixture[str]) -> None:
    with steps_of("auditing", quiet=False) as step:
        step("orders", 2)
        step("revenue", 1)
    assert capsys.readouterr().err == "orders (2 left)\nrevenue (1 left)\n"


def test_nothing_where_it_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    with steps_of("auditing", quiet=True) as step:
        step("orders", 2)
    assert capsys.readouterr().err == ""


def terminal() -> Console:
    return Console(stderr=True, force_terminal=True, width=100)


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "terminal", terminal)
    with steps_of("auditing", quiet=False) as step:
        step("orders", 2)
        step("revenue", 1)
    shown = capsys.readouterr().err
    assert "auditing" in shown
    assert "revenue" in shown


@pytest.mark.parametrize(("first", "shows"), [(0.0, True), (60.0, False)])
def test_a_terminal_is_told_what_takes_long(
    first: float, shows: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "terminal", terminal)
    monkeypatch.setattr(progress, "FIRST_LINE_S", first)
    started = Event()
    monkeypatch.setattr(Progress, "start", _then(Progress.start, started))
    with waiting("judging [a].edn"):
        if shows:
            assert started.wait(30)
    assert ("judging [a].edn" in capsys.readouterr().err) is shows


def test_other_outputs_are_not(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "FIRST_LINE_S", 0.0)
    with waiting("judging"):
        pass
    assert capsys.readouterr().err == ""


def _then(start: Callable[[Progress], None], done: Event) -> Callable[[Progress], None]:
    def started(bar: Progress) -> None:
        start(bar)
        done.set()

    return started
