"""The progress of a campaign on stderr: counts, speed, time left, failures."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from campaign.runs.tally import Tally

# rich and the tally are imported where they are used, so that commands that show no bar start sooner.

FIRST_LINE_S, LINE_EVERY_S = 2.0, 10.0
"""Seconds until progress is shown, and between lines, where stderr is no terminal."""


def terminal() -> Console | None:
    """Returns the terminal that stderr is; None: it is none."""
    if not sys.stderr.isatty():
        return None
    from rich.console import Console

    return Console(stderr=True)


def _bar(console: Console) -> Progress:
    """Returns a bar with the time that has passed and that is left, to be removed in the end."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[figures]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )


@contextmanager
def progress_of(
    scenarios: int | None, budget: float | None, quiet: bool
) -> Iterator[Callable[[Tally], None]]:
    """Yields the function to call with the counters after every scenario; it prints nothing where `quiet`.

    A terminal gets a bar with the time left; other outputs get a line after FIRST_LINE_S seconds, and then
    one every LINE_EVERY_S seconds.
    """
    start = time.monotonic()
    last = start + FIRST_LINE_S - LINE_EVERY_S
    # Dynamic tables of earlier sessions, which the first call reports; they do not count for the speed.
    before: int | None = None

    def figures(tally: Tally) -> str:
        from workload.outcomes.run_verdict import spoiled

        nonlocal before
        before = tally.definitions if before is None else before
        seconds = time.monotonic() - start
        rate = (tally.definitions - before) / seconds if seconds else 0.0
        return (
            f"{tally.scenarios} scenarios, {tally.definitions} dynamic tables ({rate:.1f}/s), "
            f"{tally.refreshes} refreshes, {tally.checks} checks, {spoiled(tally.outcomes)} failures"
        )

    def line(tally: Tally) -> None:
        nonlocal last
        text, now = figures(tally), time.monotonic()
        if now - last >= LINE_EVERY_S:
            last = now
            click.echo(f"  {text}", err=True)

    if quiet:
        yield lambda tally: None
    elif (console := terminal()) is None:
        yield line
    else:
        with _bar(console) as bar:
            task = bar.add_task("fuzzing", total=scenarios or budget, figures="starting")

            def update(tally: Tally) -> None:
                seconds = time.monotonic() - start
                done = tally.scenarios if scenarios else min(seconds, budget or seconds)
                bar.update(task, completed=done, figures=figures(tally))

            yield update


@contextmanager
def steps_of(what: str, *, quiet: bool) -> Iterator[Callable[[str, int], None]]:
    """Yields the function to call before each step, with its name and how many are left, that one included.

    A terminal gets a bar with the time left, other outputs a line for each step, `quiet` nothing.
    """
    console = None if quiet else terminal()
    if console is None:

        def line(name: str, left: int) -> None:
            if not quiet:
                click.echo(f"{name} ({left} left)", err=True)

        yield line
        return
    with _bar(console) as bar:
        task = bar.add_task(what, total=None, figures="")
        done = 0

        def step(name: str, left: int) -> None:
            nonlocal done
            bar.update(task, completed=done, total=done + left, figures=name)
            done += 1

        yield step


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Shows on a terminal, after FIRST_LINE_S seconds, what is being done and for how long; then removes it.

    Other outputs get nothing: what they hold must not depend on how long something took.
    """
    console = terminal()
    if console is None:
        yield
        return
    from rich.markup import escape
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    bar = Progress(*columns, console=console, transient=True, refresh_per_second=2)
    bar.add_task(escape(what), total=None)
    timer = Timer(FIRST_LINE_S, bar.start)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        # If it has just begun to show, it must have done so before it can be removed.
        timer.join()
        bar.stop()
