"""`dvs soak`: a busy account for hours of simulated time, everything at random, judged at every look."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable
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
@click.option(
    "--hours",
    type=click.FloatRange(0.02),
    default=8.0,
    show_default=True,
    help="Simulated hours of each account.",
)
@click.option("--tables", type=click.IntRange(1), default=12, show_default=True, help="Dynamic tables.")
@click.option("--runs", type=click.IntRange(1), default=1, show_default=True, help="Accounts, one by one.")
@options.seed
@click.option("--fault", type=click.Choice(FAULT_NAMES), help="Plant this mistake, which must be found.")
@options.as_json
def command(hours: float, tables: int, runs: int, seed: int, fault: str | None, as_json: bool) -> ExitCode:
    """Writers, lags, skips, failing data, suspensions, groups, replaced definitions, processes that pause.

    The engine's own scheduler, process and refreshes run in memory. After every look of the process each
    refreshed table is compared with its query at its data timestamp, evaluated by DuckDB from the plan alone,
    and each data timestamp with what is due by hand. Exit status 0: all right; 1: something is wrong; 3:
    nothing was refreshed, so nothing is shown.
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
    if any(each.wrong for each in done):
        return ExitCode.FAILED
    # Where nothing was refreshed, nothing was shown.
    return ExitCode.OK if any(each.refreshes for each in done) else ExitCode.UNKNOWN


def document(done: list[Soaked], seconds: float) -> dict[str, object]:
    """The results as JSON data."""
    return {
        "seconds": round(seconds, 1),
        "accounts": len(done),
        "looks": sum(each.looks for each in done),
        "refreshes": sum(each.refreshes for each in done),
        "failed_refreshes": sum(each.failures for each in done),
        "actions": summed(each.actions for each in done),
        "events": summed(each.events for each in done),
        "wrong": [
            {"seed": each.plan.seed, "at": wrong.at, "table": wrong.table, "message": wrong.message}
            for each in done
            for wrong in each.wrong
        ],
    }


def summed(counts: Iterable[Counter[str]]) -> Counter[str]:
    """The sum of some counts, by name."""
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return Counter(dict(sorted(total.items())))


def text(done: list[Soaked], hours: float, tables: int, seconds: float) -> str:
    """The results for a terminal."""
    events = ", ".join(f"{n} {name.lower()}" for name, n in summed(each.events for each in done).items())
    actions = ", ".join(f"{n} {name}" for name, n in summed(each.actions for each in done).items())
    refreshes, failed = sum(each.refreshes for each in done), sum(each.failures for each in done)
    wrong = [
        f"  WRONG at seed {each.plan.seed}, {one.at / 1e6:.0f} s: {one.table} {one.message}"
        for each in done
        for one in each.wrong
    ]
    return "\n".join(
        [
            f"{len(done)} accounts, {tables} tables and {hours:g} simulated hours each, {seconds:.0f} s",
            f"  refreshes: {refreshes} ({actions}); failed: {failed}",
            f"  what happened: {events}",
            *(wrong or ["  nothing wrong" if refreshes else "  nothing was refreshed, so nothing is shown"]),
        ]
    )
