"""The page of a run, read back with an HTML parser."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from html.parser import HTMLParser

import pytest

from reports.difference import diff_rows
from reports.figures import ReportError
from reports.run_page import run_page
from tests.unit.reports import sample
from workload.outcomes.results import RunSummary, UnmetFloor

VOID = {"meta", "link", "br"}


class Page(HTMLParser):
    """Text, tags and table rows of a page; fails on a tag that is not closed where it should be."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[tuple[dict[str, str | None], list[str]]] = []
        self.text: list[str] = []
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append((dict(attrs), []))
        if tag in ("td", "th"):
            self.rows[-1][1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)
        if self.rows and {"td", "th"} & set(self.open):
            self.rows[-1][1][-1] += data

    @property
    def all_text(self) -> str:
        return " ".join("".join(self.text).split())

    def attributes(self, name: str) -> list[str]:
        return [value for _, attributes in self.tags if (value := attributes.get(name))]

    def row(self, first: str) -> list[str]:
        return next(cells for _, cells in self.rows if cells and cells[0].strip() == first)


def page(summary: RunSummary = sample.SUMMARY) -> Page:
    return Page(run_page(summary))


def test_the_headline_says_in_words_what_came_out() -> None:
    text = page().all_text
    assert "1 product failure" in text
    assert "1 scenario made the engines disagree." in text
    assert "5 coverage floors not met." in text
    assert "980 of 1,000 scenarios passed." in text


def test_definitions_that_were_not_judged_are_no_floors_of_coverage() -> None:
    left_out = {f"judged: {name}": UnmetFloor(0, 1) for name in ("sales", "stock")}
    few = {**left_out, "goals: wine": UnmetFloor(3, 9)}
    for unmet, title in (
        (left_out, "2 definitions not judged"),
        (few, "2 definitions not judged, 1 coverage floor not met"),
    ):
        covered = dataclasses.replace(sample.COVERAGE, unmet=unmet)
        run = dataclasses.replace(sample.SUMMARY, outcomes={"passed": 1000}, coverage=covered, failures=())
        assert f"✗ {title}" in page(run).all_text


def test_a_run_without_any_problem_passes() -> None:
    covered = dataclasses.replace(sample.COVERAGE, unmet={})
    good = dataclasses.replace(sample.SUMMARY, outcomes={"passed": 1000}, coverage=covered, failures=())
    read = page(good)
    assert "✓ Passed" in read.all_text
    assert "There is no failing scenario." in read.all_text
    assert "verdict good" in read.attributes("class")


def test_every_differing_row_of_every_failure_stands_on_the_page_with_its_mark() -> None:
    rows = [(attributes.get("class"), cells) for attributes, cells in page().rows]
    for failure in sample.SUMMARY.failures:
        for finding in failure.outcome.findings:
            for row in diff_rows(finding.difference) if finding.difference else ():
                minus = row.side.value == "-"
                label, kind = ("- expected", "minus") if minus else ("+ actual", "plus")
                assert (kind, [label, *row.cells, str(row.times)]) in rows


def test_a_failure_shows_message_votes_sql_timeline_and_replay() -> None:
    read = page()
    assert "3 rows differ from the defining query as of 4500000" in read.all_text
    assert read.row("Spark in full") == ["Spark in full", "as the oracle"]
    assert "dvs replay 'failures/000041 a'" in read.all_text
    assert "dvs replay failures/000099" in read.all_text
    assert "SELECT p.customer AS customer FROM per_customer AS p" in read.all_text
    assert read.all_text.count("Query for DuckDB") == read.all_text.count("Query for Spark") == 4
    assert "UPDATE orders SET customer = 'bob' WHERE (orders.id = 1)" in read.all_text
    assert "fails here: oracle equality on per_customer" in read.all_text
    refresh = next(cells for _, cells in read.rows if cells[:3] == ["4", "5000000", "4500000"])
    assert "refresh per_customer" in refresh[3]


def test_findings_stand_in_the_order_of_diagnosis() -> None:
    text = page().all_text
    assert text.index("Failed: action invariant 1") < text.index("Failed: oracle equality")


def test_hostile_content_is_text() -> None:
    source = run_page(sample.SUMMARY)
    assert "<script" not in source
    assert "\0" not in source
    assert "\u202e" not in source
    text = Page(source).all_text
    assert sample.SCRIPT in text
    assert sample.CDATA_END in text
    assert "a\\u0000b" in text
    assert "\\u202egnp.exe" in text
    assert "script" not in {tag for tag, _ in Page(source).tags}


def test_hostile_names_and_lone_surrogates_neither_break_out_nor_break_the_encoding() -> None:
    hostile = '"><img src=x onerror=alert(1)>\ud800'
    coverage = dataclasses.replace(
        sample.COVERAGE,
        operators={hostile: 1},
        pairs={hostile: 1},
        intents={hostile: 1},
        unmet={hostile: UnmetFloor(0, 1)},
    )
    failure = dataclasses.replace(
        sample.SUMMARY.failures[0],
        shrunk=dataclasses.replace(sample.SCENARIO, name=hostile, intents=(hostile,)),
        folder=hostile,
    )
    source = run_page(
        dataclasses.replace(
            sample.SUMMARY,
            tier=hostile,
            profile=hostile,
            coverage=coverage,
            failures=(failure,),
            time_split={hostile: 1.0},
        )
    )
    source.encode()
    assert "img" not in {tag for tag, _ in Page(source).tags}


def test_the_page_asks_for_nothing_outside_itself() -> None:
    read = page()
    links = read.attributes("href") + read.attributes("src")
    assert all(link.startswith("#") or link == "data:," for link in links)
    source = run_page(sample.SUMMARY)
    assert not re.search(r"url\(|@import|https?:", source)
    assert "default-src 'none'" in source


def test_the_page_is_navigable() -> None:
    read = page()
    ids = read.attributes("id")
    assert len(ids) == len(set(ids))
    fragments = [link[1:] for link in read.attributes("href") if link.startswith("#")]
    references = " ".join(read.attributes("aria-labelledby") + read.attributes("aria-describedby")).split()
    assert set(fragments) | set(references) <= set(ids)
    tags = [tag for tag, _ in read.tags]
    assert tags.count("table") == tags.count("caption")
    assert tags.count("h1") == tags.count("main") == 1
    headers = [attributes for tag, attributes in read.tags if tag == "th"]
    assert all(attributes.get("scope") in ("row", "col") for attributes in headers)
    assert ("html", {"lang": "en"}) in read.tags


def test_outcomes_actions_coverage_and_time_have_their_figures() -> None:
    read = page()
    assert read.row("INCREMENTAL")[1] == "5,100"
    assert any(
        cells[0].startswith("unsupported") and cells[1:] == ["18", "1.8 %"] for _, cells in read.rows if cells
    )
    assert read.row("engine")[1:3] == ["48 min 20 s", "83.0 %"]
    assert read.row("skipped refresh")[1] == "61"


def test_floors_not_met_are_marked_in_words_where_they_count() -> None:
    read = page()
    assert read.row("operator: union all") == ["operator: union all", "80", "100"]
    assert "below floor 5" in read.row("empty group reappears")[1]
    matrix_row = next(
        cells for _, cells in read.rows if cells and cells[0] == "union all" and len(cells) == 9
    )
    assert "6\u2009/\u200920" in matrix_row
    assert "0\u2009/\u200920" in matrix_row


def test_operators_stand_against_kinds_of_statements() -> None:
    read = page()
    assert read.row("after") == ["after", "merge", "restore", "update"]
    met = next(cells for _, cells in read.rows if cells and cells[0] == "left join" and len(cells) == 4)
    assert met == ["left join", "·", "0\u2009/\u20092", "55"]
    without = dataclasses.replace(sample.COVERAGE, statements={}, unmet={})
    empty = run_page(dataclasses.replace(sample.SUMMARY, coverage=without))
    assert "Operator by statement" not in empty


def test_intents_stand_against_operators() -> None:
    read = page()
    assert read.row("with") == ["with", "filter", "inner join", "left join"]
    crossed = next(
        cells for _, cells in read.rows if cells and cells[0] == "there and back" and len(cells) == 4
    )
    assert crossed == ["there and back", "·", "34", "2"]
    assert "Scenarios of an intent, by operator" in read.all_text


@pytest.mark.parametrize("outcomes", [{"passed": 999}, {"passed": 999, "lost": 1}])
def test_figures_that_do_not_add_up_are_refused(outcomes: Mapping[str, int]) -> None:
    with pytest.raises(ReportError):
        run_page(dataclasses.replace(sample.SUMMARY, outcomes=outcomes))


def test_an_empty_run_has_a_page() -> None:
    nothing = dataclasses.replace(
        sample.COVERAGE, operators={}, pairs={}, intents={}, states={}, actions={}, unmet={}
    )
    empty = RunSummary(
        seed=0,
        tier="rules",
        profile="none",
        scenarios=0,
        definitions=0,
        refreshes=0,
        checks=0,
        outcomes={},
        coverage=nothing,
        seconds=0.0,
    )
    assert "✗ Nothing passed No scenario ran." in page(empty).all_text
