"""From what a test asks for to its scenarios."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click
import pytest

from campaign.adapters import Adapter
from campaign.cli.options import Duration
from campaign.pytest_plugin.shares import Share, seeded
from generators.fitting import fitted
from generators.limits import NO_LIMITS
from generators.profiles import Profile, load_profile
from workload.errors import WorkloadError
from workload.scenario import Scenario

KNOWN = ("engine", "profile", "scenarios")


def asked(marker: Mapping[str, Any], share: Share | None, seed: int, budget: str) -> Iterator[Scenario]:
    """The scenarios of a test. Raises pytest.UsageError for a marker or budget that makes no sense."""
    unknown = [key for key in marker if key not in KNOWN]
    if unknown:
        raise pytest.UsageError(f"marker dvs: unknown {unknown[0]!r}; known: {', '.join(KNOWN)}")
    scenarios = marker.get("scenarios")
    if not (scenarios is None or (type(scenarios) is int and scenarios > 0)):
        raise pytest.UsageError(f"marker dvs: scenarios={scenarios!r} is no number above 0")
    part = share or Share()
    seconds = None if scenarios is not None else part.seconds(_seconds(budget))
    return seeded(seed, _profile(marker), part.indices(scenarios), seconds)


def _seconds(budget: str) -> float:
    try:
        return Duration().convert(budget, None, None)
    except click.BadParameter as error:
        raise pytest.UsageError(f"--dvs-budget: {error.message}") from error


def _profile(marker: Mapping[str, Any]) -> Profile:
    profile, engine = marker.get("profile", "quick"), marker.get("engine")
    if not isinstance(profile, Profile):
        try:
            profile = load_profile(str(profile))
        except WorkloadError as error:
            raise pytest.UsageError(f"marker dvs: {error}") from error
    if engine is None:
        return profile
    if not (isinstance(engine, type) and issubclass(engine, Adapter)):
        raise pytest.UsageError(f"marker dvs: engine={engine!r} is no class derived from Adapter")
    limits = engine.capabilities.limits
    return profile if limits == NO_LIMITS else fitted(profile, limits)
