"""Checked histories as SARIF 2.1.0, for code hosts that show findings beside files."""

from __future__ import annotations

from collections.abc import Sequence

from dvs_model.checking.check import Checked, Undecided, Violated
from dvs_model.checking.explain import (
    LevelStatus,
    because,
    choices,
    first_evidence,
    folded,
    lines,
    requested_with,
)
from dvs_model.theory.definitions import DEFINITIONS
from dvs_model.theory.levels import LEVELS
from dvs_model.theory.names import Level
from reports.sarif import SarifResult, location, sarif_document


def sarif(results: Sequence[SarifResult], requested: Sequence[Level], clients: Sequence[str] = ()) -> str:
    """Returns the SARIF document with some results; its rules are the requested levels."""
    rules = [
        {
            "id": level.value,
            "shortDescription": {"text": LEVELS[level].meaning},
            "fullDescription": {"text": f"{level.value}: {LEVELS[level].meaning}"},
        }
        for level in dict.fromkeys(requested)
    ]
    rules += [{"id": name, "shortDescription": {"text": f"{name}, for clients"}} for name in clients]
    return sarif_document("dvs check", rules, results)


def results_of(file: str, line: int, checked: Checked, requested: Sequence[Level]) -> list[SarifResult]:
    """Returns a result for each requested level that a history violates or leaves unknown."""
    results = []
    read = "".join(f"\nchoice: {each}" for each in choices(checked))
    for level in requested:
        verdict = checked.levels[level]
        if isinstance(verdict, Violated):
            text = [f"{checked.original.name}: {level.value} is violated: {because(verdict)}."]
            for phenomenon in verdict.by[:1]:
                text.append(f"{phenomenon.value}, {DEFINITIONS[phenomenon].text}:")
                evidence = lines(checked, first_evidence(checked, phenomenon))
                text += [line.text for line in folded(evidence)]
            results.append(_result(file, line, level.value, "fail", "\n".join(text) + read))
        elif isinstance(verdict, Undecided):
            text_unknown = f"{checked.original.name}: {level.value} is unknown: {because(verdict)}"
            results.append(_result(file, line, level.value, "open", text_unknown + read))
    for found, kind in ((LevelStatus.VIOLATED, "fail"), (LevelStatus.UNKNOWN, "open")):
        # Without levels: those of clients, of executing and of mixed transactions, and forbidden phenomena.
        for name, reason in requested_with(checked, (), found):
            words = f"{checked.original.name}: {name} is {found.value}: {reason}"
            results.append(_result(file, line, name.partition(" of T")[0], kind, words + read))
    return results


def _result(file: str, line: int, rule: str, kind: str, text: str) -> SarifResult:
    return {
        "ruleId": rule,
        "level": "error" if kind == "fail" else "none",
        "kind": kind,
        "message": {"text": text},
        "locations": [location(file, line)],
    }
