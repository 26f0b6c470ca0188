"""`dvs convert`: histories of any format as notation, JSON lines or Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click

from campaign.cli.histories import options
from campaign.errors import CampaignError
from campaign.exit_codes import ExitCode
from campaign.files import STANDARD_OUTPUT, write_text
from dvs_model.clients.whole import whole
from dvs_model.errors import HistoryError
from dvs_model.formats.elle import WORKLOADS
from dvs_model.formats.reader import Parsed, Refused, Viewed
from dvs_model.formats.table import write_parquet
from dvs_model.histories.history import History
from dvs_model.judging.files import histories
from dvs_model.notation import render


@click.command()
@options.files
@click.option(
    "--to", "target", type=click.Choice(["adya", "jsonl", "parquet"]), default="adya", show_default=True
)
@click.option("--out", type=click.Path(path_type=Path), help="File to write.  [standard output]")
@options.format_
@click.option("--workload", type=click.Choice(WORKLOADS), help="As in `dvs check`.")
def command(
    files: tuple[Path, ...], target: str, out: Path | None, format_: str, workload: str | None
) -> ExitCode:
    """Write histories of any format as notation (one history), JSON lines or Parquet (one row an operation).

    What the target cannot hold is named on standard error. Exit status 2: something could not be read.
    """
    refused: list[str] = []
    items = _readable(files, format_, workload, refused)
    if target == "parquet":
        if out in (None, STANDARD_OUTPUT):
            raise CampaignError("Parquet is no text; name a file with --out")
        try:
            write_parquet(out, items)
        except OSError as error:
            raise CampaignError(f"cannot write {out}: {error.strerror or error}") from error
        except (OverflowError, ValueError) as error:
            raise CampaignError(f"cannot write {out}: a number does not fit into 64 bits: {error}") from error
    else:
        texts = [(history.name, render(history)) for history in map(_in_notation, items) if history]
        if target == "adya" and len(texts) > 1:
            raise CampaignError(
                f"a file of notation holds one history, and there are {len(texts)}; use --to jsonl"
            )
        lines = [text if target == "adya" else json.dumps({"name": n, "text": text}) for n, text in texts]
        written = "".join(f"{line}\n" for line in lines)
        if out is None:
            click.echo(written, nl=False)
        else:
            write_text(out, written)
    return ExitCode.MISUSE if refused else ExitCode.OK


def _readable(
    files: tuple[Path, ...], format_: str, workload: str | None, refused: list[str]
) -> Iterator[Parsed | Viewed]:
    """Yields the histories that can be read; prints why others cannot, and adds their files to `refused`."""
    for source, item in histories(files, format_, workload):
        if isinstance(item, Refused):
            where = "" if item.error.line is None else f":{item.error.line}:{item.error.column}"
            refused.append(source)
            click.echo(f"error: {source}{where}: {item.error.fact}", err=True)
        elif isinstance(item, Parsed) and item.whole is not None:
            yield replace(item, history=item.whole.read(), whole=None)
        else:
            yield item


def _not_in_notation(item: Parsed) -> Iterator[str]:
    """Yields what the notation cannot say of a history, so that more is decided of it than of the file."""
    if item.unread:
        yield f"reads are left out: {item.unread}"
    if item.unexplained:
        yield f"something is left out: {item.unexplained}"
    if item.unselected is not None:
        yield f"a version set is stated beyond the file: {item.unselected.reason}"
    if item.windows:
        yield "starts and commits are those that clients saw, not those of the database"


def _in_notation(item: Parsed | Viewed) -> History | None:
    """Returns a history as the notation can hold it, and prints what is left out. Raises CampaignError."""
    if isinstance(item, Parsed):
        for text in _not_in_notation(item):
            click.echo(f"note: {item.history.name}: {text}", err=True)
        return item.history
    try:
        history, lost = whole(item.observed)
    except HistoryError as error:
        raise CampaignError(f"{item.observed.name}: {error.fact}") from error
    for text in lost:
        click.echo(f"note: {item.observed.name}: {text}", err=True)
    return history
