"""Scripts on a PostgreSQL server, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from protocols.read_committed.evaluate.duck import DuckEvaluator
from protocols.read_committed.on_postgres.connection import Asynchronous
from protocols.read_committed.on_postgres.play import Playing, PostgresSession
from protocols.read_committed.run import Run, in_order
from protocols.read_committed.script import Kind, Script, ScriptError, Statement

RUNS = (Kind.BEGIN, Kind.COMMIT, Kind.ROLLBACK, Kind.SELECT, Kind.INSERT, Kind.CHANGE, Kind.SET)
"""The kinds of statements that PostgreSQL runs."""
SCHEMA = "dvs_script"


class Isolation(Enum):
    """PostgreSQL's level of every transaction of a script."""

    READ_COMMITTED = "read committed"
    REPEATABLE_READ = "repeatable read"


def refused(script: Script) -> ScriptError | None:
    """Returns why PostgreSQL cannot run a script; None: it can."""
    for statement in script.setup:
        table = statement.kind is Kind.DDL and statement.text.upper().startswith("CREATE TABLE")
        if not table and statement.kind not in (Kind.INSERT, Kind.CHANGE):
            return _not_here(statement.line, statement.text)
    for step in script.steps:
        if step.statement is None:
            return _not_here(step.line, "CLOCK")
        timeout = (
            step.statement.word("name").upper() == "LOCK_TIMEOUT" and step.statement.word("value") == "0"
        )
        if step.statement.kind not in RUNS or (step.statement.kind is Kind.SET and not timeout):
            return _not_here(step.line, step.statement.text)
    return None


def _not_here(line: int, text: str) -> ScriptError:
    return ScriptError(
        f"line {line}: {text[:60]!r} is not run on PostgreSQL; there run CREATE TABLE in SETUP, BEGIN, "
        "COMMIT, ROLLBACK, SELECT, INSERT, UPDATE, DELETE, MERGE, ALTER SESSION SET LOCK_TIMEOUT = 0"
    )


@dataclass(slots=True)
class Postgres:
    """A server to run scripts on, one after the other. `links`: its connections, used again."""

    address: str
    links: list[Asynchronous] = field(default_factory=list)

    def run(self, script: Script, isolation: Isolation) -> Run:
        """Runs a script in the order of its text; a session that waits runs its next statement afterwards.

        Raises ScriptError: PostgreSQL has no such statement; StatementFailed: SETUP cannot be run.
        """
        problem = refused(script)
        if problem is not None:
            raise problem
        observer, *links = self._linked(len(script.sessions) + 1)
        observer.run(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
        observer.run(f"CREATE SCHEMA {SCHEMA}")
        for link in (observer, *links):
            link.run(f"SET search_path = {SCHEMA}")
            link.run(f"SET default_transaction_isolation = '{isolation.value}'")
            link.run("SET lock_timeout = 0")
        left: dict[str, list[Statement]] = {name: [] for name in script.sessions}
        for step in script.steps:
            if step.statement is not None:
                left[step.session].append(step.statement)
        sessions = {name: PostgresSession(name, link) for name, link in zip(left, links, strict=True)}
        playing = Playing(observer, sessions, DuckEvaluator(), left)
        playing.set_up(script)
        order = in_order([step.session for step in script.steps], playing.enabled, playing.step)
        playing.close()
        tables = playing.evaluator.columns
        contents = {name: tuple(observer.ask(f'SELECT * FROM "{name}"')) for name in tables}
        history = playing.recorder.history(playing.evaluator)
        return Run(tuple(order), tuple(playing.lines), history, contents)

    def _linked(self, count: int) -> list[Asynchronous]:
        while len(self.links) < count:
            self.links.append(Asynchronous.opened(self.address))
        return self.links[:count]

    def close(self) -> None:
        """Closes the connections."""
        for link in self.links:
            link.connection.close()
