"""Value types of results: outcomes, findings, coverage, run summaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from workload.scenario import Scenario
from workload.schema import Column
from workload.types import Row


class OutcomeClass(Enum):
    """What became of a scenario; only PASSED is a pass."""

    PASSED = "passed"
    PRODUCT_FAILURE = "product_failure"
    UNSUPPORTED = "unsupported"
    GENERATOR_INVALID = "generator_invalid"
    INFRASTRUCTURE_FAILURE = "infrastructure_failure"
    DIVERGENCE = "divergence"


class Check(Enum):
    """The checks, numbered as the change-set invariants are; the order is that of diagnosis."""

    VALIDATION = "validation"
    INVARIANT_1 = "action invariant 1"
    INVARIANT_2 = "action invariant 2"
    INVARIANT_3 = "action invariant 3"
    INVARIANT_6 = "action invariant 6"
    ROW_IDS = "row-id invariant"
    FRONTIER = "frontier invariant"
    REFRESH_MODE = "effective refresh mode"
    SOURCES = "source contents"
    EQUALITY = "oracle equality"
    REFRESH_ERROR = "refresh error"
    HISTORY = "DSG phenomenon"


class DifferenceKind(Enum):
    """How actual rows differ from expected ones."""

    SCHEMA = "schema"
    MISSING = "missing"
    EXTRA = "extra"
    DUPLICATED = "duplicated"
    WRONG_VALUE = "wrong value"
    WRONG_ID = "wrong id"


@dataclass(frozen=True, slots=True)
class Difference:
    """Two bags that should be equal and are not; rows with multiplicity, expected minus actual and back."""

    kind: DifferenceKind
    columns: tuple[Column, ...]
    missing: tuple[tuple[Row, int], ...]
    extra: tuple[tuple[Row, int], ...]
    expected_rows: int
    actual_rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One failed check: where, what, and the evidence."""

    check: Check
    table: str
    step: int
    timestamp: int
    message: str
    difference: Difference | None = None
    votes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The judgement of one scenario on one tier.

    `left_out`: check -> how often it could not be made, because the engine does not show what it needs.
    """

    scenario: str
    outcome: OutcomeClass
    findings: tuple[Finding, ...] = ()
    reason: str = ""
    definitions: int = 0
    refreshes: int = 0
    checks: int = 0
    amplification: int = 0
    seconds: float = 0.0
    states: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def killer(self) -> Check | None:
        """The first failed check in the order of diagnosis."""
        order = list(Check)
        return min((finding.check for finding in self.findings), key=order.index, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How often a run met each operator, operator pair, intent and state, against the profile's floors."""

    operators: Mapping[str, int]
    pairs: Mapping[str, int]
    intents: Mapping[str, int]
    states: Mapping[str, int]
    actions: Mapping[str, int]
    unmet: Mapping[str, tuple[int, int]]
    """Floor name -> (reached, wanted), for the floors not met."""

    @property
    def floors_met(self) -> bool:
        """Whether every floor of the profile was reached."""
        return not self.unmet


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A scenario that did not pass, before and after shrinking, with the folder that keeps it."""

    index: int
    scenario: Scenario
    shrunk: Scenario
    outcome: Outcome
    folder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A campaign: what ran, what came of it."""

    seed: int
    tier: str
    profile: str
    scenarios: int
    definitions: int
    refreshes: int
    checks: int
    outcomes: Mapping[str, int]
    coverage: Coverage
    seconds: float
    time_split: Mapping[str, float] = field(default_factory=dict)
    failures: tuple[Failure, ...] = ()
    interrupted: bool = False
    left_out: Mapping[str, int] = field(default_factory=dict)
