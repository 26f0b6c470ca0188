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
    """The judgement of one scenario on one tier."""

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
    worlds: int = 1
    """How many databases each refresh served; more than one where the scenario was lifted."""
    reproduction: Scenario | None = None
    """The scenario that failed, where it is not the one asked for but one of its worlds."""
    times: Mapping[str, float] = field(default_factory=dict)
    """Parts of `seconds`, by what was done: generate, run, judge."""

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
    crossings: Mapping[str, int] = field(default_factory=dict)
    """`operator / intent` -> how many scenarios of that intent held the operator."""

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
    judgements: int = 0
    """Refreshes times the databases that each of them served."""
    started: str = ""
    """When, as ISO 8601 in UTC; empty where nobody asked."""
