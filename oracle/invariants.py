"""The seven invariants of change sets (semantics, section 5), checked from outside the engine.

They look at the raw change set, as computed and before any validation of the engine's own: a difference
of stored versions could show neither a duplicate nor a DELETE of an absent row. Each check is a function
from values to findings, empty when the invariant holds; `check_refresh` composes them. All raise
OracleError if a row is not of the declared columns. Linear in the rows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from oracle.bag import Bag, CanonicalRow, canonical_row
from oracle.compare import compare
from workload.results import Check, Difference, DifferenceKind, Finding
from workload.schema import Column
from workload.trace import ChangeAction, ChangeRow, Refreshed, RefreshRefused, StoredRow
from workload.types import STRING, Row, SqlType

ROW_ID = Column("$ROW_ID", STRING)
"""Put before the table's columns in a difference of row ids."""

EXAMPLES = 3
"""How many violations a message lists before it only counts."""

Findings = tuple[Finding, ...]
Changes = Sequence[ChangeRow]
Stored = Sequence[StoredRow]


@dataclass(frozen=True, slots=True)
class Place:
    """Which refresh is judged, and the columns of its table."""

    table: str
    step: int
    timestamp: int
    columns: tuple[Column, ...]

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The columns' types."""
        return tuple(column.type for column in self.columns)

    def findings(
        self, check: Check, problems: Sequence[str], difference: Difference | None = None
    ) -> Findings:
        """One finding that lists the problems, or none if there are no problems."""
        if not problems:
            return ()
        message = "; ".join(problems[:EXAMPLES])
        if len(problems) > EXAMPLES:
            message += f"; and {len(problems) - EXAMPLES} more"
        finding = Finding(
            check=check,
            table=self.table,
            step=self.step,
            timestamp=self.timestamp,
            message=message,
            difference=difference,
        )
        return (finding,)


def actions_are_unique(place: Place, changes: Changes) -> Findings:
    """Invariant 1: at most one row per ($ROW_ID, $ACTION)."""
    counts = Counter((change.row_id, change.action) for change in changes)
    problems = [f"{action.value} of row id {id_!r} {n} times" for (id_, action), n in counts.items() if n > 1]
    return place.findings(Check.INVARIANT_1, problems)


def deletes_are_stored(place: Place, changes: Changes, before: Stored) -> Findings:
    """Invariant 2: a DELETE names a row id that the table holds, and carries the row stored under it."""
    stored: dict[str | None, list[CanonicalRow]] = defaultdict(list)
    for kept in before:
        stored[kept.row_id].append(canonical_row(kept.row, place.types))
    problems = []
    for change in changes:
        if change.action is ChangeAction.DELETE:
            if change.row_id not in stored:
                problems.append(f"DELETE of row id {change.row_id!r}, which the table does not hold")
            elif canonical_row(change.row, place.types) not in stored[change.row_id]:
                problems.append(
                    f"DELETE of row id {change.row_id!r} as {change.row!r}, which is stored otherwise"
                )
    return place.findings(Check.INVARIANT_2, problems)


def inserts_are_new(place: Place, changes: Changes, before: Stored) -> Findings:
    """Invariant 3: an INSERT names a row id that the table does not hold, or that the set deletes too."""
    kept = {row.row_id for row in before}
    kept -= {change.row_id for change in changes if change.action is ChangeAction.DELETE}
    problems = [
        f"INSERT of row id {change.row_id!r}, which the table holds and the change set does not delete"
        for change in changes
        if change.action is ChangeAction.INSERT and change.row_id in kept
    ]
    return place.findings(Check.INVARIANT_3, problems)


def changes_lead_to(place: Place, changes: Changes, before: Stored, after: Stored) -> Findings:
    """Invariant 4, first half: contents before, plus the change set, are the contents after, as bags."""
    weights = {ChangeAction.INSERT: 1, ChangeAction.DELETE: -1}
    change = Bag.weighted(((c.row, weights[c.action]) for c in changes), place.types)
    applied = Bag.of((row.row for row in before), place.types) + change
    stored = Bag.of((row.row for row in after), place.types)
    problems = [
        f"{row!r}: the change set leads to {applied.count(row, place.types)} of it,"
        f" the table holds {stored.count(row, place.types)}"
        for row, _ in (applied - stored).entries()
    ]
    return place.findings(Check.EQUALITY, problems)


def contents_are(
    place: Place, contents: Stored, expected_columns: Sequence[Column], expected: Sequence[Row]
) -> Findings:
    """Invariant 4, second half: the contents are the defining query at the data timestamp (the oracle's)."""
    difference = compare(expected_columns, expected, place.columns, [stored.row for stored in contents])
    if difference is None:
        return ()
    rows = "row" if difference.expected_rows == 1 else "rows"
    message = (
        f"the contents are not the defining query at {place.timestamp}: {difference.kind.value},"
        f" {difference.expected_rows} {rows} expected, {difference.actual_rows} found"
    )
    return place.findings(Check.EQUALITY, [message], difference)


def row_ids_are_unique(place: Place, contents: Stored) -> Findings:
    """Invariant 5, first half: every row has an id of its own. Tables that keep no ids at all are exempt."""
    counts = Counter(stored.row_id for stored in contents)
    if set(counts) <= {None}:
        return ()
    problems = [
        f"{n} rows without a row id beside rows with one" if id_ is None else f"row id {id_!r} on {n} rows"
        for id_, n in counts.items()
        if id_ is None or n > 1
    ]
    return place.findings(Check.ROW_IDS, problems)


def row_ids_are_fresh(place: Place, contents: Stored, fresh: Stored) -> Findings:
    """Invariant 5, second half: each row has the id that a fresh initialization would give it.

    Only rows that occur equally often on both sides are looked at: of the others the contents are wrong,
    which is another finding. Exempt where the table keeps no ids.
    """
    if all(stored.row_id is None for stored in (*contents, *fresh)):
        return ()
    with_id = (ROW_ID, *place.columns)
    counts = [Counter(canonical_row(s.row, place.types) for s in side) for side in (fresh, contents)]

    def comparable(side: Stored) -> list[Row]:
        keys = ((stored, canonical_row(stored.row, place.types)) for stored in side)
        return [(stored.row_id, *stored.row) for stored, key in keys if counts[0][key] == counts[1][key]]

    difference = compare(with_id, comparable(fresh), with_id, comparable(contents))
    if difference is None:
        return ()
    problems = [f"{row[1:]!r} lacks row id {row[0]!r}" for row, _ in difference.missing]
    problems += [f"{row[1:]!r} has row id {row[0]!r}" for row, _ in difference.extra]
    return place.findings(Check.ROW_IDS, problems, replace(difference, kind=DifferenceKind.WRONG_ID))


def unchanged_means_empty(place: Place, changes: Changes, sources_unchanged: bool) -> Findings:
    """Invariant 6: no source row changed, so the change set is empty, amplification included."""
    if not sources_unchanged:
        return ()
    problems = [f"{len(changes)} changes, though no source has changed"] if changes else []
    return place.findings(Check.INVARIANT_6, problems)


def amplification(place: Place, changes: Changes) -> int:
    """Number of DELETE and INSERT pairs of one row id and identical rows: work without an effect."""
    weights = {ChangeAction.INSERT: 1, ChangeAction.DELETE: -1}
    signed: dict[tuple[str, CanonicalRow], dict[int, int]] = defaultdict(lambda: {1: 0, -1: 0})
    for change in changes:
        signed[change.row_id, canonical_row(change.row, place.types)][weights[change.action]] += 1
    return sum(min(counts.values()) for counts in signed.values())


def frontier_is_exact(
    place: Place, source_timestamps: Mapping[str, int], previous: int | None, expected: Mapping[str, int]
) -> Findings:
    """Invariant 7: data timestamps never go back, and every source is read exactly as of the new one.

    `previous`: the table's data timestamp before, None at its creation. `expected`: source -> the time that
    its version must have: the latest commit at or before the data timestamp for a base table, the data
    timestamp itself for a dynamic table (the refresh fails if there is no such version).
    """
    problems = []
    if previous is not None and place.timestamp < previous:
        problems.append(f"the data timestamp goes back from {previous} to {place.timestamp}")
    for source in sorted(source_timestamps.keys() | expected.keys()):
        found, wanted = source_timestamps.get(source), expected.get(source)
        if found is None:
            problems.append(f"the frontier does not name {source}")
        elif wanted is None:
            problems.append(f"the frontier names {source}, which the definition does not read")
        elif found > place.timestamp:
            problems.append(f"{source} is read as of {found}, after the data timestamp {place.timestamp}")
        elif found != wanted:
            problems.append(f"{source} is read as of {found}, not of {wanted}")
    return place.findings(Check.FRONTIER, problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What is known about a refresh from outside: the table before it, and the truth.

    `before`: the contents that it started from, empty at creation. `previous`: the data timestamp of those.
    `sources_unchanged`: every row of every source is the same at `previous` and at the new data timestamp,
    its identity included (equal bags are not enough: an overwrite with equal rows makes new rows).
    `expected_sources` as in `frontier_is_exact`, None where the engine shows no frontier, which is then not
    checked; `expected_columns`, `expected_rows` are the oracle's.
    """

    before: tuple[StoredRow, ...]
    previous: int | None
    sources_unchanged: bool
    expected_sources: Mapping[str, int] | None
    expected_columns: tuple[Column, ...]
    expected_rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """The findings about one refresh, the number of checks made, and its amplification."""

    findings: Findings
    checks: int
    amplification: int


def check_change_set(place: Place, changes: Changes, circumstances: Circumstances) -> tuple[Findings, ...]:
    """The invariants of the change set alone, 1 to 3 and 6, one entry for each."""
    return (
        actions_are_unique(place, changes),
        deletes_are_stored(place, changes, circumstances.before),
        inserts_are_new(place, changes, circumstances.before),
        unchanged_means_empty(place, changes, circumstances.sources_unchanged),
    )


def check_refresh(refreshed: Refreshed, circumstances: Circumstances) -> Judged:
    """All seven invariants of a refresh that committed, as far as it shows what they are about."""
    place = Place(refreshed.table, refreshed.step, refreshed.timestamp, refreshed.columns)
    changes, contents = refreshed.change_set, refreshed.contents
    checks: list[Findings] = []
    if changes is not None:
        checks += check_change_set(place, changes, circumstances)
        checks.append(changes_lead_to(place, changes, circumstances.before, contents))
    checks.append(row_ids_are_unique(place, contents))
    if refreshed.fresh is not None:
        checks.append(row_ids_are_fresh(place, contents, refreshed.fresh))
    expected = circumstances.expected_sources
    if expected is not None:
        checks.append(frontier_is_exact(place, refreshed.source_timestamps, circumstances.previous, expected))
    checks.append(contents_are(place, contents, circumstances.expected_columns, circumstances.expected_rows))
    return _judged(place, checks, changes or ())


def check_refused(refused: RefreshRefused, circumstances: Circumstances) -> Judged:
    """The invariants of the change set that a refused refresh computed; nothing if it computed none."""
    place = Place(refused.table, refused.step, refused.timestamp, circumstances.expected_columns)
    if refused.change_set is None:
        return Judged((), 0, 0)
    return _judged(place, check_change_set(place, refused.change_set, circumstances), refused.change_set)


def _judged(place: Place, checks: Sequence[Findings], changes: Changes) -> Judged:
    findings = tuple(finding for found in checks for finding in found)
    return Judged(findings, len(checks), amplification(place, changes))
