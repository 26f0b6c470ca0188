"""The comparison of scripts on a real PostgreSQL with the model of read committed: differences and levels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from random import Random

from campaign.protocols.read_committed import Judged, add_levels, commits
from dvs_model.checking.anomalies import anomalies
from dvs_model.checking.check import check
from dvs_model.theory.names import Level
from protocols.read_committed.evaluate.duck import DuckEvaluator
from protocols.read_committed.on_postgres.scripts import Isolation, Postgres
from protocols.read_committed.run import Run, run
from protocols.read_committed.script import Script
from protocols.read_committed.state import Line


class DifferenceKind(Enum):
    """How a statement on PostgreSQL (there) differs from the same statement in the model (here)."""

    WAITS_HERE = "waits only in the model"
    WAITS_THERE = "waits only in PostgreSQL"
    FAILS_HERE = "fails only in the model"
    FAILS_THERE = "fails only in PostgreSQL"
    RESULT = "another result"
    CONTENTS = "another table in the end"


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference. `where`: the statement with its session, or the table."""

    kind: DifferenceKind
    where: str
    model: str
    postgres: str


@dataclass(frozen=True, slots=True)
class Beside:
    """The results of a script's orders on both sides.

    `levels`: by name, on PostgreSQL: holds only if it holds in every order that commits something; unknown if
    none does. `counts`: by kind of difference the orders that show it; `examples`: the first one. `first`: by
    anomaly the shortest run on PostgreSQL; `last`: the last run.
    """

    orders: int
    complete: bool
    same: int
    levels: Mapping[str, str]
    counts: Mapping[DifferenceKind, int]
    examples: Mapping[DifferenceKind, Difference]
    anomalies: Mapping[str, int]
    first: Mapping[str, Judged]
    last: Judged


@dataclass(frozen=True, slots=True)
class _StatementTrace:
    """A statement in a trace, with its outcome, and whether it waited for another session."""

    text: str
    outcome: str
    waited: bool

    @property
    def fails(self) -> bool:
        return self.outcome.startswith(("fails", "gives up", "given up", "deadlock"))


def _entries(lines: Sequence[Line], session: str) -> list[_StatementTrace]:
    """Returns what the trace says of the statements of one session, one entry each."""
    found: list[_StatementTrace] = []
    waited = False
    for line in lines:
        if line.session != session:
            continue
        if line.outcome == "waits":
            waited = True
            continue
        found.append(_StatementTrace(line.statement, line.outcome, waited))
        waited = False
    return found


def differences(script: Script, model: Run, real: Run) -> tuple[Difference, ...]:
    """Returns the differences of two runs of a script in one order, by statement and by table."""
    found: list[Difference] = []
    for session in script.sessions:
        most = len(script.of(session))
        pairs = zip(_entries(model.lines, session)[:most], _entries(real.lines, session)[:most], strict=False)
        for mine, other in pairs:
            kind = _kind(mine, other)
            if kind is not None:
                words = tuple(("waits; " if each.waited else "") + each.outcome for each in (mine, other))
                found.append(Difference(kind, f"{session}: {mine.text}", *words))
    for table, rows in model.contents.items():
        there = real.contents.get(table, ())
        if sorted(map(str, rows)) != sorted(map(str, there)):
            found.append(Difference(DifferenceKind.CONTENTS, table, _rows(rows), _rows(there)))
    return tuple(found)


def _kind(mine: _StatementTrace, other: _StatementTrace) -> DifferenceKind | None:
    if mine.fails != other.fails:
        return DifferenceKind.FAILS_HERE if mine.fails else DifferenceKind.FAILS_THERE
    if mine.waited != other.waited:
        return DifferenceKind.WAITS_HERE if mine.waited else DifferenceKind.WAITS_THERE
    result = [sorted(re.split(r", |; ", each.outcome)) for each in (mine, other)]
    return DifferenceKind.RESULT if not mine.fails and result[0] != result[1] else None


def _rows(rows: Sequence[tuple[object, ...]]) -> str:
    return ", ".join(sorted(map(str, rows))) or "no row"


def orders(script: Script) -> Iterator[Script]:
    """Yields the script with its statements in every order that keeps the order within each session."""
    pending: list[tuple[tuple[str, ...], Mapping[str, int]]] = [((), dict.fromkeys(script.sessions, 0))]
    while pending:
        order, done = pending.pop()
        ready = [name for name in script.sessions if done[name] < len(script.of(name))]
        if not ready:
            yield _ordered(script, order)
        pending += [((*order, name), {**done, name: done[name] + 1}) for name in reversed(ready)]


def _ordered(script: Script, order: Sequence[str]) -> Script:
    steps = {name: iter(script.of(name)) for name in script.sessions}
    return replace(script, steps=tuple(next(steps[name]) for name in order))


def shuffled(script: Script, random: Random) -> Script:
    """Returns the script with its statements in a random order that keeps the order within each session."""
    names = [step.session for step in script.steps]
    random.shuffle(names)
    return _ordered(script, names)


def beside(scripts: Iterable[Script], postgres: Postgres, isolation: Isolation, most: int) -> Beside:
    """Runs a script's orders (`scripts`), at least one, at most `most`, on both sides; returns the results.

    Raises ScriptError: PostgreSQL has no such statement; StatementFailed: SETUP cannot be run.
    """
    evaluator = DuckEvaluator()
    levels = dict.fromkeys((level.value for level in Level), "holds")
    counts, named_counts = Counter[DifferenceKind](), Counter[str]()
    examples: dict[DifferenceKind, Difference] = {}
    first: dict[str, Judged] = {}
    done = same = committing = 0
    complete = True
    last: Judged | None = None
    for ordered in scripts:
        if done == most:
            complete = False
            break
        done += 1
        real = postgres.run(ordered, isolation)
        different = differences(ordered, run(ordered, evaluator), real)
        same += not different
        counts.update({each.kind for each in different})
        for each in different:
            examples.setdefault(each.kind, each)
        checked, named = check(real.history), anomalies(real.history)
        last = real, checked, named
        if commits(real):
            committing += 1
            add_levels(levels, checked)
        for name in named:
            named_counts[name] += 1
            if name not in first or len(real.history.events) < len(first[name][0].history.events):
                first[name] = real, checked, named
    # A script has a statement, so there is an order.
    assert last is not None
    if not committing:
        levels = dict.fromkeys(levels, "unknown")
    return Beside(done, complete, same, levels, counts, examples, named_counts, first, last)
