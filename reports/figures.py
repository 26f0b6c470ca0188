"""The numbers of a run and its verdict as text, in the form that all reports share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from workload.outcomes.results import IS_JUDGED, Check, LimitsCost, OutcomeClass, RunSummary, UnmetFloor
from workload.outcomes.run_verdict import (
    LEAST_JUDGED,
    MOST_AMPLIFIED,
    RunVerdict,
    amplified_percent,
    is_amplified,
    judged_percent,
    run_verdict,
)
from workload.scenario import Commit, Scenario

MEANINGS: Mapping[OutcomeClass, str] = {
    OutcomeClass.PASSED: "every check passed",
    OutcomeClass.PRODUCT_FAILURE: "a check failed: the product is wrong",
    OutcomeClass.UNSUPPORTED: "the product declared that it does not support the query; not a pass",
    OutcomeClass.GENERATOR_INVALID: "the scenario itself is invalid: a bug of the harness",
    OutcomeClass.INFRASTRUCTURE_FAILURE: "the platform failed, so the scenario was not judged",
    OutcomeClass.DIVERGENCE: "the engines disagree on a query: neither a pass nor a product failure",
    OutcomeClass.FLAKY: "a check failed once, and passed when the scenario ran again; not a pass",
    OutcomeClass.IGNORED: "a known failure, covered by an ignore rule; not a pass",
}


BROKE = "the engine or its adapter broke"
"""What else an adapter's scenario that could not be judged says: it has no platform of this project."""


EVENTS: Mapping[OutcomeClass, str] = {
    OutcomeClass.PRODUCT_FAILURE: "failed a check",
    OutcomeClass.DIVERGENCE: "made the engines disagree",
    OutcomeClass.FLAKY: "failed a check once, and passed when it ran again",
    OutcomeClass.GENERATOR_INVALID: "was invalid, which is a bug of the harness",
    OutcomeClass.INFRASTRUCTURE_FAILURE: "could not be judged, because the platform failed",
}
"""What happened to the scenarios of each outcome that keeps a run from being a pass."""


@dataclass(frozen=True, slots=True)
class Headline:
    """The verdict of a run, its title, and one sentence for each further fact."""

    verdict: RunVerdict
    title: str
    sentences: tuple[str, ...]


def outcome_counts(summary: RunSummary) -> Mapping[OutcomeClass, int]:
    """Returns the number of scenarios of every outcome class. Raises ReportError where they do not add up."""
    classes = {outcome.value: outcome for outcome in OutcomeClass}
    unknown = sorted(set(summary.outcomes) - set(classes))
    if unknown:
        raise ReportError(f"outcome {unknown[0]!r} is no outcome class; known: {', '.join(classes)}")
    counts = {outcome: summary.outcomes.get(name, 0) for name, outcome in classes.items()}
    if sum(counts.values()) != summary.scenarios:
        raise ReportError(f"{summary.scenarios} scenarios ran, but the outcomes count {sum(counts.values())}")
    return counts


def headline(summary: RunSummary) -> Headline:
    """Returns the verdict of a run (see workload.outcomes.run_verdict), with title and sentences."""
    counts = outcome_counts(summary)
    passed, unsupported = counts[OutcomeClass.PASSED], counts[OutcomeClass.UNSUPPORTED]
    sentences = [
        f"{plural(counts[outcome], 'scenario')} {event}."
        for outcome, event in _events(summary).items()
        if counts[outcome]
    ]
    if not passed:
        sentences.append("No scenario passed." if summary.scenarios else "No scenario ran.")
    sentences.extend(_too_few(summary))
    if unmet := summary.coverage.unmet:
        sentences.append(f"{_unmet(unmet)}.")
    if summary.interrupted:
        sentences.append("Interrupted: these are the scenarios that were judged by then.")
    if passed:
        sentences.append(f"{number(passed)} of {plural(summary.scenarios, 'scenario')} passed.")
    if ignored := counts[OutcomeClass.IGNORED]:
        sentences.append(f"{number(ignored)} failed in a way that an ignore rule covers.")
    sentences.extend(f"Ignore rule {note}." for note in summary.rule_notes)
    if unsupported:
        sentences.append(f"{number(unsupported)} met a declared gap and do not count as passed.")
        if judged_percent(summary.outcomes) < LEAST_JUDGED:
            sentences.append(f"At least {LEAST_JUDGED} % of the scenarios must be judged for a pass.")
    if is_amplified(summary):
        share = amplified_percent(summary)
        sentences.append(
            f"{share:.0f} % of the changed rows were deleted and inserted again as they were; more than "
            f"{MOST_AMPLIFIED} % are no pass."
        )
    if not unmet:
        sentences.append(f"Every coverage floor of profile {summary.profile} was reached.")
    if idle := summary.coverage.too_small:
        sentences.append(f"{plural(len(idle), 'floor')} of it apply to longer runs only.")
    if summary.not_checked:
        sentences.append(
            f"Not checked, because the engine does not show it: {', '.join(summary.not_checked)}."
        )
    sentences.extend(cost_sentences(summary.cost))
    verdict = run_verdict(summary)
    return Headline(verdict, _title(verdict, counts, unmet), tuple(sentences))


def is_of_adapter(summary: RunSummary) -> bool:
    """Tells whether the run was one of an engine behind an adapter."""
    return summary.tier.startswith("adapter:")


def _events(summary: RunSummary) -> Mapping[OutcomeClass, str]:
    if not is_of_adapter(summary):
        return EVENTS
    broke = f"could not be judged, because {BROKE}{_how_it_broke(summary)}"
    return {**EVENTS, OutcomeClass.INFRASTRUCTURE_FAILURE: broke}


def meanings(summary: RunSummary) -> Mapping[OutcomeClass, str]:
    """Returns what each outcome means in a run."""
    if not is_of_adapter(summary):
        return MEANINGS
    return {**MEANINGS, OutcomeClass.INFRASTRUCTURE_FAILURE: f"{BROKE}, so the scenario was not judged"}


def _how_it_broke(summary: RunSummary) -> str:
    """Returns the methods that raised an error, and whether a base table was wrong: `: in commit`."""
    ways: dict[str, None] = {}
    for failure in summary.failures:
        outcome = failure.outcome
        if outcome.outcome is not OutcomeClass.INFRASTRUCTURE_FAILURE:
            continue
        if outcome.breakage is not None and outcome.breakage.method:
            ways[f"in {outcome.breakage.method}"] = None
        elif outcome.killer is Check.SOURCES:
            ways["a base table held other rows than were written"] = None
    return f": {', '.join(ways)}" if ways else ""


def cost_sentences(cost: LimitsCost | None) -> Iterator[str]:
    """Yields what the engine's limits cost: the main reasons, and the operators of which none was left."""
    if cost is None:
        return
    if cost.cut:
        first = list(cost.cut.items())[:REASONS]
        reasons = "; ".join(f"{number(count)}: {reason}" for reason, count in first)
        more = f"; and {len(cost.cut) - len(first)} more reasons" if len(cost.cut) > len(first) else ""
        yield (
            f"The limits of the engine took a definition out of some of the {number(cost.drawn)} scenarios "
            f"that were drawn ({reasons}{more})."
        )
    for operator, reasons_of in cost.never.items():
        why = "; ".join(f"{number(count)}: {reason}" for reason, count in list(reasons_of.items())[:REASONS])
        if why:
            yield f"No {operator} was left, though the limits have it: all of them were cut ({why})."
    if undrawn := [operator for operator, reasons_of in cost.never.items() if not reasons_of]:
        yield f"Within the limits, but not drawn yet in so few scenarios: {', '.join(undrawn)}."


REASONS = 5
"""How many reasons are listed, those that cost most."""


def _too_few(summary: RunSummary) -> Iterator[str]:
    """Yields a sentence if the time ended the run too early for a verdict."""
    if summary.scenarios < summary.wanted:
        judged, wanted = number(summary.scenarios), plural(summary.wanted, "scenario")
        yield f"{judged} of {wanted} were judged when the time was over, too few for a verdict."


def _unmet(unmet: Mapping[str, UnmetFloor]) -> str:
    """Returns how many definitions of a user were not judged, and how many other floors were not met."""
    absent = sum(name.startswith(IS_JUDGED) for name in unmet)
    parts = []
    if absent:
        parts.append(f"{plural(absent, 'definition')} not judged")
    if floors := len(unmet) - absent:
        parts.append(f"{plural(floors, 'coverage floor')} not met")
    return ", ".join(parts)


def _title(verdict: RunVerdict, counts: Mapping[OutcomeClass, int], unmet: Mapping[str, UnmetFloor]) -> str:
    if verdict is RunVerdict.PRODUCT_FAILURE:
        return plural(counts[OutcomeClass.PRODUCT_FAILURE], "product failure")
    if verdict is RunVerdict.FLOORS_UNMET:
        return _unmet(unmet)
    words: str = verdict.value
    return words.capitalize()


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of a run. `note`: its rate or share, where there is one."""

    label: str
    value: str
    note: str = ""


def figures(summary: RunSummary) -> tuple[Figure, ...]:
    """Returns the numbers of what ran, each with its rate or share, and the time."""
    counts = {
        "scenarios": summary.scenarios,
        "dynamic tables": summary.definitions,
        "refreshes": summary.refreshes,
        "checks": summary.checks,
    }
    if summary.judgements > summary.refreshes:
        # A judgement is of one database and one refresh; a lifted refresh serves many databases.
        counts["judgements"] = summary.judgements
    shown = [Figure(name, number(count), rate(count, summary.seconds)) for name, count in counts.items()]
    if summary.changes:
        share = f"{amplified_percent(summary):.0f} % without effect"
        shown.append(Figure("changed rows", number(summary.changes), share))
    return (*shown, Figure("time", duration(summary.seconds), f"{summary.seconds:,.1f} s"))


def number(value: int) -> str:
    """Returns a whole number with commas between its thousands: `1,234`."""
    return f"{value:,}"


def plural(count: int, noun: str) -> str:
    """Returns a number with its noun: `1 row`, `2 rows`, `2 refreshes`, `2 histories`."""
    return f"{number(count)} {noun if count == 1 else several(noun)}"


def several(noun: str) -> str:
    """Returns the plural of a noun."""
    if noun.endswith("y"):
        return f"{noun[:-1]}ies"
    return noun + ("es" if noun.endswith("sh") else "s")


def rate(count: int, seconds: float) -> str:
    """Returns a rate per second: `1.88 / s`; empty where no time passed."""
    if seconds <= 0:
        return ""
    per_second = count / seconds
    return f"{per_second:,.0f} / s" if per_second >= 100 else f"{per_second:,.2f} / s"


def duration(seconds: float) -> str:
    """Returns a duration: `0.5 s`, `1 min 05 s`, `8 h 00 min`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


def size_text(scenario: Scenario) -> str:
    """Returns the size of a scenario: `2 tables, 1 definition, 5 steps, 3 statements`."""
    statements = sum(len(step.statements) for step in scenario.steps if isinstance(step, Commit))
    return ", ".join(
        (
            plural(len(scenario.tables), "table"),
            plural(len(scenario.definitions), "definition"),
            plural(len(scenario.steps), "step"),
            plural(statements, "statement"),
        )
    )


class ReportError(ValueError):
    """Raised for results that contradict themselves: outcomes that do not add up, or of an unknown class.

    This is a bug of the code that counted them; the message gives the numbers.
    """
