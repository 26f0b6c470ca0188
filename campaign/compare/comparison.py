"""The comparison of two runs of one scenario, A and B, after every refresh, without any value of a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from campaign.compare.configuration import Run
from campaign.compare.masking import Mask
from oracle.compare import compare
from workload.errors import WorkloadError
from workload.outcomes.results import Difference, DifferenceKind
from workload.outcomes.trace import (
    Created,
    Declared,
    PastRead,
    ReadDone,
    Redefined,
    Refreshed,
    RefreshRefused,
    SourceWritten,
    Trace,
)
from workload.scenario import Scenario
from workload.types import Row
from workload.wellformed import check_scenario

RefreshKey = tuple[int, str]
"""(step, table): the refresh of a table that a step of the scenario asks for."""

RefreshEvent = Refreshed | RefreshRefused | Declared

KINDS: Mapping[DifferenceKind, str] = {
    DifferenceKind.SCHEMA: "other columns",
    DifferenceKind.MISSING: "fewer rows on B",
    DifferenceKind.EXTRA: "more rows on B",
    DifferenceKind.DUPLICATED: "other multiplicities",
    DifferenceKind.WRONG_VALUE: "other rows",
    DifferenceKind.WRONG_ID: "other row ids",
}
"""The names of differences. Neither configuration is the right one, so the names blame neither."""


@dataclass(frozen=True, slots=True)
class MaskedRow:
    """A row with its values as hashes, and its multiplicity."""

    cells: tuple[str, ...]
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """A refresh after which A and B hold different contents, or that only one of them made.

    `only_a`, `only_b`: rows of one side only; their cells are hashes or, where the columns themselves differ,
    the positions, names and types of the columns.
    """

    scenario: str
    table: str
    step: int
    timestamp: int
    kind: str
    columns: tuple[str, ...] = ()
    rows_a: int = 0
    rows_b: int = 0
    only_a: tuple[MaskedRow, ...] = ()
    only_b: tuple[MaskedRow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The comparison of one scenario. `other_actions`: refreshes with different refresh actions.

    `undecided`: why the scenario could not be compared, without the text of an error: it may hold values.
    """

    scenario: str
    refreshes: int = 0
    other_actions: int = 0
    disagreements: tuple[Disagreement, ...] = ()
    undecided: str = ""


def compare_runs(scenario: Scenario, a: Run, b: Run, mask: Mask) -> Compared:
    """Runs a scenario on A and B, and compares every refresh. A run that fails is undecided, not an error."""
    try:
        check_scenario(scenario)
    except WorkloadError:
        return Compared(scenario=scenario.name, undecided="the scenario makes no sense")
    traces = []
    for name, run in (("A", a), ("B", b)):
        try:
            traces.append(run(scenario))
        except Exception as error:  # noqa: BLE001  # any error; its text may hold values
            return Compared(
                scenario=scenario.name, undecided=f"{name} could not run it: {type(error).__name__}"
            )
    return compare_traces(scenario, traces[0], traces[1], mask)


def compare_traces(scenario: Scenario, a: Trace, b: Trace, mask: Mask) -> Compared:
    """Compares two runs of a scenario refresh by refresh."""
    events_a, events_b = _refreshes(a), _refreshes(b)
    disagreements: list[Disagreement] = []
    refreshes = actions = 0
    for key in sorted(events_a.keys() | events_b.keys()):
        first, second = events_a.get(key), events_b.get(key)
        if isinstance(first, Refreshed) and isinstance(second, Refreshed):
            refreshes += 1
            actions += first.action is not second.action
            disagreements.extend(_contents(scenario, first, second, mask))
        elif _description(first) != _description(second):
            step, table = key
            kind = f"A {_description(first)}, B {_description(second)}"
            at = scenario.steps[step].at
            disagreements.append(
                Disagreement(scenario=scenario.name, table=table, step=step, timestamp=at, kind=kind)
            )
    return Compared(
        scenario=scenario.name,
        refreshes=refreshes,
        other_actions=actions,
        disagreements=tuple(disagreements),
    )


def _refreshes(trace: Trace) -> Mapping[RefreshKey, RefreshEvent]:
    """Returns the refreshes of a trace; what happened between them is not compared."""
    refreshes: dict[RefreshKey, RefreshEvent] = {}
    for event in trace.events:
        match event:
            case Refreshed() | RefreshRefused():
                refreshes[event.step, event.table] = event
            case Declared():
                refreshes[event.step, event.name] = event
            case SourceWritten() | Created() | Redefined() | ReadDone() | PastRead():
                pass
            case _:
                assert_never(event)
    return refreshes


def _description(event: RefreshEvent | None) -> str:
    match event:
        case None:
            return "did not refresh"
        case Refreshed():
            return "refreshed"
        case RefreshRefused():
            return f"refused ({event.error.value})"
        case Declared():
            return "declared a gap"
        case _:
            assert_never(event)


def _contents(scenario: Scenario, a: Refreshed, b: Refreshed, mask: Mask) -> Iterator[Disagreement]:
    """Yields the disagreements of one refresh: other contents, or contents of another data timestamp."""
    base = Disagreement(scenario=scenario.name, table=a.table, step=a.step, timestamp=a.timestamp, kind="")
    if a.timestamp != b.timestamp:
        yield replace(base, kind=f"data timestamp {b.timestamp} on B")
    difference = compare(
        a.columns, [stored.row for stored in a.contents], b.columns, [stored.row for stored in b.contents]
    )
    if difference is not None:
        yield replace(
            base,
            kind=KINDS[difference.kind],
            columns=tuple(f"{column.name} {column.type}" for column in difference.columns),
            rows_a=len(a.contents),
            rows_b=len(b.contents),
            only_a=_masked(difference, difference.missing, mask),
            only_b=_masked(difference, difference.extra, mask),
        )


def _masked(difference: Difference, rows: tuple[tuple[Row, int], ...], mask: Mask) -> tuple[MaskedRow, ...]:
    # The rows of a difference of columns are names and types, which are no secret.
    if difference.kind is DifferenceKind.SCHEMA:
        return tuple(MaskedRow(tuple(str(part) for part in row), times) for row, times in rows)
    return tuple(MaskedRow(mask.row(row, difference.columns), times) for row, times in rows)
