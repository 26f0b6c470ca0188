"""Coverage of a run as tables: counts with their floors, and operator pairs as a heat map.

A floor is named as the count that it bounds, with the kind before it: `operator: left join`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from workload.outcomes.results import Coverage

HEAT_LEVELS = 5


@dataclass(frozen=True, slots=True)
class Count:
    """How often something occurred.

    `share`: of the most frequent one. `wanted`: its floor where that is not met, else None.
    """

    name: str
    count: int
    share: float
    wanted: int | None


@dataclass(frozen=True, slots=True)
class Group:
    """The counts of one kind, most frequent first."""

    title: str
    counts: tuple[Count, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """The count of a pair; None where it never occurred. `heat`: 0 to HEAT_LEVELS, by logarithm."""

    count: int | None
    heat: int = 0
    wanted: int | None = None


@dataclass(frozen=True, slots=True)
class Matrix:
    """Counts by row and column; `others`: those whose name is no pair."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    others: tuple[Count, ...] = ()


def groups(coverage: Coverage) -> tuple[Group, ...]:
    """Returns the counts of operators, intents, types, branches of rules and states."""
    return (
        _group(coverage, "Operators", "operator", coverage.operators),
        _group(coverage, "Intents", "intent", coverage.intents),
        _group(coverage, "Types", "type", coverage.types),
        _group(coverage, "Branches of rules", "branch", coverage.branches),
        _group(coverage, "States", "state", coverage.states),
    )


def actions(coverage: Coverage) -> Group:
    """Returns the counts of refresh actions."""
    return _group(coverage, "Refresh actions", "action", coverage.actions)


def _group(coverage: Coverage, title: str, kind: str, counts: Mapping[str, int]) -> Group:
    return Group(title, _counts(coverage, kind, _with_floors(coverage, kind, counts)))


def _counts(coverage: Coverage, kind: str, counts: Mapping[str, int]) -> tuple[Count, ...]:
    most = max(counts.values(), default=0) or 1
    return tuple(
        Count(name, count, count / most, _wanted(coverage, kind, name))
        for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )


def _wanted(coverage: Coverage, kind: str, name: str) -> int | None:
    floor = coverage.unmet.get(f"{kind}: {name}")
    return None if floor is None else floor.wanted


def _with_floors(coverage: Coverage, kind: str, counts: Mapping[str, int]) -> Mapping[str, int]:
    """Returns the counts of a kind, and a count for each unmet floor whose name never occurred."""
    start = f"{kind}: "
    floors = {
        name.removeprefix(start): floor.reached
        for name, floor in coverage.unmet.items()
        if name.startswith(start)
    }
    return {**floors, **counts}


def matrix(coverage: Coverage) -> Matrix:
    """Returns the operator pairs, named `outer > inner`: the outer operators are the rows."""
    counts = _with_floors(coverage, "pair", coverage.pairs)
    pairs = {name: tuple(name.split(" > ")) for name in counts}
    cells = {
        (pair[0], pair[1]): (counts[name], _wanted(coverage, "pair", name))
        for name, pair in pairs.items()
        if len(pair) == 2 and all(pair)
    }
    others = {name: counts[name] for name, pair in pairs.items() if pair not in cells}
    return _matrix(cells, _counts(coverage, "pair", others))


def crossings(coverage: Coverage) -> Matrix:
    """Returns how many scenarios of an intent (row) contain an operator (column)."""
    cells = {}
    for name, count in coverage.crossings.items():
        operator, _, intent = name.partition(" / ")
        cells[intent, operator] = (count, None)
    return _matrix(cells)


def statements(coverage: Coverage) -> Matrix:
    """Returns how many incremental refreshes had an operator (row) after a kind of statement (column)."""
    counts = _with_floors(coverage, "dml", coverage.statements)
    cells = {}
    for name, count in counts.items():
        operator, _, kind = name.partition(" / ")
        cells[operator, kind] = (count, _wanted(coverage, "dml", name))
    return _matrix(cells)


def _matrix(
    counts: Mapping[tuple[str, str], tuple[int, int | None]], others: tuple[Count, ...] = ()
) -> Matrix:
    rows, columns = (sorted({pair[side] for pair in counts}) for side in (0, 1))
    most = max((count for count, _ in counts.values()), default=0)
    cells = {pair: Cell(count, heat(count, most), floor) for pair, (count, floor) in counts.items()}
    return Matrix(
        tuple(columns),
        tuple((row, tuple(cells.get((row, column), Cell(None)) for column in columns)) for row in rows),
        others,
    )


def heat(count: int, most: int) -> int:
    """Returns 0 for no count, else 1 to HEAT_LEVELS, by the logarithm of the count beside the largest one."""
    if count <= 0 or most <= 0:
        return 0
    return max(1, math.ceil(HEAT_LEVELS * math.log1p(count) / math.log1p(most) - 1e-9))
