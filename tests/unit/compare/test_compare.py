"""Two configurations are compared after every refresh, and no value of a row is shown."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from campaign.cli import main
from campaign.compare.comparison import compare_runs, compare_traces
from campaign.compare.configuration import configuration, runs_of
from campaign.compare.masking import Mask
from campaign.errors import CampaignError
from campaign.lanes.spec import LaneSpec
from generators.generate import scenario_at
from generators.profiles import SMOKE
from tests.failing import first_failing
from tests.in_memory import in_memory
from workload.codec import scenario_to_json
from workload.dml import Insert
from workload.outcomes.trace import Declared, Refreshed, RefreshError, RefreshRefused, Trace
from workload.query import Call, ColumnRef, Item, Literal, Named, Select
from workload.scenario import Commit, Create, DynamicTable, Refresh, Scenario
from workload.schema import Column, Table
from workload.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, decimal

SECRETS = ("Ada Lovelace", "123456789", "98765.25", "31415.5", "1815-12-10", "Grace Hopper", "555666777")

PEOPLE = Table(
    "people",
    (
        Column("name", STRING),
        Column("account", BIGINT),
        Column("balance", decimal(12, 2)),
        Column("weight", DOUBLE),
        Column("born", DATE),
    ),
)
ADA = ("Ada Lovelace", 123456789, Decimal("98765.25"), 31415.5, dt.date(1815, 12, 10))
GRACE = ("Grace Hopper", 555666777, None, None, None)


def people() -> Scenario:
    """A table of people and a dynamic table over those who have an account."""
    items = tuple(Item(ColumnRef("p", column.name, column.type), column.name) for column in PEOPLE.columns)
    where = Call("gt", (ColumnRef("p", "account", BIGINT), Literal(0, BIGINT)), BOOLEAN)
    steps = (
        Commit(10, (Insert("people", (ADA,)),)),
        Create(20, "members"),
        Commit(30, (Insert("people", (GRACE,)),)),
        Refresh(40, "members", 40),
    )
    members = DynamicTable("members", Select(items, Named("people", "p"), where))
    return Scenario("people", (PEOPLE,), (members,), steps)


FAULTY = "rules+no-validations+fault=filter-drops-old-half"


def dvs(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["compare", *arguments], catch_exceptions=False)


def test_the_same_on_both() -> None:
    result = dvs("rules", "rules+no-validations", "--scenarios", "3", "--json")
    data = json.loads(result.stdout)
    assert result.exit_code == 0
    assert data["scenarios"] == 3
    assert data["refreshes"] > 20
    assert data["disagreements"] == []


def test_what_differs_is_placed_and_hashed() -> None:
    first = first_failing("filter-drops-old-half", 1, SMOKE)
    arguments = ("rules", FAULTY, "--first", f"{first}", "--scenarios", "1")
    result = dvs(*arguments, "--json", "--salt", "s")
    assert result.exit_code == 1
    data = json.loads(result.stdout)
    each = next(d for d in data["disagreements"] if d["only_b"] or d["only_a"])
    row = (each["only_a"] or each["only_b"])[0]
    assert len(row["cells"]) == len(each["columns"])
    assert all(re.fullmatch("[0-9a-f]{12}", cell) for cell in row["cells"])
    assert json.loads(dvs(*arguments, "--json", "--salt", "s").stdout) == data
    other = json.loads(dvs(*arguments, "--json").stdout)
    assert other["disagreements"] != data["disagreements"], "a random salt each time"
    assert [d["step"] for d in other["disagreements"]] == [d["step"] for d in data["disagreements"]]
    shown = dvs(*arguments)
    assert shown.exit_code == 1
    assert f"step {each['step']}: {each['table']} at {each['timestamp']}" in shown.stdout


def people_where_b_forgets(folder: Path) -> Path:
    file = folder / "people.json"
    file.write_text(scenario_to_json(people()), encoding="utf-8")
    return file


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_no_value_of_a_row_is_shown(
    options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = people_where_b_forgets(tmp_path)
    forgetful(monkeypatch)
    result = dvs("rules", "rules+no-validations", "--scenario", str(file), *options)
    assert result.exit_code == 1, result.output
    assert "members" in result.output
    assert len(re.findall(r"\b[0-9a-f]{12}\b", result.output)) >= 10, "two rows of five hashes"
    disagreement = [secret for secret in SECRETS if secret in result.output]
    assert disagreement == []


def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """B loses the last column of every row it stores."""
    from campaign.compare import comparison

    whole = comparison.compare_traces

    def compare_forgotten(scenario: Scenario, a: Trace, b: Trace, mask: Mask) -> Any:
        events = tuple(
            dataclasses.replace(event, contents=event.contents[:0])
            if isinstance(event, Refreshed) and event.step == 3
            else event
            for event in b.events
        )
        return whole(scenario, a, Trace(events), mask)

    monkeypatch.setattr(comparison, "compare_traces", compare_forgotten)


def test_a_platform_that_breaks_says_nothing_of_the_data(tmp_path: Path) -> None:
    def broken(scenario: Scenario) -> Trace:
        raise RuntimeError("cannot cast 'Ada Lovelace' to INT")

    compared = compare_runs(people(), runs_of(LaneSpec(tier="rules").build()), broken, Mask(b"s"))
    assert compared.undecided == "B could not run it: RuntimeError"


@pytest.mark.parametrize(
    "text",
    [
        scenario_to_json(people()).replace('"1815-12-10"', '"Ada Lovelace"'),
        scenario_to_json(people()).replace('"is": "Table"', '"is": "Ada Lovelace"'),
        scenario_to_json(people())[:-40],
    ],
)
def test_a_file_that_is_no_scenario_is_not_quoted(text: str, tmp_path: Path) -> None:
    file = tmp_path / "people.json"
    file.write_text(text, encoding="utf-8")
    result = dvs("rules", "rules", "--scenario", str(file))
    assert result.exit_code == 2
    assert f"{file} is no scenario" in result.stderr
    assert not any(secret in result.output for secret in SECRETS)


def test_a_scenario_that_makes_no_sense_is_undecided_without_words(tmp_path: Path) -> None:
    file = tmp_path / "people.json"
    wrong = dataclasses.replace(people(), tables=(dataclasses.replace(PEOPLE, name="folk"),))
    file.write_text(scenario_to_json(wrong), encoding="utf-8")
    result = dvs("rules", "rules", "--scenario", str(file))
    assert result.exit_code == 3
    assert "not compared: people: the scenario makes no sense" in result.stdout


def test_one_that_refuses_differs_from_one_that_refreshes() -> None:
    scenario = scenario_at(1, SMOKE, 0)
    whole = in_memory().run(scenario)
    last = whole.refreshes[-1]
    rest = tuple(event for event in whole.events if event is not last)
    refused = RefreshRefused(last.step, last.table, last.timestamp, RefreshError.FAILED, "'secret' is no INT")
    gap = Declared(last.step, last.table, "'secret' is not supported")
    for other, message in (
        ((*rest, refused), "A refreshed, B refused (failed)"),
        ((*rest, gap), "A refreshed, B declared a gap"),
        (rest, "A refreshed, B did not refresh"),
    ):
        (disagreement,) = compare_traces(scenario, whole, Trace(other), Mask(b"")).disagreements
        assert disagreement.kind == message
        assert (disagreement.step, disagreement.table) == (last.step, last.table)


def test_other_columns_are_named() -> None:
    scenario = scenario_at(1, SMOKE, 0)
    whole = in_memory().run(scenario)
    last = whole.refreshes[-1]
    renamed = dataclasses.replace(last, columns=(Column("other", last.columns[0].type), *last.columns[1:]))
    events = tuple(renamed if event is last else event for event in whole.events)
    (disagreement,) = compare_traces(scenario, whole, Trace(events), Mask(b"")).disagreements
    assert disagreement.kind == "other columns"
    assert "other" in disagreement.only_b[0].cells


def test_equal_values_have_equal_hashes_and_others_do_not() -> None:
    mask = Mask(b"salt")
    assert mask.value(0.0, DOUBLE) == mask.value(-0.0, DOUBLE)
    assert mask.value(1, INT) != mask.value(2, INT)
    assert mask.value(1, INT) != Mask(b"other").value(1, INT)
    assert len({mask.value(None, INT), mask.value(0, INT), mask.value("", STRING)}) == 3


def test_configurations() -> None:
    disagreement = configuration(FAULTY)
    assert disagreement.spec == LaneSpec(
        tier="rules", faults=("filter-drops-old-half",), validations=False, fresh_percent=0
    )
    assert configuration("delta+stock").spec.tier == "delta-stock"
    assert configuration("rules+in=/old").folder == Path("/old")
    assert configuration("adapter:built-in").spec.tier == "adapter:built-in"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rulez", "no tier 'rulez'"),
        ("rules+stock", "'stock' is no configuration of tier rules"),
        ("rules+fast", "'fast' is no configuration"),
        ("", "no tier ''"),
    ],
)
def test_a_configuration_that_is_none(text: str, message: str) -> None:
    with pytest.raises(CampaignError, match=re.escape(message)):
        configuration(text)


def test_an_unknown_fault_is_named() -> None:
    result = dvs("rules", "rules+fault=nobody")
    assert result.exit_code == 2
    assert "no planted fault named 'nobody'" in result.stderr
