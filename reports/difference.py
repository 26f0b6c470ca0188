"""A difference of two bags as marked rows; similar rows stand one below the other."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import assert_never

from reports.figures import number, plural
from reports.visible import one_line
from workload.outcomes.results import Difference
from workload.sql import Dialect
from workload.sql.dialect import double_text, string_literal
from workload.types import Row, Value

ROWS_SHOWN = 100
"""Rows shown of each side: the time to pair similar rows grows with its square."""


class Side(Enum):
    """The mark of a row, as in a diff from the expected to the actual contents."""

    EXPECTED = "-"
    ACTUAL = "+"


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A row that only one side has, and its multiplicity.

    `differs`: which cells differ from the row it is paired with; none where the row is not paired.
    """

    side: Side
    cells: tuple[str, ...]
    differs: tuple[bool, ...]
    times: int


def diff_rows(difference: Difference, limit: int = ROWS_SHOWN) -> tuple[DiffRow, ...]:
    """Returns the expected rows that are missing (-) and the actual rows that are not expected (+).

    After a missing row comes the unexpected row that has most cells in common with it, if there is one.
    """
    extra = [(_cells(row), times) for row, times in difference.extra[:limit]]
    rows: list[DiffRow] = []
    for row, times in difference.missing[:limit]:
        missing = _cells(row)
        partner = max(extra, key=lambda other: _shared(missing, other[0]), default=None)
        if partner is None or not _shared(missing, partner[0]):
            rows.append(DiffRow(Side.EXPECTED, missing, (False,) * len(missing), times))
            continue
        extra.remove(partner)
        rows.append(DiffRow(Side.EXPECTED, missing, _differs(missing, partner[0]), times))
        rows.append(DiffRow(Side.ACTUAL, partner[0], _differs(partner[0], missing), partner[1]))
    rows.extend(DiffRow(Side.ACTUAL, cells, (False,) * len(cells), times) for cells, times in extra)
    return tuple(rows)


def hidden_rows(difference: Difference, limit: int = ROWS_SHOWN) -> int:
    """Returns the number of distinct rows that `diff_rows` does not show."""
    return max(0, len(difference.missing) - limit) + max(0, len(difference.extra) - limit)


def difference_text(difference: Difference) -> str:
    """Returns the counts in one sentence: `wrong value: 3 rows expected, 3 found; ...`."""
    missing = sum(times for _, times in difference.missing)
    extra = sum(times for _, times in difference.extra)
    equal = max(0, difference.expected_rows - missing)
    return (
        f"{difference.kind.in_words}: {plural(difference.expected_rows, 'row')} expected, "
        f"{number(difference.actual_rows)} found; "
        f"{missing} missing (-), {extra} not expected (+), {equal} equal and not shown"
    )


def diff_block(difference: Difference) -> str:
    """Returns the rows as aligned lines of text, each with its mark, below a line of column names."""
    rows = diff_rows(difference)
    header = tuple(f"{column.name} {column.type.stored}" for column in difference.columns)
    width = max((len(cells) for cells in (header, *(row.cells for row in rows))), default=0)
    widths = [
        max((len(c[i]) for c in (header, *(r.cells for r in rows)) if i < len(c)), default=0)
        for i in range(width)
    ]

    def line(mark: str, cells: tuple[str, ...], note: str = "") -> str:
        padded = " | ".join(text.ljust(widths[i]) for i, text in enumerate(cells))
        return f"{mark} {padded}{note}".rstrip()

    lines = [line(" ", header)]
    lines += [line(r.side.value, r.cells, f"  ({r.times} times)" if r.times != 1 else "") for r in rows]
    if hidden := hidden_rows(difference):
        lines.append(f"  ... and {hidden} more rows")
    return "\n".join(lines)


def _cells(row: Row) -> tuple[str, ...]:
    return tuple(cell(value) for value in row)


def _shared(left: tuple[str, ...], right: tuple[str, ...]) -> int:
    return sum(a == b for a, b in zip(left, right, strict=False)) if len(left) == len(right) else 0


def _differs(cells: tuple[str, ...], other: tuple[str, ...]) -> tuple[bool, ...]:
    return tuple(a != b for a, b in zip(cells, other, strict=True))


def cell(value: Value) -> str:
    """Returns a value on one line. Strings are quoted, so that NULL and 'NULL', 1 and '1' differ."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(value)
        case float():
            return double_text(value)
        case Decimal():
            return f"{value:f}"
        case str():
            return one_line(string_literal(value, Dialect.SPARK))
        case bytes():
            return f"X'{value.hex().upper()}'"
        case dt.datetime():
            return value.isoformat(sep=" ")
        case dt.date():
            return value.isoformat()
        case tuple():
            return f"({', '.join(map(cell, value))})"
        case _:
            assert_never(value)
