"""SARIF 2.1.0, for code hosts that show findings beside files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from dvs_model.check import Checked, Undecided, Violated
from dvs_model.definitions import DEFINITIONS, MEANINGS
from dvs_model.names import Level
from dvs_model.verdict import Present
from reports.history.account import because, lines

Result = Mapping[str, object]
"""A result object of SARIF."""


def sarif(found: Sequence[Result], asked: Sequence[Level]) -> str:
    """The document that holds some results."""
    used = dict.fromkeys(level for level in asked)
    rules = [
        {
            "id": level.value,
            "shortDescription": {"text": MEANINGS[level]},
            "fullDescription": {"text": f"{level.value}: {MEANINGS[level]}"},
        }
        for level in used
    ]
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "dvs check", "rules": rules}},
                "results": found,
                "columnKind": "unicodeCodePoints",
            }
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def results(file: str, line: int, checked: Checked, asked: Sequence[Level]) -> list[Result]:
    """The violated and unknown asked levels of a history, at its place in a file."""
    found = []
    for level in asked:
        verdict = checked.levels[level]
        if isinstance(verdict, Violated):
            text = [f"{checked.original.name}: {level.value} is violated: {because(verdict)}."]
            finding = checked.phenomena[verdict.by[0]]
            assert isinstance(finding, Present)
            text.append(f"{verdict.by[0].value}, {DEFINITIONS[verdict.by[0]].text}:")
            text.extend(line.text for line in lines(checked, finding.evidence[0]))
            found.append(_result(file, line, level, "error", "fail", "\n".join(text)))
        elif isinstance(verdict, Undecided):
            text_unknown = f"{checked.original.name}: {level.value} is unknown: {because(verdict)}"
            found.append(_result(file, line, level, "note", "open", text_unknown))
    return found


def _result(file: str, line: int, level: Level, severity: str, kind: str, text: str) -> Result:
    return {
        "ruleId": level.value,
        "level": severity if kind == "fail" else "none",
        "kind": kind,
        "message": {"text": text},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(file)},
                    "region": {"startLine": line},
                }
            }
        ],
    }
