"""Checked histories as SARIF 2.1.0, for code hosts that show findings beside files."""

from __future__ import annotations

from collections.abc import Sequence

from dvs_model.check import Checked, Undecided, Violated
from dvs_model.definitions import DEFINITIONS
from dvs_model.explain import because, first_evidence, lines
from dvs_model.levels import LEVELS
from dvs_model.names import Level
from reports.sarif import SarifResult, location, sarif_document


def sarif(results: Sequence[SarifResult], requested: Sequence[Level]) -> str:
    """Returns the SARIF document with some results; its rules are the requested levels."""
    rules = [
        {
            "id": level.value,
            "shortDescription": {"text": LEVELS[level].meaning},
            "fullDescription": {"text": f"{level.value}: {LEVELS[level].meaning}"},
        }
        for level in dict.fromkeys(requested)
    ]
    return sarif_document("dvs check", rules, results)


def results_of(file: str, line: int, checked: Checked, requested: Sequence[Level]) -> list[SarifResult]:
    """Returns a result for each requested level that a history violates or leaves unknown."""
    results = []
    for level in requested:
        verdict = checked.levels[level]
        if isinstance(verdict, Violated):
            phenomenon = verdict.by[0]
            text = [
                f"{checked.original.name}: {level.value} is violated: {because(verdict)}.",
                f"{phenomenon.value}, {DEFINITIONS[phenomenon].text}:",
                *(line.text for line in lines(checked, first_evidence(checked, phenomenon))),
            ]
            results.append(_result(file, line, level, "fail", "\n".join(text)))
        elif isinstance(verdict, Undecided):
            text_unknown = f"{checked.original.name}: {level.value} is unknown: {because(verdict)}"
            results.append(_result(file, line, level, "open", text_unknown))
    return results


def _result(file: str, line: int, level: Level, kind: str, text: str) -> SarifResult:
    return {
        "ruleId": level.value,
        "level": "error" if kind == "fail" else "none",
        "kind": kind,
        "message": {"text": text},
        "locations": [location(file, line)],
    }
