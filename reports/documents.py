"""What commands print with `--json`, as types: mypy holds the code to them, and the schemas are made of them.

Where a command prints a value as it is, the type of the value is the document: `tests.schemas` names it.
`python -m tests.schemas --write` writes docs/schemas; a test compares what commands print.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from workload.outcomes.results import JudgedDefinition, LimitsCost, Refusal, UnmetFloor

Counts = Mapping[str, int]
"""How many, by name."""


class FingerprintDocument(TypedDict):
    """What failures of one cause have in common. `code`: for ignore rules."""

    code: str
    difference: str | None
    outcome: str
    check: str | None
    operators: Sequence[str]
    message: str


class DifferenceDocument(TypedDict):
    """How stored rows differ from those of the query: numbers of rows."""

    kind: str
    expected_rows: int
    actual_rows: int
    missing: int
    extra: int


class FindingDocument(TypedDict):
    """A failed check. `timestamp`: the data timestamp; `votes`: what other evaluations of the query gave."""

    check: str
    table: str
    step: int
    timestamp: int
    message: str
    difference: DifferenceDocument | None
    votes: Mapping[str, str]


class FailureDocument(TypedDict):
    """A scenario that did not pass.

    `minimal`: shrinking was not cut short by its budget; `ignored`: the issue that the matching ignore rule
    names, or empty.
    """

    index: int
    scenario: str
    folder: str
    outcome: str
    reason: str
    killer: str | None
    fingerprint: FingerprintDocument | None
    minimal: bool
    ignored: str
    findings: Sequence[FindingDocument]


class GroupDocument(TypedDict):
    """Failures that seem to have one cause.

    `fingerprint`: that of the representative; `others`: further ones. `scenarios`: indices of all;
    `representative`: the smallest that was shrunk; `unshrunk`: those grouped by likeness alone.
    """

    fingerprint: FingerprintDocument
    others: Sequence[FingerprintDocument]
    scenarios: Sequence[int]
    representative: int
    unshrunk: Sequence[int]
    ignored: str


class CoverageDocument(TypedDict):
    """How often a run met each operator, pair of operators, intent, type, state and action.

    `crossings`: scenarios by operator / intent; `statements`: incremental refreshes by operator / kind of
    statement; `unmet`: floors that were not reached; `too_small`: floors for longer runs only.
    """

    operators: Counts
    pairs: Counts
    intents: Counts
    states: Counts
    actions: Counts
    unmet: Mapping[str, UnmetFloor]
    crossings: Counts
    statements: Counts
    types: Counts
    branches: Counts
    too_small: Sequence[str]
    floors_met: bool


class RunDocument(TypedDict):
    """`dvs fuzz`: a run. With `--tier all` a list of them, one for each tier.

    `judgements`: refreshes times the databases of each; `changes`: rows of all change sets; `amplification`:
    pairs of identical DELETE and INSERT among them; `wanted`: with fewer scenarios the run is undecided.
    """

    format: str
    version: int
    seed: int
    tier: str
    profile: str
    scenarios: int
    definitions: int
    refreshes: int
    checks: int
    outcomes: Counts
    coverage: CoverageDocument
    seconds: float
    time_split: Mapping[str, float]
    failures: Sequence[FailureDocument]
    interrupted: bool
    judgements: int
    changes: int
    amplification: int
    started: str
    groups: Sequence[GroupDocument]
    ignore_rules: Sequence[str]
    not_checked: Counts
    wanted: int
    cost: LimitsCost | None
    refusals: Sequence[Refusal]
    definitions_judged: Mapping[str, JudgedDefinition]


class OutcomeDocument(TypedDict):
    """`dvs replay`: the judgement of one scenario; of an empty folder only `outcome` and `reason`."""

    outcome: str
    reason: str
    scenario: NotRequired[str]
    killer: NotRequired[str | None]
    refreshes: NotRequired[int]
    checks: NotRequired[int]
    findings: NotRequired[Sequence[FindingDocument]]


class HuntsDocument(TypedDict):
    """`dvs mutants`: one object for each planted fault, with the number of cases under the name of the case.

    `missing`: known bugs that are not planted, with the reason.
    """

    faults: Sequence[Mapping[str, Any]]
    missing: Mapping[str, str]


class CaseDocument(TypedDict):
    """An entry of JUnit in a stage of the gate."""

    name: str
    verdict: str
    message: str
    details: str


class StageDocument(TypedDict):
    """A stage of the gate.

    `look`: the path to read, or the command that runs the stage alone; `report`: the path of its HTML page.
    """

    name: str
    verdict: str
    message: str
    seconds: float
    look: str
    report: str | None
    cases: Sequence[CaseDocument]


class GateDocument(TypedDict):
    """`dvs gate`: the file gate.json."""

    format: str
    version: int
    started: str
    profile: str
    seed: int
    verdict: str
    exit_status: int
    seconds: float
    baseline: str | None
    stages: Sequence[StageDocument]
    campaigns: Sequence[RunDocument]
    faults: Mapping[str, str]


class VerdictDocument(TypedDict):
    """The verdict on an isolation level: holds, violated or unknown, with the reason."""

    verdict: str
    because: str


class AnomalyDocument(TypedDict):
    """An anomaly by its name in the literature, in a sentence."""

    name: str
    transactions: Sequence[int]
    text: str


# As a call, because "from" is a keyword.
EdgeDocument = TypedDict(
    "EdgeDocument",
    {
        "kind": str,
        "from": int,
        "to": int,
        "object": str,
        "predicate": str | None,
        "because": str,
    },
)
"""An edge of the DSG. `predicate`: of a predicate dependency, else None."""


class EvidenceDocument(TypedDict):
    """One piece of evidence for a phenomenon: the edges of a cycle, each with its reason."""

    subject: str
    edges: Sequence[EdgeDocument]
    because: Sequence[str]


class PhenomenonDocument(TypedDict):
    """The verdict on a phenomenon (present, absent or unknown), the reason and the evidence."""

    verdict: str
    reason: str
    evidence: Sequence[EvidenceDocument]


class HistoryDocument(TypedDict):
    """`dvs check`: one history, as one line. A key that may be missing is missing where it does not apply."""

    history: str
    reading: Mapping[str, str]
    anomalies: Sequence[AnomalyDocument]
    phenomena: Mapping[str, PhenomenonDocument]
    levels: Mapping[str, VerdictDocument]
    strongest: Sequence[str]
    stats: Mapping[str, Any]
    part: NotRequired[Any]
    executing: NotRequired[Sequence[Mapping[str, Any]]]
    mixed: NotRequired[Mapping[str, Any]]
    client_levels: NotRequired[Mapping[str, VerdictDocument]]
    notes: NotRequired[Sequence[str]]
    keys: NotRequired[Mapping[str, str]]
    version_orders: NotRequired[Mapping[str, str]]
    places: NotRequired[Mapping[str, str]]


class AuditedTableDocument(TypedDict):
    """A dynamic table of an account. `missing`, `extra`: some rows; `timestamp`: microseconds."""

    name: str
    verdict: str
    timestamp: int | None
    time: str
    rows: int
    facts: Sequence[str]
    columns: Sequence[str]
    missing: Sequence[Sequence[str]]
    extra: Sequence[Sequence[str]]
    missing_count: int
    extra_count: int


class AuditDocument(TypedDict):
    """`dvs audit`. `nothing`: why nothing was compared; `skipped`: tables that --sample left out."""

    folder: str
    verdict: str
    nothing: str | None
    skipped: int
    tables: Sequence[AuditedTableDocument]


class DbtRunDocument(TypedDict):
    """One run of dbt, with the changes of the sources before it; the first one fills the sources.

    `lines`: the changes in words; `statements`: SQL that makes them. `stop_at`: the statement of the models
    at which the run is stopped and started again; if `beside` is not None it waits there instead, while these
    changes and a second run happen. `at`: ISO time of the run; `vars`: passed on to dbt.
    """

    lines: Sequence[str]
    statements: Sequence[str]
    stop_at: int | None
    beside: Sequence[str] | None
    at: str
    vars: str | None


class DbtReproductionDocument(TypedDict):
    """The smallest changes found after which a model differs. `statements`: the sources in the end, in SQL.

    `missing`: rows of the full refresh that the incremental runs did not leave; `extra`: rows that only they
    left, both by `columns`. `lost`, `added`: columns. `late`: how late rows arrive. `select`: the models to
    run, as dbt selects them. `begin`: begin of the first batch; None without microbatch models. `law`:
    whether the model is a snapshot, which must have one row for each version of each key. `compared`: the
    columns to compare; empty: all. `inherited`: upstream models that differ too, perhaps the cause.
    """

    source: str
    late: str | None
    runs: Sequence[DbtRunDocument]
    statements: Sequence[str]
    select: Sequence[str]
    relation: str
    schemas: Sequence[str]
    begin: str | None
    snapshots: bool
    law: bool
    compared: Sequence[str]
    columns: Sequence[str]
    missing: Sequence[Sequence[str | None]]
    extra: Sequence[Sequence[str | None]]
    lost: Sequence[str]
    added: Sequence[str]
    error: str
    inherited: Sequence[str]


class DbtCellDocument(TypedDict):
    """A model under one kind of change.

    `reason`: why there was no trial; after trials, notes on them. `source_rows`: rows of the reproduction.
    """

    verdict: str
    trials: int
    source_rows: int | None
    broken_promise: bool
    reason: str
    reproduction: DbtReproductionDocument | None


class DbtModelDocument(TypedDict):
    """A model. `promises`: None where it declares none; `needs`: what it needs to be right, in a sentence."""

    file: str
    materialized: str
    promises: Sequence[str] | None
    notes: Sequence[str]
    needs: str
    changes: Mapping[str, DbtCellDocument]


class DbtDocument(TypedDict):
    """`dvs dbt`. `dbt`: its version; `kinds`: what each kind means; `problems`: trials that broke."""

    project: str
    dbt: str
    seed: int
    decision: str
    trials: int
    comparisons: int
    seconds: float
    finished: bool
    kinds: Mapping[str, str]
    models: Mapping[str, DbtModelDocument]
    problems: Sequence[str]


class WrongInAccountDocument(TypedDict):
    """Something wrong in a simulated account. `at`: simulated microseconds."""

    seed: int
    at: int
    table: str
    check: str
    message: str


class SoakDocument(TypedDict):
    """`dvs soak`. `smallest`: the smallest account that shows what is wrong, as lines of text."""

    seconds: float
    accounts: int
    looks: int
    refreshes: int
    failed_refreshes: int
    actions: Counts
    events: Counts
    states: Counts
    floors_unmet: Sequence[str]
    wrong: Sequence[WrongInAccountDocument]
    smallest: Sequence[str] | None


class FiguresDocument(TypedDict):
    """Sums over definitions that were verified in all small worlds."""

    definitions: int
    worlds: int
    changes: int
    checks: int
    amplification: int
    seconds: float


class CounterexampleDocument(TypedDict):
    """The smallest world in which a rule is wrong."""

    road: str
    check: str
    message: str
    worlds: int
    world: Any


class VerifiedDocument(FiguresDocument):
    """A definition. `way`: all worlds at once (lifted) or world by world; `roads`: see the glossary."""

    name: str
    outer: str
    inner: str | None
    bound: str
    tables: Sequence[int]
    way: str
    note: str
    roads: Any
    failures: Sequence[CounterexampleDocument]


class RulesDocument(TypedDict):
    """`dvs verify rules`."""

    seconds: float
    totals: FiguresDocument
    definitions: Sequence[VerifiedDocument]


class ProofDocument(TypedDict):
    """A definition without a bound on rows. `outcome`: proved, refuted, not expressible or unknown, and why.

    `formulas`: how many of the `cases` a solver decided. `not_compared`: why first contents were not compared
    with the meaning of the query; `not_shown`: why changes from the contents are not expressible. `road`,
    `check`, `world`: of a refutation.
    """

    name: str
    outer: str
    outcome: str
    reason: str
    not_compared: str
    not_shown: str
    domain: str
    roads: Sequence[str]
    cases: int
    formulas: int
    seconds: float
    road: str
    check: str
    world: str


class ProofsDocument(TypedDict):
    """`dvs verify rules --unbounded`."""

    seconds: float
    assumed: str
    definitions: Sequence[ProofDocument]


class TriedDocument(TypedDict):
    """`dvs verify rules --unbounded --each-fault`: what refutes a planted fault; a list of them.

    `refuted`: the form by which the proof refutes it, in a world of so many `rows`; `enumerated`: the
    definition by which the enumeration does; empty for none. `forms`: how many forms have other plans with
    the fault; `open`: those of them for which the proof has no answer, and why.
    """

    fault: str
    found: str
    refuted: str
    rows: int
    enumerated: str
    forms: int
    open: Mapping[str, str]


class BrokenLawDocument(TypedDict):
    """An interleaving that breaks a law, with the steps of all processes."""

    interleaving: str
    law: str
    steps: Sequence[str]


class ProtocolDocument(TypedDict):
    """`dvs verify protocol`. `as_others`: interleavings that cannot differ from one that was run.

    `left_out`: others that were not run. `processes`: the most that worked.
    """

    seconds: float
    interleavings: int
    as_others: int
    left_out: int
    processes: int
    steps: int
    broken: Sequence[BrokenLawDocument]


class WrongStoryDocument(TypedDict):
    """A story of changes after which a table is wrong."""

    seed: int
    message: str
    story: Sequence[str]


class EvolutionDocument(TypedDict):
    """`dvs verify evolution`. `met`, `unmet`: kinds of changes."""

    seconds: float
    stories: int
    met: Counts
    unmet: Sequence[str]
    wrong: Sequence[WrongStoryDocument]


class IntentsDocument(TypedDict):
    """`dvs protocol data-plane`: intents that were resolved; numbers of rows.

    `failed_rows`, `committed_reads`, `dead_writes`: rows that garbage collection may delete; `broken_task`:
    in words, which of its tasks changes what readers see.
    """

    intents: int
    rows: int
    to_rollback: int
    store: int
    rounds: int
    failed_rows: int
    committed_reads: int
    dead_writes: int
    equals_serial: bool
    levels: Sequence[str]
    broken_task: str | None
    fault: str | None


class RandomIntentsDocument(TypedDict):
    """`dvs protocol data-plane --workload random`. `history`: the smallest that is wrong."""

    runs: int
    wrong: str | None
    history: str | None
    fault: str | None


class ColumnDocument(TypedDict):
    """A column of the result, with its SQL type."""

    name: str
    type: str


class ExplanationDocument(TypedDict):
    """`dvs explain`: how a query is maintained. `plan`: operators, each with the ids of its rows."""

    incremental: bool
    reason: str | None
    sources: Sequence[str]
    columns: Sequence[ColumnDocument]
    plan: Mapping[str, Any] | None
    change_query: str | None
    row_id: str | None
    hidden: Sequence[str]
    frozen_where: str
    operators: Sequence[str]


class PastRunDocument(TypedDict):
    """A run below a folder. `change`: of the speed, as a share: 0.1 for a tenth faster."""

    folder: str
    tier: str
    profile: str
    seed: int
    started: str
    scenarios: int
    seconds: float
    interrupted: bool
    floors_unmet: int
    definitions: int
    definitions_per_second: float
    change: float | None
    failures: int


class RunsDocument(TypedDict):
    """`dvs runs`. `unreadable`: by folder why a run cannot be listed."""

    runs: Sequence[PastRunDocument]
    unreadable: Mapping[str, str]


class TraceLineDocument(TypedDict):
    """A statement that a session ran at some time, and what came of it."""

    time: int
    session: str
    statement: str
    outcome: str
    waits_for: Any


class SessionsDocument(TypedDict):
    """`dvs protocol read-committed`: one order of the statements, and its history."""

    order: Any
    trace: Sequence[TraceLineDocument]
    contents: Mapping[str, Sequence[Sequence[str]]]
    history: str
    levels: Mapping[str, str]
    broken: Sequence[str]
    anomalies: Mapping[str, Sequence[int]]


class ShownAnomalyDocument(SessionsDocument):
    """An anomaly, in how many orders, and the shortest that shows it."""

    name: str
    orders: int
    transactions: Sequence[int]


class OrdersDocument(TypedDict):
    """`dvs protocol read-committed --explore`: all orders of the statements."""

    orders: int
    complete: bool
    levels: Mapping[str, str]
    anomalies: Sequence[ShownAnomalyDocument]
    with_ddl: int
    broken: Sequence[str]
