"""The programs of a failure folder as text: they parse, hold what was seen, and cannot be broken out of."""

from __future__ import annotations

import ast
import datetime as dt
from decimal import Decimal

import pytest

from reports.reproduction import Reproduction, RestoreTo, identifier, regression_test, reproduce_script
from workload.types import Row

HOSTILE = 'ends """ the docstring \\ and\nthe line'
ROWS: tuple[Row, ...] = (
    (1, True, None, "it's \u202e", float("nan")),
    (2, False, Decimal("1.10"), '"""', float("-inf")),
    (3, None, dt.date(2024, 2, 29), "\\", -0.0),
    (4, None, dt.datetime(2024, 1, 1, 2, 3, 4), "x", 0.1),  # noqa: DTZ001
)


def constants(script: str) -> dict[str, object]:
    """The upper-case values of a script, evaluated without running anything else of it."""
    names: dict[str, object] = {}
    for node in ast.parse(script).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            code = compile(ast.Expression(node.value), "script", "eval")
            known = {"Decimal": Decimal, "datetime": dt, "float": float}
            names[node.targets[0].id] = eval(code, known)  # noqa: S307
    return names


def script(rows: tuple[Row, ...] | None = ROWS) -> str:
    return reproduce_script(
        Reproduction(
            title=HOSTILE,
            summary=HOSTILE,
            findings=(HOSTILE,),
            table="d",
            timestamp=40,
            tables={"r": ("a INT, s STRING", "a INT, s VARCHAR")},
            transactions=(
                (10, ('INSERT INTO r VALUES (1, \'"""\')', RestoreTo("r", 5))),
                (20, ("DELETE\nFROM r",)),
            ),
            spark_query="SELECT r.a\nFROM r",
            duckdb_query="SELECT r.a\nFROM r WHERE r.s = '\"'",
            columns=("a", "b", "c", "s", "x"),
            rows=rows,
            replay="dvs replay 'a \"folder\"'",
        )
    )


def test_everything_is_there_as_it_was_seen() -> None:
    constants_of_script = constants(script())
    assert repr(constants_of_script["ENGINE_ROWS"]) == repr(list(ROWS))
    assert constants_of_script["TRANSACTIONS"] == [
        (10, ['INSERT INTO r VALUES (1, \'"""\')', ("r", 5)]),
        (20, ["DELETE\nFROM r"]),
    ]
    assert constants_of_script["DUCKDB_QUERY"] == "SELECT r.a\nFROM r WHERE r.s = '\"'"
    assert constants_of_script["FINDINGS"] == [HOSTILE]
    assert script().isascii()


def test_it_says_plainly_that_the_engine_does_not_run() -> None:
    assert "NOT run here: ENGINE_ROWS is what it had stored" in script()
    assert "no wrong rows of it were recorded" in script(None)
    assert constants(script(None))["ENGINE_ROWS"] is None


@pytest.mark.parametrize(
    ("name", "part"), [("smoke-1-42", "smoke_1_42"), ("seed 7, smoke", "seed_7_smoke"), ("£", "scenario")]
)
def test_a_scenario_name_becomes_part_of_a_test_name(name: str, part: str) -> None:
    assert identifier(name) == part
    assert f"def test_{part}() -> None:" in regression_test(name, HOSTILE, "rules")
    ast.parse(regression_test(name, HOSTILE, "rules"))
