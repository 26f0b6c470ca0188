"""`dvs check`: which isolation levels histories keep, and why not the others."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import click

from campaign.errors import CampaignError
from campaign.exit_codes import ExitCode
from campaign.folders import write_text
from dvs_model.analysis import STEPS
from dvs_model.check import Checked, check
from dvs_model.definitions import ALIASES
from dvs_model.formats.reader import Item, Refused
from dvs_model.formats.registry import FORMATS, recognised
from dvs_model.names import Level
from dvs_model.reading import Derivations, DerivedWrites, Predicates, Reading
from reports.history.account import Word, accounts, as_object, because, overall
from reports.history.page import history_page
from reports.history.sarif import sarif
from reports.history.text import headline, history_text, summary_line
from reports.junit import Case, CaseVerdict, Suite, junit_xml

IN_FULL = 20
"""Histories told at length in the terminal; of more only the verdict, a line each."""

CODES = {Word.HOLDS: ExitCode.OK, Word.VIOLATED: ExitCode.FAILED, Word.UNKNOWN: ExitCode.UNKNOWN}


class LevelName(click.ParamType[Level]):
    """A level, by its own name or one that people use."""

    name = "level"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Level:
        """The level; fails with the names there are."""
        if isinstance(value, Level):
            return value
        text = str(value)
        found = next((level for level in Level if level.value.lower() == text.lower()), None)
        found = found or ALIASES.get(text.lower())
        if found is None:
            known = ", ".join([*(level.value for level in Level), *ALIASES])
            self.fail(f"{text!r} is no level; known are {known}", param, ctx)
        return found


@dataclass(slots=True)
class Verdicts:
    """What was found so far. `kept`: histories that a report will show, with where they came from."""

    asked: Sequence[Level]
    keep: bool
    counts: dict[Word, int] = field(default_factory=lambda: dict.fromkeys(Word, 0))
    refused: list[str] = field(default_factory=list)
    kept: list[tuple[str, Checked]] = field(default_factory=list)

    def add(self, source: str, checked: Checked) -> None:
        """One more."""
        self.counts[overall(checked, self.asked)] += 1
        if self.keep:
            self.kept.append((source, checked))

    @property
    def code(self) -> ExitCode:
        """The exit status: misuse first, for what could not be read was not judged."""
        if self.refused or not sum(self.counts.values()):
            return ExitCode.MISUSE
        worst = next((w for w in (Word.VIOLATED, Word.UNKNOWN) if self.counts[w]), Word.HOLDS)
        return CODES[worst]


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True))
@click.option("--format", "format_", type=click.Choice([*FORMATS, "auto"]), default="auto", show_default=True)
@click.option(
    "--level", "asked", multiple=True, type=LevelName(), help="Ask for this level; may be repeated.  [PL-3]"
)
@click.option(
    "--derivations", type=click.Choice([d.value for d in Derivations]), default="honour", show_default=True
)
@click.option(
    "--predicates", type=click.Choice([p.value for p in Predicates]), default="icde", show_default=True
)
@click.option(
    "--derived-writes",
    type=click.Choice([d.value for d in DerivedWrites]),
    default="changed",
    show_default=True,
)
@click.option("--explain", is_flag=True, help="Show every phenomenon and level with its reason.")
@click.option("--html", type=click.Path(path_type=Path), help="Write a page with pictures.")
@click.option("--sarif", "sarif_out", type=click.Path(path_type=Path), help="Write SARIF.")
@click.option("--junit", type=click.Path(path_type=Path), help="Write JUnit XML.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per history, a line each.")
@click.option(
    "--steps", type=click.IntRange(1), default=STEPS, show_default=True, help="Budget of one history."
)
def command(
    files: tuple[Path, ...],
    format_: str,
    asked: tuple[Level, ...],
    derivations: str,
    predicates: str,
    derived_writes: str,
    explain: bool,
    html: Path | None,
    sarif_out: Path | None,
    junit: Path | None,
    as_json: bool,
    steps: int,
) -> ExitCode:
    """Tell which isolation levels transaction histories keep, derivations included.

    Exit status 0: all asked levels hold; 1: one is violated; 3: one is unknown; 2: something could not be
    read. A file of - is standard input.
    """
    reading = Reading(Derivations(derivations), Predicates(predicates), DerivedWrites(derived_writes))
    verdicts = Verdicts(asked or (Level.PL_3,), keep=any((html, sarif_out, junit)))
    for source, item in histories(files, format_):
        if isinstance(item, Refused):
            where = "" if item.error.line is None else f":{item.error.line}:{item.error.column}"
            message = f"{source}{where}: {item.error.fact}"
            verdicts.refused.append(message)
            click.echo(f"error: {message}", err=True)
            continue
        checked = check(item, reading, steps=steps)
        told = sum(verdicts.counts.values())
        verdicts.add(item.name if item.name.startswith(source) else source, checked)
        if as_json:
            click.echo(json.dumps(as_object(checked)))
        elif told < IN_FULL or explain:
            click.echo(
                ("\n" if told else "")
                + history_text(checked, verdicts.asked, minimised=True, explain=explain)
            )
        else:
            click.echo(headline(checked, verdicts.asked))
    total = sum(verdicts.counts.values()) + len(verdicts.refused)
    if not as_json and total > 1:
        click.echo("\n" + summary_line(verdicts.counts, len(verdicts.refused)))
    write_reports(verdicts, html, sarif_out, junit)
    return verdicts.code


def histories(files: Sequence[Path], format_: str) -> Iterator[tuple[str, Item]]:
    """The histories of all files, each with its file. Raises CampaignError: one cannot be opened."""
    for path in files:
        with opened(path) as file:
            found = recognised(path.name, file.peek(64)) if format_ == "auto" else FORMATS[format_]
            for item in found.read(file, "stdin" if str(path) == "-" else str(path)):
                yield "stdin" if str(path) == "-" else str(path), item


@contextmanager
def opened(path: Path) -> Iterator[io.BufferedReader]:
    """A file to read, or standard input."""
    if str(path) == "-":
        given = sys.stdin.buffer
        yield given if isinstance(given, io.BufferedReader) else io.BufferedReader(io.BytesIO(given.read()))
        return
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise CampaignError(f"cannot read {path}: {error.strerror or error}") from error


def write_reports(verdicts: Verdicts, html: Path | None, sarif_out: Path | None, junit: Path | None) -> None:
    """The report files that were asked for."""
    checked = [item for _, item in verdicts.kept]
    if html is not None:
        write_text(html, history_page(checked, verdicts.asked, verdicts.refused))
    if sarif_out is not None:
        write_text(sarif_out, sarif(verdicts.kept, verdicts.asked))
    if junit is not None:
        cases = [case(item, verdicts.asked) for item in checked]
        cases += [Case("input", 0.0, CaseVerdict.ERROR, line) for line in verdicts.refused]
        write_text(junit, junit_xml([Suite("dvs check", tuple(cases))]))


def case(checked: Checked, asked: Sequence[Level]) -> Case:
    """A history as a test case: a violated level fails it, an unknown one is an error."""
    verdict = overall(checked, asked)
    name = checked.original.name or "history"
    if verdict is Word.HOLDS:
        return Case(name, 0.0, CaseVerdict.PASSED)
    reasons = [
        f"{level.value}: {because(checked.levels[level])}"
        for level in asked
        if overall(checked, (level,)) is verdict
    ]
    details = "\n".join(
        f"{account.title}\n" + "\n".join(line.text for line in account.lines)
        for account in accounts(checked, minimised=False)
    )
    kind = CaseVerdict.FAILED if verdict is Word.VIOLATED else CaseVerdict.ERROR
    return Case(name, 0.0, kind, "; ".join(reasons), details)
