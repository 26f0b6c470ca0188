"""A gate against an earlier run: coverage lost, speed lost, faults that live again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from campaign.errors import CampaignError
from reports.json_summary import SUMMARY_FORMAT, SUMMARY_VERSION
from workload.results import RunSummary

GATE_FILE = "gate.json"
GATE_FORMAT = "dvs-gate"
GATE_VERSION = 1
SUMMARY_FILE = "summary.json"

EXPECTED = 10
"""Coverage is only missed where at least this many were to be expected: fewer may be missing by chance."""

LEFT = 0.25
"""The share of the expected coverage below which it counts as lost."""

KINDS = ("operators", "pairs", "intents", "states", "actions")


@dataclass(frozen=True, slots=True)
class Baseline:
    """An earlier gate or run: its campaigns as summary objects, and which faults were killed."""

    path: Path
    campaigns: tuple[Mapping[str, Any], ...]
    killed: frozenset[str]


def read_baseline(path: Path) -> Baseline:
    """The gate or run of a folder, or of its JSON file. Raises CampaignError naming what is wrong."""
    if not path.is_dir():
        return _baseline(path)
    for name in (GATE_FILE, SUMMARY_FILE):
        if (path / name).is_file():
            return _baseline(path / name)
    raise CampaignError(f"no baseline at {path}: there is neither {GATE_FILE} nor {SUMMARY_FILE}")


def read_object(path: Path, formats: Mapping[str, int]) -> dict[str, Any]:
    """A JSON object of one of some formats, with their versions. Raises CampaignError naming the file."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CampaignError(f"cannot read {path}: {error}") from error
    form = data.get("format") if isinstance(data, dict) else None
    if not isinstance(form, str) or form not in formats:
        raise CampaignError(f"{path} is no result of a run or gate; give the folder that one wrote")
    if data.get("version") != formats[form]:
        raise CampaignError(
            f"{path} is of version {data.get('version')!r}, this program reads {formats[form]}; run it again"
        )
    return dict(data)


def _baseline(path: Path) -> Baseline:
    data = read_object(path, {GATE_FORMAT: GATE_VERSION, SUMMARY_FORMAT: SUMMARY_VERSION})
    match data:
        case {"campaigns": list(campaigns), "faults": dict(faults)}:
            killed = frozenset(name for name, verdict in faults.items() if verdict == "killed")
        case _:
            campaigns, killed = [data], frozenset()
    if not all(_is_complete(campaign) for campaign in campaigns):
        raise CampaignError(f"{path} lacks figures that a comparison needs; it was changed: run it again")
    return Baseline(path, tuple(campaigns), killed)


def _is_complete(summary: Any) -> bool:
    match summary:
        case {
            "tier": str(),
            "profile": str(),
            "scenarios": int(),
            "definitions": int(),
            "seconds": int() | float(),
            "coverage": dict(coverage),
        }:
            return all(_are_counts(coverage.get(kind)) for kind in KINDS)
        case _:
            return False


def _are_counts(counts: Any) -> bool:
    return isinstance(counts, dict) and all(type(count) is int for count in counts.values())


def regressions(
    baseline: Baseline, campaigns: Iterable[RunSummary], killed: Mapping[str, bool], slowdown: float
) -> Iterator[str]:
    """What got worse, a sentence each. `killed`: each fault hunted now, and whether it was killed.

    Campaigns are compared with those of the same tier and profile. `slowdown`: the share of the speed that
    may be lost.
    """
    before = {(summary["tier"], summary["profile"]): summary for summary in baseline.campaigns}
    for now in campaigns:
        earlier = before.get((now.tier, now.profile))
        if earlier is not None:
            name = f"{now.tier}, {now.profile}"
            yield from (f"{name}: {said}" for said in coverage_lost(earlier, now))
            yield from (f"{name}: {said}" for said in speed_lost(earlier, now, slowdown))
    for fault, dead in killed.items():
        if fault in baseline.killed and not dead:
            yield f"fault alive again: {fault}"


def compared(baseline: Baseline, campaigns: Iterable[RunSummary]) -> int:
    """How many campaigns have their like in the baseline."""
    before = {(summary["tier"], summary["profile"]) for summary in baseline.campaigns}
    return sum((now.tier, now.profile) in before for now in campaigns)


def coverage_lost(earlier: Mapping[str, Any], now: RunSummary) -> Iterator[str]:
    """What was met regularly, and hardly is any more, scaled to the scenarios run."""
    scale = now.scenarios / earlier["scenarios"] if earlier["scenarios"] else 0.0
    for kind in KINDS:
        found: Mapping[str, int] = getattr(now.coverage, kind)
        for name, count in earlier["coverage"][kind].items():
            expected = count * scale
            if expected >= EXPECTED and found.get(name, 0) < expected * LEFT:
                met = found.get(name, 0)
                yield f"coverage lost: {kind.removesuffix('s')}: {name}: {met}, about {expected:.0f} expected"


def speed_lost(earlier: Mapping[str, Any], now: RunSummary, slowdown: float) -> Iterator[str]:
    """Whether fewer dynamic tables a second were judged than the share left allows."""
    if not earlier["seconds"] or not now.seconds:
        return
    old, new = earlier["definitions"] / earlier["seconds"], now.definitions / now.seconds
    if new < old * (1 - slowdown):
        yield (
            f"throughput lost: {new:.1f} dynamic tables/s, {old:.1f} before "
            f"(at most {slowdown:.0%} may be lost)"
        )
