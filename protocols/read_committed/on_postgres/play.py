"""A script on a real PostgreSQL, in a given order, recorded as a history.

Before each statement its session asks which places of each table it sees; nothing else runs meanwhile, so the
statement sees the same. A statement that has waited under READ COMMITTED evaluates the rows that others have
changed again: the trigger reports the versions that it wrote over, and rows that it had chosen and did not
write count as read in their newest version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import networkx as nx
import psycopg

from dvs_model.errors import first_line
from dvs_model.histories.draft import Name
from protocols.read_committed.evaluate.duck import DuckEvaluator
from protocols.read_committed.evaluate.postgres import in_postgres
from protocols.read_committed.on_postgres.connection import Answer, Asynchronous
from protocols.read_committed.on_postgres.rows import FUNCTION, TRIGGER, Deleted, Places, Report
from protocols.read_committed.recording import Recorder, TableView
from protocols.read_committed.rows import StatementFailed
from protocols.read_committed.script import Kind, Script, Statement
from protocols.read_committed.state import Line, Transaction


@dataclass(slots=True)
class PostgresSession:
    """A session in the middle of a script.

    `running`: the statement without an answer yet. `alone`: it is its own transaction. `failed`: an error has
    ended the transaction, and COMMIT or ROLLBACK is still due. `snapshot`: what the running statement sees,
    by table: places, and dead versions.
    """

    name: str
    link: Asynchronous
    transaction: Transaction | None = None
    failed: bool = False
    running: Statement | None = None
    alone: bool = False
    waited: bool = False
    snapshot: dict[str, tuple[list[str], dict[str, Name]]] = field(default_factory=dict)


@dataclass(slots=True)
class Playing:
    """A PostgreSQL in the middle of a script. `observer`: a session that takes no part.

    `left`: by session the statements that are still to run. `committed`: the numbers of transactions.
    """

    observer: Asynchronous
    sessions: dict[str, PostgresSession]
    evaluator: DuckEvaluator
    left: dict[str, list[Statement]]
    places: Places = field(default_factory=Places)
    recorder: Recorder = field(default_factory=Recorder)
    lines: list[Line] = field(default_factory=list)
    committed: set[int] = field(default_factory=lambda: {0})
    numbers: int = 0

    # The order of the script

    def enabled(self) -> Sequence[str]:
        """Returns the sessions that can run their next statement."""
        return [name for name, each in self.left.items() if each and not self.sessions[name].running]

    def step(self, name: str) -> None:
        """Runs the next statement of a session, until it ends or waits; others may end as well."""
        session, statement = self.sessions[name], self.left[name].pop(0)
        text = statement.text
        if statement.kind is Kind.SET:
            # It is LOCK_TIMEOUT = 0 (`scripts.refused`); in PostgreSQL 0 would be to wait without an end.
            text = "SET lock_timeout = '1ms'"
        elif statement.kind not in _ENDS:
            try:
                text = in_postgres(statement.text)
                self._look(session, statement)
            except StatementFailed as error:
                # What cannot be recorded must fail there too: an error ends the transaction.
                text = _failing(str(error))
            if not session.failed:
                self._start(session)
        session.running, session.waited = statement, False
        session.link.send(text)
        self._settle(session)

    def _start(self, session: PostgresSession) -> None:
        """Begins a transaction where it takes its snapshot: with its first statement, not with BEGIN."""
        if session.transaction is None:
            self._number(session)
            session.alone = True
        assert session.transaction is not None
        if session.transaction.number not in self.recorder.sessions:
            self.recorder.begin(session.transaction)

    def _look(self, session: PostgresSession, statement: Statement) -> None:
        """Asks what a statement will see. Raises StatementFailed: it names an unknown table."""
        session.snapshot = {}
        if session.failed:
            return
        names = [*self.evaluator.reads(statement.text)]
        if statement.kind is Kind.CHANGE:
            names.append(self.evaluator.target(statement.text))
        mine = session.transaction.number if session.transaction else -1
        for table in dict.fromkeys(names):
            seen = [str(row[0]) for row in session.link.ask(f'SELECT ctid::text FROM "{table}"')]
            gone: dict[str, Name] = {}
            for row, deletions in self.places.deleted.get(table, {}).items():
                for deletion in deletions:
                    shows = deletion.txn == mine or (
                        deletion.txn in self.committed and self._shows(session, deletion.xid)
                    )
                    if shows:
                        gone[row] = deletion.version
            session.snapshot[table] = seen, gone

    def _shows(self, session: PostgresSession, xid: str) -> bool:
        question = f"SELECT pg_visible_in_snapshot('{xid}'::xid8, pg_current_snapshot())"
        return bool(session.link.ask(question)[0][0])

    # Waiting

    def _settle(self, started: PostgresSession) -> None:
        """Waits until every statement has ended or waits for a lock."""
        waits: Mapping[str, Sequence[str]] = {}
        answers: dict[str, Answer] = {}
        while True:
            running = [each for each in self.sessions.values() if each.running is not None]
            active = [each for each in running if each.name not in answers]
            for session in active:
                answer = session.link.answer()
                if answer is not None:
                    answers[session.name] = answer
            active = [each for each in active if each.name not in answers]
            waits = {each.name: self._holders(each) for each in active}
            if all(waits.values()) and not _cycle(waits):
                break
        while answers:
            # One statement may have gone on from what another one has left.
            name = min(answers, key=lambda each: self._follows(self.sessions[each]))
            self._ended(self.sessions[name], answers.pop(name))
        if started.running is not None and not started.waited:
            started.waited = True
            owners = [self.sessions[name].transaction for name in waits[started.name]]
            holders = tuple(f"T{owner.number}" for owner in owners if owner is not None)
            self.lines.append(Line(0, started.name, started.running.text, "waits", holders))

    def _follows(self, session: PostgresSession) -> int:
        """Returns the rank of a statement among those that ended together; the lowest is recorded first.

        A statement that wrote over a version which is not known yet comes after the one that made it.
        """
        olds = [(each.table, each.old) for each in session.link.reports if each.old is not None]
        if any(place not in self.places.at for place in olds):
            return 1
        return 0 if session.link.reports or not session.waited else 2

    def _holders(self, session: PostgresSession) -> list[str]:
        """Returns the sessions that block another one; none while it runs."""
        [[found]] = self.observer.ask(f"SELECT pg_blocking_pids({session.link.process})")
        assert isinstance(found, list)
        return [each.name for each in self.sessions.values() if each.link.process in found]

    # Endings

    def _ended(self, session: PostgresSession, answer: Answer) -> None:
        statement = session.running
        assert statement is not None
        session.running = None
        if statement.kind is Kind.SET and not answer.error:
            self._say(session, statement, "set")
        elif statement.kind in _ENDS:
            self._bounds(session, statement, answer)
        elif answer.error:
            self._failed(session, statement, answer)
        else:
            assert session.transaction is not None
            outcome = self._did(session, session.transaction, statement, answer)
            if session.alone:
                self._end(session, commit=True)
                outcome += "; committed"
            self._say(session, statement, outcome)

    def _bounds(self, session: PostgresSession, statement: Statement, answer: Answer) -> None:
        if statement.kind is Kind.BEGIN:
            if session.transaction or session.failed:
                self._say(session, statement, "fails: a transaction is open already")
                return
            self._number(session)
            self._say(session, statement, f"T{self.numbers} begins")
            return
        if session.failed:
            session.failed = False
            self._say(session, statement, "ends the transaction that is rolled back already")
        elif session.transaction is None:
            self._say(session, statement, "fails: no transaction is open here")
        else:
            number = session.transaction.number
            commit = statement.kind is Kind.COMMIT and not answer.error
            self._end(session, commit=commit)
            self._say(session, statement, f"T{number} {'commits' if commit else 'is rolled back'}")

    def _failed(self, session: PostgresSession, statement: Statement, answer: Answer) -> None:
        why = f"fails: {answer.error}"
        if session.transaction is not None:
            why += f"; T{session.transaction.number} is rolled back"
            session.failed = not session.alone
            self._end(session, commit=False)
        self._say(session, statement, why)

    def _number(self, session: PostgresSession) -> None:
        self.numbers += 1
        session.transaction = Transaction(self.numbers, "user", session.name, True, 0)

    def _end(self, session: PostgresSession, *, commit: bool) -> None:
        transaction = session.transaction
        assert transaction is not None
        if commit:
            self.committed.add(transaction.number)
            for version in _last_of(transaction, self.places):
                self.places.newest[version.obj] = version
        self.recorder.end(transaction, commit=commit)
        session.transaction, session.alone = None, False

    # Rows

    def _did(
        self, session: PostgresSession, transaction: Transaction, statement: Statement, answer: Answer
    ) -> str:
        """Records what a statement has read and written; returns what is said of it."""
        changes = statement.kind is Kind.CHANGE
        target = "" if statement.kind is Kind.SELECT else self.evaluator.target(statement.text)
        sources = [name for name in self.evaluator.reads(statement.text) if not changes or name != target]
        # A query waits only if it locks what it reads (FOR UPDATE).
        locks = session.waited and statement.kind is not Kind.INSERT
        views = {
            name: self._view(session, statement, name, self._again(session, statement, name) if locks else {})
            for name in dict.fromkeys([*sources, *([target] if changes else [])])
        }
        self.recorder.read(transaction, [views[name] for name in sources])
        if changes:
            self.recorder.write_where(transaction, views[target])
        for report in session.link.reports:
            self._wrote(transaction, report)
        if statement.kind is Kind.SELECT:
            shown = (str(row[0] if len(row) == 1 else row) for row in answer.rows or ())
            return f"returns {', '.join(shown) or 'no row'}"
        return f"{answer.changed} rows"

    def _view(
        self, session: PostgresSession, statement: Statement, table: str, again: Mapping[str, Name]
    ) -> TableView:
        condition = self.evaluator.condition(statement.text, table)
        seen, gone = session.snapshot[table]
        return self.places.view(self.evaluator, condition, table, seen, gone, again)

    def _again(self, session: PostgresSession, statement: Statement, table: str) -> dict[str, Name]:
        """Returns by row the version that a statement evaluated again after it had waited."""
        reports = [each for each in session.link.reports if each.table == table]
        again = {
            version.obj: version
            for version in (self.places.at[table, each.old] for each in reports if each.old is not None)
        }
        condition = self.evaluator.condition(statement.text, table)
        if " WHERE " in condition or statement.kind is Kind.SELECT:
            for version in self._view(session, statement, table, {}).chosen:
                again.setdefault(version.obj, self.places.newest.get(version.obj, version))
        return again

    def _wrote(self, transaction: Transaction, report: Report) -> None:
        table, places = report.table, self.places
        row = self.recorder.new_row(table) if report.old is None else places.at[table, report.old].obj
        number = transaction.counts[row] = transaction.counts.get(row, 0) + 1
        if report.values is None or report.new is None:
            version = self.recorder.delete(transaction, row, number)
            deletions = places.deleted.setdefault(table, {}).setdefault(row, [])
            deletions.append(Deleted(version, report.xid, transaction.number))
            return
        version = self.recorder.write(transaction, row, number, report.values)
        places.at[table, report.new] = version
        places.values[version] = report.values

    def _say(self, session: PostgresSession, statement: Statement, outcome: str) -> None:
        self.lines.append(Line(0, session.name, statement.text, outcome))

    # Beginning and end

    def set_up(self, script: Script) -> None:
        """Makes the tables and their first rows, as transaction 0. Raises StatementFailed."""
        setup = Transaction(0, "setup", "", True, 0)
        self.observer.run(FUNCTION)
        for statement in script.setup:
            try:
                self.observer.run(in_postgres(statement.text))
                if statement.kind is Kind.DDL:
                    self.observer.run(TRIGGER.format(table=self.evaluator.create(statement.text)))
                    continue
            except psycopg.Error as error:
                raise StatementFailed(f"line {statement.line}: {first_line(error)}") from error
            for each in self.observer.reports:
                self._wrote(setup, each)
        for version in _last_of(setup, self.places):
            self.places.newest[version.obj] = version

    def close(self) -> None:
        """Rolls back what is open, the sessions that do not wait first."""
        while True:
            idle = [each for each in self.sessions.values() if not each.running]
            is_open = [each for each in idle if each.transaction or each.failed]
            if not is_open:
                break
            session = is_open[0]
            session.running = Statement(Kind.ROLLBACK, "ROLLBACK")
            session.link.send("ROLLBACK")
            self._settle(session)


_ENDS = (Kind.BEGIN, Kind.COMMIT, Kind.ROLLBACK)


def _failing(why: str) -> str:
    """Returns a statement that fails with a message."""
    quoted = why.replace("'", "''").replace("$", "")
    return f"DO $$ BEGIN RAISE EXCEPTION USING MESSAGE = '{quoted}'; END $$"


def _last_of(transaction: Transaction, places: Places) -> list[Name]:
    """Returns the last version of each row that a transaction has written."""
    found: dict[str, Name] = {}
    written = [version for version in places.values if version.txn == transaction.number]
    deleted = [each.version for rows in places.deleted.values() for row in rows.values() for each in row]
    for version in [*written, *(each for each in deleted if each.txn == transaction.number)]:
        last = found.get(version.obj)
        if last is None or (version.number or 0) > (last.number or 0):
            found[version.obj] = version
    return list(found.values())


def _cycle(waits: Mapping[str, Sequence[str]]) -> bool:
    graph = nx.DiGraph([(waiter, holder) for waiter, holders in waits.items() for holder in holders])
    return not nx.is_directed_acyclic_graph(graph)
