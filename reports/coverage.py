"""Coverage as tables: counts with their floors, and operator pairs as a matrix."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from workload.results import Coverage

HEAT_LEVELS = 5

separator = re.compile(r"\s*(?:->|[>×/|+,:])\s*|\s+(?:x|over|in|under|and)\s+")


@dataclass(frozen=True, slots=True)
class Count:
    """How often something was met; `share` of the most frequent one; `wanted` is its floor if not met."""

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
    """A pair's count, None where it was not counted; `heat` from 0 (never) to HEAT_LEVELS, by logarithm."""

    column: str
    count: int | None
    heat: int
    wanted: int | None


@dataclass(frozen=True, slots=True)
class Matrix:
    """Counts by row and column; `others` are names that are no pair of them."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    others: tuple[Count, ...]


def groups(coverage: Coverage) -> tuple[Group, ...]:
    """Operators, intents, states; refresh actions have a table of their own."""
    return (
        _group(coverage, "Operators", "operators", coverage.operators),
        _group(coverage, "Intents", "intents", coverage.intents),
        _group(coverage, "States", "states", coverage.states),
    )


def actions(coverage: Coverage) -> Group:
    """Refresh actions and how often each was taken."""
    return _group(coverage, "Refresh actions", "actions", coverage.actions)


def _group(coverage: Coverage, title: str, kind: str, found: Mapping[str, int]) -> Group:
    return Group(title, counts(coverage, kind, with_floors(coverage, kind, found)))


def counts(coverage: Coverage, kind: str, found: Mapping[str, int]) -> tuple[Count, ...]:
    """The counts of one kind, each with its floor where that is not met."""
    most = max(found.values(), default=0) or 1
    return tuple(
        Count(name, count, count / most, wanted(coverage, kind, name))
        for name, count in sorted(found.items(), key=lambda item: (-item[1], item[0]))
    )


def wanted(coverage: Coverage, kind: str, name: str) -> int | None:
    """The floor of a name if not met. A floor is named as the thing, or with its kind before it."""
    spellings = (name, *(prefix + name for prefix in prefixes(kind)))
    return next((coverage.unmet[spelling][1] for spelling in spellings if spelling in coverage.unmet), None)


def prefixes(kind: str) -> tuple[str, ...]:
    """What may stand before a floor's name: `operators.`, `operator: `; longer ones first."""
    kinds = (kind, kind.removesuffix("s"))
    return tuple(word + mark for word in kinds for mark in (": ", ".", ":", " ", "/"))


def with_floors(coverage: Coverage, kind: str, found: Mapping[str, int]) -> Mapping[str, int]:
    """The counts, and those that only a floor of this kind names: wanted, but never met."""
    named: dict[str, int] = {}
    for floor, (reached, _) in coverage.unmet.items():
        prefix = next((p for p in prefixes(kind) if floor.startswith(p)), None)
        if prefix is not None:
            named[floor.removeprefix(prefix)] = reached
    return {**named, **found}


def pair_of(name: str) -> tuple[str, str] | None:
    """The two operators of a pair's name, as in `join > filter`; None if there are not exactly two."""
    parts = separator.split(name.strip())
    return (parts[0], parts[1]) if len(parts) == 2 and all(parts) else None


def matrix(coverage: Coverage) -> Matrix:
    """The pairs of a run; unordered pairs fill one triangle."""
    found = with_floors(coverage, "pairs", coverage.pairs)
    pairs = {name: pair for name in found if (pair := pair_of(name)) is not None}
    cells = {pair: (found[name], wanted(coverage, "pairs", name)) for name, pair in pairs.items()}
    rest = {name: count for name, count in found.items() if name not in pairs}
    return _matrix(cells, counts(coverage, "pairs", rest))


def crossings(coverage: Coverage) -> Matrix:
    """Intents by operators: how many scenarios of an intent held the operator."""
    cells = {}
    for name, count in coverage.crossings.items():
        operator, _, intent = name.partition(" / ")
        cells[intent, operator] = (count, None)
    return _matrix(cells, ())


def _matrix(found: Mapping[tuple[str, str], tuple[int, int | None]], others: tuple[Count, ...]) -> Matrix:
    columns = tuple(sorted({column for _, column in found}))
    most = max((count for count, _ in found.values()), default=0)

    def cell(row: str, column: str) -> Cell:
        if (row, column) not in found:
            return Cell(column, None, 0, None)
        count, floor = found[row, column]
        return Cell(column, count, heat(count, most), floor)

    rows = sorted({row for row, _ in found})
    return Matrix(
        columns, tuple((row, tuple(cell(row, column) for column in columns)) for row in rows), others
    )


def heat(count: int, most: int) -> int:
    """0 for none, else 1 to HEAT_LEVELS by the logarithm of the share."""
    if count <= 0 or most <= 0:
        return 0
    return max(1, math.ceil(HEAT_LEVELS * math.log1p(count) / math.log1p(most) - 1e-9))
