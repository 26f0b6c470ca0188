"""The run of every order of a script's statements on `protocols.read_committed`, with a verdict on each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from dvs_model.checking.anomalies import anomalies
from dvs_model.checking.check import Checked, Holds, Violated, check
from dvs_model.histories.history import Commit
from dvs_model.notation import render
from dvs_model.theory.names import Level
from protocols.read_committed.evaluate.duck import DuckEvaluator
from protocols.read_committed.machine import RULES, Rules
from protocols.read_committed.run import Run, at_random, interleavings
from protocols.read_committed.script import Script, Statement, Step, script_of, statement_of

Judged = tuple[Run, Checked, Mapping[str, tuple[int, ...]]]
"""A run, the verdicts on its history, and its anomalies by name."""


@dataclass(frozen=True, slots=True)
class Explored:
    """The results of all orders of a script.

    `levels`: holds only if it holds in every order that commits something; unknown if none does. `first`: by
    anomaly the shortest run that shows it, the shortest of all first. `counts`: the orders that show it.
    `complete`: whether every order was run. `broken`: by law of a step the shortest run that broke it.
    """

    orders: int
    complete: bool
    levels: Mapping[str, str]
    first: Mapping[str, Judged]
    counts: Mapping[str, int]
    broken: Mapping[str, Run]


def explore(script: Script, rules: Rules = RULES, most: int = 20_000) -> Explored:
    """Runs and judges every order of a script, at most `most`.

    Raises StatementFailed: SETUP cannot be run.
    """
    evaluator, judged = DuckEvaluator(), dict[str, tuple[Checked, Mapping[str, tuple[int, ...]]]]()
    levels = dict.fromkeys((level.value for level in Level), "holds")
    first: dict[str, Judged] = {}
    counts: Counter[str] = Counter()
    broken: dict[str, Run] = {}
    orders = committing = 0
    complete = True
    for done in interleavings(script, evaluator, rules):
        if orders == most:
            complete = False
            break
        orders += 1
        # Many orders make the same history.
        text = render(done.history)
        if text not in judged:
            judged[text] = check(done.history), anomalies(done.history)
        checked, named = judged[text]
        add_broken(broken, done)
        if commits(done):
            committing += 1
            add_levels(levels, checked)
        for name in named:
            counts[name] += 1
            if name not in first or _size(done) < _size(first[name][0]):
                first[name] = done, checked, named
    ordered = dict(sorted(first.items(), key=lambda item: _size(item[1][0])))
    if not committing:
        levels = dict.fromkeys(levels, "unknown")
    return Explored(orders, complete, levels, ordered, counts, broken)


def commits(done: Run) -> bool:
    """Tells whether a run commits anything: without, its levels hold and say nothing."""
    return any(isinstance(event, Commit) for event in done.history.shown_events())


def add_broken(broken: dict[str, Run], done: Run) -> None:
    """Adds the laws that a run broke to `broken`; of two runs that broke the same one the shorter stays."""
    for law in done.broken:
        if law not in broken or _size(done) < _size(broken[law]):
            broken[law] = done


def explore_ddl(script: Script, rules: Rules = RULES, runs: int = 100, seed: int = 1) -> Mapping[str, Run]:
    """Draws DDL into a script, at random places of random sessions, and runs it in random orders.

    Scripts seldom hold DDL, and a wrong DDL step leaves a history that is fine. Returns the laws that were
    broken, each with the shortest run that broke it. Raises StatementFailed: SETUP cannot be run.
    """
    evaluator, random = DuckEvaluator(), Random(seed)
    broken: dict[str, Run] = {}
    for _ in range(runs):
        done = at_random(with_ddl(script, random), evaluator, random, rules)
        add_broken(broken, done)
        if isinstance(check(done.history).levels[Level.PL_2], Violated):
            broken.setdefault("PL-2 is violated", done)
    return broken


def with_ddl(script: Script, random: Random) -> Script:
    """Returns a script with a table that is created, or dropped, at a random place of a random session."""
    name = "drawn"
    while any(name in statement.text.lower() for statement in statements_of(script)):
        name += "_"
    session = random.choice(script.sessions)
    create, drop = (statement_of(f"{word} {name}{rest}") for word, rest in DDL)
    creates = random.random() < 0.5
    setup = script.setup if creates else (*script.setup, create)
    place = random.randrange(len(script.of(session)) + 1)
    steps = list(script.steps)
    own = [at for at, step in enumerate(steps) if step.session == session]
    at = own[place] if place < len(own) else len(steps)
    steps.insert(at, Step(session, create if creates else drop))
    return Script(setup, tuple(steps))


DDL = (("CREATE TABLE", " (a INT)"), ("DROP TABLE", ""))


def statements_of(script: Script) -> Iterator[Statement]:
    """Yields every statement of a script."""
    yield from script.setup
    yield from (step.statement for step in script.steps if step.statement is not None)


@dataclass(frozen=True, slots=True)
class SearchedScripts:
    """The number of random scripts, that of orders of all, and the laws that the last script has broken."""

    scripts: int
    orders: int
    broken: tuple[str, ...] = ()


def search_scripts(
    seed: int, scripts: int, rules: Rules = RULES, most: int = 40, *, first: int = 0
) -> SearchedScripts:
    """Explores random scripts until a law or PL-2 is broken: up to `most` orders of each, `most` with DDL.

    `first`: the number of the first script.
    """
    orders = 0
    for number in range(first, first + scripts):
        script = random_script(Random(f"{seed} {number}"))
        found = explore(script, rules, most)
        drawn = explore_ddl(script, rules, most, seed=number)
        orders += found.orders + most
        broken = [*found.broken, *drawn]
        if found.levels[Level.PL_2.value] == "violated":
            broken.append("PL-2 is violated")
        if broken:
            return SearchedScripts(number - first + 1, orders, tuple(broken))
    return SearchedScripts(scripts, orders)


def add_levels(levels: dict[str, str], checked: Checked) -> None:
    """Adds the verdicts on one order to `levels`: a level holds only if it holds in every order."""
    for level, verdict in checked.levels.items():
        if isinstance(verdict, Violated):
            levels[level.value] = "violated"
        elif not isinstance(verdict, Holds) and levels[level.value] == "holds":
            levels[level.value] = "unknown"


# What random scripts are drawn from: statements on two tables, and on two dynamic tables above them.
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


DYNAMIC_TABLES = (
    "SETUP: CREATE DYNAMIC TABLE d AS SELECT id, n FROM t",
    "SETUP: CREATE DYNAMIC TABLE e AS SELECT d.n + u.a AS both FROM d, u",
)
DYNAMIC_STATEMENTS = (
    "ALTER DYNAMIC TABLE d REFRESH",
    "ALTER DYNAMIC TABLE e REFRESH",
    "ALTER DYNAMIC TABLE e REFRESH",
    "SELECT * FROM e",
)


def random_script(random: Random, dynamic: float = 0.5) -> Script:
    """Returns two or three transactions of one to three statements over two tables.

    In a share `dynamic` of the scripts, from 0 to 1, two dynamic tables, one above the other, are refreshed
    and read as well; PostgreSQL has no such tables.
    """
    lines = [
        "SETUP: CREATE TABLE t (id INT, n INT)",
        "SETUP: INSERT INTO t VALUES (1, 0), (2, 0)",
        "SETUP: CREATE TABLE u (a INT)",
        "SETUP: INSERT INTO u VALUES (1)",
    ]
    drawn_from: Sequence[str] = STATEMENTS
    if random.random() < dynamic:
        lines += DYNAMIC_TABLES
        drawn_from = (*STATEMENTS, *DYNAMIC_STATEMENTS, *DYNAMIC_STATEMENTS)
    for number in range(1, random.randint(2, 3) + 1):
        statements = [random.choice(drawn_from) for _ in range(random.randint(1, 3))]
        if len(statements) > 1 or random.random() < 0.5:
            end = random.choice(("COMMIT", "COMMIT", "ROLLBACK"))
            statements = ["BEGIN", *statements, end]
        lines += [f"T{number}: {statement}" for statement in statements]
    return script_of("\n".join(lines))


def _size(done: Run) -> int:
    return len(done.history.events)
