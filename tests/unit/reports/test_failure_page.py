"""The README of a failure folder."""

from __future__ import annotations

import dataclasses
import json
import re

from reports.failure_page import failure_markdown
from reports.json_summary import finding_object
from reports.run_page import run_page
from tests.unit.reports import sample
from workload.outcomes.results import INCREMENTAL_BUG, Breakage, Outcome, OutcomeClass
from workload.schema import Promises
from workload.sql import Dialect

REPLAY = "dvs replay failures/41"


def product() -> str:
    return failure_markdown(sample.SCENARIO, sample.PRODUCT, original=sample.LONG, replay=REPLAY)


def blocks(markdown: str) -> list[str]:
    """The contents of the fenced blocks, by the rule that a fence ends at one at least as long."""
    problems: list[str] = []
    fence = ""
    for line in markdown.splitlines():
        opening = re.match(r"`{3,}", line)
        if not fence and opening:
            fence = opening.group()
            problems.append("")
        elif fence and line == fence:
            fence = ""
        elif fence:
            problems[-1] += line + "\n"
    assert not fence
    return problems


def outside(markdown: str) -> str:
    for block in blocks(markdown):
        markdown = markdown.replace(block, "")
    return markdown


def test_the_first_paragraph_names_check_table_and_data_timestamp() -> None:
    paragraph = product().split("\n\n")[1]
    assert "'action invariant 1' failed on table per_customer at data timestamp 4500000 (step 4)" in paragraph
    assert "There is 1 more finding." in paragraph


def test_expected_and_actual_rows_stand_in_a_diff_with_like_rows_together() -> None:
    assert [
        "  customer STRING | n BIGINT",
        "- 'bob'           | 1",
        "+ 'ann'           | 1",
        "- NULL            | 2",
        "+ 'bob'           | 2         (3 times)",
    ] in [block.splitlines() for block in blocks(product())]


def test_the_timeline_has_times_statements_and_the_failing_refresh() -> None:
    timeline = next(block for block in blocks(product()) if "-- step 0" in block)
    assert "-- step 3, time 4000000: commit to orders\nUPDATE orders SET customer = 'bob'" in timeline
    assert "-- step 4, time 5000000: refresh per_customer, data timestamp 4500000\n-- FAILS HERE" in timeline


def test_schema_definitions_replay_and_shrinking_are_there() -> None:
    text = product()
    assert "CREATE TABLE customers (name STRING, active BOOLEAN);" in text
    assert (
        "CREATE DYNAMIC TABLE per_customer TARGET_LAG = DOWNSTREAM REFRESH_MODE = INCREMENTAL AS\nSELECT"
        in text
    )
    assert "TARGET_LAG = '96 seconds'" in text
    assert REPLAY in text
    assert "Shrunk from 2 tables, 3 definitions, 10 steps, 10 statements." in text


def test_hostile_content_stays_in_its_fence() -> None:
    text = failure_markdown(sample.DIVERGED_SCENARIO, sample.DIVERGED, original=None, replay=REPLAY)
    assert "\0" not in text
    assert "\u202e" not in text
    rest = outside(text)
    assert "<script>" not in rest.replace("\\<script>", "")
    assert "\n# and starts a title" not in rest
    assert "| Spark | \\|pipe\\| |" in rest
    assert any("```<script>" in block for block in blocks(text))
    assert "+ ']]>'" in text


def test_what_was_wrong_when_it_was_made_is_no_maintenance() -> None:
    """The value of the vote stays, for programs that read it."""
    finding = dataclasses.replace(sample.EQUALITY, votes={"verdict": INCREMENTAL_BUG})
    later = dataclasses.replace(sample.PRODUCT, findings=(finding,))
    text = failure_markdown(sample.SCENARIO, later, original=None, replay=REPLAY)
    assert "| verdict | incremental bug |" in text
    at_once = dataclasses.replace(later, findings=(dataclasses.replace(finding, step=2), finding))
    text = failure_markdown(sample.SCENARIO, at_once, original=None, replay=REPLAY)
    assert text.count("| verdict | incremental bug: wrong from the first contents on |") == 2
    failure = dataclasses.replace(sample.SUMMARY.failures[0], shrunk=sample.SCENARIO, outcome=at_once)
    page = run_page(dataclasses.replace(sample.SUMMARY, failures=(failure,)))
    assert page.count("<td>incremental bug: wrong from the first contents on</td>") == 2
    assert '"incremental bug"' in json.dumps(finding_object(finding))


def test_an_adapter_got_a_query_and_no_statement_that_creates_or_refreshes() -> None:
    """It was shown CREATE DYNAMIC TABLE with a lag, and REFRESH, which no engine of others ever got."""
    keys = Promises(keys=(("name",),))
    tables = (sample.ORDERS, dataclasses.replace(sample.CUSTOMERS, promises=keys))
    scenario = dataclasses.replace(sample.SCENARIO, tables=tables)
    text = failure_markdown(
        scenario,
        sample.PRODUCT,
        original=None,
        replay=REPLAY,
        dialect=Dialect.SQLITE,
        of_adapter=True,
        keyed=True,
    )
    failure = dataclasses.replace(
        sample.SUMMARY.failures[0],
        shrunk=scenario,
        outcome=sample.PRODUCT,
        dialect=Dialect.SQLITE,
        of_adapter=True,
        keyed=True,
    )
    page = run_page(dataclasses.replace(sample.SUMMARY, failures=(failure,)))
    for each in (text, page):
        assert "DYNAMIC TABLE" not in each
        assert "TARGET_LAG" not in each
        assert "dynamic table per_customer AS ..." in each
        assert ", PRIMARY KEY (name)" in each
    assert "view open_orders AS\nSELECT" in text
    assert "-- step 4, time 5000000: refresh per_customer, data timestamp 4500000\n-- FAILS HERE" in text


def test_both_dialects_are_shown_where_they_differ() -> None:
    text = failure_markdown(sample.DIVERGED_SCENARIO, sample.DIVERGED, original=None, replay=REPLAY)
    assert "</script>\\\\');" in text
    assert "</script>\\';" in text
    assert "not shrunk" in text


def test_an_outcome_without_finding_gives_its_reason() -> None:
    outcome = Outcome(scenario="s", outcome=OutcomeClass.INFRASTRUCTURE_FAILURE, reason="the disk is full")
    text = failure_markdown(sample.SCENARIO, outcome, original=None, replay=REPLAY)
    assert "the outcome is 'infrastructure_failure': the disk is full." in text
    assert "no rows to compare" in text
    broken = Breakage(step=2, method="commit", statements=("INSERT INTO r VALUES (1)",), traceback="boom")
    text = failure_markdown(
        sample.SCENARIO, dataclasses.replace(outcome, breakage=broken), original=None, replay=REPLAY
    )
    assert text.endswith("boom\n```\n")
    assert "## The engine or its adapter broke in commit at step 2" in text
    assert "## Expected and actual" not in text


def test_a_scenario_that_makes_no_sense_is_described_too() -> None:
    broken = dataclasses.replace(sample.SCENARIO, tables=(), definitions=())
    outcome = Outcome(scenario="s", outcome=OutcomeClass.GENERATOR_INVALID, reason="no such table")
    text = failure_markdown(broken, outcome, original=None, replay=REPLAY)
    assert "the scenario does not define it" in text
    assert "/* cannot be rendered" in text
    assert "('ann', True)" in text
