"""Failures by cause: on the page, in Markdown, JSON and SARIF; the query as a tree."""

from __future__ import annotations

import dataclasses
import json
from xml.etree import ElementTree as ET

from reports.json_summary import summary_object
from reports.run_junit import run_junit
from reports.run_page import run_page
from reports.run_sarif import run_sarif
from reports.text import summary_markdown
from reports.tree import query_tree, tree_text
from tests.unit.reports import sample
from tests.unit.reports.test_run_page import Page
from workload.outcomes.results import (
    Check,
    DifferenceKind,
    FailureGroup,
    Fingerprint,
    OutcomeClass,
    RunSummary,
)
from workload.query import (
    Aggregate,
    AggregateFunction,
    Call,
    ColumnRef,
    Cte,
    Item,
    Join,
    JoinKind,
    Literal,
    Named,
    Query,
    Select,
    UnionAll,
    With,
)
from workload.types import BIGINT, BOOLEAN, INT

WRONG = Fingerprint(
    outcome=OutcomeClass.PRODUCT_FAILURE,
    check=Check.EQUALITY,
    operators=("inner join", "inner join", "<b>"),
    kind=DifferenceKind.WRONG_VALUE,
)
DIVERGED = Fingerprint(
    outcome=OutcomeClass.DIVERGENCE, check=Check.EQUALITY, operators=(), kind=DifferenceKind.EXTRA
)


def grouped(ignored: str = "") -> RunSummary:
    """The sample run with its two failures in a group each; three more scenarios resemble the first."""
    first, second = sample.SUMMARY.failures
    return dataclasses.replace(
        sample.SUMMARY,
        failures=(
            dataclasses.replace(first, fingerprint=WRONG, options=("--tier", "delta")),
            dataclasses.replace(second, fingerprint=DIVERGED, minimal=True),
        ),
        groups=(
            FailureGroup(
                fingerprint=WRONG,
                others=(dataclasses.replace(WRONG, kind=None),),
                indices=(41, 42, 43, 50),
                representative=41,
                unshrunk=(42, 43, 50),
                ignored=ignored,
            ),
            FailureGroup(fingerprint=DIVERGED, others=(), indices=(99,), representative=99),
        ),
        rule_notes=("covered nothing: bugs/9: operator union all",),
    )


def test_the_page_lists_the_groups_and_links_to_their_smallest_failure() -> None:
    read = Page(run_page(grouped()))
    title = "oracle equality: 2 x inner join, <b>: wrong value"
    assert read.row(title)[1:4] == ["product failure", "4", WRONG.code]
    assert "Scenarios: 41, 42, 43, 50. 3 of them were not shrunk" in read.all_text
    assert (
        "Other failures of this group look like this: oracle equality: 2 x inner join, <b>" in read.all_text
    )
    assert "It was not shrunk to the end" in read.all_text
    assert "dvs replay 'failures/000041 a' --tier delta" in read.all_text
    ids = set(read.attributes("id"))
    links = {link.removeprefix("#") for link in read.attributes("href") if link.startswith("#")}
    assert {"group-1", "group-2", "failure-41", "failure-99"} <= ids
    assert links <= ids
    assert len(read.attributes("id")) == len(ids)


def test_an_ignored_group_says_so_and_ignore_rules_that_do_nothing_are_reported() -> None:
    text = Page(run_page(grouped("bugs/7"))).all_text
    assert "Ignored: bugs/7." in text
    assert "Ignore rule covered nothing: bugs/9: operator union all." in text


def test_a_failure_of_no_group_is_shown_all_the_same() -> None:
    first, second = sample.SUMMARY.failures
    ungrouped = Page(run_page(sample.SUMMARY)).all_text
    assert first.shrunk.name in ungrouped
    assert second.shrunk.name in ungrouped


def test_the_query_stands_on_the_page_as_a_tree() -> None:
    read = Page(run_page(grouped()))
    assert "Operators of per_customer" in read.attributes("aria-label")
    assert "grouped aggregation by" in read.all_text


def test_junit_has_a_case_for_each_cause_and_each_missed_floor() -> None:
    (suite,) = ET.fromstring(run_junit(grouped("bugs/7")))
    cases = {case.get("name"): case for case in suite}
    assert cases["scenarios"].find("failure") is not None
    known = cases[f"oracle equality: 2 x inner join, <b>: wrong value ({WRONG.code})"].find("skipped")
    assert known is not None
    assert str(known.get("message")).endswith("not shrunk; ignored: bugs/7")
    doubt = cases[f"oracle equality: no operator: extra ({DIVERGED.code})"].find("error")
    assert doubt is not None
    assert "is no proof against the dynamic table" in str(doubt.text)
    unmet = [name for name in cases if str(name).startswith("floor: ")]
    assert len(unmet) == len(sample.SUMMARY.coverage.unmet) > 0
    (unknown,) = ET.fromstring(run_junit(grouped()))
    assert (unknown.get("failures"), suite.get("failures")) == ("2", "1")


def test_junit_of_a_clean_run_an_interrupted_one_and_an_empty_one() -> None:
    covered = dataclasses.replace(sample.SUMMARY.coverage, unmet={})
    outcomes = {outcome.value: 0 for outcome in OutcomeClass}
    clean = dataclasses.replace(
        sample.SUMMARY, coverage=covered, failures=(), outcomes={**outcomes, "passed": 7}, scenarios=7
    )
    cut = dataclasses.replace(clean, interrupted=True)
    empty = dataclasses.replace(clean, outcomes=outcomes, scenarios=0)
    refused, known = (
        dataclasses.replace(clean, outcomes={**outcomes, name: 7}) for name in ("unsupported", "ignored")
    )
    verdicts = []
    for summary in (clean, cut, empty, refused, known):
        (suite,) = ET.fromstring(run_junit(summary))
        verdicts.append((suite.get("tests"), suite.get("failures"), suite.get("errors")))
    assert verdicts == [("2", "0", "0"), *[("2", "0", "1")] * 4]


def test_markdown_json_and_sarif_have_the_groups() -> None:
    assert "| oracle equality: 2 x inner join, \\<b>: wrong value |" in summary_markdown(grouped())
    assert "## Divergences of the engines\n\n" in summary_markdown(grouped())
    assert "busy:\nSELECT c.name AS customer" in summary_markdown(grouped())
    groups = summary_object(grouped("bugs/7"))["groups"]
    assert [group["fingerprint"]["code"] for group in groups] == [WRONG.code, DIVERGED.code]
    assert groups[0]["ignored"] == "bugs/7"
    (run,) = json.loads(run_sarif(grouped("bugs/7")))["runs"]
    first, second = run["results"]
    assert (first["ruleId"], first["level"], second["level"]) == ("oracle equality", "error", "warning")
    assert first["partialFingerprints"] == {"dvsFingerprint/v1": WRONG.code}
    assert first["suppressions"] == [{"kind": "external", "justification": "bugs/7"}]
    assert second["suppressions"] == []
    where = first["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert where == "failures/000041%20a/scenario.json"
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == {"oracle equality"}


def test_a_tree_shows_every_operator_with_what_it_reads_below() -> None:
    a, b = ColumnRef("x", "a", INT), ColumnRef("y", "a", INT)
    positive = Call("gt", (a, Literal(0, INT)), BOOLEAN)
    join = Join(JoinKind.LEFT, Named("r", "x"), Named("c", "y"), Call("eq", (a, b), BOOLEAN))
    count = Aggregate(AggregateFunction.COUNT_STAR, None, False, BIGINT)
    cte: Query = Select((Item(ColumnRef("s", "a", INT), "a"),), Named("s", "s"), distinct=True)
    block = Select(
        (Item(a, "a"), Item(count, "n")),
        join,
        where=positive,
        group_by=(a,),
        having=Call("gt", (count, Literal(1, BIGINT)), BOOLEAN),
    )
    query = With(
        (Cte("c", cte),), UnionAll((block, Select((Item(count, "n"),), Named("r", "r"), group_by=())))
    )
    assert tree_text(query_tree(query)).splitlines() == [
        "union all",
        "├─ projection x.a AS a, COUNT(*) AS n",
        "│  └─ filter HAVING (COUNT(*) > CAST('1' AS BIGINT))",
        "│     └─ grouped aggregation by x.a: COUNT(*)",
        "│        └─ filter (x.a > 0)",
        "│           └─ left join ON (x.a = y.a)",
        "│              ├─ scan r AS x",
        "│              └─ cte c",
        "│                 └─ distinct",
        "│                    └─ projection s.a AS a",
        "│                       └─ scan s",
        "└─ projection COUNT(*) AS n",
        "   └─ scalar aggregation COUNT(*)",
        "      └─ scan r",
    ]
