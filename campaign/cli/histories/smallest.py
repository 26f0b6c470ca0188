"""The smallest part of a violated history of clients, written to a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from campaign.errors import CampaignError
from campaign.files import write_bytes
from dvs_model.checking.check import Checked
from dvs_model.checking.explain import LevelStatus, overall
from dvs_model.columns.shares import Listed
from dvs_model.errors import HistoryError
from dvs_model.formats.reader import Parsed, Pieces, Viewed
from dvs_model.formats.written.plain import unmarked
from dvs_model.formats.written.registry import SUFFIXES, Files, chosen
from dvs_model.judging.options import CheckOptions


def ensure_suffix(file: Path | None) -> None:
    """Raises CampaignError for a file whose suffix names no format."""
    if file is not None and file.suffix not in ("", *SUFFIXES):
        known = ", ".join(SUFFIXES)
        raise CampaignError(
            f"--smallest {file}: the suffix names the format; take one of {known}, or none for a folder"
        )


def write_smallest(file: Path, options: CheckOptions, item: Parsed | Viewed, checked: Checked) -> bool:
    """Writes the smallest part of a history if it is one of clients and violated; returns whether it did.

    Raises CampaignError: the format cannot hold it.
    """
    if overall(checked, options.requested) is not LevelStatus.VIOLATED:
        return False
    if isinstance(item, Parsed):
        return item.pieces is not None and _write_pieces(file, options, item.pieces, checked)
    if isinstance(item.observed.transactions, Listed):
        raise CampaignError(
            f"--smallest {file}: {item.observed.name} is larger than --memory, so that its operations are "
            "not at hand; allow more memory"
        )
    part = options.smallest(item.observed, checked)
    writer = chosen(file, part, item.form)
    assert writer is not None
    try:
        written = writer.write(unmarked(part))
    except HistoryError as error:
        raise CampaignError(f"--smallest {file}: {error.fact}") from error
    for path, data in files_of(file, written):
        write_bytes(path, data)
    click.echo(
        f"{file}: {len(part.transactions)} of {len(item.observed.transactions)} transactions", err=True
    )
    return True


def _write_pieces(file: Path, options: CheckOptions, pieces: Pieces, checked: Checked) -> bool:
    """Writes the fewest operations of a violated file with reads by predicates; returns True."""
    if file.suffix != ".edn":
        raise CampaignError(f"--smallest {file}: reads by predicates are written as EDN; name a file .edn")
    places = options.fewest(pieces, checked)
    write_bytes(file, pieces.written(places))
    click.echo(f"{file}: {len(places)} of {pieces.count} operations", err=True)
    return True


def files_of(file: Path, written: Files) -> Iterator[tuple[Path, bytes]]:
    """Yields each path with the bytes to write. Raises CampaignError: the folder has other logs in it."""
    if isinstance(written, bytes):
        yield file, written
        return
    if file.exists() and not file.is_dir():
        raise CampaignError(
            f"--smallest {file}: Cobra's logs are a folder, and that is a file; name another one"
        )
    other = [path.name for path in file.glob("*.log") if path.name not in written]
    if other:
        raise CampaignError(f"--smallest {file}: {other[0]} is in that folder; name a new one")
    for name, data in written.items():
        yield file / name, data
