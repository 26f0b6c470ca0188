"""Runs of read committed as a command shows them: the steps, the levels, one JSON object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from reports.documents import SessionsDocument

if TYPE_CHECKING:
    from dvs_model.checking.check import Checked
    from protocols.read_committed.run import Run


def show(done: Run) -> None:
    """Prints the steps of a run, what each waited for, and the rows that the tables hold at the end."""
    width = max((len(line.session) for line in done.lines), default=0)
    for line in done.lines:
        waits = f" for {', '.join(line.waits_for)}" if line.waits_for else ""
        click.echo(f"{line.session:{width}}  {line.statement}\n{'':{width}}    {line.outcome}{waits}")
    for table, rows in done.contents.items():
        click.echo(f"{table}: {', '.join(map(str, rows)) or 'no row'}")


def transactions_of(txns: tuple[int, ...]) -> str:
    """Returns the names of transactions in one line."""
    return ", ".join(f"T{txn}" for txn in txns)


def levels_of(checked: Checked) -> Mapping[str, str]:
    """Returns for each level "holds", "violated" or "unknown"."""
    from dvs_model.checking.check import Holds, Violated

    words = {Holds: "holds", Violated: "violated"}
    return {level.value: words.get(type(verdict), "unknown") for level, verdict in checked.levels.items()}


def document_of(done: Run, checked: Checked, named: Mapping[str, tuple[int, ...]]) -> SessionsDocument:
    """Returns a run as JSON data. `named`: the transactions of each anomaly that it shows."""
    from dvs_model.notation import render

    return {
        "order": done.order,
        "trace": [
            {
                "time": line.time,
                "session": line.session,
                "statement": line.statement,
                "outcome": line.outcome,
                "waits_for": line.waits_for,
            }
            for line in done.lines
        ],
        "contents": {table: [list(map(str, row)) for row in rows] for table, rows in done.contents.items()},
        "history": render(done.history),
        "levels": levels_of(checked),
        "broken": list(done.broken),
        "anomalies": {name: list(txns) for name, txns in named.items()},
    }
