"""The result of `dvs fuzz` on the terminal: the summary table and the failures by cause."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
from rich.text import Text

from campaign.cli.terminal import print_table
from reports.findings import group_text, replay_command
from workload.results import RunSummary
from workload.run_verdict import amplified_percent


def print_summary(summary: RunSummary, out: Path) -> None:
    """Prints the summary of a run, the failures by cause, and the path of the report in folder `out`."""
    title = f"{summary.tier}, profile {summary.profile}, seed {summary.seed}"
    print_table(title, (), _figures(summary))
    if summary.interrupted:
        click.echo("interrupted: these are the scenarios judged by then; continue with --resume")
    for name, floor in summary.coverage.unmet.items():
        click.echo(f"floor not met: {name}: {floor.reached} of {floor.wanted}")
    failures = {failure.index: failure for failure in summary.failures}
    for number, group in enumerate(summary.groups, 1):
        failure = failures[group.representative]
        click.echo(f"group {number}: {group_text(group)}")
        click.echo(f"  {failure.outcome.reason}")
        click.echo(f"  {replay_command(failure.folder, failure.options)}")
    for note in summary.rule_notes:
        click.echo(f"ignore rule {note}")
    click.echo(f"report: {out / 'report.html'}")


def _figures(summary: RunSummary) -> Iterator[tuple[str, str | Text]]:
    def per_second(count: int) -> float:
        return count / summary.seconds if summary.seconds else 0.0

    too_few = summary.scenarios < summary.wanted
    wanted = f" of {summary.wanted}, time over" if too_few else ""
    yield "scenarios", f"{summary.scenarios}{wanted}"
    yield "dynamic tables", f"{summary.definitions} ({per_second(summary.definitions):.1f} per second)"
    yield "refreshes", str(summary.refreshes)
    yield "checks", str(summary.checks)
    if summary.judgements > summary.refreshes:
        yield "judgements", f"{summary.judgements} ({per_second(summary.judgements):.0f} per second)"
    if summary.changes:
        yield "changed rows", f"{summary.changes} ({amplified_percent(summary):.0f} % without effect)"
    if summary.not_checked:
        yield "not checked", "\n".join(summary.not_checked)
    for name, count in summary.outcomes.items():
        if name == "passed":
            yield name, Text(str(count), "green")
        elif count:
            yield name.replace("_", " "), Text(str(count), "bold red")
    unmet, idle = len(summary.coverage.unmet), len(summary.coverage.too_small)
    longer = f"; {idle} apply to longer runs only" if idle else ""
    yield "floors", (f"{unmet} not met" if unmet else "met") + longer
    yield "seconds", f"{summary.seconds:.1f}"
