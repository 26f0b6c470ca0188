"""The model of read committed: sessions run statements; each sees what was committed before it began.

Where Snowflake's page leaves something open, docs/protocols.md says what is decided: a statement that waited
for a lock still sees what was committed when it began; a row that another transaction has deleted meanwhile
is not written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from dvs_model.histories.draft import Name
from protocols.read_committed.dynamic import Dynamic
from protocols.read_committed.locks import deadlock, lock_owners
from protocols.read_committed.parameters import procedure_of, set_parameter
from protocols.read_committed.recording import Recorder
from protocols.read_committed.rows import Evaluator, StatementFailed
from protocols.read_committed.script import Kind, Script, Statement
from protocols.read_committed.seeing import Known, views_of, visible
from protocols.read_committed.state import IDLE, Contents, Line, Row, Session, Transaction, Waiting

DEPTH = 16
"""How deep procedures may call each other."""


def _own_commits(session: Session, sessions: Iterable[Session]) -> Sequence[tuple[Transaction, bool]]:
    """Returns the open transactions of a session, which its DDL commits, the innermost first."""
    return [(transaction, True) for transaction in reversed(session.open)]


@dataclass(frozen=True, slots=True)
class Rules:
    """The parts of the model that planted faults replace.

    `seen`: the rows that a statement sees besides its own: from what was committed when it began, and from
    what other open transactions have written. `locks`: whether UPDATE, DELETE and MERGE take partition locks.
    `victim`: chooses among the statements of a deadlock, by their numbers. `together`: whether a refresh
    refreshes the dynamic tables that it reads as of its own data timestamp. `ended_by_ddl`: the transactions
    that DDL of a session ends among all sessions, and whether they commit.
    """

    seen: Callable[[Contents, Sequence[Transaction]], Contents] = lambda committed, others: committed
    locks: bool = True
    victim: Callable[[Sequence[int]], int] = max
    together: bool = True
    ended_by_ddl: Callable[[Session, Iterable[Session]], Sequence[tuple[Transaction, bool]]] = _own_commits


RULES = Rules()


@dataclass(slots=True)
class Machine:
    """Runs statements of sessions one at a time, and records what they do.

    `time`: seconds that have passed. `lost`: the open transactions of lost sessions. `lines`: the trace.
    `held`: by partition the transaction that holds its lock. `numbers`, `orders`, `partitions`: how many
    transactions, statements and partitions there were.
    """

    evaluator: Evaluator
    rules: Rules = RULES
    time: int = 0
    committed: Contents = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    lost: list[Transaction] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    recorder: Recorder = field(default_factory=Recorder)
    procedures: dict[str, tuple[Statement, ...]] = field(default_factory=dict)
    dynamic: Dynamic = field(default_factory=Dynamic)
    held: dict[int, int] = field(default_factory=dict)
    numbers: int = 0
    orders: int = 0
    partitions: int = 0

    def set_up(self, script: Script) -> None:
        """Runs the SETUP lines as transaction 0. Raises StatementFailed: one cannot be run."""
        setup = Transaction(0, "setup", "", explicit=True, last_statement=0)
        for statement in script.setup:
            match statement.kind:
                case Kind.DDL if statement.text.upper().startswith("CREATE PROCEDURE"):
                    name, statements = procedure_of(statement)
                    self.procedures[name] = statements
                case Kind.DDL:
                    self._define(statement)
                case Kind.INSERT | Kind.CHANGE:
                    self._write(setup, statement, self.committed)
                    self._publish(setup)
                case _:
                    raise StatementFailed(f"line {statement.line}: SETUP creates tables and writes rows")
        self.held = {}

    def session(self, name: str) -> Session:
        """Returns a session, which begins when it is first named."""
        return self.sessions.setdefault(name, Session(name))

    def waits(self, name: str) -> bool:
        """Tells whether a session waits for a lock."""
        return self.session(name).waiting is not None

    def run(self, name: str, statement: Statement) -> None:
        """Runs one statement in a session that does not wait."""
        session = self.session(name)
        self.orders += 1
        if session.lost:
            self._say(session, statement, "refused: the session is lost")
            return
        try:
            self._run(session, statement)
        except StatementFailed as error:
            self._failed(session, statement, f"fails: {error}")
        self._wake()

    def pass_time(self, seconds: int) -> None:
        """Lets time pass: statements that wait too long are given up, idle transactions are rolled back."""
        self.time += seconds
        self.lines.append(Line(self.time, "CLOCK", f"{seconds} s pass", ""))
        for session in self.sessions.values():
            waiting = session.waiting
            if waiting is not None and self.time - waiting.since >= session.lock_timeout:
                session.waiting = None
                self._failed(session, waiting.statement, f"gives up: no lock for {session.lock_timeout} s")
        for transaction in [*self._open(), *self.lost]:
            waits = transaction.session and self.session(transaction.session).waiting is not None
            if not waits and self.time - transaction.last_statement >= IDLE:
                self._end(transaction, commit=False)
                name = self.recorder.session_of(transaction.number)
                self.lines.append(Line(self.time, name, f"T{transaction.number}", "rolled back: idle"))
        self._wake()

    def close(self) -> None:
        """Ends the run: every session is closed, its open transaction is rolled back."""
        self._close_idle()
        while any(session.waiting for session in self.sessions.values()):
            waiting = next(session for session in self.sessions.values() if session.waiting)
            assert waiting.waiting is not None
            statement, waiting.waiting = waiting.waiting.statement, None
            self._failed(waiting, statement, "given up: the script has ended")
            self._close_idle()
        for transaction in list(self.lost):
            self._end(transaction, commit=False)

    def _close_idle(self) -> None:
        """Closes sessions that do not wait, until none is open; closing one may wake another."""
        while idle := [each for each in self.sessions.values() if each.open and not each.waiting]:
            self.run(idle[0].name, Statement(Kind.CLOSE, "CLOSE"))

    # Statements

    def _run(self, session: Session, statement: Statement) -> None:
        if session.open:
            session.open[-1].last_statement = self.time
        match statement.kind:
            case Kind.SELECT | Kind.INSERT | Kind.CHANGE | Kind.REFRESH:
                self._row_statement(session, statement)
            case Kind.BEGIN:
                self._begin_here(session, statement)
            case Kind.COMMIT | Kind.ROLLBACK:
                self._end_here(session, statement)
            case Kind.DDL:
                self._define_here(session, statement)
            case Kind.CALL:
                self._call(session, statement)
            case _:
                self._about_sessions(session, statement)

    def _about_sessions(self, session: Session, statement: Statement) -> None:
        match statement.kind:
            case Kind.SET:
                set_parameter(session, statement)
                self._say(session, statement, "set")
            case Kind.LOGIN:
                session.user = statement.word("user").lower()
                session.admin = bool(statement.word("admin"))
                self._say(session, statement, f"user {session.user}")
            case Kind.DISCONNECT:
                session.lost = True
                for transaction in session.open:
                    transaction.session = ""
                self.lost += session.open
                session.open = []
                self._say(session, statement, "the session is lost; its transaction stays, with its locks")
            case Kind.CLOSE:
                self._say(session, statement, "closed" + (", rolled back" if session.open else ""))
                for transaction in reversed(session.open[:]):
                    self._end(transaction, commit=False)
            case _:
                self._abort(session, statement)

    def _begin_here(self, session: Session, statement: Statement) -> None:
        # Inside a procedure BEGIN starts a scoped transaction of its own.
        scoped = session.in_procedure and not (session.open and session.open[-1].in_procedure)
        if session.open and not scoped:
            raise StatementFailed("a transaction is open already")
        self._begin(session, explicit=True)
        self._say(session, statement, f"T{session.open[-1].number} begins")

    def _define_here(self, session: Session, statement: Statement) -> None:
        # DDL commits the open transaction, and is committed itself.
        for transaction, commit in self.rules.ended_by_ddl(session, tuple(self.sessions.values())):
            self._say(session, statement, f"commits T{transaction.number} first")
            self._end(transaction, commit=commit)
        self._define(statement)
        self._say(session, statement, "done, and committed")

    def _end_here(self, session: Session, statement: Statement) -> None:
        current = session.open[-1] if session.open else None
        if current is None or (session.in_procedure and not current.in_procedure):
            raise StatementFailed("no transaction is open here")
        commit = statement.kind is Kind.COMMIT
        self._end(current, commit=commit)
        self._say(session, statement, f"T{current.number} {'commits' if commit else 'is rolled back'}")

    def _abort(self, session: Session, statement: Statement) -> None:
        name = statement.word("session")
        both = [*self._open(), *self.lost]
        found = [each for each in both if self.recorder.session_of(each.number) == name]
        if not found:
            raise StatementFailed(f"no open transaction of session {name}")
        for chosen in found:
            if chosen.owner != session.user and not session.admin:
                raise StatementFailed(
                    f"T{chosen.number} belongs to {chosen.owner}; its owner or ADMIN may abort it"
                )
            if chosen.session:
                self.session(chosen.session).waiting = None
            self._end(chosen, commit=False)
            self._say(session, statement, f"T{chosen.number} is rolled back")

    def _call(self, session: Session, statement: Statement) -> None:
        name = statement.word("procedure").lower()
        if name not in self.procedures:
            raise StatementFailed(f"no procedure {name}; there are: {', '.join(self.procedures) or 'none'}")
        if len(session.in_procedure) == DEPTH:
            raise StatementFailed(f"procedures call each other more than {DEPTH} deep")
        self._say(session, statement, "called")
        session.in_procedure.append(len(session.open))
        session.queue = [*self.procedures[name], None, *session.queue]
        self._continue(session)

    def _continue(self, session: Session) -> None:
        """Runs the statements of procedures until one waits or none is left."""
        while session.queue and session.waiting is None:
            statement = session.queue.pop(0)
            if statement is not None:
                try:
                    self._run(session, statement)
                except StatementFailed as error:
                    self._failed(session, statement, f"fails: {error}")
                continue
            depth = session.in_procedure.pop()
            for transaction in reversed(session.open[depth:]):
                self._end(transaction, commit=False)
                ended = Statement(Kind.CALL, "end of the procedure")
                self._say(session, ended, f"T{transaction.number} rolled back: left open")

    def _row_statement(self, session: Session, statement: Statement) -> None:
        if not session.open:
            self._begin(session, explicit=not session.autocommit)
        wait = Waiting(statement, self.committed, self.orders, self.time, self._needed(statement), 0)
        if not self._blocked(session, wait):
            self._execute(session, wait)

    def _execute(self, session: Session, wait: Waiting) -> None:
        transaction, statement = session.open[-1], wait.statement
        others = [other for other in [*self._open(), *self.lost] if other is not transaction]
        seen = self.rules.seen(wait.snapshot, others)
        if statement.kind is Kind.REFRESH:
            self.held |= dict.fromkeys(wait.partitions, transaction.number)
            outcome = self._refresh(transaction, statement)
        elif statement.kind is Kind.SELECT:
            outcome = self._select(transaction, statement, seen)
        else:
            self.held |= dict.fromkeys(wait.partitions, transaction.number)
            outcome = self._write(transaction, statement, seen)
        if not transaction.explicit:
            self._end(transaction, commit=True)
            outcome += "; committed"
        self._say(session, statement, outcome)

    # Locks

    def _needed(self, statement: Statement) -> frozenset[int]:
        """Returns the partitions that a statement locks: all of the table, unless it only adds rows."""
        if statement.kind is Kind.REFRESH:
            return self.dynamic.locks(statement.word("table").lower())
        if statement.kind is not Kind.CHANGE or not self.rules.locks:
            return frozenset()
        rows = self.committed.get(self.evaluator.target(statement.text), {})
        return frozenset(row.partition for row in rows.values() if not row.dead)

    def _blocked(self, session: Session, wait: Waiting) -> bool:
        """Makes a session wait if another transaction holds a lock that it needs; tells whether it waits."""
        mine = session.open[-1].number
        owners = lock_owners(self.held, mine, wait.partitions)
        if not owners:
            return False
        if session.lock_timeout == 0:
            raise StatementFailed(f"T{owners[0]} holds a lock, and LOCK_TIMEOUT is 0")
        wait.owner, session.waiting = owners[0], wait
        holders = tuple(f"T{owner}" for owner in owners)
        self.lines.append(Line(self.time, session.name, wait.statement.text, "waits", holders))
        self._end_deadlock(mine)
        return True

    def _end_deadlock(self, number: int) -> None:
        waiting = {
            each.open[-1].number: each for each in self.sessions.values() if each.waiting and each.open
        }
        needs = {txn: each.waiting.partitions for txn, each in waiting.items() if each.waiting is not None}
        orders = {_order(waiting[txn]): waiting[txn] for txn in deadlock(self.held, needs, number)}
        if orders:
            victim = orders[self.rules.victim(list(orders))]
            assert victim.waiting is not None
            statement, victim.waiting = victim.waiting.statement, None
            self._failed(victim, statement, "deadlock: the statement is rolled back")

    def _wake(self) -> None:
        """Runs waiting statements whose locks are free, the oldest first."""
        for session in sorted((each for each in self.sessions.values() if each.waiting), key=_order):
            wait = session.waiting
            if wait is None:
                continue
            owners = lock_owners(self.held, session.open[-1].number, wait.partitions)
            if not owners:
                session.waiting = None
                self._resume(session, wait)
                self._wake()
                return
            if owners[0] != wait.owner:
                # The timeout applies separately to each lock attempt.
                wait.owner, wait.since = owners[0], self.time

    def _resume(self, session: Session, wait: Waiting) -> None:
        try:
            self._execute(session, wait)
        except StatementFailed as error:
            self._failed(session, wait.statement, f"fails: {error}")
        self._continue(session)

    # Rows

    def _select(self, transaction: Transaction, statement: Statement, seen: Contents) -> str:
        rows, values = self.dynamic.tables(transaction, seen, self.evaluator.reads(statement.text))
        result = self.evaluator.select(statement.text, values)
        self._read(transaction, rows)
        self.recorder.read(transaction, views_of(self.evaluator, transaction, statement, seen, rows))
        shown = ", ".join(str(row[0] if len(row) == 1 else row) for row in result)
        return f"returns {shown or 'no row'}"

    def _read(self, transaction: Transaction, rows: Known) -> None:
        """Records the dynamic tables among some tables as read, and takes them out."""
        for name in [name for name in rows if name in self.dynamic.definitions]:
            for row in rows.pop(name).values():
                self.recorder.read_whole(transaction, row.version)

    def _refresh(self, transaction: Transaction, statement: Statement) -> str:
        # The data timestamp is the moment at which the lock is there, so that it never goes back.
        name = statement.word("table").lower()
        derived = self.dynamic.refresh(
            self.evaluator, transaction, self.committed, name, together=self.rules.together
        )
        for version, sources in derived.values():
            self.recorder.derive(transaction, version, sources)
        return f"refreshes {', '.join(derived)}"

    def _write(self, transaction: Transaction, statement: Statement, seen: Contents) -> str:
        target = self.evaluator.target(statement.text)
        if target in self.dynamic.definitions:
            raise StatementFailed(f"{target} is a dynamic table; only its refresh writes it")
        sources = self.evaluator.reads(statement.text)
        names = (target, *sources)
        tables, values_seen = self.dynamic.tables(transaction, seen, tuple(dict.fromkeys(names)))
        change = self.evaluator.change(statement.text, values_seen)
        # Rows that others have deleted since the statement began are not written.
        gone = set(tables[target]) - set(visible(transaction, self.committed, target))
        self._read(transaction, tables)
        views = views_of(self.evaluator, transaction, statement, seen, tables)
        changes = statement.kind is Kind.CHANGE
        # UPDATE, DELETE and MERGE read their target by the predicate write below.
        own = () if changes else (target,)
        read = [view for view in views if view.table in sources and (view.table != target or own)]
        self.recorder.read(transaction, read)
        if changes and transaction.number:
            self.recorder.write_where(transaction, next(view for view in views if view.table == target))
        rows = transaction.changes.setdefault(target, {})
        for identity, values in change.updated.items():
            if identity not in gone:
                version = self._version(transaction, identity, values)
                rows[identity] = Row(values, tables[target][identity].partition, version)
        for identity in change.deleted:
            if identity not in gone:
                number = transaction.counts[identity] = transaction.counts.get(identity, 0) + 1
                rows[identity] = Row((), 0, self.recorder.delete(transaction, identity, number), dead=True)
        if change.inserted:
            self.partitions += 1
            self.held[self.partitions] = transaction.number
        for values in change.inserted:
            identity = self.recorder.new_row(target)
            rows[identity] = Row(values, self.partitions, self._version(transaction, identity, values))
        written = len({*change.updated, *change.deleted} - gone)
        return f"{written + len(change.inserted)} rows"

    def _version(self, transaction: Transaction, identity: str, values: tuple[object, ...]) -> Name:
        number = transaction.counts.get(identity, 0) + 1
        transaction.counts[identity] = number
        return self.recorder.write(transaction, identity, number, values)

    # Transactions

    def _begin(self, session: Session, *, explicit: bool) -> None:
        self.numbers += 1
        transaction = Transaction(self.numbers, session.user, session.name, explicit, self.time)
        transaction.in_procedure = bool(session.in_procedure)
        session.open.append(transaction)
        self.recorder.begin(transaction)

    def _open(self) -> list[Transaction]:
        return [transaction for session in self.sessions.values() for transaction in session.open]

    def _end(self, transaction: Transaction, *, commit: bool) -> None:
        if commit:
            self._publish(transaction)
        self.recorder.end(transaction, commit=commit)
        self.held = {part: owner for part, owner in self.held.items() if owner != transaction.number}
        if transaction.session:
            session = self.session(transaction.session)
            session.open = [each for each in session.open if each is not transaction]
        self.lost = [each for each in self.lost if each is not transaction]

    def _publish(self, transaction: Transaction) -> None:
        """Commits rows under the table locks, which here are held for no time."""
        committed = {name: dict(rows) for name, rows in self.committed.items()}
        for name, rows in transaction.changes.items():
            committed.setdefault(name, {}).update(rows)
        self.committed = committed
        transaction.changes = {}

    def _define(self, statement: Statement) -> None:
        first = statement.text.split()[0].upper()
        match first:
            case "CREATE" if "DYNAMIC" in statement.text.upper().split()[:2]:
                self.partitions += 1
                name = self.dynamic.define(
                    statement.text, self.evaluator, self.partitions, tuple(self.committed)
                )
                self.committed = {**self.committed, name: {}}
            case "CREATE":
                name = self.evaluator.named(statement.text)
                if name in self.committed:
                    raise StatementFailed(f"there is a table {name} already")
                self.committed = {**self.committed, self.evaluator.create(statement.text): {}}
            case "DROP":
                name = self.evaluator.drop(statement.text)
                if name not in self.committed:
                    raise StatementFailed(f"there is no table {name}")
                if name in self.dynamic.definitions:
                    raise StatementFailed(f"{name} is a dynamic table; the model does not drop those")
                self.committed = {table: rows for table, rows in self.committed.items() if table != name}
            case _:
                raise StatementFailed(f"the model has no {first}; it has CREATE TABLE and DROP TABLE")

    def _failed(self, session: Session, statement: Statement, why: str) -> None:
        """Undoes a statement: its transaction stays open, unless it is its only one or errors abort it."""
        ends = session.open and (not session.open[-1].explicit or session.abort_on_error)
        if ends:
            number = session.open[-1].number
            self._end(session.open[-1], commit=False)
            why += f"; T{number} is rolled back"
        elif session.open:
            why += f"; T{session.open[-1].number} stays open"
        self._say(session, statement, why)
        self._wake()

    def _say(self, session: Session, statement: Statement, outcome: str) -> None:
        self.lines.append(Line(self.time, session.name, statement.text, outcome))


def _order(session: Session) -> int:
    """Returns the number of the statement that a session waits with; 0 if it does not wait."""
    return session.waiting.order if session.waiting is not None else 0
