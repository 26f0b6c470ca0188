"""`dvs soak`: a busy account for hours of simulated time, everything at random, judged at every look."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from campaign.cli import options
from campaign.cli.terminal import print_json
from campaign.errors import CampaignError
from campaign.exit_codes import EXIT_CODES, ExitCode
from reports.documents import SoakDocument
from reports.figures import plural

if TYPE_CHECKING:
    from campaign.soak.result import Scheduler, Soaked
    from campaign.soak.shrunk import ShrunkPlan

FAULT_NAMES = (
    "misaligned-period",
    "skipped-interval-lost",
    "resume-from-now",
    "diamond-arm-stale",
    "group-without-shared-snapshot",
)
"""The names of `campaign.soak.faults.FAULTS`, which is not imported here, so that `--help` is fast."""


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
@click.option(
    "--attempts",
    type=click.IntRange(0),
    default=400,
    show_default=True,
    help="How many smaller accounts may run to show what is wrong; 0 for none.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path(".dvs/soak.json"),
    show_default=True,
    help="Where an account that shows what is wrong is written.",
)
@click.option(
    "--replay",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Run the account of a file.",
)
@options.as_json
def command(
    hours: float,
    tables: int,
    runs: int,
    seed: int,
    fault: str | None,
    attempts: int,
    out: Path,
    replay: Path | None,
    as_json: bool,
) -> ExitCode:
    """Writers, lags, skips, failing data, suspensions, groups, replaced definitions, processes that pause.

    The engine's own scheduler, process and refreshes run in memory. After every look of the process each
    refreshed table is compared with its query at its data timestamp, evaluated by DuckDB from the plan alone,
    and each data timestamp with what is due by hand. An account in which something is wrong is made smaller,
    as long as the same is wrong. Exit status 0: all right; 1: something is wrong; 3: a floor is not met, so
    not everything is shown.
    """
    # Imported here, so that `dvs soak --help` loads neither the engine nor DuckDB.
    from campaign.soak.faults import FAULTS
    from campaign.soak.file import plan_to_json, read_plan
    from campaign.soak.floors import decision_of, not_shown
    from campaign.soak.plan import plan_of
    from campaign.soak.result import SOUND
    from campaign.soak.run import soak

    if not math.isfinite(hours):
        raise CampaignError(f"--hours {hours:g}: write a number of hours, such as 8")
    scheduler = FAULTS[fault].model if fault else SOUND
    start = time.perf_counter()
    count = 1 if replay else runs
    done: list[Soaked] = []
    while len(done) < count and not any(each.wrong for each in done):
        plan = plan_of(seed + len(done), hours, tables) if replay is None else read_plan(replay)
        done.append(soak(plan, scheduler))
        if not as_json:
            click.echo(f"account {len(done)} of {count}: {done[-1].refreshes} refreshes", err=True)
    seconds, file = time.perf_counter() - start, out if replay is None else replay
    smallest = smaller(done[-1], scheduler, 0 if replay else attempts) if done[-1].wrong else None
    lacking = not_shown(done, floors=replay is None)
    if as_json:
        print_json(document(done, seconds, smallest, lacking))
    else:
        click.echo(text(done, seconds, lacking))
        if smallest:
            again = f"  dvs soak --replay {file}" + (f" --fault {fault}" if fault else "")
            click.echo("\n".join([*shown(smallest), again]))
    if smallest and replay is None:
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text(plan_to_json(smallest.plan), encoding="utf-8")
        except OSError as error:
            click.echo(f"error: {out} cannot be written: {error.strerror}", err=True)
    return EXIT_CODES[decision_of(done, lacking)]


def smaller(soaked: Soaked, scheduler: Scheduler, attempts: int) -> ShrunkPlan:
    """Returns the smallest account found with the first mistake of `soaked`; its own without attempts."""
    from campaign.soak.shrunk import shrink

    if attempts:
        click.echo(f"making the account smaller, {attempts} runs at most ...", err=True)
    return shrink(soaked.plan, soaked.wrong[0], scheduler, attempts=attempts)


def document(
    done: list[Soaked], seconds: float, smallest: ShrunkPlan | None, lacking: list[str]
) -> SoakDocument:
    """Returns the results as JSON data."""
    return {
        "seconds": round(seconds, 1),
        "accounts": len(done),
        "looks": sum(each.looks for each in done),
        "refreshes": sum(each.refreshes for each in done),
        "failed_refreshes": sum(each.failures for each in done),
        "actions": summed(each.actions for each in done),
        "events": summed(each.events for each in done),
        "states": summed(each.states for each in done),
        "floors_unmet": lacking,
        "wrong": [
            {
                "seed": each.plan.seed,
                "at": wrong.at,
                "table": wrong.table,
                "check": wrong.check.value,
                "message": wrong.message,
            }
            for each in done
            for wrong in each.wrong
        ],
        "smallest": None if smallest is None else shown(smallest),
    }


def summed(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    """Returns the sums of some counts, by name."""
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return Counter(dict(sorted(total.items())))


def text(done: list[Soaked], seconds: float, lacking: list[str]) -> str:
    """Returns the results for a terminal."""
    events, actions, states = (
        ", ".join(f"{n} {name}" for name, n in summed(counts).items())
        for counts in (
            ({k.lower(): n for k, n in each.events.items()} for each in done),
            (each.actions for each in done),
            (each.states for each in done),
        )
    )
    refreshes, failed = sum(each.refreshes for each in done), sum(each.failures for each in done)
    wrong = [
        f"  WRONG at seed {each.plan.seed}, {one.at / 1e6:.0f} s: {one.table} {one.message}"
        for each in done
        for one in each.wrong
    ]
    verdict = f"  not shown: {', '.join(lacking)}" if lacking else "  nothing wrong"
    hours = len(done[0].plan.ticks) * 48 / 3600
    size = f"{plural(len(done), 'account')} of {plural(len(done[0].plan.tables), 'table')}"
    return "\n".join(
        [
            f"{size} and {hours:.2g} simulated hours, {seconds:.0f} s",
            f"  refreshes: {refreshes} ({actions}); failed: {failed}",
            f"  what happened: {events}",
            *([f"  looks that met: {states}"] if states else []),
            *(wrong or [verdict]),
        ]
    )


def shown(smallest: ShrunkPlan) -> list[str]:
    """Returns the smallest account that shows what is wrong, as lines of text."""
    from campaign.soak.timeline import timeline

    tables, events = len(smallest.plan.tables), sum(map(len, smallest.plan.ticks))
    rest = "" if smallest.complete else "; more --attempts may make it smaller"
    found = f"smallest account, after {plural(smallest.attempts, 'run')}{rest}"
    return [
        f"{found if smallest.attempts else 'account'}: {plural(tables, 'table')}, {plural(events, 'event')}",
        *(f"  {line}" for line in timeline(smallest.plan)),
        f"  at {smallest.wrong.at / 1e6:.0f} s: {smallest.wrong.table} {smallest.wrong.message}",
    ]
