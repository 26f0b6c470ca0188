"""`dvs protocol`: the transaction protocols of docs/protocols.md, as programs to try."""

from __future__ import annotations

import click

from campaign.cli.protocols.data_plane import data_plane
from campaign.cli.protocols.read_committed import read_committed


@click.group()
def command() -> None:
    """Run a transaction protocol, and judge the histories that it makes."""


command.add_command(data_plane)
command.add_command(read_committed)
