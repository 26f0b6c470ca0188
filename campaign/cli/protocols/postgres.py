"""`dvs protocol read-committed --postgres`: a script on PostgreSQL, and where the model differs from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from campaign.cli.terminal import print_json
from campaign.errors import CampaignError
from campaign.exit_codes import ExitCode

if TYPE_CHECKING:
    from campaign.protocols.postgres import Beside
    from protocols.read_committed.script import Script

PROMISED = {"read-committed": "PL-2", "repeatable-read": "PL-SI"}
"""The level that PostgreSQL must keep, by its own name for it; its REPEATABLE READ is snapshot isolation."""


def on_postgres(script: Script, level: str, most: int | None, as_json: bool) -> ExitCode:
    """Runs a script in at most `most` orders on a server of its own; None: only in the order of its text.

    Raises CampaignError: there is no PostgreSQL; ScriptError, StatementFailed: the script cannot be run.
    """
    from campaign.protocols.postgres import beside, orders
    from protocols.read_committed.on_postgres.scripts import Isolation, Postgres
    from servers.own import ServerMissing
    from servers.postgres import started

    try:
        with started() as server:
            postgres = Postgres(server.address)
            try:
                isolation = Isolation(level.replace("-", " "))
                scripts = [script] if most is None else orders(script)
                found = beside(scripts, postgres, isolation, most or 1)
            finally:
                postgres.close()
    except ServerMissing as error:
        raise CampaignError(str(error)) from error
    if as_json:
        print_json({**_document(found), "postgres": level, "promised": PROMISED[level]})
    else:
        _print(found, level, one=most is None)
    match found.levels[PROMISED[level]]:
        case "violated":
            return ExitCode.FAILED
        case "holds" if found.complete:
            return ExitCode.OK
        case _:
            return ExitCode.UNKNOWN


def _document(found: Beside) -> dict[str, object]:
    """Returns the runs on PostgreSQL beside the model as JSON data."""
    from campaign.cli.protocols.shown import document_of

    return {
        "orders": found.orders,
        "complete": found.complete,
        "same_as_model": found.same,
        "levels": found.levels,
        "anomalies": dict(found.anomalies),
        "first": {name: document_of(*each) for name, each in found.first.items()},
        "last": document_of(*found.last),
        "differences": [
            {
                "kind": kind.value,
                "orders": found.counts[kind],
                "where": example.where,
                "model": example.model,
                "postgres": example.postgres,
            }
            for kind, example in found.examples.items()
        ],
    }


def _print(found: Beside, level: str, *, one: bool) -> None:
    """Prints anomalies, differences from the model, and levels. `one`: a script ran in one order only."""
    from campaign.cli.protocols.shown import show, transactions_of
    from dvs_model.notation import render

    if one:
        show(found.last[0])
        click.echo(f"\n{render(found.last[0].history)}\n")
        for name, txns in found.last[2].items():
            click.echo(f"{name}: {transactions_of(txns)}")
    else:
        rest = "" if found.complete else " (there are more)"
        click.echo(f"{found.orders:,} orders of the statements{rest}, {found.same:,} as in the model")
        for name, (done, _, named) in found.first.items():
            orders = found.anomalies[name]
            click.echo(f"\n{name}: in {orders:,} orders, {transactions_of(named[name])} in the shortest:")
            show(done)
    for kind, example in found.examples.items():
        often = "" if one else f", in {found.counts[kind]:,} orders"
        click.echo(f"\n{kind.value}{often}: {example.where}")
        click.echo(f"    model:      {example.model}\n    PostgreSQL: {example.postgres}")
    holding = [name for name, verdict in found.levels.items() if verdict == "holds"]
    promised = f"{PROMISED[level]} {found.levels[PROMISED[level]]}"
    click.echo(f"\non PostgreSQL at {level} holds: {', '.join(holding) or 'no level'}; {promised}")
