"""One session of PostgreSQL that runs statements without waiting for them."""

from __future__ import annotations

import select
from dataclasses import dataclass, field

import psycopg
from psycopg import Connection
from psycopg.adapt import Transformer
from psycopg.pq import DiagnosticField, ExecStatus

from protocols.read_committed.on_postgres.rows import Report, report_of

TICK_S = 0.002
"""Seconds for which a look at the connection waits for an answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """How a statement ended. `error`: empty if it succeeded. `rows`: None if it returns none."""

    error: str
    rows: tuple[tuple[object, ...], ...] | None
    changed: int


@dataclass(slots=True)
class Asynchronous:
    """A connection. `reports`: the changes of rows since the last statement was sent, by the trigger."""

    connection: Connection[tuple[object, ...]]
    reports: list[Report] = field(default_factory=list)

    @classmethod
    def opened(cls, address: str) -> Asynchronous:
        """Connects and returns the connection. Raises psycopg.OperationalError."""
        link = cls(psycopg.connect(address, autocommit=True, prepare_threshold=None))
        link.connection.add_notice_handler(link._noticed)
        return link

    def _noticed(self, notice: psycopg.errors.Diagnostic) -> None:
        report = report_of(notice.message_primary or "")
        if report is not None:
            self.reports.append(report)

    @property
    def process(self) -> int:
        """PostgreSQL's number of the session."""
        return self.connection.info.backend_pid

    def send(self, text: str) -> None:
        """Sends a statement and does not wait for its answer."""
        self.reports = []
        self.connection.pgconn.send_query(text.encode())

    def answer(self, seconds: float = TICK_S) -> Answer | None:
        """Returns the answer to the statement that was sent; None: there is none yet."""
        low = self.connection.pgconn
        low.flush()
        select.select([low.socket], [], [], seconds)
        low.consume_input()
        if low.is_busy():
            return None
        last = None
        while (result := low.get_result()) is not None:
            last = result
        if last is None:
            return Answer("", None, 0)
        if last.status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
            words = last.error_field(DiagnosticField.MESSAGE_PRIMARY) or b"an error without a message"
            return Answer(words.decode(errors="replace"), None, 0)
        rows = None
        if last.status == ExecStatus.TUPLES_OK:
            reader = Transformer(self.connection)
            reader.set_pgresult(last)
            rows = tuple(reader.load_rows(0, last.ntuples, tuple))
        return Answer("", rows, last.command_tuples or 0)

    def ask(self, text: str) -> list[tuple[object, ...]]:
        """Runs a query and returns its rows. Raises psycopg.Error."""
        return self.connection.execute(text.encode()).fetchall()

    def run(self, text: str) -> None:
        """Runs a statement. Raises psycopg.Error."""
        self.reports = []
        self.connection.execute(text.encode())
