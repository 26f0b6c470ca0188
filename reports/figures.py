"""The figures of a run and its verdict, in words and numbers that every report shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from reports.errors import ReportError
from workload.results import OutcomeClass, RunSummary
from workload.scenario import Commit, Scenario

MEANINGS: Mapping[OutcomeClass, str] = {
    OutcomeClass.PASSED: "every check held",
    OutcomeClass.PRODUCT_FAILURE: "a check failed: the product is wrong",
    OutcomeClass.UNSUPPORTED: "the product declared a gap; not a pass",
    OutcomeClass.GENERATOR_INVALID: "the scenario itself makes no sense: a bug of the harness",
    OutcomeClass.INFRASTRUCTURE_FAILURE: "the platform failed; nothing was judged",
    OutcomeClass.DIVERGENCE: "the engines disagree on a query: neither a pass nor a product failure",
    OutcomeClass.FLAKY: "a check failed once and not again: seen, not reproduced; not a pass",
    OutcomeClass.IGNORED: "a known failure, covered by an ignore rule; not a pass",
}


class Verdict(Enum):
    """The headline of a run; a run has the first one that applies, PASSED if none does."""

    PRODUCT_FAILURE = "product failures"
    DIVERGENCE = "divergence between engines"
    FLAKY = "flaky failures"
    GENERATOR_INVALID = "invalid scenarios"
    INFRASTRUCTURE_FAILURE = "infrastructure failures"
    NOTHING_PASSED = "nothing passed"
    INTERRUPTED = "interrupted"
    FLOORS_UNMET = "coverage floors not met"
    PASSED = "passed"


SPOILERS: Mapping[OutcomeClass, tuple[Verdict, str]] = {
    OutcomeClass.PRODUCT_FAILURE: (Verdict.PRODUCT_FAILURE, "failed a check"),
    OutcomeClass.DIVERGENCE: (Verdict.DIVERGENCE, "made the engines disagree"),
    OutcomeClass.FLAKY: (Verdict.FLAKY, "failed a check once and not again"),
    OutcomeClass.GENERATOR_INVALID: (Verdict.GENERATOR_INVALID, "made no sense, a bug of the harness"),
    OutcomeClass.INFRASTRUCTURE_FAILURE: (
        Verdict.INFRASTRUCTURE_FAILURE,
        "could not be judged, the platform failed",
    ),
}
"""The outcome classes that spoil a run, with what their scenarios did; gravest first."""


@dataclass(frozen=True, slots=True)
class Headline:
    """A verdict, its title, and a sentence for each thing a reader must know besides."""

    verdict: Verdict
    title: str
    sentences: tuple[str, ...]


def outcome_counts(summary: RunSummary) -> Mapping[OutcomeClass, int]:
    """Scenarios per outcome class, every class present. Raises ReportError if they do not add up."""
    classes = {outcome.value: outcome for outcome in OutcomeClass}
    unknown = sorted(set(summary.outcomes) - set(classes))
    if unknown:
        raise ReportError(f"outcome {unknown[0]!r} is no outcome class; known: {', '.join(classes)}")
    counts = {outcome: summary.outcomes.get(name, 0) for name, outcome in classes.items()}
    if sum(counts.values()) != summary.scenarios:
        raise ReportError(f"{summary.scenarios} scenarios ran, but the outcomes count {sum(counts.values())}")
    return counts


def headline(summary: RunSummary) -> Headline:
    """The verdict of a run. Unsupported scenarios do not spoil it, but a run needs one that passed."""
    counts = outcome_counts(summary)
    passed, unsupported = counts[OutcomeClass.PASSED], counts[OutcomeClass.UNSUPPORTED]
    problems = [
        (verdict, f"{plural(counts[outcome], 'scenario')} {deed}.")
        for outcome, (verdict, deed) in SPOILERS.items()
        if counts[outcome]
    ]
    if not passed:
        text = "No scenario passed." if summary.scenarios else "No scenario ran."
        problems.append((Verdict.NOTHING_PASSED, text))
    if unmet := summary.coverage.unmet:
        problems.append((Verdict.FLOORS_UNMET, f"{plural(len(unmet), 'coverage floor')} not met."))
    if summary.interrupted:
        problems.append((Verdict.INTERRUPTED, "Interrupted: this is what had been judged by then."))
    sentences = [text for _, text in problems]
    if passed:
        sentences.append(f"{number(passed)} of {plural(summary.scenarios, 'scenario')} passed.")
    if ignored := counts[OutcomeClass.IGNORED]:
        sentences.append(f"{number(ignored)} failed in a way that an ignore rule covers.")
    sentences.extend(f"Ignore rule {note}." for note in summary.rule_notes)
    if unsupported:
        sentences.append(f"{number(unsupported)} met a declared gap and count as no pass.")
    if not unmet:
        sentences.append(f"Every coverage floor of profile {summary.profile} was reached.")
    if summary.left_out:
        sentences.append(f"Not checked, since the engine does not show it: {', '.join(summary.left_out)}.")
    verdict = min((v for v, _ in problems), key=list(Verdict).index, default=Verdict.PASSED)
    return Headline(verdict, _title(verdict, counts, len(unmet)), tuple(sentences))


def _title(verdict: Verdict, counts: Mapping[OutcomeClass, int], unmet: int) -> str:
    if verdict is Verdict.PRODUCT_FAILURE:
        return plural(counts[OutcomeClass.PRODUCT_FAILURE], "product failure")
    if verdict is Verdict.FLOORS_UNMET:
        return f"{plural(unmet, 'coverage floor')} not met"
    words: str = verdict.value
    return words.capitalize()


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of a run with its unit in words and, where it makes sense, its rate."""

    label: str
    value: str
    note: str = ""


def figures(summary: RunSummary) -> tuple[Figure, ...]:
    """What ran, and how fast."""
    judgements = Figure("judgements", number(summary.judgements), rate(summary.judgements, summary.seconds))
    return (
        Figure("scenarios", number(summary.scenarios), rate(summary.scenarios, summary.seconds)),
        Figure("dynamic tables", number(summary.definitions), rate(summary.definitions, summary.seconds)),
        Figure("refreshes", number(summary.refreshes), rate(summary.refreshes, summary.seconds)),
        Figure("checks", number(summary.checks), rate(summary.checks, summary.seconds)),
        # Of one database and one refresh each: more than refreshes where databases were lifted.
        *((judgements,) if summary.judgements > summary.refreshes else ()),
        Figure("time", duration(summary.seconds), f"{summary.seconds:,.1f} s"),
    )


def number(value: int) -> str:
    """A whole number with its thousands apart."""
    return f"{value:,}"


def plural(count: int, noun: str) -> str:
    """`1 row`, `2 rows`, `2 refreshes`."""
    ending = "" if count == 1 else "es" if noun.endswith("sh") else "s"
    return f"{number(count)} {noun}{ending}"


def rate(count: int, seconds: float) -> str:
    """A rate, or nothing where no time passed."""
    if seconds <= 0:
        return ""
    per_second = count / seconds
    return f"{per_second:,.0f} / s" if per_second >= 100 else f"{per_second:,.2f} / s"


def duration(seconds: float) -> str:
    """`0.5 s`, `1 min 05 s`, `8 h 00 min`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


def size_text(scenario: Scenario) -> str:
    """How big a scenario is: `2 tables, 1 definition, 5 steps, 3 statements`."""
    statements = sum(len(step.statements) for step in scenario.steps if isinstance(step, Commit))
    return ", ".join(
        (
            plural(len(scenario.tables), "table"),
            plural(len(scenario.definitions), "definition"),
            plural(len(scenario.steps), "step"),
            plural(statements, "statement"),
        )
    )
