"""`dvs check`: the isolation levels that histories keep, and why they violate others."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import click

from campaign.cli.histories import options
from campaign.cli.histories.smallest import ensure_suffix, write_smallest
from campaign.cli.progress import waiting
from campaign.cli.terminal import print_json
from campaign.errors import CampaignError
from campaign.exit_codes import ExitCode
from campaign.files import write_text
from campaign.machine import memory_of_machine
from dvs_model.analysis.analysis import STEPS
from dvs_model.checking.check import Checked
from dvs_model.checking.explain import LevelStatus, explanations, overall, requested_with, worst
from dvs_model.clients.answers import SEARCH_STEPS
from dvs_model.clients.variants import VARIANTS
from dvs_model.errors import HistoryError
from dvs_model.formats.elle import WORKLOADS
from dvs_model.formats.reader import Item, Parsed, Refused, Viewed
from dvs_model.formats.written.registry import SUFFIXES
from dvs_model.graph.reading import Derivations, DerivedWrites, Predicates
from dvs_model.judging.files import histories
from dvs_model.judging.options import CheckOptions
from dvs_model.observed.seen import Assumption, RealTime
from dvs_model.theory.levels import BY_NAME
from dvs_model.theory.names import Level, Phenomenon
from reports.history.json_object import as_object
from reports.history.sarif import results_of, sarif
from reports.history.text import history_text, short_text, summary_line
from reports.junit import Case, CaseVerdict, Suite, junit_xml
from reports.sarif import SarifResult

HISTORIES_IN_FULL = 20
"""Histories explained at length in the terminal; each further one gets a line with its verdict."""

COLLECT_EVERY = 1000
"""Histories between two collections of garbage (`without_collection`)."""

MANY_OBJECTS = 200_000
"""Objects of a history so large that the end of the process shall free them, not Python's collector."""

HISTORIES_DRAWN = 40
"""Histories drawn on one page; the others are in its table only."""

LAST_JUDGED: list[object] = []
"""The history that was judged last, kept to the end: to free ten million objects takes Python seconds."""

CODES = {
    LevelStatus.HOLDS: ExitCode.OK,
    LevelStatus.VIOLATED: ExitCode.FAILED,
    LevelStatus.UNKNOWN: ExitCode.UNKNOWN,
}


@dataclass(slots=True)
class Reports:
    """What the report files need of the histories judged so far. A file that is not wanted is None.

    `drawn`: the first histories, which the page shows at length; `others`: name and status of the rest.
    """

    requested: Sequence[Level]
    clients: Sequence[str]
    html: Path | None
    sarif: Path | None
    junit: Path | None
    counts: dict[LevelStatus, int] = field(default_factory=lambda: dict.fromkeys(LevelStatus, 0))
    refused: list[str] = field(default_factory=list)
    drawn: list[Checked] = field(default_factory=list)
    others: list[tuple[str, LevelStatus]] = field(default_factory=list)
    results: list[SarifResult] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)

    def add(self, file: str, line: int, checked: Checked, seconds: float) -> None:
        """Adds a history that begins at a line of a file, and how long it took."""
        verdict = overall(checked, self.requested)
        self.counts[verdict] += 1
        if self.html is not None and len(self.drawn) < HISTORIES_DRAWN:
            self.drawn.append(checked)
        elif self.html is not None:
            self.others.append((checked.original.name, verdict))
        if self.sarif is not None:
            self.results.extend(results_of(_relative(file), line, checked, self.requested))
        if self.junit is not None:
            self.cases.append(case(checked, self.requested, seconds))

    def write(self) -> None:
        """Writes the wanted files."""
        if self.html is not None:
            # To load jinja2 takes as long as to judge a small history.
            from reports.history.page import history_page

            page = history_page(self.drawn, self.others, self.counts, self.requested, self.refused)
            write_text(self.html, page)
        if self.sarif is not None:
            write_text(self.sarif, sarif(self.results, self.requested, self.clients))
        if self.junit is not None:
            unread = [Case("input", 0.0, CaseVerdict.ERROR, line) for line in self.refused]
            write_text(self.junit, junit_xml([Suite("dvs check", (*self.cases, *unread))]))

    @property
    def code(self) -> ExitCode:
        """The exit status. Input that could not be read comes first, because it was not judged."""
        if self.refused or not sum(self.counts.values()):
            return ExitCode.MISUSE
        return CODES[worst([verdict for verdict in LevelStatus if self.counts[verdict]])]


def reading_option(name: str, choices: type[Enum]) -> Callable[[click.decorators.FC], click.decorators.FC]:
    """Returns a click option over the values of an enum; the first value is the default."""
    values = [choice.value for choice in choices]
    return click.option(name, type=click.Choice(values), default=values[0], show_default=True)


@click.command()
@options.files
@options.format_
@click.option(
    "--workload",
    type=click.Choice(WORKLOADS),
    help="What a file of Jepsen holds, where its operations leave it open.",
)
@click.option("--initial-value", "initial", type=int, help="What clients read of a key that nobody wrote.")
@click.option(
    "--initial",
    "initial_state",
    type=click.Path(path_type=Path),
    help="TimeKiller's second file: the transaction whose writes were there before.",
)
@click.option(
    "--complete",
    is_flag=True,
    help="Every committed write is in the file: other values were never committed.",
)
@click.option(
    "--converted",
    is_flag=True,
    help="Another program has made the file from one of another format, and the order of operations inside a "
    "transaction is lost.",
)
@click.option(
    "--assume",
    "assumed",
    multiple=True,
    type=click.Choice([each.value for each in Assumption]),
    help="For registers, whose order of versions is not recorded: who reads a key and then writes it has "
    "written a later version; the writes of a session are in its order; or those in real time. May be "
    "repeated.",
)
@click.option(
    "--order",
    type=click.Choice([order.value for order in RealTime]),
    default=RealTime.BOTH.value,
    show_default=True,
    help="Real time by the order of the file, by :time, or where both agree; for files of Jepsen.",
)
@click.option(
    "--level",
    "names",
    multiple=True,
    type=click.Choice([*BY_NAME], case_sensitive=False),
    metavar="LEVEL",
    help="Judge this level; may be repeated.  [PL-3]",
)
@click.option(
    "--client-level",
    "clients",
    multiple=True,
    type=click.Choice([*VARIANTS], case_sensitive=False),
    metavar="LEVEL",
    help="Judge this client-side level, such as 'causal' or 'strict serializable'; may be repeated.",
)
@click.option(
    "--forbid",
    "forbidden",
    multiple=True,
    type=click.Choice([phenomenon.value for phenomenon in Phenomenon], case_sensitive=False),
    metavar="PHENOMENON",
    help="Forbid this phenomenon too, such as G1-predA; may be repeated.",
)
@click.option(
    "--transaction-level",
    "mixed",
    multiple=True,
    metavar="LEVEL:T,...",
    help="Transactions that run at a level of their own, such as PL-2:3,4; the others run at PL-3, or at the "
    "--level. May be repeated.",
)
@click.option(
    "--executing",
    is_flag=True,
    help="Judge the reads of aborted transactions as well, by the executing variants EPL of the levels.",
)
@reading_option("--derivations", Derivations)
@reading_option("--predicates", Predicates)
@reading_option("--derived-writes", DerivedWrites)
@click.option(
    "--least",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    metavar="N",
    help="Committed transactions without which a history is unknown: of nothing, everything holds.",
)
@click.option(
    "--smallest",
    "smallest_out",
    type=click.Path(path_type=Path),
    help="Write the smallest part of the first violated history of clients, in the format of the suffix: "
    f"{', '.join(SUFFIXES)}; without one, as a folder of Cobra's logs.",
)
@click.option(
    "--memory",
    type=click.FloatRange(min=0, min_open=True),
    metavar="GB",
    help="Memory for a history in Parquet; one that needs more is judged one share of its keys after the "
    "other.  [half of the machine's, or of its container's]",
)
@click.option(
    "--master",
    default="",
    show_default=False,
    metavar="ADDRESS",
    help="Judge a history in Parquet on a Spark cluster, given as spark://host:7077. The file has one name "
    "on all machines.",
)
@click.option("--explain", is_flag=True, help="Show every phenomenon and level with its reason.")
@click.option("--html", type=click.Path(path_type=Path), help="Write a page with pictures.")
@click.option("--sarif", "sarif_out", type=click.Path(path_type=Path), help="Write SARIF.")
@click.option("--junit", type=click.Path(path_type=Path), help="Write JUnit XML.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per history, a line each.")
@click.option(
    "--steps", type=click.IntRange(1), default=STEPS, show_default=True, help="Budget of one history."
)
@click.option(
    "--search-steps",
    type=click.IntRange(1),
    default=SEARCH_STEPS,
    show_default=True,
    help="Budget of each search for an order of transactions, where a file does not record that of versions.",
)
def command(
    files: tuple[Path, ...],
    format_: str,
    workload: str | None,
    smallest_out: Path | None,
    memory: float | None,
    master: str,
    explain: bool,
    html: Path | None,
    sarif_out: Path | None,
    junit: Path | None,
    as_json: bool,
    **asked: Any,
) -> ExitCode:
    """Judge which isolation levels transaction histories keep, derivations included.

    Exit status 0: all requested levels hold; 1: one is violated; 3: one is unknown; 2: something could not be
    read. A file of - is standard input. Folders of Delta tables are read as one history: their commits. Files
    of Jepsen, Elle, Plume, dbcop, AWDIT and TimeKiller are recognised, and folders of Cobra's logs.
    """
    wanted = options.options_of(**asked)
    _ensure_different(html, sarif_out, junit, smallest_out)
    ensure_suffix(smallest_out)
    reports = Reports(wanted.requested, wanted.clients, html, sarif_out, junit)
    began = time.perf_counter()
    items = on_cluster(files, master) if master else histories(files, format_, workload, memory_of(memory))
    for source, item in without_collection(read_on(items)):
        with waiting(f"judging {source}"):
            judged = _judged(wanted, reports, source, item)
        if judged is None:
            continue
        item, checked = judged
        LAST_JUDGED[:] = judged
        if smallest_out is not None and write_smallest(smallest_out, wanted, item, checked):
            smallest_out = None
        printed = sum(reports.counts.values())
        done = time.perf_counter()
        reports.add(source, item.line, checked, done - began)
        began = done
        if as_json:
            print_json(as_object(checked))
        elif printed < HISTORIES_IN_FULL or explain:
            click.echo(("\n" if printed else "") + history_text(checked, wanted.requested, explain=explain))
        else:
            click.echo(short_text(checked, wanted.requested))
    if not as_json and sum(reports.counts.values()) + len(reports.refused) > 1:
        click.echo("\n" + summary_line(reports.counts, len(reports.refused)))
    if smallest_out is not None:
        fact = "no history of clients is violated"
        click.echo(f"note: {smallest_out} is not written: {fact}", err=True)
    reports.write()
    return reports.code


def on_cluster(files: Sequence[Path], master: str) -> Iterator[tuple[str, Item]]:
    """Yields the histories of Parquet files, read by a Spark cluster. Raises CampaignError."""
    # Imported here, because they load pyspark.
    from campaign.histories import on_cluster as cluster_reader
    from campaign.runs.cluster import Cluster
    from dynamic_tables.session import Settings

    cluster = Cluster.join(master, Settings.SIZED, cluster_reader.LOST)
    for path in files:
        yield str(path), cluster_reader.on_cluster(path, cluster)


def _judged(
    asked: CheckOptions, reports: Reports, source: str, item: Item
) -> tuple[Parsed | Viewed, Checked] | None:
    """Returns a history, completed by the options, and its verdicts; if it has none, prints why: None."""
    where = ""
    if isinstance(item, Refused):
        error = item.error
        where = "" if error.line is None else f":{error.line}:{error.column}"
    else:
        try:
            completed = asked.apply_to(item)
            return completed, asked.judge(completed)
        except HistoryError as raised:
            error = raised
    message = f"{source}{where}: {error.fact}"
    reports.refused.append(message)
    click.echo(f"error: {message}", err=True)
    return None


def memory_of(gigabytes: float | None) -> int:
    """Returns how many bytes a history may take: `gigabytes`, else half of the machine's memory."""
    if gigabytes is not None:
        return int(gigabytes * 2**30)
    return memory_of_machine() // 2


def read_on(items: Iterator[tuple[str, Item]]) -> Iterator[tuple[str, Item]]:
    """Yields items, and shows on a terminal while the next one is read."""
    while True:
        with waiting("reading"):
            item = next(items, None)
        if item is None:
            return
        yield item


def without_collection(items: Iterator[tuple[str, Item]]) -> Iterator[tuple[str, Item]]:
    """Yields items and keeps Python from searching for unreachable cycles while one is read and judged.

    The search would walk millions of operations and edges again and again. It runs between large histories.
    """
    gc.disable()
    try:
        for number, item in enumerate(items):
            if number % COLLECT_EVERY == COLLECT_EVERY - 1:
                gc.collect()
            yield item
    finally:
        if gc.get_count()[0] > MANY_OBJECTS:
            # What is left is freed with the process; to search it for cycles first takes seconds.
            gc.freeze()
        gc.enable()


def _ensure_different(*reports: Path | None) -> None:
    """Raises CampaignError if two reports would be written to one file."""
    paths = [path.resolve() for path in reports if path is not None]
    for path in paths:
        if paths.count(path) > 1 and (path.is_file() or not path.exists()):
            raise CampaignError(f"two reports would be written to {path}; give each its own file")


def _relative(file: str) -> str:
    """Returns a path from the working folder on, as code hosts want it; others stay as they are."""
    try:
        return Path(file).resolve().relative_to(Path.cwd()).as_posix() if Path(file).exists() else file
    except ValueError:
        return file


def case(checked: Checked, requested: Sequence[Level], seconds: float) -> Case:
    """Returns a history as a test case: a violated level fails it, an unknown one is an error."""
    verdict = overall(checked, requested)
    name = checked.original.name or "history"
    if verdict is LevelStatus.HOLDS:
        return Case(name, seconds, CaseVerdict.PASSED)
    reasons = [f"{name}: {reason}" for name, reason in requested_with(checked, requested, verdict)]
    details = "\n".join(
        "\n".join([explanation.title, *(line.text for line in explanation.lines)])
        for explanation in explanations(checked, minimised=False)
    )
    kind = CaseVerdict.FAILED if verdict is LevelStatus.VIOLATED else CaseVerdict.ERROR
    return Case(name, seconds, kind, "; ".join(reasons), details)
