"""What `dvs.toml` says of tables holds in every scenario, and what it cannot say is one line."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from campaign.runs.definitions import described
from generators.generate import scenario_at
from generators.given.model import Given
from generators.profiles import SMOKE
from given.read import read_definitions
from given.script import ScriptError
from oracle.duck import open_duckdb
from tests.depth import examples
from workload.dml import Insert, Merge, Optimize, Update
from workload.scenario import Commit

SHOP = """
CREATE TABLE shops (id INT PRIMARY KEY, region STRING, size INT);
CREATE TABLE sales (id INT PRIMARY KEY, shop INT REFERENCES shops (id), pieces INT, kind STRING);
CREATE TABLE days (day INT);
CREATE DYNAMIC TABLE per_region AS
  SELECT sh.region, COUNT(*) AS n, SUM(s.pieces) AS pieces FROM sales s JOIN shops sh ON sh.id = s.shop
  GROUP BY sh.region;
CREATE DYNAMIC TABLE wine AS
  SELECT s.id, d.day FROM sales s JOIN days d ON s.pieces = d.day WHERE s.kind = 'wine';
"""

SAID = """
[sales]
changes = "append_only"
values.kind = ["wine", "beer"]

[shops]
changes = ["insert", "update", "merge"]
updated = ["size"]

[days]
changes = "fixed"
rows = [5, 9]
"""


def given(tmp_path: Path, said: str) -> Given:
    """The definitions with a file beside them."""
    (tmp_path / "a.sql").write_text(SHOP)
    (tmp_path / "dvs.toml").write_text(said)
    return read_definitions(tmp_path, described, open_duckdb(), by_duckdb=True)


def test_tables_change_as_the_file_says(tmp_path: Path) -> None:
    profile = replace(SMOKE, given=given(tmp_path, SAID))
    seen = set()
    for index in range(examples(60)):
        scenario = scenario_at(1, profile, index)
        rows: dict[object, tuple[object, ...]] = {}
        started: set[str] = set()
        for step in scenario.steps:
            for statement in step.statements if isinstance(step, Commit) else ():
                seen.add((statement.table, type(statement)))
                if statement.table == "sales":
                    assert isinstance(statement, Insert | Optimize)
                    assert {row[3] for row in getattr(statement, "rows", ())} <= {"wine", "beer", None}
                if statement.table == "days" and not isinstance(statement, Optimize):
                    assert isinstance(statement, Insert)
                    assert "days" not in started
                    assert 5 <= len(statement.rows) <= 10
                    started.add("days")
                if statement.table == "shops":
                    match statement:
                        case Update(_, assignments, _):
                            assert {each.column for each in assignments} <= {"size", "id", "region"}
                            changing = [
                                each for each in assignments if type(each.value).__name__ == "Literal"
                            ]
                            assert {each.column for each in changing} <= {"size"}
                        case Merge(_, _, new, _, _):
                            for row in new:
                                assert row[0] not in rows or rows[row[0]][:2] == row[:2]
                        case _:
                            assert isinstance(statement, Insert | Optimize)
                    rows |= {row[0]: row for row in getattr(statement, "rows", ())}
    assert {("shops", Update), ("shops", Merge), ("sales", Insert), ("days", Insert)} <= seen


@pytest.mark.parametrize(
    ("check", "said"),
    [("", '[t]\nvalues.kind = ["wine", "beer"]'), ("CHECK (kind IN ('wine', 'beer'))", "")],
    ids=["file", "check"],
)
def test_a_condition_that_no_value_meets_draws_none(tmp_path: Path, check: str, said: str) -> None:
    (tmp_path / "a.sql").write_text(
        f"CREATE TABLE t (id INT PRIMARY KEY, kind STRING {check}, n INT);\n"
        "CREATE DYNAMIC TABLE gin AS SELECT id FROM t WHERE kind = 'gin' AND n > 5;"
    )
    (tmp_path / "dvs.toml").write_text(said)
    found = read_definitions(tmp_path, described, open_duckdb(), by_duckdb=True)
    profile = replace(SMOKE, given=found)
    kinds = {
        row[1]
        for index in range(examples(30))
        for step in scenario_at(1, profile, index).steps
        for statement in (step.statements if isinstance(step, Commit) else ())
        for row in getattr(statement, "rows", ())
    }
    assert kinds == {"wine", "beer", None}
    assert [promise.columns for promise in found.tables[0].table.promises.checks] == [("kind",)]


def test_what_cannot_come_about_is_no_goal(tmp_path: Path) -> None:
    labels = {goal.label for goal in given(tmp_path, SAID).goals["wine"]}
    assert "a row comes" in labels
    assert not {"a row goes", "rows are changed by DELETE of sales"} & labels
    changing = {goal.label for goal in given(tmp_path, "").goals["wine"]}
    assert {"a row goes", "rows are changed by DELETE of sales"} <= changing


REFUSED = {
    "[sale]": "no script creates a table sale",
    "sales = 1": "sales is no section",
    "[sales]\nchange = []": "change is unknown; write one of changes, updated, rows, values",
    "[sales]\nchanges = ['append']": "changes is ['append']; write a list of these: append_only",
    "[sales]\nupdated = ['size']": "updated is ['size']; write a list of columns",
    "[sales]\nrows = [3, 1]": "rows is [3, 1]; write the least and the most",
    "[sales]\nvalues.size = [1]": "values of size: write COLUMN = [..]",
    "[sales]\nvalues.pieces = ['x']": "'x' is no INT, the type of pieces",
    "[sales": "cannot be read",
}


@pytest.mark.parametrize(("said", "message"), REFUSED.items())
def test_what_the_file_cannot_say_is_one_line(tmp_path: Path, said: str, message: str) -> None:
    with pytest.raises(ScriptError) as refused:
        given(tmp_path, said)
    assert message in str(refused.value)
    assert "dvs.toml" in str(refused.value)


CLOCKED = """
CREATE TABLE trips (id INT PRIMARY KEY, day DATE, at TIMESTAMP, turn INT);
CREATE DYNAMIC TABLE late AS
  SELECT id, day FROM trips WHERE day >= DATE'2024-03-01' AND at > '2024-03-01 10:00:00';
"""


@pytest.mark.parametrize(
    ("said", "position", "late"),
    [
        ('clock = "day"\nlate_by = "3 days"', 1, dt.timedelta(days=3)),
        ('clock = "day"\nlate_by = "10 minutes"', 1, dt.timedelta(days=1)),
        ('clock = "at"\nlate_by = "90 minutes"', 2, dt.timedelta(minutes=90)),
        ('clock = "at"', 2, dt.timedelta()),
        ('clock = "turn"\nlate_by = 2', 3, 2),
    ],
)
def test_a_clock_grows_and_nothing_is_later_than_promised(
    tmp_path: Path, said: str, position: int, late: Any
) -> None:
    (tmp_path / "a.sql").write_text(CLOCKED)
    (tmp_path / "dvs.toml").write_text(f"[trips]\n{said}\n")
    read = read_definitions(tmp_path, described, open_duckdb(), by_duckdb=True)
    profile = replace(SMOKE, given=read)
    grown = delayed = 0
    for index in range(examples(40)):
        newest: Any = None
        for step in scenario_at(1, profile, index).steps:
            for statement in step.statements if isinstance(step, Commit) else ():
                match statement:
                    case Insert(_, rows) | Merge(_, _, rows, _, _):
                        clocks = [row[position] for row in rows]
                    case Update(_, assignments, _):
                        name = read.tables[0].table.columns[position].name
                        clocks = [getattr(a.value, "value", None) for a in assignments if a.column == name]
                    case _:
                        continue
                known = [value for value in clocks if value is not None]
                assert newest is None or all(value >= newest - late for value in known)
                grown += newest is not None and any(value > newest for value in known)
                delayed += newest is not None and any(value < newest for value in known)
                newest = max([*known, *([] if newest is None else [newest])], default=None)
    assert grown
    assert delayed or not late


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ('late_by = "3 days"', "late_by without clock"),
        ('clock = "nothing"', "clock is 'nothing'; write a column of a time or of whole numbers"),
        ('clock = ["day"]', r"clock is \['day'\]; write a column of a time or of whole numbers"),
        ('changes = [["insert"]]', r"changes is \[\['insert'\]\]; write a list of these"),
        ('clock = "day"\nlate_by = "soon"', "late_by is 'soon'; write a time such as"),
        ('clock = "turn"\nlate_by = "3 days"', "turn is a number, so write a whole number"),
        ('clock = "turn"\nlate_by = -1', "turn is a number, so write a whole number"),
    ],
)
def test_a_clock_that_cannot_be_is_one_line(tmp_path: Path, said: str, what: str) -> None:
    (tmp_path / "a.sql").write_text(CLOCKED)
    (tmp_path / "dvs.toml").write_text(f"[trips]\n{said}\n")
    with pytest.raises(ScriptError, match=what):
        read_definitions(tmp_path, described, open_duckdb(), by_duckdb=True)
