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
from tests.unit.workload.shop import SHOP
from workload.results import Check, Difference, DifferenceKind, Finding, Outcome, OutcomeClass
from workload.schema import Column
from workload.types import INT, STRING

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


@pytest.mark.slow
def test_it_replays_every_kind_of_dml_and_shows_the_wrong_row_alone(tmp_path: Path) -> None:
    """Up to time 30: UPDATE, DELETE, MERGE, TRUNCATE, OPTIMIZE, overwrite, and RESTORE of both customers."""
    outcome = Outcome(scenario=SHOP.name, outcome=OutcomeClass.PRODUCT_FAILURE, findings=(GHOST,))
    shown = reproduction(SHOP, outcome, "dvs replay here")
    assert shown is not None
    script = tmp_path / "reproduce.py"
    script.write_text(reproduce_script(shown), encoding="utf-8")
    jars = fetch_jars(os.environ)
    # As `fetch_jars` left them: whatever is downloaded by default cannot be reached.
    environment = {
        **{name: value for name, value in os.environ.items() if name != "DELTA_JARS"},
        "DVS_CACHE": str(jars[0].parents[2]),
        "DEFAULT_ARTIFACT_REPOSITORY": "http://localhost:9/",
    }
    # Isolated: neither this folder nor the environment's paths are looked into for modules.
    command = [sys.executable, "-I", str(script)]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith(("  + ", "  - "))] == ["  + (99, 'ghost')"]
    assert "  Spark agrees with DuckDB" in lines
    assert "  the engine's rows are WRONG" in lines
    assert lines.count('    (1, "it\'s \\\\ ${x} \\n é😀")') == 6
    assert lines.count("    (None, None)") == 6
