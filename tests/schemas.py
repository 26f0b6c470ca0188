"""The schemas of what commands print with `--json`: `python -m tests.schemas --write` writes docs/schemas.

They are made of the types of `reports.documents`, to which mypy holds the commands.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from campaign.cli.compare import Comparison
from campaign.cli.doctor import Doctor
from campaign.cli.operators import Matrix
from campaign.verify.coherence import Searched
from reports import documents

FOLDER = Path(__file__).parents[1] / "docs" / "schemas"

DOCUMENTS: Mapping[str, Any] = {
    "audit": documents.AuditDocument,
    "check": documents.HistoryDocument,
    "compare": Comparison,
    "dbt": documents.DbtDocument,
    "doctor": Doctor,
    "explain": documents.ExplanationDocument,
    "explain-definitions": Mapping[str, documents.ExplanationDocument],
    "fuzz": documents.RunDocument,
    "gate": documents.GateDocument,
    "mutants": documents.HuntsDocument,
    "operators": Matrix,
    "protocol-data-plane": documents.IntentsDocument,
    "protocol-data-plane-random": documents.RandomIntentsDocument,
    "protocol-read-committed": documents.SessionsDocument,
    "protocol-read-committed-explore": documents.OrdersDocument,
    "replay": documents.OutcomeDocument,
    "runs": documents.RunsDocument,
    "soak": documents.SoakDocument,
    "verify-evolution": documents.EvolutionDocument,
    "verify-groups": Sequence[Searched],
    "verify-protocol": documents.ProtocolDocument,
    "verify-rules": documents.RulesDocument,
    "verify-rules-each-fault": Sequence[documents.TriedDocument],
    "verify-rules-unbounded": documents.ProofsDocument,
}
"""By command, and option where it prints something else, what it prints; for `check` each line."""


def schema_text(name: str) -> str:
    """The JSON Schema of a command's output, as a file."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"dvs {name.replace('-', ' ')} --json",
        **msgspec.json.schema(DOCUMENTS[name]),
    }
    for each in schema.get("$defs", {}).values():
        if "properties" in each and not each["title"].endswith("Document"):
            # A dataclass is printed with all its fields: a default is for those who make the value.
            each["required"] = [*each["properties"]]
            for field in each["properties"].values():
                field.pop("default", None)
    return json.dumps(schema, indent=1) + "\n"


def unlike(name: str, printed: str) -> str:
    """Why an output is not what the schema says; empty where it is. A key that no type names counts too."""
    try:
        read = msgspec.json.decode(printed, type=DOCUMENTS[name])
    except msgspec.ValidationError as error:
        return str(error)
    again, given = json.loads(msgspec.json.encode(read)), json.loads(printed)
    return "" if again == given else f"keys that the schema does not name: {_lost(given, again)}"


def _lost(given: Any, again: Any, at: str = "$") -> list[str]:
    match given, again:
        case dict(), dict():
            lost = [f"{at}.{key}" for key in given.keys() - again.keys()]
            both = given.keys() & again.keys()
            return lost + [each for key in both for each in _lost(given[key], again[key], f"{at}.{key}")]
        case list(), list():
            return [each for one, other in zip(given, again, strict=True) for each in _lost(one, other, at)]
        case _:
            return []


if __name__ == "__main__":
    if "--write" in sys.argv:
        FOLDER.mkdir(exist_ok=True)
        for path in FOLDER.glob("*.json"):
            path.unlink()
        for name in DOCUMENTS:
            (FOLDER / f"{name}.json").write_text(schema_text(name), encoding="utf-8")
    else:
        sys.stdout.write("".join(map(schema_text, DOCUMENTS)))
