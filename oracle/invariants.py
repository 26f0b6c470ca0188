"""The seven invariants of change sets (docs/semantics.md, Change sets), checked from outside the engine.

They read the raw change set, as the engine computed it and before its validations: a difference of stored
versions could show neither a duplicate nor a DELETE of an absent row. Each check is a function from values
to findings, empty when the invariant holds; `check_refresh` runs them all. Each raises OracleError: a row
does not fit the declared columns. The cost is linear in the rows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from oracle.bag import Bag, CanonicalRow, canonical_row
from oracle.compare import compare
from workload.outcomes.results import Check, Difference, DifferenceKind, Finding
from workload.outcomes.trace import (
    ChangeAction,
    ChangeRow,
    Counted,
    HiddenState,
    Refreshed,
    RefreshRefused,
    StoredRow,
)
from workload.schema import Column
from workload.types import STRING, Row, SqlType

ROW_ID = Column("$ROW_ID", STRING)
"""The first column in a difference of row ids, before the table's columns."""

EXAMPLES = 3
"""How many violations a message lists; it only counts the others."""

WEIGHTS = {ChangeAction.INSERT: 1, ChangeAction.DELETE: -1}
"""What each action adds to the multiplicity of its row."""

Findings = tuple[Finding, ...]
Changes = Sequence[ChangeRow]
Stored = Sequence[StoredRow]


@dataclass(frozen=True, slots=True)
class CheckedRefresh:
    """The refresh that a check is about: its table, the scenario's step, the data timestamp, the columns.

    Timestamps are logical microseconds.
    """

    table: str
    step: int
    timestamp: int
    columns: tuple[Column, ...]

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The types of the table's columns, in their order."""
        return tuple(column.type for column in self.columns)

    def findings(
        self, check: Check, problems: Sequence[str], difference: Difference | None = None
    ) -> Findings:
        """Returns one finding whose message lists the problems, or no finding if there are no problems."""
        if not problems:
            return ()
        message = "; ".join(problems[:EXAMPLES])
        if len(problems) > EXAMPLES:
            message += f"; and {len(problems) - EXAMPLES} more"
        return (
            Finding(
                check=check,
                table=self.table,
                step=self.step,
                timestamp=self.timestamp,
                message=message,
                difference=difference,
            ),
        )


def actions_are_unique(refresh: CheckedRefresh, changes: Changes) -> Findings:
    """Checks invariant 1: the change set has at most one row per ($ROW_ID, $ACTION)."""
    counts = Counter((change.row_id, change.action) for change in changes)
    problems = [f"{action.value} of row id {id_!r} {n} times" for (id_, action), n in counts.items() if n > 1]
    return refresh.findings(Check.INVARIANT_1, problems)


def deletes_are_stored(refresh: CheckedRefresh, changes: Changes, before: Stored) -> Findings:
    """Checks invariant 2: a DELETE names a row id of the table, and carries the row stored under that id."""
    stored: dict[str | None, list[CanonicalRow]] = defaultdict(list)
    for row in before:
        stored[row.row_id].append(canonical_row(row.row, refresh.types))
    problems = []
    for change in changes:
        if change.action is ChangeAction.DELETE:
            if change.row_id not in stored:
                problems.append(f"DELETE of row id {change.row_id!r}, which the table does not hold")
            elif canonical_row(change.row, refresh.types) not in stored[change.row_id]:
                problems.append(
                    f"DELETE of row id {change.row_id!r} as {change.row!r}, which is stored otherwise"
                )
    return refresh.findings(Check.INVARIANT_2, problems)


def inserts_are_new(refresh: CheckedRefresh, changes: Changes, before: Stored) -> Findings:
    """Checks invariant 3: an INSERT names a row id that the table lacks, or that the change set deletes."""
    occupied = {row.row_id for row in before}
    occupied -= {change.row_id for change in changes if change.action is ChangeAction.DELETE}
    problems = [
        f"INSERT of row id {change.row_id!r}, which the table holds and the change set does not delete"
        for change in changes
        if change.action is ChangeAction.INSERT and change.row_id in occupied
    ]
    return refresh.findings(Check.INVARIANT_3, problems)


def counts_are_right(refresh: CheckedRefresh, changes: Changes, counted: Counted) -> Findings:
    """Checks that the record of a refresh gives the number of INSERT and DELETE rows in its change set."""
    rows = Counter(change.action for change in changes)
    actual = Counted(rows[ChangeAction.INSERT], rows[ChangeAction.DELETE])
    problem = (
        f"the record says {counted.inserted} inserted and {counted.deleted} deleted; "
        f"the change set has {actual.inserted} and {actual.deleted}"
    )
    return refresh.findings(Check.COUNTS, [] if actual == counted else [problem])


def changes_lead_to(refresh: CheckedRefresh, changes: Changes, before: Stored, after: Stored) -> Findings:
    """Checks the first half of invariant 4: contents before plus change set are contents after, as bags."""
    change = Bag.weighted(((c.row, WEIGHTS[c.action]) for c in changes), refresh.types)
    applied = Bag.of((row.row for row in before), refresh.types) + change
    stored = Bag.of((row.row for row in after), refresh.types)
    problems = [
        f"{row!r}: the change set leads to {applied.count(row, refresh.types)} of it,"
        f" the table holds {stored.count(row, refresh.types)}"
        for row, _ in (applied - stored).entries()
    ]
    return refresh.findings(Check.EQUALITY, problems)


def contents_are(
    refresh: CheckedRefresh, contents: Stored, expected_columns: Sequence[Column], expected: Sequence[Row]
) -> Findings:
    """Checks the second half of invariant 4: the contents are the defining query at the data timestamp.

    `expected_columns` and `expected` are the oracle's (`DelayedView`).
    """
    difference = compare(expected_columns, expected, refresh.columns, [stored.row for stored in contents])
    if difference is None:
        return ()
    rows = "row" if difference.expected_rows == 1 else "rows"
    message = (
        f"the contents are not the defining query at {refresh.timestamp}: {difference.kind.in_words},"
        f" {difference.expected_rows} {rows} expected, {difference.actual_rows} found"
    )
    return refresh.findings(Check.EQUALITY, [message], difference)


def row_ids_are_unique(refresh: CheckedRefresh, contents: Stored) -> Findings:
    """Checks the first half of invariant 5: no two rows share a row id. A table without row ids is exempt."""
    counts = Counter(stored.row_id for stored in contents)
    if set(counts) <= {None}:
        return ()
    problems = [
        f"{n} rows without a row id beside rows with one" if id_ is None else f"row id {id_!r} on {n} rows"
        for id_, n in counts.items()
        if id_ is None or n > 1
    ]
    return refresh.findings(Check.ROW_IDS, problems)


def row_ids_are_fresh(refresh: CheckedRefresh, contents: Stored, fresh: Stored) -> Findings:
    """Checks the second half of invariant 5: each row has the row id that a fresh initialization gives it.

    `fresh`: the rows of such an initialization. Only rows that occur equally often in both are compared: the
    contents are wrong where they do not, and `contents_are` reports that. A table without any row ids is
    exempt.
    """
    if all(stored.row_id is None for stored in (*contents, *fresh)):
        return ()
    with_id = (ROW_ID, *refresh.columns)
    wrong = Bag.of((s.row for s in fresh), refresh.types) - Bag.of((s.row for s in contents), refresh.types)

    def comparable(stored: Stored) -> list[Row]:
        return [(s.row_id, *s.row) for s in stored if not wrong.count(s.row, refresh.types)]

    difference = compare(with_id, comparable(fresh), with_id, comparable(contents))
    if difference is None:
        return ()
    problems = [f"{row[1:]!r} lacks row id {row[0]!r}" for row, _ in difference.missing]
    problems += [f"{row[1:]!r} has row id {row[0]!r}" for row, _ in difference.extra]
    return refresh.findings(Check.ROW_IDS, problems, replace(difference, kind=DifferenceKind.WRONG_ID))


def state_is_fresh(refresh: CheckedRefresh, state: HiddenState) -> Findings:
    """Checks that the hidden columns a table is maintained from hold what computing them anew gives.

    A wrong hidden value may show in no row until a later refresh goes on from it. Only rows that both have
    are compared: `contents_are` reports the others.
    """
    problems = [
        f"{column} of row id {row_id!r} is {kept!r}; computed anew it is {due!r}"
        for row_id, values in state.stored.items()
        if row_id in state.fresh
        for column, kept, due in zip(state.columns, values, state.fresh[row_id], strict=True)
        if kept != due and not (kept is None and column in state.may_be_unknown)
    ]
    return refresh.findings(Check.STATE, problems)


def unchanged_means_empty(refresh: CheckedRefresh, changes: Changes, sources_unchanged: bool) -> Findings:
    """Checks invariant 6: if no source row changed, the change set is empty, without amplification either."""
    if not sources_unchanged:
        return ()
    problems = [f"{len(changes)} changes, though no source has changed"] if changes else []
    return refresh.findings(Check.INVARIANT_6, problems)


def amplification(refresh: CheckedRefresh, changes: Changes) -> int:
    """Returns the number of DELETE and INSERT pairs with identical rows, whatever their ids: wasted work.

    Some of it cannot be avoided: rows that come again after they were deleted are other rows with new ids.
    """
    counts = Counter((canonical_row(c.row, refresh.types), c.action) for c in changes)
    return sum(
        min(count, counts[row, ChangeAction.DELETE])
        for (row, action), count in counts.items()
        if action is ChangeAction.INSERT
    )


def frontier_is_exact(
    refresh: CheckedRefresh,
    source_timestamps: Mapping[str, int],
    previous: int | None,
    expected: Mapping[str, int],
) -> Findings:
    """Checks invariant 7: data timestamps never go back, and each source is read exactly as of the new one.

    `source_timestamps`: source -> the time of the version that the engine read. `expected`: source -> the
    time that its version must have: for a base table the latest commit at or before the data timestamp, for a
    dynamic table the data timestamp itself (the refresh fails if no such version exists). `previous`: the
    table's data timestamp before, None at its creation. All times are logical microseconds.
    """
    problems = []
    if previous is not None and refresh.timestamp < previous:
        problems.append(f"the data timestamp goes back from {previous} to {refresh.timestamp}")
    for source in sorted(source_timestamps.keys() | expected.keys()):
        actual, due = source_timestamps.get(source), expected.get(source)
        if actual is None:
            problems.append(f"the frontier does not name {source}")
        elif due is None:
            problems.append(f"the frontier names {source}, which the definition does not read")
        elif actual > refresh.timestamp:
            problems.append(f"{source} is read as of {actual}, after the data timestamp {refresh.timestamp}")
        elif actual != due:
            problems.append(f"{source} is read as of {actual}, not of {due}")
    return refresh.findings(Check.FRONTIER, problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What the judge knows about a refresh from elsewhere: the table before it, and the oracle's results.

    `before`: the contents that the refresh started from, empty at creation. `previous`: the data timestamp
    of `before`. `sources_unchanged`: every row of every source is the same row at `previous` and at the new
    data timestamp (equal bags are not enough: an overwrite with equal rows makes new rows).
    `expected_sources`: as in `frontier_is_exact`; None if the engine does not show its frontier, which is
    then not checked. `expected_columns`, `expected_rows`: the defining query at the new data timestamp.
    """

    before: tuple[StoredRow, ...]
    previous: int | None
    sources_unchanged: bool
    expected_sources: Mapping[str, int] | None
    expected_columns: tuple[Column, ...]
    expected_rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class InvariantResults:
    """The findings about one refresh, the number of checks made, and its change set in figures.

    `changes`: the rows of the change set. `amplification`: the pairs of them without an effect.
    """

    findings: Findings
    checks: int
    changes: int
    amplification: int


def check_refresh(refreshed: Refreshed, circumstances: Circumstances) -> InvariantResults:
    """Checks all seven invariants of a refresh that committed, except those whose data the trace lacks.

    The change set is missing after a full refresh, the fresh initialization unless one was made, the
    frontier where the engine does not show it. Raises OracleError: a row does not fit the declared columns.
    """
    columns = judged_columns(refreshed.columns, circumstances.expected_columns)
    refresh = CheckedRefresh(refreshed.table, refreshed.step, refreshed.timestamp, columns)
    changes, contents = refreshed.change_set, refreshed.contents
    checks: list[Findings] = []
    if changes is not None:
        checks += _change_set_findings(refresh, changes, circumstances)
        checks.append(changes_lead_to(refresh, changes, circumstances.before, contents))
        if refreshed.counted is not None:
            checks.append(counts_are_right(refresh, changes, refreshed.counted))
    checks.append(row_ids_are_unique(refresh, contents))
    if refreshed.fresh is not None:
        checks.append(row_ids_are_fresh(refresh, contents, refreshed.fresh))
    if refreshed.state is not None:
        checks.append(state_is_fresh(refresh, refreshed.state))
    expected, previous = circumstances.expected_sources, circumstances.previous
    if expected is not None:
        checks.append(frontier_is_exact(refresh, refreshed.source_timestamps, previous, expected))
    checks.append(
        contents_are(refresh, contents, circumstances.expected_columns, circumstances.expected_rows)
    )
    return _results(refresh, checks, changes or ())


def judged_columns(actual: tuple[Column, ...], expected: tuple[Column, ...]) -> tuple[Column, ...]:
    """Returns the columns of an engine, with the types by which their values are compared.

    That is the expected type where it is the same to an engine.
    """
    if len(actual) != len(expected):
        return actual
    return tuple(
        replace(mine, type=due.type) if mine.type == due.type.stored else mine
        for mine, due in zip(actual, expected, strict=True)
    )


def check_refused(refused: RefreshRefused, circumstances: Circumstances) -> InvariantResults:
    """Checks the change set that a refused refresh computed; no checks if it computed none."""
    refresh = CheckedRefresh(refused.table, refused.step, refused.timestamp, circumstances.expected_columns)
    changes = refused.change_set
    checks = [] if changes is None else _change_set_findings(refresh, changes, circumstances)
    return _results(refresh, checks, changes or ())


def _change_set_findings(
    refresh: CheckedRefresh, changes: Changes, circumstances: Circumstances
) -> list[Findings]:
    """Returns the findings of invariants 1, 2, 3 and 6, which need no contents after the refresh."""
    return [
        actions_are_unique(refresh, changes),
        deletes_are_stored(refresh, changes, circumstances.before),
        inserts_are_new(refresh, changes, circumstances.before),
        unchanged_means_empty(refresh, changes, circumstances.sources_unchanged),
    ]


def _results(refresh: CheckedRefresh, checks: Sequence[Findings], changes: Changes) -> InvariantResults:
    findings = tuple(finding for findings in checks for finding in findings)
    return InvariantResults(findings, len(checks), len(changes), amplification(refresh, changes))
