"""The option of commands that run campaigns: failures that are known."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import click

from campaign.ignore import IgnoreRules, read_ignore_file

known_failures_option = click.option(
    "--ignore",
    type=click.Path(path_type=Path),
    help="TOML file of known failures, each with issue and expiry.",
)


def known_failures(file: str | Path | None) -> IgnoreRules:
    """The ignore rules as they are today; none without a file. Raises CampaignError."""
    rules = () if file is None else read_ignore_file(Path(file))
    return IgnoreRules.on(rules, dt.datetime.now(dt.UTC).date())
