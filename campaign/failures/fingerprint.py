"""Fingerprints: what failures of one cause have in common, read off their shrunk scenarios.

An example, as reports show it: `product_failure: oracle equality: left join: wrong value`. Attribution and
reports group failures by them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from enum import Enum

from generators import coverage
from given.texts import operators_in
from workload import query as ir
from workload.operators import Operator, written_operators
from workload.outcomes.results import Check, Fingerprint, Outcome
from workload.scenario import Scenario

LONGEST_MESSAGE = 160
"""Characters of a message that tell one cause from another."""


QUOTED = re.compile(r"(?<!\w)'[^']*'(?!\w)|\"[^\"]*\"|`[^`]*`")
PLAIN_WORDS = re.compile(r"[A-Za-z][A-Za-z_]+( [A-Za-z]+)*")


class Family(Enum):
    """What kind of thing a failed check found wrong; one cause may fail several checks of one family."""

    ROWS = "rows or changes"
    VERSIONS = "versions read"
    ACTION = "refresh action"
    EFFORT = "changes without effect"
    ERROR = "refresh error"
    SOURCES = "sources"


FAMILIES: Mapping[Check, Family] = {
    Check.VALIDATION: Family.ROWS,
    Check.INVARIANT_1: Family.ROWS,
    Check.INVARIANT_2: Family.ROWS,
    Check.INVARIANT_3: Family.ROWS,
    Check.INVARIANT_6: Family.EFFORT,
    Check.COUNTS: Family.ACTION,
    Check.ROW_IDS: Family.ROWS,
    Check.STATE: Family.ROWS,
    Check.FRONTIER: Family.VERSIONS,
    Check.REFRESH_MODE: Family.ACTION,
    Check.SOURCES: Family.SOURCES,
    Check.EQUALITY: Family.ROWS,
    Check.REFRESH_ERROR: Family.ERROR,
    Check.HISTORY: Family.VERSIONS,
}
"""The family of each check."""


def fingerprint(scenario: Scenario, outcome: Outcome) -> Fingerprint:
    """Returns the fingerprint of an outcome; it identifies a cause only if the scenario is shrunk.

    Outcomes that cannot be shrunk (a platform failure, a flaky one) have no operators in it.
    """
    # Where contents and ids both differ, the difference of the contents tells more.
    findings = sorted(outcome.findings, key=lambda finding: finding.check is not Check.EQUALITY)
    differences = [finding.difference for finding in findings if finding.difference is not None]
    definitions = scenario.definitions if outcome.shrinkable else ()
    names = (name for definition in definitions for name in query_operators(definition.query))
    return Fingerprint(
        outcome=outcome.outcome,
        check=outcome.killer,
        operators=tuple(sorted(names)),
        kind=differences[0].kind if differences else None,
        message=error_message(scenario, outcome, outcome.killer),
    )


def error_message(scenario: Scenario, outcome: Outcome, check: Check | None) -> str:
    """Returns the error behind a failed check, numbers and names masked; empty if the check compares data."""
    match check:
        case None:
            return masked(outcome.reason, names_in(scenario))
        case Check.REFRESH_ERROR:
            first = next(finding for finding in outcome.findings if finding.check is check)
            return masked(first.message, names_in(scenario))
        case _:
            return ""


def masked(message: str, names: Collection[str]) -> str:
    """Returns the first line of an error with `_` for each name, and `#` for each word with a digit.

    Of texts in quotes, plain words stay: types and operators tell causes apart.

    >>> masked("relation r0: column 'x1' (of 12) not found in t7", {"r0", "t7"})
    'relation _: column _ (of #) not found in _'
    """
    line = next((line.strip() for line in message.splitlines() if line.strip()), "")
    line = QUOTED.sub(lambda quoted: quoted[0] if PLAIN_WORDS.fullmatch(quoted[0][1:-1]) else "_", line)
    if names:
        known = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
        line = re.sub(rf"(?<![\w.])(?:{known})(?!\w)", "_", line, flags=re.IGNORECASE)
    return re.sub(r"\b\w*\d\w*\b", "#", line)[:LONGEST_MESSAGE]


def names_in(scenario: Scenario) -> set[str]:
    """Returns the names of the tables, definitions, columns, aliases and outputs of a scenario."""
    names = {table.name for table in scenario.tables} | {d.name for d in scenario.definitions}
    names.update(column.name for table in scenario.tables for column in table.columns if len(column.name) > 1)
    for definition in scenario.definitions:
        for node in ir.walk(definition.query):
            match node:
                case (
                    ir.Item(_, name)
                    | ir.Cte(name, _)
                    | ir.Named(_, name)
                    | ir.Derived(_, name)
                    | ir.Exploded(alias=name)
                ):
                    names.add(name)
                case _:
                    pass
    return names


def query_operators(query: ir.Query) -> list[str]:
    """Returns the operators of a query, each as often as it occurs, and its aggregate functions once each.

    A projection counts only where it computes, and COUNT(*), the simplest aggregate, does not count. The
    operators of a definition given as text are read off the text.
    """
    computing = [name for name in written_operators(query) if name is Operator.PROJECTION]
    names = [name for name in coverage.operators(query) if name is not Operator.PROJECTION]
    written = [
        name
        for node in ir.row_sources(query)
        if isinstance(node, ir.Verbatim)
        for name in operators_in(node.text)
    ]
    return [*names, *written, *computing, *sorted(aggregates(query))]


def aggregates(query: ir.Query) -> set[str]:
    """Returns the aggregate functions of a query but COUNT(*); MIN and MAX are one, being mirror images."""
    return {
        _label(part)
        for block in ir.blocks(query)
        for expr in ir.expressions_of(block)
        for part in ir.subexpressions(expr)
        if isinstance(part, ir.Aggregate) and part.function is not ir.AggregateFunction.COUNT_STAR
    }


def _label(aggregate: ir.Aggregate) -> str:
    match aggregate.function:
        case ir.AggregateFunction.MIN | ir.AggregateFunction.MAX:
            return "MIN or MAX"
        case function:
            return f"{function.value} DISTINCT" if aggregate.distinct else function.value
