"""One set of definitions on two configurations: contents after every refresh, values never shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from campaign.configuration import Run
from campaign.masking import Mask
from oracle.compare import compare
from workload.errors import WorkloadError
from workload.results import Difference, DifferenceKind
from workload.scenario import Scenario
from workload.trace import (
    Created,
    Declared,
    ReadDone,
    Refreshed,
    RefreshRefused,
    SourceWritten,
    Trace,
)
from workload.types import Row
from workload.wellformed import check_scenario

Place = tuple[int, str]
"""(step, table): where a refresh was due."""

Done = Refreshed | RefreshRefused | Declared


KINDS: Mapping[DifferenceKind, str] = {
    DifferenceKind.SCHEMA: "other columns",
    DifferenceKind.MISSING: "fewer rows on B",
    DifferenceKind.EXTRA: "more rows on B",
    DifferenceKind.DUPLICATED: "other multiplicities",
    DifferenceKind.WRONG_VALUE: "other rows",
    DifferenceKind.WRONG_ID: "other row ids",
}
"""Neither configuration is the right one: words that take no side."""


@dataclass(frozen=True, slots=True)
class MaskedRow:
    """A row as hashes, and how many times it is there."""

    cells: tuple[str, ...]
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """A refresh after which the configurations hold different contents, or that only one of them did.

    `only_a`, `only_b`: rows of one and not the other; their cells are hashes, or, where the columns
    themselves differ, the columns' positions, names and types.
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
    """One scenario on both. `undecided`: why it could not be compared, without the text of any error."""

    scenario: str
    refreshes: int = 0
    other_actions: int = 0
    disagreements: tuple[Disagreement, ...] = ()
    undecided: str = ""


def compare_runs(scenario: Scenario, a: Run, b: Run, mask: Mask) -> Compared:
    """Runs a scenario on both and compares every refresh. What a scenario or platform does raises nothing."""
    try:
        check_scenario(scenario)
    except WorkloadError:
        return Compared(scenario=scenario.name, undecided="the scenario makes no sense")
    traces = []
    for name, run in (("A", a), ("B", b)):
        try:
            traces.append(run(scenario))
        except Exception as error:  # noqa: BLE001  # the platform broke; its words may hold values
            return Compared(
                scenario=scenario.name, undecided=f"{name} could not run it: {type(error).__name__}"
            )
    return compare_traces(scenario, traces[0], traces[1], mask)


def compare_traces(scenario: Scenario, a: Trace, b: Trace, mask: Mask) -> Compared:
    """The refreshes of two runs, one by one."""
    done_a, done_b = _done(a), _done(b)
    disagreements: list[Disagreement] = []
    refreshes = actions = 0
    for place in sorted(done_a.keys() | done_b.keys()):
        first, second = done_a.get(place), done_b.get(place)
        if isinstance(first, Refreshed) and isinstance(second, Refreshed):
            refreshes += 1
            actions += first.action is not second.action
            disagreements.extend(_contents(scenario, first, second, mask))
        elif _word(first) != _word(second):
            step, table = place
            kind = f"A {_word(first)}, B {_word(second)}"
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


def _done(trace: Trace) -> Mapping[Place, Done]:
    done: dict[Place, Done] = {}
    for event in trace.events:
        match event:
            case Refreshed() | RefreshRefused():
                done[event.step, event.table] = event
            case Declared():
                done[event.step, event.name] = event
            case SourceWritten() | Created() | ReadDone():
                pass
            case _:
                assert_never(event)
    return done


def _word(done: Done | None) -> str:
    match done:
        case None:
            return "did not refresh"
        case Refreshed():
            return "refreshed"
        case RefreshRefused():
            return f"refused ({done.error.value})"
        case Declared():
            return "declared a gap"
        case _:
            assert_never(done)


def _contents(scenario: Scenario, a: Refreshed, b: Refreshed, mask: Mask) -> Iterator[Disagreement]:
    """The contents, and the instant that they are of."""
    same = Disagreement(scenario=scenario.name, table=a.table, step=a.step, timestamp=a.timestamp, kind="")
    if a.timestamp != b.timestamp:
        yield replace(same, kind=f"data timestamp {b.timestamp} on B")
    difference = compare(
        a.columns, [stored.row for stored in a.contents], b.columns, [stored.row for stored in b.contents]
    )
    if difference is not None:
        yield replace(
            same,
            kind=KINDS[difference.kind],
            columns=tuple(f"{column.name} {column.type}" for column in difference.columns),
            rows_a=len(a.contents),
            rows_b=len(b.contents),
            only_a=_masked(difference, difference.missing, mask),
            only_b=_masked(difference, difference.extra, mask),
        )


def _masked(difference: Difference, rows: tuple[tuple[Row, int], ...], mask: Mask) -> tuple[MaskedRow, ...]:
    if difference.kind is DifferenceKind.SCHEMA:
        return tuple(MaskedRow(tuple(str(part) for part in row), times) for row, times in rows)
    return tuple(MaskedRow(mask.row(row, difference.columns), times) for row, times in rows)
