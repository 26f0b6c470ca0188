"""`dvs record --workload views`: one run with materialized views, judged in three ways.

First with each refresh as reads and a write (derivations ignored), then as a derivation, and then with each
kind of reader alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from campaign.cli.progress import waiting
from campaign.cli.terminal import print_json
from campaign.errors import CampaignError
from campaign.exit_codes import ExitCode
from campaign.files import write_text
from dvs_model.checking.check import Checked, check
from dvs_model.checking.explain import LevelStatus, status
from dvs_model.graph.reading import Derivations, Reading
from dvs_model.notation import render
from dvs_model.theory.levels import BY_NAME
from dvs_model.theory.names import Level
from reports.history.text import history_text, strongest_text

if TYPE_CHECKING:
    from protocols.recording.clients import Load
    from protocols.recording.database import Promise
    from protocols.recording.views import Views


def record_views(
    url: str, isolation: str | None, run: Load, out: Path, names: tuple[str, ...], *, as_json: bool
) -> ExitCode:
    """Records a run, writes it in the notation and prints what holds.

    Exit status: whether the levels named, or what the database promises, hold when derivations are ignored.
    Raises CampaignError: the database has no materialized views, or the notation cannot be written.
    """
    from protocols.recording.derivations import history_of
    from protocols.recording.views import READERS

    if out.suffix != ".adya":
        raise CampaignError(f"{out}: derivations are written in the notation only; name a file FILE.adya")
    views, promise = _recorded(url, isolation, run)
    history = history_of(views)
    write_text(out, render(history) + "\n")
    unknown = [name for name in names if name not in BY_NAME]
    if unknown:
        raise CampaignError(f"{unknown[0]} is a level for clients; of views take one of {', '.join(BY_NAME)}")
    levels = [BY_NAME[name] for name in names or (promise.value[0],)]
    ignored = check(history, Reading(derivations=Derivations.IGNORE))
    honoured = check(history)
    of_readers = {
        kind: check(history_of(views, [kind], delayed=kind == "one view alone")) for kind in READERS
    }
    if as_json:
        print_json(_document(views, ignored, honoured, of_readers))
    else:
        click.echo(_headline(views, out))
        click.echo("\nDerivations ignored: what the database shows of itself (figure 1 of the paper)")
        click.echo(history_text(ignored, levels, explain=False))
        click.echo("\nDerivations honoured: what the application has seen (figure 2)")
        click.echo(history_text(honoured, [Level.PL_2_PLUS], explain=False))
        click.echo(f"\n{_table(views, of_readers)}")
    verdicts = {status(ignored.levels[level]) for level in levels}
    if LevelStatus.VIOLATED in verdicts:
        return ExitCode.FAILED
    return ExitCode.UNKNOWN if LevelStatus.UNKNOWN in verdicts or views.interrupted else ExitCode.OK


def _recorded(url: str, isolation: str | None, run: Load) -> tuple[Views, Promise]:
    """Records a run with views, and returns what the database promises as well. Raises CampaignError."""
    from campaign.protocols.beside import SYSTEMS, recorded_beside
    from campaign.protocols.databases import opened
    from protocols.recording.database import Promise, RecordingError

    try:
        if url in SYSTEMS:
            return recorded_beside(url, isolation, run), Promise.SNAPSHOT
        with opened(url, isolation) as database:
            from protocols.recording.postgres import PostgresServer
            from protocols.recording.views import recorded_views

            if not isinstance(database, PostgresServer):
                fact = f"{database.name} has no materialized views"
                raise CampaignError(f"{fact}; --workload views is for PostgreSQL")
            with waiting("recording"):
                return recorded_views(database, run), database.levels[database.isolation]
    except RecordingError as error:
        raise CampaignError(str(error)) from error


def _headline(views: Views, out: Path) -> str:
    """Returns the counts of a run in a line."""
    committed = sum(each.committed for each in views.seen)
    refreshes = sum(each.refreshed is not None and each.committed for each in views.seen)
    refused = ", ".join(f"{name} {count}" for name, count in views.refused.items())
    return (
        f"recorded {committed:,} committed transactions, {refreshes:,} of them refreshes; "
        f"{sum(views.refused.values()):,} refused{f' ({refused})' if refused else ''}; {out}"
    )


def _table(views: Views, of_readers: Mapping[str, Checked]) -> str:
    """Returns a line for each kind of reader: the strongest levels that hold, and wrong totals it saw."""
    lines = ["Readers of               strongest levels that hold"]
    for kind, checked in of_readers.items():
        totals = [each.total for each in views.seen if each.kind == kind and each.total is not None]
        wrong = [total for total in totals if total != views.due]
        counted = f"{len(wrong)} of {len(totals)} counted other goods than {views.due}" if totals else ""
        example = f", such as {wrong[0]}" if wrong else ""
        start = " (at its data timestamp)" if kind == "one view alone" else ""
        lines.append(
            f"{kind:<24} {strongest_text(checked)}{start}{'; ' if counted else ''}{counted}{example}"
        )
    return "\n".join(lines)


def _document(
    views: Views, ignored: Checked, honoured: Checked, of_readers: Mapping[str, Checked]
) -> dict[str, object]:
    def verdicts(checked: Checked) -> dict[str, str]:
        return {level.value: status(verdict).value for level, verdict in checked.levels.items()}

    return {
        "committed": sum(each.committed for each in views.seen),
        "due": views.due,
        "ignored": verdicts(ignored),
        "honoured": verdicts(honoured),
        "readers": {kind: verdicts(checked) for kind, checked in of_readers.items()},
        "totals": {
            kind: [each.total for each in views.seen if each.kind == kind and each.total is not None]
            for kind in of_readers
        },
    }
