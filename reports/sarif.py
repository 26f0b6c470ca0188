"""The parts of a SARIF 2.1.0 document that every report of this program shares."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from urllib.parse import quote

SarifResult = Mapping[str, object]
"""A result object of SARIF: one thing that was found, and where."""

SarifRule = Mapping[str, object]
"""A reportingDescriptor object of SARIF: what a result breaks."""


def sarif_document(program: str, rules: Sequence[SarifRule], results: Sequence[SarifResult]) -> str:
    """Returns the document with the results of one command, such as `dvs check`."""
    run = {
        "tool": {"driver": {"name": program, "rules": rules}},
        "results": results,
        "columnKind": "unicodeCodePoints",
    }
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }
    return json.dumps(document, indent=2) + "\n"


def location(file: str, line: int) -> Mapping[str, object]:
    """Returns the location object of a line (counted from 1) in a file."""
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(file)},
            "region": {"startLine": line},
        }
    }
