"""A script run in one order of its statements, and in every order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from dvs_model.histories.history import History
from protocols.read_committed import laws
from protocols.read_committed.machine import RULES, Machine, Rules
from protocols.read_committed.rows import Evaluator
from protocols.read_committed.script import Script, Step
from protocols.read_committed.state import Line, Row


@dataclass(frozen=True, slots=True)
class Run:
    """A script after one order of its statements.

    `order`: the session of each step. `contents`: the committed rows of each table. `broken`: the laws of
    steps that were broken (see `laws`).
    """

    order: tuple[str, ...]
    lines: tuple[Line, ...]
    history: History
    contents: Mapping[str, tuple[tuple[object, ...], ...]]
    broken: tuple[str, ...] = ()


@dataclass(slots=True)
class _Playing:
    """A machine in the middle of a script. `left`: the steps of each session that are still to run."""

    machine: Machine
    left: dict[str, list[Step]]
    broken: list[str] = field(default_factory=list)

    def enabled(self) -> Sequence[str]:
        """Returns the sessions that can run their next step."""
        return [name for name, steps in self.left.items() if steps and not self.machine.waits(name)]

    def step(self, name: str) -> None:
        """Runs the next step of a session."""
        step = self.left[name].pop(0)
        old = laws.before(self.machine, step)
        if step.statement is None:
            self.machine.pass_time(step.seconds)
        else:
            self.machine.run(step.session, step.statement)
        if old is not None and (wrong := laws.broken(old, self.machine, step)):
            self.broken.append(wrong)


def _started(script: Script, evaluator: Evaluator, rules: Rules) -> _Playing:
    machine = Machine(evaluator, rules)
    machine.set_up(script)
    names = dict.fromkeys(step.session for step in script.steps)
    return _Playing(machine, {name: list(script.of(name)) for name in names})


def _ended(playing: _Playing, order: Sequence[str], evaluator: Evaluator) -> Run:
    machine = playing.machine
    machine.close()
    dynamic = machine.dynamic
    contents = {
        table: dynamic.result(table, rows) if table in dynamic.definitions else _values(rows)
        for table, rows in machine.committed.items()
    }
    history = machine.recorder.history(evaluator)
    return Run(tuple(order), tuple(machine.lines), history, contents, tuple(playing.broken))


def _values(rows: Mapping[str, Row]) -> tuple[tuple[object, ...], ...]:
    return tuple(rows[identity].values for identity in sorted(rows) if not rows[identity].dead)


def run(script: Script, evaluator: Evaluator, rules: Rules = RULES) -> Run:
    """Runs a script in the order of its text; a session that waits runs its next statement afterwards.

    Raises StatementFailed: SETUP cannot be run.
    """
    playing = _started(script, evaluator, rules)
    order = in_order([step.session for step in script.steps], playing.enabled, playing.step)
    return _ended(playing, order, evaluator)


def at_random(script: Script, evaluator: Evaluator, random: Random, rules: Rules = RULES) -> Run:
    """Runs a script in a random order that keeps the order within each session.

    Raises StatementFailed: SETUP cannot be run.
    """
    playing = _started(script, evaluator, rules)
    order: list[str] = []
    while enabled := playing.enabled():
        order.append(random.choice(enabled))
        playing.step(order[-1])
    return _ended(playing, order, evaluator)


def in_order(
    due: list[str], enabled: Callable[[], Sequence[str]], step: Callable[[str], None]
) -> Sequence[str]:
    """Lets sessions step in an order, a session that waits as soon as it can; returns the actual order.

    `due`: the session of each step. `enabled`: returns the sessions that do not wait.
    """
    order: list[str] = []
    while due:
        ready = set(enabled())
        # What a waiting session does next waits with it.
        position = next((at for at, name in enumerate(due) if name in ready), None)
        if position is None:
            break
        order.append(due.pop(position))
        step(order[-1])
    return order


def interleavings(script: Script, evaluator: Evaluator, rules: Rules = RULES) -> Iterator[Run]:
    """Yields the script in every order that keeps the order within each session, waiting included.

    Each order is run from the start. Raises StatementFailed: SETUP cannot be run.
    """
    pending: list[tuple[str, ...]] = [()]
    while pending:
        order = list(pending.pop())
        playing = _started(script, evaluator, rules)
        for name in order:
            playing.step(name)
        while enabled := playing.enabled():
            pending += [(*order, other) for other in reversed(enabled[1:])]
            order.append(enabled[0])
            playing.step(enabled[0])
        yield _ended(playing, order, evaluator)
