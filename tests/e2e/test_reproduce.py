"""`reproduce.py` run as a user would: another process, in another folder, without this project."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from campaign.failures.reproduction import reproduction
from dynamic_tables.session.launch import fetch_jars
from reports.reproduction import reproduce_script
from tests.ir import columns, named, select, table
from tests.unit.workload.shop import SHOP
from workload.dml import Insert
from workload.outcomes.results import Check, Difference, DifferenceKind, Finding, Outcome, OutcomeClass
from workload.scenario import Commit, Create, DynamicTable, Scenario
from workload.schema import Column
from workload.types import INT, STRING, Row, array_of, map_of, struct_of

pytestmark = [pytest.mark.spark, pytest.mark.own_jvm]

GHOST = Finding(
    check=Check.EQUALITY,
    table="everyone",
    step=7,
    timestamp=30,
    message="a row too many",
    difference=Difference(
        DifferenceKind.EXTRA,
        (Column("k", INT), Column("name", STRING)),
        missing=(),
        extra=(((99, "ghost"), 1),),
        expected_rows=2,
        actual_rows=3,
    ),
)


ONE_AFTER_THE_OTHER = """
import runpy, sys

for script in sys.argv[1:]:
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as ended:
        print(f"exit {ended.code}", flush=True)
"""
"""A program that runs scripts as their own programs: one JVM serves them all."""


def run(*scripts: Path) -> list[list[str]]:
    """The lines that each script prints, as it is run by a user who has nothing of this project."""
    jars = fetch_jars(os.environ)
    # As `fetch_jars` left them: whatever is downloaded by default cannot be reached.
    environment = {
        **{name: value for name, value in os.environ.items() if name != "DELTA_JARS"},
        "DVS_CACHE": str(jars[0].parents[2]),
        "DEFAULT_ARTIFACT_REPOSITORY": "http://localhost:9/",
    }
    # Isolated: neither this folder nor the environment's paths are looked into for modules.
    command = [sys.executable, "-I", "-c", ONE_AFTER_THE_OTHER, *map(str, scripts)]
    done = subprocess.run(
        command,
        cwd=scripts[0].parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    *shown, rest = done.stdout.split("exit 1\n")
    assert (len(shown), rest) == (len(scripts), ""), done.stdout[-2000:]
    return [text.splitlines() for text in shown]


def script_of(scenario: Scenario, finding: Finding, path: Path) -> Path:
    """Writes the script that shows what was found in a scenario."""
    outcome = Outcome(scenario=scenario.name, outcome=OutcomeClass.PRODUCT_FAILURE, findings=(finding,))
    shown = reproduction(scenario, outcome, "dvs replay here")
    assert shown is not None
    path.write_text(reproduce_script(shown), encoding="utf-8")
    return path


R = table("r", k=INT, l=array_of(INT), s=struct_of(a=INT, b=STRING), m=map_of(STRING, INT))
ROWS: tuple[Row, ...] = (
    (1, (1, None), (1, "a"), (("a", 1), ("b", None))),
    (2, (), (None, None), ()),
    (3, None, None, None),
)
WRONG: Row = (1, (1, None), (1, "b"), (("a", 1), ("b", None)))
NESTED = Scenario(
    "nested",
    (R,),
    (DynamicTable("d", select({name: columns(R)[name] for name in "klsm"}, named("r"))),),
    (Commit(1, (Insert("r", ROWS),)), Create(2, "d")),
)
WRONG_STRUCT = Finding(
    check=Check.EQUALITY,
    table="d",
    step=1,
    timestamp=2,
    message="wrong",
    difference=Difference(DifferenceKind.WRONG_VALUE, R.columns, ((ROWS[0], 1),), ((WRONG, 1),), 3, 3),
)


@pytest.mark.nightly
def test_it_replays_every_kind_of_dml_and_every_type_and_shows_the_wrong_row_alone(tmp_path: Path) -> None:
    """Up to time 30: UPDATE, DELETE, MERGE, TRUNCATE, OPTIMIZE, overwrite, and RESTORE of both customers."""
    of_shop = script_of(SHOP, GHOST, tmp_path / "reproduce.py")
    of_nested = script_of(NESTED, WRONG_STRUCT, tmp_path / "nested.py")
    lines, nested = run(of_shop, of_nested)
    assert [line for line in lines if line.startswith(("  + ", "  - "))] == ["  + (99, 'ghost')"]
    assert "  Spark agrees with DuckDB" in lines
    assert "  the engine's rows are WRONG" in lines
    assert lines.count('    (1, "it\'s \\\\ ${x} \\n é😀")') == 6
    assert lines.count("    (None, None)") == 6

    assert "  Spark agrees with DuckDB" in nested
    marked = [line for line in nested if line.startswith(("  + ", "  - "))]
    assert sorted(marked) == [f"  + {WRONG!r}", f"  - {ROWS[0]!r}"]
