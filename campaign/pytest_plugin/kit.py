"""What `dvs adapter check` does: runs the tests of `AdapterConformance`, and finds what the engine refuses.

Users run the same tests by a test class of their own (`conformance`).
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from campaign.failures.refusals import refusals
from campaign.judging.lane import FOUND, Lane
from engines.adapter import Adapter
from engines.asking import limits_of
from engines.engine import Engine
from generators.coverage import features
from generators.fitting import fitted
from generators.generate import scenario_at
from generators.profiles import SMOKE
from workload.outcomes.results import Outcome, OutcomeClass, Refusal
from workload.scenario import Scenario

SEED = 11

RAISED = re.compile("^(AssertionError|Failed): ")
"""How pytest begins the text of what a test of the kit raises."""

TEST_FILE = """\
from dvs import AdapterConformance
from engines.registry import find_adapter


class TestAdapter(AdapterConformance):
    adapter = find_adapter({name!r})
"""


@dataclass(slots=True)
class KitResult:
    """The result of a test of the kit, with all parameters.

    `skipped`: why tests were skipped. `problems`: what each failure says, with the parameter of the test.
    """

    passed: int = 0
    skipped: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """`9 of 9 passed`, `0 of 1 passed, 1 skipped: its limits have no drops`."""
        of = self.passed + len(self.skipped) + len(self.problems)
        reasons = "; ".join(list(dict.fromkeys(self.skipped))[:3])
        skipped = f", {len(self.skipped)} skipped: {reasons}" if self.skipped else ""
        return f"{self.passed} of {of} passed{skipped}"


@dataclass(slots=True)
class _Collected:
    """A plugin of pytest that keeps the result of each test."""

    report: Callable[[str], None]
    results: dict[str, KitResult] = field(default_factory=dict)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Counts one test with one parameter: its call, or a set-up that failed or was skipped."""
        if report.when != "call" and report.passed:
            return
        name, _, parameter = report.nodeid.rpartition("::")[2].partition("[")
        result = self.results.get(name)
        if result is None:
            result = self.results[name] = KitResult()
            self.report(name)
        if report.passed:
            result.passed += 1
        elif report.skipped:
            # pytest gives the file, the line, and the reason.
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            result.skipped.append(reason.removeprefix("Skipped: "))
        else:
            crash = getattr(report.longrepr, "reprcrash", None)
            text = RAISED.sub("", str(crash.message if crash is not None else report.longrepr))
            result.problems.append(f"{parameter.rstrip(']')}: {text}" if parameter else text)


def run_kit(name: str, report: Callable[[str], None] = lambda test: None) -> Mapping[str, KitResult]:
    """Runs the tests of `AdapterConformance` on the adapter of a name; returns the results by test.

    `report` gets the name of each test that begins.
    """
    collected = _Collected(report)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "test_adapter_conformance.py"
        file.write_text(TEST_FILE.format(name=name), encoding="utf-8")
        quiet = ("-p", "no:terminal", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", folder)
        pytest.main([str(file), *quiet], plugins=[collected])
    return collected.results


@dataclass(slots=True)
class OperatorCounts:
    """How many scenarios with each operator the engine took or refused.

    `wrong`: those that it took and that showed a difference or an error; `failed`: all such scenarios.
    `refusals`: its messages, with the limits that would prevent them.
    """

    taken: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    failed: int = 0
    refusals: tuple[Refusal, ...] = ()

    @property
    def never_taken(self) -> tuple[str, ...]:
        """The operators that the engine refused whenever it was asked for them."""
        return tuple(sorted(set(self.refused) - set(self.taken)))


def count_operators(adapter: type[Adapter], scenarios: int) -> OperatorCounts:
    """Judges random scenarios within the limits; returns by operator what the engine takes and refuses."""
    limits = limits_of(adapter, adapter.capabilities)
    lane = Lane(engine=Engine.of(adapter), limits=limits)
    profile = fitted(SMOKE, limits)
    counts, accepted = OperatorCounts(), Counter[str]()
    judged: dict[int, tuple[Scenario, Outcome]] = {}
    for index in range(scenarios):
        scenario = scenario_at(SEED, profile, index)
        outcome = lane.judge(scenario)
        judged[index] = scenario, outcome
        found = {key for each in scenario.definitions for key in features(each.query)}
        used = {key.removeprefix("operator: ") for key in found if key.startswith("operator: ")}
        used &= limits.reachable
        if outcome.outcome is OutcomeClass.UNSUPPORTED:
            # Only the query that is named was refused: the scenario may have others, which were taken.
            name = outcome.reason.partition(": ")[0]
            query = next((each.query for each in scenario.definitions if each.name == name), None)
            if query is not None:
                counts.refused.update(used & {k.removeprefix("operator: ") for k in features(query)})
            continue
        accepted.update(found)
        counts.taken.update(used)
        if outcome.outcome in FOUND or outcome.outcome is OutcomeClass.INFRASTRUCTURE_FAILURE:
            counts.wrong.update(used)
            counts.failed += 1
    counts.refusals = refusals(judged, accepted, adapter.capabilities.dialect)
    return counts
