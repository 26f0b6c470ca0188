"""Every order of the statements of a script, judged (document 002)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from dvs_model.anomalies import anomalies
from dvs_model.check import Checked, Holds, Violated, check
from dvs_model.names import Level
from dvs_model.notation import render
from protocols.read_committed.evaluate.duck import DuckEvaluator
from protocols.read_committed.machine import RULES, Rules
from protocols.read_committed.run import Run, interleavings
from protocols.read_committed.script import Script, script_of

Judged = tuple[Run, Checked, Mapping[str, tuple[int, ...]]]
"""A run, the verdicts on its history, and its anomalies by name."""


@dataclass(frozen=True, slots=True)
class Explored:
    """What all orders of a script showed.

    `levels`: holds only if it holds in every order. `first`: by anomaly the shortest run that shows it, the
    shortest of all first. `counts`: the orders that show it. `complete`: whether every order was run.
    """

    orders: int
    complete: bool
    levels: Mapping[str, str]
    first: Mapping[str, Judged]
    counts: Mapping[str, int]


def explore(script: Script, rules: Rules = RULES, most: int = 20_000) -> Explored:
    """Runs and judges every order of a script, at most `most`.

    Raises StatementFailed: SETUP cannot be run.
    """
    evaluator, known = DuckEvaluator(), dict[str, tuple[Checked, Mapping[str, tuple[int, ...]]]]()
    levels = dict.fromkeys((level.value for level in Level), "holds")
    first: dict[str, Judged] = {}
    counts: Counter[str] = Counter()
    orders = 0
    complete = True
    for done in interleavings(script, evaluator, rules):
        if orders == most:
            complete = False
            break
        orders += 1
        # Many orders make the same history.
        text = render(done.history)
        if text not in known:
            known[text] = check(done.history), anomalies(done.history)
        checked, named = known[text]
        add_levels(levels, checked)
        for name in named:
            counts[name] += 1
            if name not in first or _size(done) < _size(first[name][0]):
                first[name] = done, checked, named
    ordered = dict(sorted(first.items(), key=lambda item: _size(item[1][0])))
    return Explored(orders, complete, levels, ordered, counts)


def add_levels(levels: dict[str, str], checked: Checked) -> None:
    """Adds the verdicts on one order to those on all: a level holds only if it holds in every order."""
    for level, verdict in checked.levels.items():
        if isinstance(verdict, Violated):
            levels[level.value] = "violated"
        elif not isinstance(verdict, Holds) and levels[level.value] == "holds":
            levels[level.value] = "unknown"


STATEMENTS = (
    "SELECT * FROM t WHERE id = 1",
    "SELECT SUM(n) FROM t",
    "SELECT id FROM t WHERE n > 0",
    "SELECT a FROM u",
    "UPDATE t SET n = n + 1 WHERE id = 1",
    "UPDATE t SET n = n + 1",
    "UPDATE u SET a = (SELECT COUNT(*) FROM t)",
    "DELETE FROM t WHERE id = 2",
    "DELETE FROM u WHERE a > 1",
    "INSERT INTO t VALUES (3, 1)",
    "INSERT INTO u SELECT n FROM t WHERE id = 1",
    "UPDATE t SET n = CAST('x' AS INT) WHERE id = 1",
)


def random_script(random: Random) -> Script:
    """Returns two or three transactions of one to three statements over two tables."""
    lines = [
        "SETUP: CREATE TABLE t (id INT, n INT)",
        "SETUP: INSERT INTO t VALUES (1, 0), (2, 0)",
        "SETUP: CREATE TABLE u (a INT)",
        "SETUP: INSERT INTO u VALUES (1)",
    ]
    for number in range(1, random.randint(2, 3) + 1):
        statements = [random.choice(STATEMENTS) for _ in range(random.randint(1, 3))]
        if len(statements) > 1 or random.random() < 0.5:
            end = random.choice(("COMMIT", "COMMIT", "ROLLBACK"))
            statements = ["BEGIN", *statements, end]
        lines += [f"T{number}: {statement}" for statement in statements]
    return script_of("\n".join(lines))


def _size(done: Run) -> int:
    return len(done.history.events)
