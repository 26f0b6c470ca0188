"""A run's progress on the terminal: count, rate, time left, failures."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from campaign.tally import Tally
from workload.results import OutcomeClass

LINE_EVERY = 10.0
"""Seconds between lines where there is no terminal to draw on."""


def failures(tally: Tally) -> int:
    """Scenarios that did not pass, declared gaps aside."""
    fine = tally.outcomes[OutcomeClass.PASSED.value] + tally.outcomes[OutcomeClass.UNSUPPORTED.value]
    return tally.scenarios - fine


@contextmanager
def progress_of(
    scenarios: int | None, budget: float | None, quiet: bool
) -> Iterator[Callable[[Tally], None]]:
    """A function to be told of every step; draws on stderr, so that stdout stays clean."""
    if quiet:
        yield lambda tally: None
    elif sys.stderr.isatty():
        yield from _drawn(scenarios, budget)
    else:
        yield from _lines(scenarios)


def _drawn(scenarios: int | None, budget: float | None) -> Iterator[Callable[[Tally], None]]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[figures]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    start = time.monotonic()
    before: list[int] = []
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("fuzzing", total=scenarios or budget, figures="starting")

        def update(tally: Tally) -> None:
            seconds = time.monotonic() - start
            done = tally.scenarios if scenarios else min(seconds, budget or seconds)
            before[:] = before or [tally.definitions]
            bar.update(task, completed=done, figures=_figures(tally, seconds, before[0]))

        yield update


def _lines(scenarios: int | None) -> Iterator[Callable[[Tally], None]]:
    start = last = time.monotonic()
    before: list[int] = []

    def update(tally: Tally) -> None:
        nonlocal last
        before[:] = before or [tally.definitions]
        now = time.monotonic()
        if now - last >= LINE_EVERY:
            last = now
            click.echo(f"  {_figures(tally, now - start, before[0])}", err=True)

    yield update


def _figures(tally: Tally, seconds: float, before: int) -> str:
    """`before`: dynamic tables of an earlier session, which say nothing about the speed of this one."""
    rate = (tally.definitions - before) / seconds if seconds else 0.0
    return (
        f"{tally.scenarios} scenarios, {tally.definitions} dynamic tables ({rate:.1f}/s), "
        f"{tally.refreshes} refreshes, {tally.checks} checks, {failures(tally)} failures"
    )
