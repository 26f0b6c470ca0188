"""Value types of results: outcomes, findings, coverage, run summaries."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from workload.scenario import Scenario
from workload.schema import Column
from workload.sql import Dialect
from workload.types import Row


class OutcomeClass(Enum):
    """The class of a scenario's outcome; only PASSED is a pass."""

    PASSED = "passed"
    PRODUCT_FAILURE = "product_failure"
    UNSUPPORTED = "unsupported"
    GENERATOR_INVALID = "generator_invalid"
    INFRASTRUCTURE_FAILURE = "infrastructure_failure"
    DIVERGENCE = "divergence"
    FLAKY = "flaky"
    """The scenario failed once and did not fail when it was run again."""
    IGNORED = "ignored"
    """A failure that a rule with an issue and an expiry date covers."""


class Check(Enum):
    """The checks, numbered as the change-set invariants are; the order is that of diagnosis."""

    VALIDATION = "validation"
    INVARIANT_1 = "action invariant 1"
    INVARIANT_2 = "action invariant 2"
    INVARIANT_3 = "action invariant 3"
    INVARIANT_6 = "action invariant 6"
    COUNTS = "counts in the refresh record"
    ROW_IDS = "row-id invariant"
    STATE = "hidden state"
    FRONTIER = "frontier invariant"
    REFRESH_MODE = "effective refresh mode"
    SOURCES = "source contents"
    EQUALITY = "oracle equality"
    REFRESH_ERROR = "refresh error"
    HISTORY = "DSG phenomenon"


ENGINE_DIED = "the engine ended its process on this scenario, twice"
"""The message of a failure that takes the worker process with it, and so is not shrunk."""

INCREMENTAL_BUG = "incremental bug"
"""The verdict where the full recomputation agrees with the oracle."""

SPARK_VOTE = "the query on Spark"
"""The name of Spark's own vote, taken later where the other votes do not show whose fault a difference is."""


class DifferenceKind(Enum):
    """The ways in which actual rows differ from expected ones."""

    SCHEMA = "schema"
    MISSING = "missing"
    EXTRA = "extra"
    DUPLICATED = "duplicated"
    WRONG_VALUE = "wrong value"
    WRONG_ID = "wrong id"

    @property
    def in_words(self) -> str:
        """The difference in words; `duplicated` alone does not say that a copy may be missing, too."""
        return "a wrong number of equal rows" if self is DifferenceKind.DUPLICATED else self.value


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
    """One failed check: where, what, and the evidence.

    `votes`: what further evaluations of the query said, by who said it; `verdict` among them: whose fault it
    is.
    """

    check: Check
    table: str
    step: int
    timestamp: int
    message: str
    difference: Difference | None = None
    votes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakage:
    """Where an adapter raised an exception that its interface does not name.

    `step`: the number of the step; None before the first one, when tables are made. `method`: of the adapter,
    "" where the exception comes from none, as where `rows` returned no rows. `statements`: the SQL that the
    step gave the engine. `traceback`: from the adapter's method on. `hung`: the scenario was cut there.
    """

    step: int | None
    method: str
    statements: tuple[str, ...]
    traceback: str
    hung: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The judgement of one scenario on one tier.

    `states`: of what coverage counts (states, statements, voices), how often the scenario reached each.
    `not_checked`: check -> how often it could not be made, because the engine does not show what it needs.
    `breakage`: where the engine of an adapter broke; None where the run came to its end.
    """

    scenario: str
    outcome: OutcomeClass
    findings: tuple[Finding, ...] = ()
    reason: str = ""
    definitions: int = 0
    refreshes: int = 0
    checks: int = 0
    changes: int = 0
    """The rows of all change sets that the engine showed."""
    amplification: int = 0
    """The pairs of a DELETE and an INSERT of identical rows among them."""
    seconds: float = 0.0
    states: Mapping[str, int] = field(default_factory=dict)
    worlds: int = 1
    """How many databases each refresh served; more than one where the scenario was lifted."""
    reproduction: Scenario | None = None
    """The world that failed, where the scenario was lifted; None otherwise."""
    times: Mapping[str, float] = field(default_factory=dict)
    """Parts of `seconds`, by what was done: generate, run, judge."""
    not_checked: Mapping[str, int] = field(default_factory=dict)
    breakage: Breakage | None = None

    @property
    def shrinkable(self) -> bool:
        """Whether smaller scenarios can show the same: the engine is wrong, or it breaks at once."""
        if self.breakage is not None and self.outcome is OutcomeClass.INFRASTRUCTURE_FAILURE:
            return not self.breakage.hung
        return self.outcome in (OutcomeClass.PRODUCT_FAILURE, OutcomeClass.DIVERGENCE)

    @property
    def killer(self) -> Check | None:
        """The first failed check in the order of diagnosis."""
        order = list(Check)
        return min((finding.check for finding in self.findings), key=order.index, default=None)


IS_JUDGED = "judged: "
"""The beginning of a floor's name that says: a definition of a user has judged scenarios at all."""


@dataclass(frozen=True, slots=True)
class UnmetFloor:
    """A floor that a run did not reach: the number that the run reached, and the number wanted."""

    reached: int
    wanted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How often a run met each operator, operator pair, intent, type and state, against the floors."""

    operators: Mapping[str, int]
    pairs: Mapping[str, int]
    intents: Mapping[str, int]
    states: Mapping[str, int]
    actions: Mapping[str, int]
    unmet: Mapping[str, UnmetFloor]
    """The floors that were not reached, by name."""
    crossings: Mapping[str, int] = field(default_factory=dict)
    """`operator / intent` -> how many scenarios of that intent held the operator."""
    statements: Mapping[str, int] = field(default_factory=dict)
    """`operator / update` -> how many incremental refreshes maintained the operator after one."""
    types: Mapping[str, int] = field(default_factory=dict)
    """Type -> how many scenarios have a query that reads a column of it."""
    branches: Mapping[str, int] = field(default_factory=dict)
    """Branch of the engine's rules -> how many dynamic tables were maintained by it."""
    too_small: tuple[str, ...] = ()
    """The floors for longer runs only: in as many scenarios as ran they are below one."""

    @property
    def floors_met(self) -> bool:
        """Whether every floor of the profile was reached."""
        return not self.unmet


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """What failures of one cause have in common, read off the smallest scenario that fails.

    `operators`: those of the shrunk scenario, aggregate functions by name, sorted. `kind`: how contents or
    row ids differ, None where they do not differ or were never stored. `message`: the error, numbers and
    names masked, where an error is all that is known; then it stands for the cause, not the operators.
    """

    outcome: OutcomeClass
    check: Check | None
    operators: tuple[str, ...]
    kind: DifferenceKind | None
    message: str = ""

    @property
    def text(self) -> str:
        """`product_failure: oracle equality: left join: wrong value`, or with the message at the end."""
        check = "no check" if self.check is None else self.check.value
        if self.message:
            return f"{self.outcome.value}: {check}: {self.message}"
        parts = (
            self.outcome.value,
            check,
            ", ".join(self.operators) or "no operator",
            "no rows differ" if self.kind is None else self.kind.value,
        )
        return ": ".join(parts)

    @property
    def code(self) -> str:
        """Eight hexadecimal digits that identify the fingerprint in ignore rules."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A scenario that did not pass, before and after shrinking, with the folder that holds it.

    `options`: the command-line options of the lane on which it failed. `minimal`: shrinking came to its end;
    False where the budget ended before. `ignored`: the issue of the ignore rule that covers it. `dialect`: of
    the texts that the engine was given. `of_adapter`: the engine is behind an adapter; `keyed`: its tables
    have primary keys.
    """

    index: int
    scenario: Scenario
    shrunk: Scenario
    outcome: Outcome
    folder: str
    options: tuple[str, ...] = ()
    fingerprint: Fingerprint | None = None
    minimal: bool = False
    ignored: str = ""
    dialect: Dialect = Dialect.SPARK
    of_adapter: bool = False
    keyed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureGroup:
    """Failures that seem to have one cause.

    `fingerprint`: the representative's. `others`: further fingerprints that failures of the group have.
    `indices`: all its scenarios; `representative`: the smallest of those that were shrunk. `unshrunk`: those
    counted by likeness alone. `ignored`: the issue of the ignore rule that covers every shrunk one.
    """

    fingerprint: Fingerprint
    others: tuple[Fingerprint, ...]
    indices: tuple[int, ...]
    representative: int
    unshrunk: tuple[int, ...] = ()
    ignored: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedDefinition:
    """A definition that somebody else wrote, in a campaign over such definitions.

    `file`, `line`, `text`: where its query begins, and the query. `mode`: INCREMENTAL or FULL, as the engine
    maintains it. `refreshes`: how many there were of each action. `coverage`: the share of the `goals` of its
    text that random data reached; `missing`: the others, in words, each with its line, 0 where it has none.
    `voices`: who said what the text means, and agreed. `scenarios`: how many had it. `reason`: why it was not
    judged; empty where it was.
    """

    file: str = ""
    line: int = 0
    text: str = ""

    mode: str = ""
    refreshes: Mapping[str, int] = field(default_factory=dict)
    coverage: float = 0.0
    voices: tuple[str, ...] = ()
    scenarios: int = 0
    goals: int = 0
    missing: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsCost:
    """What the limits of an engine cost a run.

    `drawn`: the scenarios that were drawn, also those that were drawn again because nothing was left of them.
    `cut`: reason -> how many of these lost a definition by it. `never`: operators that are within the limits
    and of which none was left, each with the reasons why the definitions that had it went.
    """

    drawn: int
    cut: Mapping[str, int]
    never: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A message with which an engine refused definitions, of the scenarios `indices`.

    `limit`: the limit that would keep such definitions from it, in words, as far as it can be told.
    """

    message: str
    indices: tuple[int, ...]
    limit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A campaign: its figures, outcomes, coverage and failures."""

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
    changes: int = 0
    """The rows of all change sets that the engine showed."""
    amplification: int = 0
    """The pairs of a DELETE and an INSERT of identical rows among them."""
    started: str = ""
    """The time of the start, as ISO 8601 in UTC; empty where it was not recorded."""
    groups: tuple[FailureGroup, ...] = ()
    rule_notes: tuple[str, ...] = ()
    """Ignore rules that have expired, or that covered nothing."""
    not_checked: Mapping[str, int] = field(default_factory=dict)
    wanted: int = 0
    """With fewer scenarios the run is undecided: all that were asked for, or the least for a verdict."""
    cost: LimitsCost | None = None
    refusals: tuple[Refusal, ...] = ()
    """What the engine of an adapter refused; these scenarios are in no group of failures."""
    definitions_judged: Mapping[str, JudgedDefinition] = field(default_factory=dict)
    """Of a run over definitions that somebody else wrote, each of them by name."""
