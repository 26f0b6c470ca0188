"""`dvs soak`: a busy account for hours of simulated time, everything at random, judged at every look."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import TYPE_CHECKING

import click

from campaign.cli import options
from campaign.exit_codes import ExitCode

if TYPE_CHECKING:
    from campaign.soak.run import Soaked

FAULT_NAMES = (
    "misaligned-period",
    "skipped-interval-lost",
    "resume-from-now",
    "diamond-arm-stale",
    "group-without-shared-snapshot",
)


@click.command()
@click.option("--hours", type=float, default=8.0, show_default=True, help="Simulated hours of each account.")
@click.option("--tables", type=click.IntRange(1), default=12, show_default=True, help="Dynamic tables.")
@click.option("--runs", type=click.IntRange(1), default=1, show_default=True, help="Accounts, one by one.")
@options.seed
@click.option("--fault", type=click.Choice(FAULT_NAMES), help="Plant this mistake, which must be found.")
@options.as_json
def command(hours: float, tables: int, runs: int, seed: int, fault: str | None, as_json: bool) -> ExitCode:
    """Writers, lags, skips, failing data, suspensions, groups, replaced definitions, processes that pause.

    The engine's own scheduler, process and refreshes run in memory. After every look of the process each
    refreshed table is compared with its query at its data timestamp, evaluated by DuckDB from the plan alone,
    and each data timestamp with what is due by hand. Exit status 0: all right; 1: something is wrong.
    """
    # Imported here, so that `dvs soak --help` loads neither the engine nor DuckDB.
    from campaign.soak.faults import FAULTS
    from campaign.soak.plan import plan_of
    from campaign.soak.run import soak

    planted = next((each for each in FAULTS if each.name == fault), None)
    start = time.perf_counter()
    done: list[Soaked] = []
    for number in range(runs):
        done.append(soak(plan_of(seed + number, hours, tables), planted))
        if not as_json:
            click.echo(f"account {number + 1} of {runs}: {done[-1].refreshes} refreshes", err=True)
        if done[-1].wrong:
            break
    seconds = time.perf_counter() - start
    click.echo(json.dumps(document(done, seconds)) if as_json else text(done, hours, tables, seconds))
    return ExitCode.FAILED if any(each.wrong for each in done) else ExitCode.OK


def document(done: list[Soaked], seconds: float) -> dict[str, object]:
    """The results as JSON data."""
    return {
        "seconds": round(seconds, 1),
        "accounts": len(done),
        "looks": sum(each.looks for each in done),
        "refreshes": sum(each.refreshes for each in done),
        "failed_refreshes": sum(each.failures for each in done),
        "actions": sum((each.actions for each in done), Counter()),
        "events": sum((each.events for each in done), Counter()),
        "wrong": [
            {"seed": each.plan.seed, "at": wrong.at, "table": wrong.table, "message": wrong.message}
            for each in done
            for wrong in each.wrong
        ],
    }


def text(done: list[Soaked], hours: float, tables: int, seconds: float) -> str:
    """The results for a terminal."""
    found = document(done, seconds)
    events = ", ".join(f"{count} {name.lower()}" for name, count in sorted(dict(found["events"]).items()))  # type: ignore[call-overload]
    actions = ", ".join(f"{count} {name}" for name, count in sorted(dict(found["actions"]).items()))  # type: ignore[call-overload]
    lines = [
        f"{len(done)} accounts, {tables} dynamic tables and {hours:g} simulated hours each, {seconds:.0f} s",
        f"  refreshes: {found['refreshes']} ({actions}); failed: {found['failed_refreshes']}",
        f"  what happened: {events}",
    ]
    for each in done:
        lines += [
            f"  WRONG at seed {each.plan.seed}, {wrong.at / 1e6:.0f} s: {wrong.table} {wrong.message}"
            for wrong in each.wrong
        ]
    return "\n".join([*lines, "" if any(each.wrong for each in done) else "  nothing wrong"]).rstrip()
