"""The JSON and Markdown summaries, the verdict and coverage behind every report."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping

import pytest

from reports.coverage import heat, matrix
from reports.difference import ROWS_SHOWN, diff_block, diff_rows
from reports.figures import EVENTS, MEANINGS, ReportError, duration, headline, plural, rate
from reports.findings import summary_text
from reports.json_summary import summary_object
from reports.run_page import run_page
from reports.text import summary_markdown
from tests.unit.reports import sample
from workload.outcomes.results import (
    Breakage,
    Check,
    Difference,
    DifferenceKind,
    Outcome,
    OutcomeClass,
    UnmetFloor,
)
from workload.outcomes.run_verdict import SPOILERS, RunVerdict
from workload.schema import Column
from workload.types import INT


def test_the_json_has_its_keys_and_every_outcome_class() -> None:
    data = json.loads(json.dumps(summary_object(sample.SUMMARY), allow_nan=False))
    assert set(data) == {
        *(
            "seed",
            "tier",
            "profile",
            "scenarios",
            "definitions",
            "refreshes",
            "checks",
            "not_checked",
            "outcomes",
            "coverage",
        ),
        *("seconds", "interrupted", "time_split", "failures", "format", "version", "started"),
        *("judgements", "changes", "amplification", "groups", "ignore_rules", "wanted"),
        *("definitions_judged", "cost", "refusals"),
    }
    assert set(data["outcomes"]) == {outcome.value for outcome in OutcomeClass}
    assert sum(data["outcomes"].values()) == data["scenarios"] == 1000
    assert set(data["coverage"]) == {
        *(
            "operators",
            "pairs",
            "intents",
            "states",
            "actions",
            "crossings",
            "statements",
            "floors_met",
            "unmet",
        ),
        *("types", "branches", "too_small"),
    }
    assert data["coverage"]["floors_met"] is False
    assert data["coverage"]["unmet"]["operator: union all"] == {"reached": 80, "wanted": 100}


def test_the_json_names_folder_killer_and_findings_of_each_failure() -> None:
    first, second = summary_object(sample.SUMMARY)["failures"]
    assert (first["folder"], first["killer"]) == ("failures/000041 a", "action invariant 1")
    assert [finding["check"] for finding in first["findings"]] == ["oracle equality", "action invariant 1"]
    assert first["findings"][0]["difference"] == {
        "kind": "wrong value",
        "expected_rows": 6,
        "actual_rows": 8,
        "missing": 2,
        "extra": 4,
    }
    assert second["outcome"] == "divergence"


@pytest.mark.parametrize("outcomes", [{}, {"passed": 1001}, {"passed": 999, "PASSED": 1}])
def test_outcomes_that_do_not_add_up_are_refused(outcomes: Mapping[str, int]) -> None:
    with pytest.raises(ReportError):
        summary_object(dataclasses.replace(sample.SUMMARY, outcomes=outcomes))


@pytest.mark.parametrize(
    ("outcomes", "unmet", "verdict"),
    [
        ({"passed": 1000}, {}, RunVerdict.PASSED),
        ({"passed": 1000}, {"joins": UnmetFloor(1, 2)}, RunVerdict.FLOORS_UNMET),
        ({"passed": 800, "unsupported": 200}, {}, RunVerdict.PASSED),
        ({"passed": 799, "unsupported": 201}, {}, RunVerdict.TOO_FEW_JUDGED),
        ({"unsupported": 1000}, {}, RunVerdict.NOTHING_PASSED),
        ({"passed": 999, "infrastructure_failure": 1}, {}, RunVerdict.INFRASTRUCTURE_FAILURE),
        ({"passed": 999, "generator_invalid": 1}, {}, RunVerdict.GENERATOR_INVALID),
        ({"passed": 999, "divergence": 1}, {"joins": UnmetFloor(1, 2)}, RunVerdict.DIVERGENCE),
        ({"divergence": 999, "product_failure": 1}, {}, RunVerdict.PRODUCT_FAILURE),
    ],
)
def test_the_gravest_problem_gives_the_verdict(
    outcomes: Mapping[str, int], unmet: Mapping[str, UnmetFloor], verdict: RunVerdict
) -> None:
    coverage = dataclasses.replace(sample.COVERAGE, unmet=unmet)
    head = headline(dataclasses.replace(sample.SUMMARY, outcomes=outcomes, coverage=coverage))
    assert head.verdict is verdict
    assert any("declared gap" in sentence for sentence in head.sentences) == ("unsupported" in outcomes)


@pytest.mark.parametrize(
    ("changes", "pairs", "verdict"),
    [
        (1000, 100, RunVerdict.PASSED),
        (1000, 101, RunVerdict.AMPLIFIED),
        (199, 99, RunVerdict.PASSED),
    ],
)
def test_too_many_changes_without_effect_are_no_pass(changes: int, pairs: int, verdict: RunVerdict) -> None:
    met = dataclasses.replace(sample.COVERAGE, unmet={})
    run = dataclasses.replace(
        sample.SUMMARY, outcomes={"passed": 1000}, coverage=met, changes=changes, amplification=pairs
    )
    assert headline(run).verdict is verdict
    amplified = verdict is RunVerdict.AMPLIFIED
    assert any("inserted again as they were" in sentence for sentence in headline(run).sentences) == amplified


def test_the_tables_of_outcome_classes_are_closed() -> None:
    assert set(MEANINGS) == set(OutcomeClass)
    fine = {OutcomeClass.PASSED, OutcomeClass.UNSUPPORTED, OutcomeClass.IGNORED}
    assert set(SPOILERS) == set(OutcomeClass) - fine
    assert list(SPOILERS.values()) == list(RunVerdict)[: len(SPOILERS)]
    assert EVENTS.keys() == SPOILERS.keys()


def test_what_broke_behind_an_adapter_is_no_platform() -> None:
    """Its COMMIT raised an error, or a base table holds other rows: often the engine's own bug."""
    infra = OutcomeClass.INFRASTRUCTURE_FAILURE
    broken = Breakage(step=2, method="commit", statements=("INSERT INTO r VALUES (1)", "x"), traceback="")
    sources = dataclasses.replace(sample.EQUALITY, check=Check.SOURCES)
    outcomes = [
        Outcome(scenario="a", outcome=infra, reason="no transaction", breakage=broken),
        Outcome(scenario="b", outcome=infra, findings=(sources,)),
    ]
    assert summary_text(outcomes[0]).startswith(
        "The engine or its adapter broke in commit at step 2, given INSERT INTO r VALUES (1) and 1 statement "
        "more: no transaction."
    )
    (failure, _) = sample.SUMMARY.failures
    run = dataclasses.replace(
        sample.SUMMARY,
        tier="adapter:mine:Mine",
        scenarios=2,
        outcomes={"infrastructure_failure": 2},
        failures=tuple(dataclasses.replace(failure, outcome=outcome) for outcome in outcomes),
    )
    assert headline(run).sentences[0] == (
        "2 scenarios could not be judged, because the engine or its adapter broke: in commit, a base table "
        "held other rows than were written."
    )
    assert "platform" not in run_page(run)


def test_the_markdown_summary_has_figures_floors_and_failures() -> None:
    text = summary_markdown(sample.SUMMARY)
    assert text.startswith("# 1 product failure\n")
    assert "| refreshes | 7,012 | 1.88 / s |" in text
    assert "| `unsupported` | 18 |" in text
    assert "| `operator: union all` | 80 | 100 |" in text
    assert "| `busy` | 3000000 | `failures/000099` |" in text


@pytest.mark.parametrize("name", ["a", "a > b > c", "> b", ""])
def test_other_names_are_no_pairs_and_are_listed_apart(name: str) -> None:
    coverage = dataclasses.replace(sample.COVERAGE, pairs={name: 3, "a > b": 1}, unmet={})
    pairs = matrix(coverage)
    assert (pairs.columns, [row for row, _ in pairs.rows]) == (("b",), ["a"])
    assert [count.name for count in pairs.others] == [name]


def test_heat_grows_with_the_logarithm() -> None:
    assert [heat(count, 1000) for count in (0, 1, 10, 100, 1000)] == [0, 1, 2, 4, 5]


def test_a_difference_of_many_rows_is_cut_and_says_so() -> None:
    rows = tuple(((i,), 1) for i in range(ROWS_SHOWN + 5))
    difference = Difference(DifferenceKind.MISSING, (Column("a", INT),), rows, (), len(rows), 0)
    assert len(diff_rows(difference)) == ROWS_SHOWN
    assert diff_block(difference).endswith("... and 5 more rows")


def test_rows_of_another_shape_are_shown_unpaired() -> None:
    difference = Difference(DifferenceKind.SCHEMA, (Column("a", INT),), (((1,), 1),), (((1, 2), 1),), 1, 1)
    assert [row.cells for row in diff_rows(difference)] == [("1",), ("1", "2")]
    assert diff_block(difference).splitlines() == ["  a INT", "- 1", "+ 1     | 2"]


def test_numbers_in_words() -> None:
    assert [plural(n, "refresh") for n in (1, 2000)] == ["1 refresh", "2,000 refreshes"]
    assert [duration(s) for s in (0.04, 59.9, 65, 28800)] == ["0.0 s", "59.9 s", "1 min 05 s", "8 h 00 min"]
    assert [rate(5, 0.0), rate(5, 2.0), rate(3000, 2.0)] == ["", "2.50 / s", "1,500 / s"]
