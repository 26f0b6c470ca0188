"""`dvs protocol`: the transaction protocols of the source documents, as programs to try."""

from __future__ import annotations

import click

from campaign.cli.protocol_data_plane import data_plane


@click.group()
def command() -> None:
    """Run a transaction protocol, and judge the histories that it makes."""


command.add_command(data_plane)
