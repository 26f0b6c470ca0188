"""The README.md of a failure folder: explains one failure to a reader who runs nothing."""

from __future__ import annotations

from reports.describe import definition_head, definition_sql, table_sql, timeline
from reports.difference import diff_block, difference_text
from reports.figures import size_text
from reports.findings import breakage_text, by_diagnosis, failed_steps, place, summary_text, votes_shown
from reports.markdown import code, fence, plain, table
from reports.tree import query_tree, tree_text
from reports.visible import one_line
from workload.outcomes.results import Finding, Outcome
from workload.scenario import Definition, Scenario
from workload.sql import Dialect

FILES = (
    "`reproduce.py` shows {0}. To keep this "
    "failure as a regression test, copy `test_*.py` and `scenario.json` into a test folder, or copy "
    "`scenario.json` into `corpus/`: every `dvs gate` replays the scenarios there."
)
SHOWN_BY_SPARK = "the wrong rows with nothing but pyspark, delta-spark and duckdb"
SHOWN_BY_ADAPTER = "each text that the engine was given, gives them to the adapter, and compares with DuckDB"


def failure_markdown(
    scenario: Scenario,
    outcome: Outcome,
    *,
    original: Scenario | None,
    replay: str,
    dialect: Dialect = Dialect.SPARK,
    of_adapter: bool = False,
    keyed: bool = False,
) -> str:
    """Returns the page of one failure. `original`: the scenario before shrinking; None if not shrunk.

    `dialect`: that of the texts that the engine was given. `of_adapter`: the engine is not the built-in one.
    `keyed`: its tables have primary keys.
    """
    parts = [
        f"# {plain(_title(outcome))}",
        plain(summary_text(outcome)),
        _origin(scenario, original),
        "## Replay",
        fence(replay, "sh"),
        FILES.format(SHOWN_BY_ADAPTER if of_adapter else SHOWN_BY_SPARK),
        "## Tables",
        "All tables are created, empty, before step 0.",
        fence(";\n".join(table_sql(t, dialect, keyed=keyed) for t in scenario.tables) + ";", "sql"),
        "## Definitions",
        *(_definition(scenario, definition, dialect, of_adapter) for definition in scenario.definitions),
        "## Timeline",
        "Times are logical microseconds. One commit is one transaction.",
        fence(_timeline(scenario, outcome, dialect, of_adapter), "sql"),
        *_breakage(outcome),
    ]
    if outcome.findings or outcome.breakage is None:
        findings = [_finding(scenario, outcome, finding) for finding in by_diagnosis(outcome)]
        nothing = ["No check failed, so there are no rows to compare."]
        parts += ["## Expected and actual", *(findings or nothing)]
    return "\n\n".join(parts) + "\n"


def _title(outcome: Outcome) -> str:
    killer = outcome.killer
    return f"{outcome.outcome.value}: {outcome.scenario if killer is None else killer.value}"


def _origin(scenario: Scenario, original: Scenario | None) -> str:
    size = f"Scenario {code(scenario.name)}: {size_text(scenario)}"
    if original is None:
        size += "; not shrunk."
    else:
        size += f". Shrunk from {size_text(original)}."
    if scenario.intents:
        size += " Built-in intents: " + ", ".join(code(intent) for intent in scenario.intents) + "."
    return size


def _breakage(outcome: Outcome) -> list[str]:
    """Returns the section on an adapter's error: the statements of the step, and the traceback."""
    broken = outcome.breakage
    if broken is None:
        return []
    statements = [fence(";\n".join(broken.statements) + ";", "sql")] if broken.statements else []
    return [f"## {breakage_text(broken)}", *statements, fence(broken.traceback)]


def _definition(scenario: Scenario, definition: Definition, dialect: Dialect, of_adapter: bool) -> str:
    own = definition_sql(scenario, definition, dialect)
    duck = definition_sql(scenario, definition, Dialect.DUCKDB)
    shown = fence(f"{definition_head(definition, of_adapter=of_adapter)} AS\n{own};", "sql")
    shown += "\n\n" + fence(tree_text(query_tree(definition.query)))
    if dialect is Dialect.DUCKDB:
        return shown
    if duck == own:
        return f"{shown}\n\nDuckDB is given the same query."
    summary = "<details><summary>The same query for DuckDB</summary>"
    return f"{shown}\n\n{summary}\n\n{fence(f'{duck};', 'sql')}\n\n</details>"


def _timeline(scenario: Scenario, outcome: Outcome, dialect: Dialect, of_adapter: bool) -> str:
    failed = failed_steps(outcome)
    blocks = []
    for entry in timeline(scenario, dialect, of_adapter=of_adapter):
        stamp = "" if entry.timestamp is None else f", data timestamp {entry.timestamp}"
        lines = [f"-- step {entry.number}, time {entry.at}: {one_line(entry.title)}{stamp}"]
        lines += (f"-- FAILS HERE: {one_line(note)}" for note in failed.get(entry.number, ()))
        lines += (f"{statement};" for statement in entry.statements)
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) or "-- no steps"


def _finding(scenario: Scenario, outcome: Outcome, finding: Finding) -> str:
    parts = [
        f"### {plain(finding.check.value)}: {plain(place(finding))}",
        fence(finding.message or "no message"),
    ]
    if finding.difference is not None:
        parts += [
            plain(difference_text(finding.difference)) + ".",
            fence(diff_block(finding.difference), "diff"),
        ]
    if finding.votes:
        shown = votes_shown(scenario, outcome, finding)
        votes = [(plain(voter), plain(vote)) for voter, vote in shown.items()]
        parts.append(table(("vote", "says"), votes))
    return "\n\n".join(parts)
