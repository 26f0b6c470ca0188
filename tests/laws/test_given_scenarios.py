"""Laws of scenarios over given definitions: what is promised of the tables holds after every commit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from campaign.runs.definitions import described
from generators.generate import scenario_at
from generators.profiles import SMOKE
from given.read import read_definitions
from oracle.delayed_view import DelayedView
from oracle.duck import open_duckdb
from tests.depth import examples
from workload.dml import Dml, Insert, Merge, Truncate
from workload.scenario import Commit, Scenario
from workload.schema import Column, Promises, Table
from workload.types import INT
from workload.wellformed import check_scenario

SCHEMA = """
CREATE TABLE p (id INT PRIMARY KEY, name STRING NOT NULL, low INT, high INT, CHECK (low <= high));
CREATE TABLE c (a INT, b STRING, p INT NOT NULL REFERENCES p, n DECIMAL(6,2) CHECK (n > 0),
  PRIMARY KEY (a, b));
CREATE TABLE g (id BIGINT PRIMARY KEY, a INT, b STRING, up BIGINT REFERENCES g (id), UNIQUE (a, b),
  FOREIGN KEY (a, b) REFERENCES c (a, b));
CREATE TABLE h (id INT PRIMARY KEY, up INT NOT NULL REFERENCES h, v INT);
CREATE TABLE nested (l ARRAY<INT>);
CREATE TABLE free (f DOUBLE, d DATE, t TIMESTAMP, l ARRAY<INT>);
CREATE DYNAMIC TABLE x AS SELECT p.name, SUM(c.n) AS n FROM p LEFT JOIN c ON c.p = p.id GROUP BY p.name;
CREATE DYNAMIC TABLE y AS SELECT g.id, c.n FROM g JOIN c ON c.a = g.a AND c.b = g.b
  WHERE c.n > 2 AND c.b = 'z';
CREATE DYNAMIC TABLE w AS SELECT a.id, b.v FROM h a JOIN h b ON b.id = a.up WHERE b.v > 5 AND a.v < b.v;
CREATE DYNAMIC TABLE n AS SELECT l FROM nested;
CREATE DYNAMIC TABLE z AS SELECT f, d, t, l FROM free WHERE d > DATE '2024-01-01';
"""


def test_promises_hold_after_every_commit(tmp_path: Path) -> None:
    """By the oracle's own evaluation of the statements, which shares nothing with the generator's."""
    (tmp_path / "a.sql").write_text(SCHEMA)
    given = read_definitions(tmp_path, described, open_duckdb(), by_duckdb=True)
    profile = replace(SMOKE, given=given, rounds=(3, 5), dynamic_tables=(1, 3))
    statements: set[str] = set()
    rows = 0
    for index in range(examples(30)):
        scenario = scenario_at(5, profile, index)
        check_scenario(scenario)
        with DelayedView(scenario) as truth:
            for step in scenario.steps:
                if isinstance(step, Commit):
                    statements.update(type(statement).__name__ for statement in step.statements)
                    for table in scenario.tables:
                        assert truth.broken_promise(table.name, step.at) == "", (index, step)
            rows += sum(len(truth.source_rows(t.name, scenario.steps[-1].at)) for t in scenario.tables)
    assert statements >= {"Insert", "Update", "Delete", "Merge", "Truncate", "Overwrite", "Restore"}
    assert rows > examples(30)


def test_a_broken_promise_is_noticed(tmp_path: Path) -> None:
    """So that the law above can fail: each promise is broken once."""
    (tmp_path / "a.sql").write_text(SCHEMA)
    given = read_definitions(tmp_path, described, open_duckdb(), by_duckdb=True)
    tables = tuple(each.table for each in given.tables)
    parent = Insert("p", ((1, "a", 1, 2),))
    broken = {
        "p.name is NULL": (Insert("p", ((1, None, 1, 2),)),),
        "two rows of p have the same id": (Insert("p", ((1, "a", 1, 2), (1, "b", 1, 2))),),
        "a row of p breaks CHECK (low <= high)": (Insert("p", ((1, "a", 3, 2),)),),
        "a row of c refers to no row of p": (parent, Insert("c", ((1, "a", 2, None),))),
    }
    for message, written in broken.items():
        scenario = Scenario("broken", tables, (), (Commit(1, written),))
        with DelayedView(scenario) as truth:
            found = {truth.broken_promise(table.name, 1) for table in tables}
        assert message in found


def test_a_merge_that_changes_more_than_is_promised_is_noticed() -> None:
    """Also between two statements of one commit; what is inserted, or deleted and inserted, is no update."""
    table = Table("t", (Column("k", INT), Column("a", INT), Column("b", INT)), Promises(updated=("a",)))

    def broken(*statements: Dml) -> str:
        scenario = Scenario(
            "s", (table,), (), (Commit(1, (Insert("t", ((1, 1, 1),)),)), Commit(2, statements))
        )
        with DelayedView(scenario) as truth:
            return truth.broken_promise("t", 2)

    def merge(*row: int, unmatched: bool = True) -> Merge:
        return Merge("t", ("k",), (row,), None, unmatched)

    assert broken(merge(1, 5, 1)) == ""
    assert broken(merge(1, 5, 2)) == "a MERGE changes t.b"
    assert broken(merge(2, 5, 2)) == ""
    assert broken(merge(2, 5, 2), merge(2, 5, 3)) == "a MERGE changes t.b"
    assert broken(merge(1, 1, 3), merge(1, 1, 1)) == "a MERGE changes t.b"
    assert broken(Truncate("t"), merge(1, 5, 2)) == ""
