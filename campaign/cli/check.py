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
from campaign.files import write_text
from dvs_model.analysis import STEPS
from dvs_model.check import Checked, check
from dvs_model.definitions import ALIASES
from dvs_model.formats.reader import Item, Refused
from dvs_model.formats.registry import FORMATS, recognised
from dvs_model.names import Level
from dvs_model.reading import Derivations, DerivedWrites, Predicates, Reading
from reports.history.account import Word, accounts, as_object, because, overall
from reports.history.page import SHOWN, history_page
from reports.history.sarif import Result, results, sarif
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
    """What was found so far, as far as a report that was asked for needs it.

    `shown`: the first histories, told at length on the page; `rest`: name and verdict of the others.
    """

    asked: Sequence[Level]
    html: Path | None
    sarif: Path | None
    junit: Path | None
    counts: dict[Word, int] = field(default_factory=lambda: dict.fromkeys(Word, 0))
    refused: list[str] = field(default_factory=list)
    shown: list[Checked] = field(default_factory=list)
    rest: list[tuple[str, Word]] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)

    def add(self, file: str, line: int, checked: Checked) -> None:
        """One more."""
        verdict = overall(checked, self.asked)
        self.counts[verdict] += 1
        if self.html is not None and len(self.shown) < SHOWN:
            self.shown.append(checked)
        elif self.html is not None:
            self.rest.append((checked.original.name, verdict))
        if self.sarif is not None:
            self.results.extend(results(file, line, checked, self.asked))
        if self.junit is not None:
            self.cases.append(case(checked, self.asked))

    def write(self) -> None:
        """The report files that were asked for."""
        if self.html is not None:
            page = history_page(self.shown, self.rest, self.counts, self.asked, self.refused)
            write_text(self.html, page)
        if self.sarif is not None:
            write_text(self.sarif, sarif(self.results, self.asked))
        if self.junit is not None:
            unread = [Case("input", 0.0, CaseVerdict.ERROR, line) for line in self.refused]
            write_text(self.junit, junit_xml([Suite("dvs check", (*self.cases, *unread))]))

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
    verdicts = Verdicts(asked or (Level.PL_3,), html, sarif_out, junit)
    for source, item in histories(files, format_):
        if isinstance(item, Refused):
            where = "" if item.error.line is None else f":{item.error.line}:{item.error.column}"
            message = f"{source}{where}: {item.error.fact}"
            verdicts.refused.append(message)
            click.echo(f"error: {message}", err=True)
            continue
        checked = check(item.history, reading, steps=steps)
        told = sum(verdicts.counts.values())
        verdicts.add(source, item.line, checked)
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
    verdicts.write()
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
