"""SARIF 2.1.0, for code hosts that show findings beside files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from urllib.parse import quote

from dvs_model.check import Checked, Undecided, Violated
from dvs_model.definitions import DEFINITIONS, MEANINGS
from dvs_model.names import Level
from dvs_model.verdict import Present
from reports.history.account import because, lines


def sarif(checked: Sequence[tuple[str, Checked]], asked: Sequence[Level]) -> str:
    """The violated and unknown asked levels of histories, each with the file it came from."""
    results = [result for uri, item in checked for result in _results(uri, item, asked)]
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
                "results": results,
                "columnKind": "unicodeCodePoints",
            }
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def _results(uri: str, checked: Checked, asked: Sequence[Level]) -> list[dict[str, object]]:
    found = []
    for level in asked:
        verdict = checked.levels[level]
        if isinstance(verdict, Violated):
            text = [f"{checked.original.name}: {level.value} is violated: {because(verdict)}."]
            finding = checked.phenomena[verdict.by[0]]
            assert isinstance(finding, Present)
            text.append(f"{verdict.by[0].value}, {DEFINITIONS[verdict.by[0]].text}:")
            text.extend(line.text for line in lines(checked, finding.evidence[0]))
            found.append(_result(uri, level, "error", "fail", "\n".join(text)))
        elif isinstance(verdict, Undecided):
            text_unknown = f"{checked.original.name}: {level.value} is unknown: {because(verdict)}"
            found.append(_result(uri, level, "note", "open", text_unknown))
    return found


def _result(uri: str, level: Level, severity: str, kind: str, text: str) -> dict[str, object]:
    path, _, line = uri.rpartition(":")
    file, region = (path, int(line)) if path and line.isdigit() else (uri, 1)
    return {
        "ruleId": level.value,
        "level": severity if kind == "fail" else "none",
        "kind": kind,
        "message": {"text": text},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(file)},
                    "region": {"startLine": region},
                }
            }
        ],
    }
