"""The command `dvs-tables`: run, status, history, refresh, suspend, resume."""

from __future__ import annotations

import json
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from dynamic_tables.command.page import page
from dynamic_tables.command.text import history_text, status_text
from dynamic_tables.errors import DefinitionError, DynamicTablesError
from dynamic_tables.refresh.execute import RefreshResult
from dynamic_tables.schedule.clock import WallClock
from dynamic_tables.schedule.lag import SECOND

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dynamic_tables.account import Account
    from dynamic_tables.operations.runner import Told

FAILED, MISUSE = 1, 2
"""Exit codes: the account could not do it; the command was wrong."""


class Place(click.Path):
    """A folder that exists, or the address of one on an object store, which nobody looks for here."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Returns the folder as a text. Fails if it is one of this machine and does not exist."""
        return value if "://" in str(value) else super().convert(value, param, ctx)


FOLDER = click.argument("folder", type=Place(exists=True, file_okay=False, path_type=str))
ROLE = click.option("--role", default="", help="The role that opens the account.")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Keeps the dynamic tables in a folder fresh, and shows how they are."""


@command.command()
@FOLDER
@ROLE
@click.option(
    "--once", is_flag=True, help="Refresh what is due now, and end; exit status 1: a refresh failed."
)
@click.option("--for", "seconds", type=float, help="End after this many seconds.")
def run(folder: str, role: str, once: bool, seconds: float | None) -> None:
    """Refreshes what is due, until SIGTERM or Ctrl-C; several processes may run on one folder.

    Every table is kept within its target lag, after the tables that it reads, at data timestamps that all of
    them have. A refresh under way is ended first; a process that is killed does no harm either.
    """
    from dynamic_tables.operations.runner import Runner

    stop = Event()
    # The session is opened first: pyspark sets a handler of its own for Ctrl-C.
    with _account(folder, role, computes=True) as account, _stopping(stop, seconds):
        failed = 0

        def observe(event: Told) -> None:
            nonlocal failed
            failed += not isinstance(event, RefreshResult)
            _tell(event)

        runner = Runner(account=account, observe=observe)
        if once:
            runner.run_due(stop)
            if failed:
                sys.exit(FAILED)
        else:
            click.echo(f"{_time()}  keeps {folder} fresh; stop it with Ctrl-C", err=True)
            runner.run(stop)


@command.command()
@FOLDER
@ROLE
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page with the graph.")
def status(folder: str, role: str, as_json: bool, html: Path | None) -> None:
    """Shows each dynamic table: its state, its lag beside the target, its last refresh, who refreshes it."""
    with _account(folder, role) as account:
        if not account.store.definitions() and not account.unreadable():
            raise DefinitionError(f"{folder} holds no account: there is no table in it")
        rows = account.dynamic_tables().to_pylist()
        inputs = account.dependencies().to_pylist()
        for reason in account.unreadable():
            click.echo(f"missing: {reason}", err=True)
    if html is not None:
        _write(html, page(folder, rows, inputs, datetime.now(UTC)))
    if as_json:
        click.echo(json.dumps(rows, default=str, indent=2))
    else:
        click.echo(status_text(rows), nl=False)


@command.command()
@FOLDER
@click.argument("table", required=False)
@ROLE
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="The newest so many.")
def history(folder: str, table: str | None, role: str, as_json: bool, limit: int) -> None:
    """Shows the newest refreshes of a table, or of all, with those that failed."""
    with _account(folder, role) as account:
        rows = account.refresh_history(table).to_pylist()[-limit:]
    click.echo(json.dumps(rows, default=str, indent=2) if as_json else history_text(rows), nl=as_json)


@command.command("script")
@FOLDER
@ROLE
def script_of(folder: str, role: str) -> None:
    """Prints the tables, views and dynamic tables as a SQL script, without rows."""
    with _account(folder, role) as account:
        click.echo(account.script(), nl=False)


def _verb(name: str, does: Callable[[Account, str], object], text: str, *, computes: bool = False) -> None:
    """Adds a command that does one thing with one table. `text`: its help. `computes`: as for `_account`."""

    @command.command(name, help=text)
    @FOLDER
    @click.argument("table")
    @ROLE
    def act(folder: str, table: str, role: str) -> None:
        with _account(folder, role, computes=computes) as account:
            does(account, table)
        click.echo(f"{table}: {name} done")


_verb(
    "refresh",
    lambda account, table: account.refresh(table),
    "Refreshes a table and what it reads now.",
    computes=True,
)
_verb("suspend", lambda account, table: account.suspend(table), "Takes a table out of its schedule.")
_verb("resume", lambda account, table: account.resume(table), "Puts a table back into its schedule.")


@contextmanager
def _account(folder: str, role: str, *, computes: bool = False) -> Iterator[Account]:
    """Opens an account, and turns its errors into one line and an exit code.

    `computes`: the session is opened now. Otherwise it is on demand: status, history, suspend and resume read
    and write small files alone.
    """
    from dynamic_tables.account import Account
    from dynamic_tables.session import open_session
    from dynamic_tables.store.spark.object_store import is_object_store
    from dynamic_tables.store.spark.on_demand import on_demand

    def opened() -> SparkSession:
        return open_session(app_name="dvs-tables", s3=is_object_store(folder))

    try:
        session = opened() if computes else on_demand(opened)
        with warnings.catch_warnings(record=True) as notes:
            account = Account.open(folder, session, WallClock(), role=role)
        for each in notes:
            click.echo(f"note: {each.message}", err=True)
        yield account
    except DynamicTablesError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(FAILED)


@contextmanager
def _stopping(stop: Event, seconds: float | None) -> Iterator[None]:
    """Sets `stop` on SIGTERM, on SIGINT, or after a time; a second signal ends the process at once."""

    def ask(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            sys.exit(128 + number)
        click.echo(f"{_time()}  stops after the refresh under way", err=True)
        stop.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGTERM, signal.SIGINT)}
    alarm: Any = None
    if seconds is not None:
        from threading import Timer

        alarm = Timer(seconds, stop.set)
        alarm.daemon = True
        alarm.start()
    try:
        yield
    finally:
        if alarm is not None:
            alarm.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)


def _tell(note: Told) -> None:
    """Prints one line: on a refresh to standard output, on anything else to standard error."""
    match note:
        case RefreshResult():
            took = sum(note.record.seconds.values())
            lag = datetime.now(UTC).timestamp() - note.timestamp / SECOND
            click.echo(
                f"{_time()}  {note.table}: {note.action.value}, {_rows(note)}, {took:.2f} s, lag {lag:.1f} s"
            )
        case _:
            click.echo(f"{_time()}  {str(note).splitlines()[0]}", err=True)


def _rows(refresh: RefreshResult) -> str:
    """Returns how many rows a refresh changed, in words."""
    if refresh.record.inserted is None:
        return "written anew"
    late = f", {refresh.record.late} too late for the frozen part" if refresh.record.late else ""
    return f"+{refresh.record.inserted} -{refresh.record.deleted} rows{late}"


def _time() -> str:
    """Returns the time of day in UTC, for the beginning of a line."""
    return datetime.now(UTC).strftime("%H:%M:%S")


def _write(path: Path, text: str) -> None:
    """Writes a page to a file, or ends the process with one line that says why it cannot."""
    if path.exists() and not path.is_file():
        click.echo(f"error: {path} is no regular file; name another one", err=True)
        sys.exit(MISUSE)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        click.echo(f"error: {path} cannot be written: {error.strerror}", err=True)
        sys.exit(FAILED)
    click.echo(f"wrote {path}", err=True)


def main() -> None:
    """Runs the command."""
    command(prog_name="dvs-tables")
