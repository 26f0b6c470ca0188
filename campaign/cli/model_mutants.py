"""`dvs mutants --tier model`: are faults in the analysis of histories found?"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from campaign.exit_codes import ExitCode
from campaign.faults.histories import HISTORY_FAULTS
from campaign.files import write_text
from campaign.history_mutation import HistoryVerdict, hunt_histories, known_history_faults

MODEL = "model"
"""The tier without an engine: checkers of histories against the definitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """Options of the command. `budget` in seconds; `out`: a folder for the shrunk histories."""

    seed: int
    budget: float
    attempts: int
    out: Path | None
    as_json: bool


def hunt_model(names: tuple[str, ...], options: ModelOptions) -> ExitCode:
    """Hunts the faults and reports."""
    errors = Console(stderr=True)
    verdicts = hunt_histories(
        known_history_faults(names),
        seed=options.seed,
        budget=options.budget,
        attempts=options.attempts,
        progress=lambda verdict: errors.print(line(verdict), highlight=False, markup=False, soft_wrap=True),
    )
    for verdict in verdicts:
        if options.out is not None and verdict.kill is not None:
            write_text(options.out / f"{verdict.fault}.adya", verdict.kill.reproduction + "\n")
    if options.as_json:
        click.echo(json.dumps({"faults": [as_object(verdict) for verdict in verdicts]}))
    else:
        Console().print(as_table(verdicts))
    return ExitCode.OK if all(verdict.kill is not None for verdict in verdicts) else ExitCode.FAILED


def list_model() -> ExitCode:
    """One line a fault."""
    for fault in HISTORY_FAULTS.values():
        click.echo(f"{fault.name}: {fault.wrong}")
    return ExitCode.OK


def line(verdict: HistoryVerdict) -> str:
    """One line of progress."""
    work = f"({verdict.histories} histories, {verdict.seconds:.1f} s)"
    if verdict.kill is None:
        return f"survived {verdict.fault} {work}"
    return f"killed   {verdict.fault} by {verdict.kill.killer.value} {work}"


def as_object(verdict: HistoryVerdict) -> dict[str, object]:
    """A verdict as a JSON object."""
    kill = verdict.kill
    return {
        "fault": verdict.fault,
        "area": "histories",
        "verdict": "survived" if kill is None else "killed",
        "seconds": round(verdict.seconds, 2),
        "histories": verdict.histories,
        "killer": None if kill is None else kill.killer.value,
        "reproduction": None if kill is None else {"events": kill.events, "history": kill.reproduction},
    }


def as_table(verdicts: list[HistoryVerdict]) -> Table:
    """All verdicts with the score."""
    killed = sum(verdict.kill is not None for verdict in verdicts)
    table = Table(title=f"{killed} of {len(verdicts)} planted faults killed")
    for name in ("fault", "killer", "histories", "seconds", "reproduction"):
        number = name in ("histories", "seconds")
        table.add_column(name, justify="right" if number else "left", no_wrap=name == "fault")
    for verdict in verdicts:
        kill = verdict.kill
        killer = "[bold red]survived[/]" if kill is None else kill.killer.value
        reproduction = "" if kill is None else escape(kill.reproduction)
        table.add_row(verdict.fault, killer, str(verdict.histories), f"{verdict.seconds:.1f}", reproduction)
    return table
