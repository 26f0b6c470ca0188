"""`dvs verify rules --unbounded`: its exit statuses, its lines, its JSON, and what it says without z3."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from campaign.cli import main
from campaign.cli.verification.unbounded import tried_table
from campaign.errors import CampaignError
from campaign.verify.definitions import Definition
from campaign.verify.unbounded import running, solve
from campaign.verify.unbounded.prove import Outcome, Proof, Refutation
from campaign.verify.unbounded.running import decision_of, provable
from campaign.verify.unbounded.tried import Tried, decision_of_tried
from dynamic_tables.differentiate.registry import OPERATORS
from tests.schemas import unlike
from workload.operators import Operator
from workload.outcomes.decision import Decision
from workload.outcomes.results import Check

FILTER = ("verify", "rules", "--unbounded", "--quick", "--workers", "1", "--operator", "filter")


def test_a_proof_says_its_values_roads_and_cases() -> None:
    result = CliRunner().invoke(main, FILTER)
    assert result.exit_code == 0, result.output
    assert "proved for every number of rows over k: NULL 0, v: NULL 0 1; 2 roads" in result.output
    assert "2 definitions: 2 proved" in result.output
    assert "assumed: " in result.output


def test_a_fault_is_shown_by_its_least_world() -> None:
    result = CliRunner().invoke(main, [*FILTER, "--fault", "filter-drops-old-half"])
    assert result.exit_code == 1
    assert "refuted by the rules, by 1 row" in result.output
    assert "changes expected:" in result.output


def test_the_theorems_are_proved_for_histories_of_any_length() -> None:
    result = CliRunner().invoke(main, ["verify", "theorems", "--unbounded"])
    assert result.exit_code == 0, result.output
    assert "proved: theorem 1: no rw is lost" in result.output
    assert "38 claims about histories of any length: passed" in result.output


def test_what_was_not_compared_is_said() -> None:
    result = CliRunner().invoke(main, [word if word != "filter" else "window" for word in FILTER])
    lines = {line.split("  ")[0]: line for line in result.output.splitlines()}
    assert "first contents are not compared: rows that are equal in an order" in lines["window (LAG)"]
    assert "first contents" not in lines["window (RANK)"]


def test_json_is_what_its_schema_says() -> None:
    result = CliRunner().invoke(main, [*FILTER, "--json"])
    assert unlike("verify-rules-unbounded", result.stdout) == ""
    assert json.loads(result.stdout)["definitions"][0]["outcome"] == "proved"


def test_without_z3_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise CampaignError(solve.MISSING)

    monkeypatch.setattr(running, "load", missing)
    result = CliRunner().invoke(main, FILTER)
    assert result.exit_code == 2
    assert "pip install 'dvs-harness[proof]'" in result.output


def proofs(*outcomes: Outcome) -> Sequence[Proof]:
    definition: Definition = next(iter(provable(quick=True)))
    return [Proof(definition=definition, domain={}, outcome=outcome) for outcome in outcomes]


@pytest.mark.parametrize(
    ("outcomes", "decision"),
    [
        ((Outcome.PROVED, Outcome.NOT_EXPRESSIBLE), Decision.PASSED),
        ((Outcome.PROVED, Outcome.UNKNOWN), Decision.UNDECIDED),
        ((Outcome.NOT_EXPRESSIBLE,), Decision.UNDECIDED),
        ((), Decision.UNDECIDED),
        ((Outcome.UNKNOWN, Outcome.REFUTED), Decision.FAILED),
    ],
)
def test_what_is_not_proved_is_no_pass(outcomes: tuple[Outcome, ...], decision: Decision) -> None:
    assert decision_of(proofs(*outcomes)) is decision


def tried(outcome: str) -> Tried:
    """What may come out for a fault, with a name that says it."""
    proof = replace(proofs(Outcome.REFUTED)[0], refutation=Refutation("by the rules", Check.EQUALITY, ((),)))
    by_proof = proof if outcome in ("both", "proof") else None
    enumerated = "filter" if outcome in ("both", "enumeration") else ""
    return Tried(fault=outcome, refuted=by_proof, enumerated=enumerated, forms=outcome != "no form")


def test_the_table_says_what_refutes_each_fault() -> None:
    every = [tried(each) for each in ("both", "proof", "enumeration", "neither", "no form", "neither")]
    assert list(tried_table(every)) == [
        "| outcome | faults |",
        "|---|---|",
        "| refuted by the proof and by the enumeration (1) | `both` |",
        "| refuted by the proof alone (1) | `proof` |",
        "| refuted by the enumeration alone (1) | `enumeration` |",
        "| other plans in some form, and refuted by neither (2) | `neither`, `neither` |",
        "| no form has other plans (1) | `no form` |",
    ]
    assert decision_of_tried(every) is Decision.PASSED
    assert decision_of_tried(every[2:]) is Decision.UNDECIDED


def test_a_fault_is_tried_by_the_proof_and_by_the_enumeration(monkeypatch: pytest.MonkeyPatch) -> None:
    few = [each for each in provable(quick=True) if each.outer in (Operator.FILTER, Operator.DISTINCT)]
    monkeypatch.setattr("campaign.verify.unbounded.tried.provable", lambda quick: few)
    monkeypatch.setattr("campaign.verify.unbounded.tried.singles", lambda quick: few)
    command = ["verify", "rules", "--each-fault", "--workers", "1"]
    result = CliRunner().invoke(main, [*command, "--fault", "distinct-value-lingers", "--json"])
    assert result.exit_code == 0, result.output
    assert unlike("verify-rules-each-fault", result.stdout) == ""
    (found,) = json.loads(result.stdout)
    assert (found["refuted"], found["enumerated"], found["forms"]) == ("distinct", "distinct", 1)
    other = CliRunner().invoke(main, [*command, "--fault", "no-such-fault"])
    assert other.exit_code == 2


def test_the_page_has_a_row_for_each_operator_of_the_registry() -> None:
    page = (Path(__file__).parents[3] / "docs" / "proofs.md").read_text(encoding="utf-8")
    proved = set(re.findall(r"^\| ([a-z ]+) \| \d+ proved", page, re.MULTILINE))
    assert proved == {*OPERATORS}
