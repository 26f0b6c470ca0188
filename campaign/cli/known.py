"""Options of the commands that run campaigns: what becomes of failures."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import click

from campaign.cli.options import Duration
from campaign.ignore import IgnoreRules, read_ignore_file

known_failures_option = click.option(
    "--ignore",
    type=click.Path(path_type=Path),
    help="TOML file of known failures, each with issue and expiry.",
)

shrink_option = click.option(
    "--shrink",
    type=click.IntRange(0),
    default=24,
    show_default=True,
    help="Failures to shrink. Only what was shrunk to the end can be a known one.",
)

shrink_budget_option = click.option(
    "--shrink-budget",
    type=Duration(),
    default="2m",
    show_default=True,
    help="For shrinking, after each campaign.",
)


def known_failures(file: str | Path | None) -> IgnoreRules:
    """The ignore rules as they are today; none without a file. Raises CampaignError."""
    rules = () if file is None else read_ignore_file(Path(file))
    return IgnoreRules.on(rules, dt.datetime.now(dt.UTC).date())
