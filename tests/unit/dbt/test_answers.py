"""Verdicts of cells, promises, and the sentence on what a model needs; the pages that show them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import duckdb
import pytest

from campaign.dbt.answers import CellVerdict, Found, ModelCell, breaks_promise, needs
from campaign.dbt.differences import RefreshDifference, Table, compare
from campaign.dbt.facts import ProjectFacts
from campaign.dbt.kinds import ChangeKind, duration, minutes, promised
from campaign.dbt.reading import Roles
from campaign.dbt.rows import Domains
from campaign.dbt.search import DbtResult, settled
from campaign.dbt.shown import decision_of, document
from campaign.dbt.trials import Put, Round, Trial
from campaign.errors import CampaignError
from reports.dbt import dbt_junit, dbt_markdown, dbt_page, headline, reproduce_sh
from tests.unit.dbt.projects import BASE, BY_COUNTRY, CUSTOMERS, ORDERS, SHOP, model
from workload.outcomes.decision import Decision

ROW = ("1", "1", "1.1", "TIMESTAMP '2024-02-15 00:00:00'")
LATE = ("2", "NULL", "1.1", "TIMESTAMP '2024-02-12 00:00:00'")


def late(minutes_late: int, *, inherited: tuple[str, ...] = ()) -> Found:
    """A trial with a late row that a model misses."""
    start = (Put(CUSTOMERS.id, 1, ("1", "'a'")), Put(ORDERS.id, 2, ROW))
    trial = Trial(
        ChangeKind.APPENDED_LATE, ORDERS.id, start, (Round((Put(ORDERS.id, 3, LATE),)),), minutes_late
    )
    return Found(0, trial, RefreshDifference(("id",), missing=(("2",),), inherited=inherited))


def searched(cells: Mapping[ChangeKind, ModelCell], of: Any = BY_COUNTRY) -> DbtResult:
    """The result of a search over one model."""
    project = type(SHOP)(SHOP.sources, {of.id: of}, (of.id,), "1.11", {of.id: SHOP.ancestors[BY_COUNTRY.id]})
    facts = ProjectFacts(project, Roles({}, {}), Domains(BASE, {}), {}, {}, {})
    all_cells = {kind: ModelCell(reason="it joins no other source") for kind in ChangeKind} | dict(cells)
    return DbtResult(facts, {of.id: all_cells}, PROFILE, trials=3, comparisons=3, seconds=1.0)


PROFILE = {
    "type": "duckdb",
    "settings": False,
    "name": "shop",
    "target": "dev",
    "file": "shop.duckdb",
    "schema": None,
    "vars": None,
}
SPARK = {"type": "spark", "name": "shop", "target": "dev", "profiles": "/a b/profiles.yml"}


def test_a_model_that_cannot_be_built_says_so_once() -> None:
    found = searched({ChangeKind.APPENDED: ModelCell(applicable=True)})
    notes = []
    for wrong in ({}, {BY_COUNTRY.id: "it cannot be built: no column a"}):
        found.facts = replace(found.facts, wrong=wrong, empty={BY_COUNTRY.id: "no column a"})
        notes.append(document(found, "shop", 1)["models"]["by_country"]["notes"])
    assert notes == [["fails while its sources are empty: no column a"], []]


def test_a_kind_that_can_happen_and_was_not_tried_is_undecided() -> None:
    assert ModelCell().verdict is CellVerdict.NOT_APPLICABLE
    assert ModelCell(applicable=True).verdict is CellVerdict.UNDECIDED
    assert ModelCell(applicable=True, reason="its full refresh fails").verdict is CellVerdict.UNDECIDED
    assert ModelCell(applicable=True, differs_already=True).verdict is CellVerdict.NOT_APPLICABLE
    assert ModelCell(applicable=True, equal=[None]).verdict is CellVerdict.EQUAL
    assert ModelCell(applicable=True, equal=[None], differs=[late(60)]).verdict is CellVerdict.DIFFERS


def test_a_model_whose_incremental_runs_all_fail_is_undecided_and_says_why() -> None:
    failed = Found(0, late(0).trial, RefreshDifference(error="column nosuch is not there"))
    cells = {ChangeKind.APPENDED: ModelCell(applicable=True, filled=True, differs=[failed])}
    assert decision_of(searched(cells)) is Decision.UNDECIDED
    assert needs(BY_COUNTRY, cells).endswith("its incremental runs fail: column nosuch is not there")
    # Where some run succeeded, the others failed on their data: a difference like any.
    cells[ChangeKind.APPENDED].equal.append(None)
    assert decision_of(searched(cells)) is Decision.PASSED


@pytest.mark.parametrize(
    ("promises", "minutes_late", "broken"),
    [
        (None, 60, False),
        ([], 60, True),
        (["in_order"], 60, False),
        ([{"late_by": "3 days"}], 4320, True),
        ([{"late_by": "3 days"}], 4321, False),
    ],
)
def test_a_difference_is_a_failure_within_the_promises_only(
    promises: list[object] | None, minutes_late: int, broken: bool
) -> None:
    of = model("by_country", ORDERS.id, CUSTOMERS.id, promises=promises)
    cell = ModelCell(applicable=True, differs=[late(minutes_late)])
    assert breaks_promise(of, ChangeKind.APPENDED_LATE, cell) is broken
    wanted = Decision.FAILED if broken else Decision.PASSED
    assert decision_of(searched({ChangeKind.APPENDED_LATE: cell}, of)) is wanted


def test_what_was_not_judged_is_no_pass() -> None:
    undecided = searched({ChangeKind.DELETED: ModelCell(applicable=True)})
    assert decision_of(undecided) is Decision.UNDECIDED
    equal = {ChangeKind.DELETED: ModelCell(applicable=True, equal=[None])}
    assert decision_of(searched(equal)) is Decision.PASSED
    broken, unfinished = searched(equal), searched(equal)
    broken.broken.append("a trial")
    unfinished.finished = False
    assert decision_of(broken) is decision_of(unfinished) is Decision.UNDECIDED
    nothing = searched({})
    nothing.comparisons = 0
    assert decision_of(nothing) is Decision.UNDECIDED


def test_a_model_without_a_row_in_any_trial_is_not_judged() -> None:
    cells = {ChangeKind.DELETED: ModelCell(applicable=True, equal=[None])}
    cells[ChangeKind.APPENDED] = ModelCell(applicable=True, differs_already=True)
    found = searched(cells)
    settled(found.facts, {BY_COUNTRY.id: cells}, [*cells])
    assert {cell.verdict for cell in cells.values()} == {CellVerdict.UNDECIDED}
    empty = {
        kind: ModelCell(applicable=True, equal=[None]) for kind in (ChangeKind.DELETED, ChangeKind.UPDATED)
    }
    settled(found.facts, {BY_COUNTRY.id: empty}, [*empty])
    assert {cell.reason for cell in empty.values()} == {"it had no row in any trial"}
    untried = {ChangeKind.DELETED: ModelCell(applicable=True)}
    settled(found.facts, {BY_COUNTRY.id: untried}, [*untried])
    assert untried[ChangeKind.DELETED].reason == "no trial of it has run"
    filled = {ChangeKind.DELETED: ModelCell(applicable=True, equal=[None], filled=True)}
    settled(found.facts, {BY_COUNTRY.id: filled}, [*filled])
    assert filled[ChangeKind.DELETED].verdict is CellVerdict.EQUAL


def test_the_headline_tells_nothing_promised_from_everything_may_happen() -> None:
    cells = {ChangeKind.DELETED: ModelCell(applicable=True, equal=[None], filled=True)}
    for promises, due in ((None, "Nothing was promised; 0 differences"), ([], "No difference within")):
        of = model("by_country", ORDERS.id, CUSTOMERS.id, promises=promises)
        found = searched(cells, of)
        found.comparisons = 1
        shown = document(found, "shop", 1)
        shown["decision"] = Decision.PASSED.value
        assert headline(shown).startswith(due)


def test_the_headline_of_an_undecided_run_names_what_was_not_judged_and_counts_what_differs() -> None:
    cells = {
        ChangeKind.DELETED: ModelCell(applicable=True),
        ChangeKind.APPENDED_LATE: ModelCell(differs=[late(1)]),
    }
    shown = document(searched(cells, model("by_country", ORDERS.id, promises=None)), "shop", 1)
    assert headline(shown).startswith(
        "Undecided: not all that was asked for was judged: by_country; 1 difference to know of (1 model"
    )


def test_needs_are_one_sentence() -> None:
    cell = ModelCell(applicable=True, equal=[2880], differs=[late(4320), late(44640)])
    deleted = ModelCell(applicable=True, differs=[late(1)])
    assert needs(BY_COUNTRY, {ChangeKind.APPENDED_LATE: cell, ChangeKind.DELETED: deleted}) == (
        "by_country is right if no row is more than 2 days older than the newest when it arrives "
        "(right in 1 trial up to that, wrong at 3 days) and no row is deleted."
    )
    assert "needs nothing" in needs(BY_COUNTRY, {ChangeKind.DELETED: ModelCell(equal=[None])})
    snapshot = replace(BY_COUNTRY, materialized="snapshot")
    assert "had one row for each version" in needs(snapshot, {ChangeKind.DELETED: ModelCell(equal=[None])})
    assert "only appended" in needs(BY_COUNTRY, {ChangeKind.APPENDED: deleted})
    assert "it fails" in needs(BY_COUNTRY, {ChangeKind.DELETED: ModelCell(reason="it fails")})


def test_the_difference_that_is_shown_is_of_the_models_own_making_and_least_late() -> None:
    cell = ModelCell(differs=[late(1, inherited=("other",)), late(4320), late(60)])
    best = cell.best(BY_COUNTRY, ChangeKind.APPENDED_LATE)
    assert best is not None
    assert best.trial.late == 60


def test_tables_are_compared_as_bags_by_the_names_of_columns() -> None:
    one = Table(("a", "b"), (("1", "x"), ("1", "x")))
    assert compare(one, Table(("b", "a"), (("x", "1"), ("x", "1"))), frozenset()) is None
    fewer = compare(one, Table(("a", "b"), (("1", "x"),)), frozenset())
    assert fewer is not None
    assert fewer.extra == (("1", "x"),)
    added = compare(one, Table(("a",), (("1",), ("1",))), frozenset())
    assert added is not None
    assert added.added == ("b",)
    assert compare(one, Table(("a",), (("1",), ("1",))), frozenset({"b"})) is None


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ("append_only", "is no list"),
        ([{"late_by": "1 day", "in_order": True}], "are several promises"),
        (["append_onyl"], "'append_onyl' is no promise; choose among append_only"),
        ([{"late_by": "soon"}], "'soon' is no lateness"),
    ],
)
def test_bad_promises_are_named(entries: object, said: str) -> None:
    with pytest.raises(CampaignError, match=said):
        promised(entries, "models/a.sql: model a")


def test_durations_are_read_and_written() -> None:
    assert minutes("2 hours", "here") == 120
    assert duration(120) == "2 hours"
    assert duration(44640) == "31 days"


def test_pages_show_the_rows_of_a_difference() -> None:
    of = model("by_country", ORDERS.id, CUSTOMERS.id, promises=[{"late_by": "3 days"}])
    cells = {
        ChangeKind.APPENDED_LATE: ModelCell(applicable=True, differs=[late(4320)]),
        ChangeKind.APPENDED: ModelCell(applicable=True, equal=[None, None]),
        ChangeKind.DELETED: ModelCell(applicable=True),
    }
    found = document(searched(cells, of), "<shop>", 1)
    page = dbt_page(found, {("by_country", "appended_late"): "differences/x"})
    assert "&lt;shop&gt;" not in page  # the folder of a project is no part of the page
    assert "WRONG" in page
    assert "append id 2, customer_id NULL, amount 1.1, updated_at 2024-02-12 00:00:00" in page
    assert "missing: id 2" in page
    markdown = dbt_markdown(found)
    assert "| `by_country` | = 2 | WRONG |" in markdown
    assert "missing: id 2" in markdown
    cases = {case.get("name"): case for case in ET.fromstring(dbt_junit(found)).iter("testcase")}
    assert cases["appended_late"].find("failure") is not None
    assert cases["deleted"].find("error") is not None
    assert cases["null_key"].find("skipped") is not None
    assert len(cases["appended"]) == 1
    reproduction = found["models"]["by_country"]["changes"]["appended_late"]["reproduction"]
    assert reproduction is not None
    script = reproduce_sh("by_country", "appended_late", reproduction, "/a b/shop", PROFILE)
    assert "PROJECT=${PROJECT:-'/a b/shop'}" in script
    assert script.count('INSERT INTO "shop"."main"."orders"') == 3
    with_settings = {**PROFILE, "settings": True, "profiles": "/a b/profiles.yml"}
    configured = reproduce_sh("by_country", "appended_late", reproduction, "/a b/shop", with_settings)
    assert "PROFILES=${PROFILES:-'/a b/profiles.yml'}" in configured
    assert "PROFILES" not in script
    on_spark = reproduce_sh("by_country", "appended_late", reproduction, "/a b/shop", SPARK)
    assert "PROFILES=${PROFILES:-'/a b/profiles.yml'}" in on_spark
    document_, program = re.findall(r"<<'EOF'\n(.*?)\nEOF\n", on_spark, re.DOTALL)
    assert json.loads(document_) == reproduction
    compile(program, "trial.py", "exec")


@pytest.mark.parametrize("compared", [[], ["tags", 'a"b', "total"]])
def test_a_script_compares_lists_and_names_with_quotes(tmp_path: Path, compared: list[str]) -> None:
    """The last program of the script, on the databases that its runs would leave."""
    of = model("by_country", ORDERS.id, CUSTOMERS.id)
    found = document(searched({ChangeKind.APPENDED_LATE: ModelCell(differs=[late(60)])}, of), "shop", 1)
    reproduction = found["models"]["by_country"]["changes"]["appended_late"]["reproduction"]
    assert reproduction is not None
    script = reproduce_sh("by_country", "late", {**reproduction, "compared": compared}, "shop", PROFILE)
    program = re.findall(r"<<'EOF'\n(.*?)\nEOF", script, re.DOTALL)[-1]
    tables = {"some": "[1], 0.1::DOUBLE + 0.2", "other": "[1], 0.3", "more": "[1, 2], 0.3"}
    for name, values in tables.items():
        (tmp_path / name).mkdir()
        with duckdb.connect(str(tmp_path / name / "shop.duckdb")) as database:
            database.execute('CREATE TABLE by_country (tags INTEGER[], total DOUBLE, "a""b" INTEGER)')
            database.execute(f"INSERT INTO by_country SELECT {values}::DOUBLE, 1")
    ran = {}
    for name in ("other", "more"):
        files = [str(tmp_path / each / "shop.duckdb") for each in ("some", name)]
        command = [sys.executable, "-c", program, *files]
        ran[name] = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran["other"].returncode, ran["other"].stdout) == (0, ""), ran["other"].stderr
    assert ran["more"].returncode == 1
    assert "[1, 2]" in ran["more"].stdout
