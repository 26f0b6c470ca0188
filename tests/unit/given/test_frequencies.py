"""Random rows hold values as often as a table of the user holds its own, which they do not show."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from campaign.runs.definitions import described
from generators.generate import scenario_at
from generators.profiles import SMOKE
from given.frequencies import Frequencies
from given.read import read_definitions
from oracle.duck import open_duckdb
from tests.depth import examples
from workload.dml import Insert
from workload.scenario import Commit
from workload.types import Value

SCRIPT = """
CREATE TABLE t (id INT PRIMARY KEY, kind STRING, size INT, CHECK (size < 100));
CREATE DYNAMIC TABLE wine AS SELECT id, size FROM t WHERE kind = 'wine';
"""
HELD = {
    "id": Frequencies(0, {4711: 1, 4712: 1}),
    "kind": Frequencies(50, {"wine": 90, "geheim": 10}),
    "size": Frequencies(0, {50: 90, 51: 10, 4713: 1}),
}


def inserted(folder: Path, held: dict[str, Frequencies]) -> list[tuple[Value, ...]]:
    """The rows that scenarios insert, where a table of the user holds some values."""
    (folder / "a.sql").write_text(SCRIPT)
    sample = {"t": held}
    given = read_definitions(folder, described, open_duckdb(), by_duckdb=True, sample=sample)
    profile = replace(SMOKE, given=given)
    return [
        row
        for index in range(examples(120))
        for step in scenario_at(1, profile, index).steps
        for statement in (step.statements if isinstance(step, Commit) else ())
        if isinstance(statement, Insert)
        for row in statement.rows
    ]


def test_values_come_as_often_as_in_the_table_of_the_user(tmp_path: Path) -> None:
    without, with_ = (Counter(row[1] for row in inserted(tmp_path, held)) for held in ({}, HELD))

    def share(found: Counter[Value], value: Value) -> float:
        return found[value] / found.total()

    assert share(with_, None) > share(without, None) + 0.1
    assert share(with_, "wine") > 4 * max(share(with_, each) for each in with_ if each not in (None, "wine"))


@pytest.mark.parametrize("shown", [False, True])
def test_values_of_the_user_come_only_where_they_may_be_shown(tmp_path: Path, shown: bool) -> None:
    rows = inserted(tmp_path, {name: replace(each, shown=shown) for name, each in HELD.items()})
    assert any("geheim" in row for row in rows) is shown
    assert any(51 in row for row in rows) is shown
    assert any(4711 in row for row in rows) is shown
    assert not any(4713 in row for row in rows), "the CHECK does not allow it"
