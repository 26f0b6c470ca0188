"""`dvs verify rules`: its exit statuses, its tables and its JSON."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from campaign.cli import main
from campaign.verify import definitions
from campaign.verify.definitions import Definition, pair
from generators.small_worlds import Bound
from workload.operators import Operator

FILTER = ("verify", "rules", "--quick", "--workers", "1", "--operator", "filter")


@pytest.fixture(autouse=True)
def one_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only one pair is run; all of them are for the command line."""

    def pairs(bound: Bound) -> list[Definition]:
        return [pair(Operator.FILTER, Operator.DISTINCT, 0, bound)]

    monkeypatch.setattr(definitions, "pairs", pairs)


def test_the_tables_name_bounds_and_totals() -> None:
    result = CliRunner().invoke(main, FILTER)
    assert result.exit_code == 0, result.output
    assert "every operator alone" in result.output
    assert "alone, 2 rows a table, 2 changed in all: kv: 1" in result.output
    assert "pairs, 1 row a table, 1 changed in all: " in result.output
    assert "checks; amplification" in result.output


def test_json_has_every_definition() -> None:
    result = CliRunner().invoke(main, [*FILTER, "--json"])
    document = json.loads(result.stdout)
    assert document["totals"]["definitions"] == len(document["definitions"]) > 2
    assert {"name", "bound", "way", "roads", "worlds", "failures"} <= document["definitions"][0].keys()


@pytest.mark.nightly
def test_a_fault_is_shown_by_its_least_world() -> None:
    result = CliRunner().invoke(main, [*FILTER, "--fault", "filter-drops-old-half"])
    assert result.exit_code == 1
    assert "filter is FALSE:" in result.output
    assert "changes expected:" in result.output


def test_misuse() -> None:
    for option in (("--operator", "sort"), ("--fault", "no-such-fault"), ("--fault", "shared-frontier")):
        result = CliRunner().invoke(main, [*FILTER, *option])
        assert result.exit_code == 2, option
        assert option[1] in result.output
