"""The smallest part of a violated history of clients, written to a file."""

from __future__ import annotations

from pathlib import Path

import click

from campaign.cli.wanted import Wanted
from campaign.errors import CampaignError
from campaign.files import write_text
from dvs_model.check import Checked
from dvs_model.columns.shares import Listed
from dvs_model.errors import HistoryError
from dvs_model.explain import Status, overall
from dvs_model.formats.reader import Parsed, Viewed
from dvs_model.formats.written import WRITERS

SUFFIXES = ", ".join(WRITERS)
"""The suffixes that name a format."""


def require_suffix(file: Path | None) -> None:
    """Raises CampaignError for a file whose suffix names no format."""
    if file is not None and file.suffix not in WRITERS:
        raise CampaignError(f"--smallest {file}: the suffix names the format; take one of {SUFFIXES}")


def write_smallest(file: Path, wanted: Wanted, item: Parsed | Viewed, checked: Checked) -> bool:
    """Writes the smallest part of a history if it is one of clients and violated; returns whether it did.

    Raises CampaignError: the format cannot hold it.
    """
    if not isinstance(item, Viewed) or overall(checked, wanted.requested) is not Status.VIOLATED:
        return False
    if isinstance(item.observed.transactions, Listed):
        raise CampaignError(
            f"--smallest {file}: {item.observed.name} is larger than --memory, so that its operations are "
            "not at hand; allow more memory"
        )
    part = wanted.smallest(item.observed, checked)
    try:
        write_text(file, WRITERS[file.suffix](part))
    except HistoryError as error:
        raise CampaignError(f"--smallest {file}: {error.fact}") from error
    click.echo(
        f"{file}: {len(part.transactions)} of {len(item.observed.transactions)} transactions", err=True
    )
    return True
