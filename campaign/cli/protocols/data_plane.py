"""`dvs protocol data-plane`: transactions state their intents as rows; a view says which of them commit."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from campaign.cli import options
from campaign.cli.terminal import print_json
from campaign.errors import CampaignError
from campaign.exit_codes import ExitCode
from reports.documents import IntentsDocument, RandomIntentsDocument

if TYPE_CHECKING:
    from protocols.data_plane.intents import Intent, IntentRow
    from protocols.data_plane.resolve import Clauses

TRANSACTIONS_SHOWN = 12
"""Transactions shown one by one."""


@click.command("data-plane")
@click.option(
    "--workload",
    type=click.Choice(["bank", "article", "random"]),
    default="bank",
    show_default=True,
    help="bank: nine transactions of McSherry's article; article: its 10,000; random: many small sets.",
)
@click.option(
    "--intents",
    "file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A CSV file with the columns id, is_read, key, val instead; an empty val is NULL.",
)
@click.option("--fault", help="Leave out one clause of the definition (`--list-faults`).")
@click.option("--list-faults", is_flag=True, help="List the mistakes for --fault and stop.")
@click.option(
    "--runs", type=click.IntRange(1), default=500, show_default=True, help="Sets of random intents."
)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--history", is_flag=True, help="Print the history in the notation of `dvs check`.")
@options.as_json
def data_plane(
    workload: str,
    file: Path | None,
    fault: str | None,
    list_faults: bool,
    runs: int,
    seed: int,
    history: bool,
    as_json: bool,
) -> ExitCode:
    """Resolve transactions that state what they have read and what they would write.

    Those whose reads do not hold at their turn are rolled back; the result is compared with transactions that
    run one after the other, and so is what each task of the garbage collection leaves by itself. Exit status
    0: they agree; 1: they do not, or the history is not serializable.
    """
    from campaign.faults.intents import INTENT_FAULTS
    from protocols.data_plane.intents import IntentsError, intents_of
    from protocols.data_plane.resolve import CLAUSES
    from protocols.data_plane.workloads import BANK, article

    if list_faults:
        for name in INTENT_FAULTS:
            click.echo(name)
        return ExitCode.OK
    if fault is not None and fault not in INTENT_FAULTS:
        raise CampaignError(f"no fault {fault!r}; there are: {', '.join(INTENT_FAULTS)}")
    clauses = INTENT_FAULTS[fault].model if fault else CLAUSES
    if workload == "random" and file is None:
        return _search(seed, runs, fault, as_json)
    try:
        rows = _rows_in(file) if file else {"bank": list(BANK), "article": article()}[workload]
        intents = intents_of(rows)
    except IntentsError as error:
        raise CampaignError(f"{file}: {error}" if file else str(error)) from error
    if not intents:
        raise CampaignError(f"{file} holds no intents; give it rows below the line id,is_read,key,val")
    return _resolved(rows, intents, clauses, fault, history=history, as_json=as_json)


def _resolved(
    rows: Sequence[IntentRow],
    intents: Sequence[Intent],
    clauses: Clauses,
    fault: str | None,
    *,
    history: bool,
    as_json: bool,
) -> ExitCode:
    """Resolves intents, compares the result with a serial run, prints it, and returns the exit status."""
    from dvs_model.checking.check import Holds, check
    from dvs_model.notation import render
    from dvs_model.theory.names import Level
    from protocols.data_plane.histories import history_of
    from protocols.data_plane.resolve import resolve
    from protocols.data_plane.retire import broken_task, retirable
    from protocols.data_plane.serial import serial

    resolved = resolve(intents, clauses=clauses)
    agrees = serial(intents) == (resolved.to_rollback, resolved.store)
    as_history = history_of(intents, resolved.to_rollback)
    checked = check(as_history)
    level = [level.value for level in checked.strongest]
    serializable = isinstance(checked.levels[Level.PL_3], Holds)
    gone = retirable(rows, resolved.to_rollback, clauses)
    # After a wrong result no task is tried: it would make every one look wrong.
    task = broken_task(rows, resolved, clauses) if agrees else ""
    document: IntentsDocument = {
        "intents": len(intents),
        "rows": len(rows),
        "to_rollback": len(resolved.to_rollback),
        "store": len(resolved.store),
        "rounds": resolved.rounds,
        "failed_rows": len(gone.failed),
        "committed_reads": len(gone.committed_reads),
        "dead_writes": len(gone.dead_writes),
        "equals_serial": agrees,
        "levels": level,
        "broken_task": task or None,
        "fault": fault,
    }
    if as_json:
        print_json(document)
    elif history:
        click.echo(render(as_history))
    else:
        _print(document, intents, resolved.to_rollback, resolved.store)
    return ExitCode.OK if agrees and serializable and not task else ExitCode.FAILED


def _print(
    document: IntentsDocument, intents: Sequence[Intent], to_rollback: frozenset[int], store: object
) -> None:
    """Prints the first transactions with what becomes of them, the store, and the figures."""
    for intent in intents[:TRANSACTIONS_SHOWN]:
        fate = "rolled back" if intent.id in to_rollback else "commits"
        reads = ", ".join(f"{key} = {_value(value)}" for key, value in intent.reads) or "nothing"
        writes = ", ".join(f"{key} = {_value(value)}" for key, value in intent.writes.items()) or "nothing"
        click.echo(f"T{intent.id} {fate}: has read {reads}; writes {writes}")
    if len(intents) > TRANSACTIONS_SHOWN:
        click.echo(f"... and {len(intents) - TRANSACTIONS_SHOWN:,} more")
    assert isinstance(store, dict)
    if len(store) <= TRANSACTIONS_SHOWN:
        values = ", ".join(f"{key} = {_value(value)}" for key, value in sorted(store.items()))
        click.echo(f"store: {values or 'empty'}")
    click.echo(
        f"{document['intents']:,} transactions, {document['to_rollback']:,} rolled back after "
        f"{document['rounds']} rounds; {document['store']:,} keys in the store"
    )
    click.echo(
        f"rows that may go: {document['failed_rows']:,} of transactions rolled back, "
        f"{document['committed_reads']:,} reads of committed ones, {document['dead_writes']:,} dead writes"
    )
    if document["broken_task"]:
        click.echo(f"garbage collection is wrong: {document['broken_task']}")
    same = "the same as" if document["equals_serial"] else "NOT the same as"
    click.echo(f"{same} transactions one after the other; levels that hold: {document['levels']}")


def _value(value: str | None) -> str:
    return "NULL" if value is None else value


def _search(seed: int, runs: int, fault: str | None, as_json: bool) -> ExitCode:
    """Resolves random sets of intents until one is wrong, prints it, and returns the exit status."""
    from campaign.faults.intents import INTENT_FAULTS
    from campaign.protocols.intents import search_intents
    from dvs_model.notation import render
    from dvs_model.theory.names import Level
    from protocols.data_plane.resolve import CLAUSES
    from reports.history.text import headline

    found = search_intents(seed, runs, INTENT_FAULTS[fault].model if fault else CLAUSES)
    wrong = found.difference
    if as_json:
        smallest = None if wrong is None else render(wrong.checked.history)
        what = None if wrong is None else wrong.what
        document: RandomIntentsDocument = {
            "runs": found.runs,
            "wrong": what,
            "history": smallest,
            "fault": fault,
        }
        print_json(document)
    elif wrong is None:
        click.echo(f"{found.runs:,} sets of random intents: each as one after the other, and serializable")
    else:
        click.echo(f"set {found.runs:,} is wrong: {wrong.what}")
        click.echo(f"{render(wrong.checked.history)}\n{headline(wrong.checked, (Level.PL_3,))}")
    return ExitCode.OK if wrong is None else ExitCode.FAILED


def _rows_in(file: Path) -> list[IntentRow]:
    """Returns the rows of a CSV file. Raises CampaignError, naming the line, for a row that is no intent."""
    from protocols.data_plane.intents import IntentRow

    columns = ["id", "is_read", "key", "val"]
    truths = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
    try:
        with file.open(encoding="utf-8", newline="") as opened:
            reader = csv.DictReader(opened)
            if reader.fieldnames != columns:
                raise CampaignError(f"{file}: the first line is {reader.fieldnames}; it must be {columns}")
            rows: list[IntentRow] = []
            for record in reader:
                number, is_read = str(record["id"]).strip(), str(record["is_read"]).strip().lower()
                plain = number.isascii() and number.isdecimal() and len(number) < 19
                if not plain or is_read not in truths or record["val"] is None:
                    raise CampaignError(
                        f"{file}:{reader.line_num}: {list(record.values())} is no intent; "
                        "give a whole number, true or false, a key, and a value or nothing"
                    )
                rows.append(IntentRow(int(number), truths[is_read], record["key"], record["val"] or None))
            return rows
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CampaignError(f"cannot read {file}: {error}") from error
