"""Reads the JSON files that earlier runs and gates wrote: `summary.json` and `gate.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from campaign.errors import CampaignError
from workload.codec import decode
from workload.errors import WorkloadError

SUMMARY_FILE = "summary.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """What later commands read of a stored run. `definitions`: how many dynamic tables it has judged.

    `started`: ISO 8601. `outcomes`: scenarios by outcome class. `coverage`: counts by kind and name.
    `floors_unmet`: how many coverage floors were not met.
    """

    started: str
    tier: str
    profile: str
    seed: int
    scenarios: int
    definitions: int
    seconds: float
    interrupted: bool
    outcomes: Mapping[str, int]
    coverage: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    floors_unmet: int = 0

    @property
    def rate(self) -> float:
        """Dynamic tables per second."""
        return self.definitions / self.seconds if self.seconds else 0.0


COVERAGE_KINDS = ("operators", "pairs", "intents", "states", "actions")


def read_object(path: Path, formats: Mapping[str, int]) -> dict[str, Any]:
    """Returns the JSON object in a file. `formats`: those that it may have, each with its version.

    Raises CampaignError naming the file: it cannot be read, or has another format or version.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CampaignError(f"cannot read {path}: {error}") from error
    name = data.get("format") if isinstance(data, dict) else None
    if not isinstance(name, str) or name not in formats:
        raise CampaignError(f"{path} is no result of a run or gate; give the folder that one wrote")
    if data.get("version") != formats[name]:
        raise CampaignError(
            f"{path} is of version {data.get('version')!r}, this program reads {formats[name]}; run it again"
        )
    return dict(data)


def stored_run(summary: Any, path: Path) -> StoredRun:
    """Returns the run of a summary read from `path`. Raises CampaignError: a figure is missing or wrong."""
    try:
        coverage = summary["coverage"]
        return StoredRun(
            **{name: decode(summary[name], str, name) for name in ("started", "tier", "profile")},
            **{name: decode(summary[name], int, name) for name in ("seed", "scenarios", "definitions")},
            seconds=float(summary["seconds"]),
            interrupted=decode(summary["interrupted"], bool, "interrupted"),
            outcomes=decode(summary["outcomes"], Mapping[str, int], "outcomes"),
            coverage={kind: decode(coverage[kind], Mapping[str, int], kind) for kind in COVERAGE_KINDS},
            floors_unmet=len(coverage["unmet"]),
        )
    except (KeyError, TypeError, ValueError, WorkloadError) as error:
        raise CampaignError(
            f"{path} lacks figures of the run ({error!r}); somebody changed the file: run it again"
        ) from error
