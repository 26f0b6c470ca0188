"""A run on the terminal: the summary table, the failures by cause, where the report is."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from reports.findings import group_text, replay_command
from workload.results import RunSummary


def print_summary(summary: RunSummary, out: Path) -> None:
    """The summary table, the failures, and where the report is."""
    console = Console()
    table = Table(title=f"{summary.tier}, profile {summary.profile}, seed {summary.seed}", show_header=False)
    rate = summary.definitions / summary.seconds if summary.seconds else 0.0
    table.add_row("scenarios", str(summary.scenarios))
    table.add_row("dynamic tables", f"{summary.definitions} ({rate:.1f} per second)")
    table.add_row("refreshes", str(summary.refreshes))
    table.add_row("checks", str(summary.checks))
    if summary.judgements > summary.refreshes:
        each = summary.judgements / summary.seconds
        table.add_row("judgements", f"{summary.judgements} ({each:.0f} per second)")
    if summary.left_out:
        table.add_row("not checked", "\n".join(summary.left_out))
    for name, count in summary.outcomes.items():
        if count or name == "passed":
            table.add_row(
                name.replace("_", " "), str(count), style="green" if name == "passed" else "bold red"
            )
    table.add_row(
        "floors", "met" if summary.coverage.floors_met else f"{len(summary.coverage.unmet)} not met"
    )
    table.add_row("seconds", f"{summary.seconds:.1f}")
    console.print(table)
    if summary.interrupted:
        console.print("interrupted: this is what had been judged by then; --resume goes on", highlight=False)
    for name, (reached, wanted) in summary.coverage.unmet.items():
        console.print(f"floor not met: {name}: {reached} of {wanted}", highlight=False)
    print_groups(summary, console)
    console.print(f"report: {out / 'report.html'}", highlight=False, soft_wrap=True)


def print_groups(summary: RunSummary, console: Console) -> None:
    """The failures by cause, each with the command that shows one of them."""
    kept = {failure.index: failure for failure in summary.failures}

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    for number, group in enumerate(summary.groups, 1):
        failure = kept[group.representative]
        say(f"group {number}: {group_text(group)}")
        say(f"  {failure.outcome.reason}")
        say(f"  {replay_command(failure.folder, failure.options)}")
    for note in summary.rule_notes:
        say(f"ignore rule {note}")
