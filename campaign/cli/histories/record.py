"""`dvs record`: concurrent clients on a real database, what they saw as a file, and the verdict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from campaign.cli.histories.check import command as check
from campaign.cli.histories.convert import command as convert
from campaign.cli.histories.recorded_views import record_views
from campaign.cli.options import Duration
from campaign.cli.progress import waiting
from campaign.errors import CampaignError
from campaign.exit_codes import ExitCode
from campaign.files import write_text
from dvs_model.clients.variants import VARIANTS
from dvs_model.theory.levels import BY_NAME

if TYPE_CHECKING:
    from protocols.recording.clients import Load, Recording
    from protocols.recording.database import Promise

WORDS = ("append", "register", "bank", "predicate", "views")
"""The values of `--workload`."""


@click.command()
@click.argument("url")
@click.option("--workload", type=click.Choice(WORDS), default="append", show_default=True)
@click.option("--clients", type=click.IntRange(1, 64), default=8, show_default=True)
@click.option("--seconds", type=Duration(), default="30", show_default=True, help="How long they run.")
@click.option("--isolation", metavar="LEVEL", help="The database's isolation level.  [its strongest one]")
@click.option(
    "--rate",
    type=click.FloatRange(0),
    default=0.0,
    metavar="N",
    help="Transactions a second of all clients.  [as many as it can]",
)
@click.option(
    "--transactions",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Stop after so many.  [the time alone counts]",
)
@click.option(
    "--keys",
    type=click.IntRange(2, 10_000),
    default=8,
    show_default=True,
    help="Keys that are used at a time.",
)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--kill", type=Duration(), help="Break the connection of a client every so often.")
@click.option("--kill-server", "crash", type=Duration(), help="Kill the server, and start it again.")
@click.option("--pause", type=Duration(), help="Let a client pause inside a transaction every so often.")
@click.option(
    "--refreshers",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Clients that refresh, of the workload views.",
)
@click.option("--plain", is_flag=True, help="Half of the refreshes of views are not CONCURRENTLY.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="The file; .adya: and as notation.  [history.edn; of views .adya]",
)
@click.option("--check/--no-check", "judged", default=True, show_default=True, help="Judge it at once.")
@click.option(
    "--level",
    "names",
    multiple=True,
    metavar="LEVEL",
    help="A level that must hold, as of `dvs check`.  [what the database promises]",
)
@click.option("--json", "as_json", is_flag=True, help="The verdicts as one JSON object.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    url: str,
    workload: str,
    isolation: str | None,
    out: Path | None,
    judged: bool,
    names: tuple[str, ...],
    as_json: bool,
    **load: Any,
) -> ExitCode:
    """Run random transactions of concurrent clients on a database, record what they see, and judge it.

    URL: postgresql://USER@HOST/DATABASE, mariadb://USER@HOST, sqlite:///FILE, duckdb:///FILE,
    delta-rs:///FOLDER or delta-spark:///FOLDER; the first word alone starts a database for the run.
    Of views: postgresql, account (this project's engine, in memory) or pg_ivm. All is done in a schema,
    database or new file called dvs_recording, which is removed at the end. Exit status as of `dvs check`.
    """
    from protocols.recording.clients import Load
    from protocols.recording.views import VIEWS
    from protocols.recording.workloads import WORKLOADS, decided

    wrong = [name for name in names if name not in BY_NAME and name not in VARIANTS]
    if wrong:
        raise CampaignError(f"there is no level {wrong[0]}; take one of {', '.join((*BY_NAME, *VARIANTS))}")
    # A disturbance that is not asked for is None.
    numbers: dict[str, Any] = {name: 0.0 if value is None else value for name, value in load.items()}
    run = Load(workload=VIEWS if workload == "views" else WORKLOADS[workload], **numbers)
    out = out or Path("history.adya" if workload == "views" else "history.edn")
    if workload == "views":
        return record_views(url, isolation, run, out, names, as_json=as_json)
    recording, promise = _recorded(url, isolation, run)
    file = out.with_suffix(".edn") if out.suffix == ".adya" else out
    _write(recording, file)
    if not as_json:
        click.echo(_summary(recording, file))
    if out != file:
        with convert.make_context("convert", [str(file), "--out", str(out)], ctx) as inner:
            convert.invoke(inner)
    if recording.interrupted:
        return ExitCode.UNKNOWN
    durable = ExitCode.FAILED if recording.lost() else ExitCode.OK
    if not judged:
        return durable
    options = [part for name in names or decided(run.workload, promise) for part in _asked(name)]
    # The recorder notes every write, so a value that nobody has written was never committed.
    options += ["--complete", *(["--json"] if as_json else [])]
    with check.make_context("check", [str(file), *options], ctx) as inner:
        code = check.invoke(inner)
    assert isinstance(code, ExitCode)
    return durable or code


def _recorded(url: str, isolation: str | None, run: Load) -> tuple[Recording, Promise]:
    """Records a run, and returns what the database promises as well. Raises CampaignError."""
    from campaign.protocols.databases import opened
    from protocols.recording.clients import recorded
    from protocols.recording.database import RecordingError

    try:
        with waiting("recording"), opened(url, isolation) as database:
            return recorded(database, run), database.levels[database.isolation]
    except RecordingError as error:
        raise CampaignError(str(error)) from error


def _write(recording: Recording, out: Path) -> None:
    """Writes a recording in Jepsen's EDN."""
    from protocols.recording.edn import edn

    write_text(out, "".join(edn(recording)))


def _asked(name: str) -> tuple[str, ...]:
    """Returns the option of `dvs check` that asks for a level."""
    return ("--level", name) if name in BY_NAME else ("--client-level", name)


def _summary(recording: Recording, out: Path) -> str:
    """Returns the counts of a recording in a line, with further lines on a bank and on durability."""
    from collections import Counter

    from protocols.recording.clients import Outcome

    ends = [each for each in recording.moments if each.outcome is not Outcome.INVOKE]
    counts = Counter(each.outcome.value for each in ends)
    errors = Counter(each.error for each in ends if each.error)
    seconds = recording.moments[-1].nanoseconds / 1e9 if recording.moments else 0.0
    by_error = ", ".join(f"{name} {count:,}" for name, count in errors.most_common())
    return (
        f"recorded {len(ends):,} transactions in {seconds:.1f} s: {counts['ok']:,} ok, "
        f"{counts['fail']:,} failed, {counts['info']:,} without an answer"
        + (f" ({by_error})" if by_error else "")
        + f"; {out}"
        + _bank(recording)
        + _durability(recording)
    )


def _durability(recording: Recording) -> str:
    """Returns a line on what was acknowledged; empty where the server was not killed and nothing is lost."""
    lost, written = recording.lost(), len(recording.acknowledged())
    if not lost and not recording.crashes:
        return ""
    where = (
        f", such as version {lost[0][2]} of key {lost[0][1]}, of process {lost[0][0].process}" if lost else ""
    )
    return (
        f"\ndurability {'violated' if lost else 'holds'}: {len(lost):,} of {written:,} acknowledged writes "
        f"lost{where}; the server was killed {recording.crashes} times"
    )


def _bank(recording: Recording) -> str:
    """Returns a line on the totals that readers of a bank saw; empty for other workloads."""
    from protocols.recording.workloads import FIRST_BALANCE

    if recording.run.workload.name != "bank":
        return ""
    due, totals = FIRST_BALANCE * recording.run.keys, list(recording.totals())
    wrong = [(moment, total) for moment, total in totals if total != due]
    example = f", process {wrong[0][0].process} {wrong[0][1]:,}" if wrong else ""
    return (
        f"\n{len(wrong):,} of {len(totals):,} readers of all accounts saw another total than {due:,}{example}"
    )
