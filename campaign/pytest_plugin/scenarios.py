"""What the marker `dvs` asks for: scenarios, shared by workers of pytest-xdist, or a dbt project."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from hypothesis.strategies import SearchStrategy

from campaign.dbt.assertion import assert_dbt_models
from campaign.errors import CampaignError
from campaign.lanes.spec import LaneSpec
from campaign.pytest_plugin.assertion import REASONS_NOT_JUDGED
from campaign.runs.definitions import ValuesFrom, over_definitions, values_from
from campaign.runs.plan import seconds_of
from engines import Adapter
from engines.asking import limits_of
from generators.fitting import fitted
from generators.generate import scenario_at
from generators.profiles import QUICK, Profile, load_profile
from generators.strategies import scenarios
from workload.errors import WorkloadError
from workload.limits import NO_LIMITS
from workload.scenario import Scenario

ARGUMENTS = ("definitions", "engine", "profile", "scenarios", "values")
"""The arguments of the marker `dvs` that choose scenarios."""

INDICES_PER_SHARE = 1_000_000
"""Indices of each share of a time budget: more scenarios than can ever run in one test."""


@dataclass(frozen=True, slots=True)
class Share:
    """Part `number` (from 0) of `of` equal parts of a budget. No two parts have a scenario in common."""

    number: int = 0
    of: int = 1

    def indices(self, scenarios: int | None) -> range:
        """Returns the indices of this part. `scenarios`: how many all parts have; None for a time budget."""
        if scenarios is None:
            return range(self.number * INDICES_PER_SHARE, (self.number + 1) * INDICES_PER_SHARE)
        return range(scenarios * self.number // self.of, scenarios * (self.number + 1) // self.of)

    def seconds(self, budget: float) -> float:
        """Returns this part's share of a time budget."""
        return budget / self.of


def marked_scenarios(
    marker: Mapping[str, Any], share: Share | None, seed: int, budget: str
) -> Iterator[Scenario]:
    """Returns the scenarios of a test, by the arguments of its marker and the time of `--dvs-budget`.

    Raises pytest.UsageError: an argument or the budget is wrong.
    """
    unknown = [key for key in marker if key not in ARGUMENTS]
    if unknown:
        raise pytest.UsageError(f"marker dvs: unknown {unknown[0]!r}; known: {', '.join(ARGUMENTS)}")
    scenarios = marker.get("scenarios")
    if not (scenarios is None or (type(scenarios) is int and scenarios > 0)):
        raise pytest.UsageError(f"marker dvs: scenarios={scenarios!r} is no number above 0")
    part = share or Share()
    seconds = None if scenarios is not None else part.seconds(_seconds(budget))
    return counted(seeded(seed, _profile(marker), part.indices(scenarios), seconds))


def counted(scenarios: Iterator[Scenario]) -> Iterator[Scenario]:
    """Yields the scenarios of a test, and warns in the end with the reasons why some were not judged.

    If none was judged, the test is skipped.
    """
    not_judged: list[str] = []
    given = 0
    REASONS_NOT_JUDGED.set(not_judged)
    try:
        for scenario in scenarios:
            given += 1
            yield scenario
    finally:
        REASONS_NOT_JUDGED.set(None)
    if not_judged:
        reasons = "; ".join(f"{count}: {text}" for text, count in Counter(not_judged).most_common(REASONS))
        text = f"{len(not_judged)} of {given} scenarios were not judged: {reasons}"
        if len(not_judged) == given:
            pytest.skip(text)
        warnings.warn(text, stacklevel=2)


REASONS = 5
"""How many reasons the warning names, the most frequent ones."""


def judge_project(marker: Mapping[str, Any], seed: int) -> None:
    """Fails the test where a model of the marked dbt project breaks its promises, each with its rows."""
    rest = {"seed": seed} | {name: value for name, value in marker.items() if name != "dbt"}
    known = signature(assert_dbt_models).parameters
    if unknown := [name for name in rest if name not in known]:
        others = ", ".join([*known][1:])
        pytest.fail(f"marker dvs: unknown {unknown[0]!r}; known beside dbt: {others}", pytrace=False)
    try:
        assert_dbt_models(marker["dbt"], **rest)
    except (AssertionError, CampaignError, ValueError) as error:
        pytest.fail(str(error), pytrace=False)


def _seconds(budget: str) -> float:
    """Returns the seconds of `--dvs-budget`. Raises pytest.UsageError: it is no duration."""
    try:
        return seconds_of(budget)
    except CampaignError as error:
        raise pytest.UsageError(f"--dvs-budget: {error}") from error


def scenarios_for(
    path: Path | str, profile: Profile = QUICK, *, values: str = "random"
) -> SearchStrategy[Scenario]:
    """Returns a Hypothesis strategy of scenarios over your definitions: `@given(scenarios_for("pipeline/"))`.

    `path`: a SQL script, a folder of them, or the folder of an account. `values`: "sample" for values as
    often as in the account's tables. Raises CampaignError naming the file and the line of what cannot be
    used.
    """
    sampled = values_from(values, str(path))
    return scenarios(_over(profile, str(path), sampled))


def _over(profile: Profile, definitions: str, values: ValuesFrom) -> Profile:
    """Returns the profile over definitions, and warns of each that cannot be judged in memory.

    Raises CampaignError: a script has a mistake, which a campaign would name in its report.
    """
    drawn = over_definitions(profile, definitions, 0, LaneSpec(tier="rules"), values)
    assert drawn.given is not None, "it holds the definitions"
    refused, wrong = drawn.given.refused, drawn.given.wrong
    if wrong:
        raise CampaignError("; ".join(reason for name, reason in refused.items() if name in wrong))
    for name, reason in refused.items():
        warnings.warn(f"{name} is in no scenario: {reason}", stacklevel=3)
    return drawn


def _profile(marker: Mapping[str, Any]) -> Profile:
    """Returns the profile that a marker asks for, within its engine's limits. Raises pytest.UsageError."""
    profile, engine = marker.get("profile", "quick"), marker.get("engine")
    if not isinstance(profile, Profile):
        try:
            profile = load_profile(str(profile))
        except WorkloadError as error:
            raise pytest.UsageError(f"marker dvs: {error}") from error
    definitions = marker.get("definitions")
    try:
        sampled = values_from(str(marker.get("values", "random")), definitions)
        if definitions is not None:
            profile = _over(profile, str(definitions), sampled)
    except CampaignError as error:
        raise pytest.UsageError(f"marker dvs: {error}") from error
    if engine is None:
        return profile
    if not (isinstance(engine, type) and issubclass(engine, Adapter)):
        raise pytest.UsageError(f"marker dvs: engine={engine!r} is no class derived from Adapter")
    limits = limits_of(engine, engine.capabilities)
    return profile if limits == NO_LIMITS else fitted(profile, limits)


def seeded(
    seed: int,
    profile: Profile,
    indices: range,
    seconds: float | None,
    now: Callable[[], float] = time.monotonic,
) -> Iterator[Scenario]:
    """Yields the scenarios of some indices, until `seconds` are over but at least one; None: all of them."""
    end = None if seconds is None else now() + seconds
    for index in indices:
        if end is not None and index > indices.start and now() >= end:
            return
        yield scenario_at(seed, profile, index)
