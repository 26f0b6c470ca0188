"""The columns that subqueries of the select list and HAVING add to a block: values and marks.

A scalar subquery is a value, which is joined; EXISTS and IN are a mark (TRUE, FALSE, NULL), by a mark join.
Both are added either to the rows of the block or, in a grouped block, to its groups. Then their conditions
must be written over the groups: `HAVING SUM(r.x) IN (SELECT s.x FROM s)` marks each group by its sum, and
`WHERE s.k = r.k` inside the subquery reads the key of the group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import assert_never

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.expressions import Col, Expr, conjunction, walk
from dynamic_tables.plan.nodes import Filter, Join, JoinKind, Mark, Plan, Project, columns
from dynamic_tables.reading.values.scope import Names

Over = Callable[[Expr], Expr]
"""From an expression over rows to the same one over their groups."""

WHAT = "a subquery beside aggregates"


@dataclass(frozen=True, slots=True)
class ValueBeside:
    """The value of a scalar subquery: the column `name`, computed of the columns of `rows`.

    `ties`: the conditions that tie a row of `rows` to a row outside; without any, there is one row.
    `check`: is true of every row, or fails.
    """

    name: str
    value: Expr
    rows: Plan
    ties: tuple[Expr, ...]
    check: Expr | None = None

    def onto(self, plan: Plan) -> Plan:
        """Returns a plan with this value beside each of its rows."""
        # LEFT, because an outer row without a match has a value, too: NULL. Without ties there is always one
        # row, so nothing is lost by CROSS.
        kind = JoinKind.LEFT if self.ties else JoinKind.CROSS
        joined: Plan = Join(kind, plan, self.rows, conjunction(self.ties) if self.ties else None)
        joined = joined if self.check is None else Filter(joined, self.check)
        kept = tuple((each.name, each) for each in columns(plan))
        return Project(joined, (*kept, (self.name, self.value)))


@dataclass(frozen=True, slots=True)
class MarkBeside:
    """The mark `name`, which tells whether a row has a match among `rows`, with the conditions of `Mark`."""

    name: str
    rows: Plan
    on: Expr
    perhaps: Expr | None

    def onto(self, plan: Plan) -> Plan:
        """Returns a plan with this mark beside each of its rows."""
        return Mark(plan, self.rows, self.name, self.on, self.perhaps)


Beside = ValueBeside | MarkBeside
"""A column that a subquery adds beside the columns of a block."""


def names_beside(found: Iterable[Beside]) -> frozenset[str]:
    """Returns the columns that are no columns of the groups: those of the subqueries, and their results."""
    return frozenset(
        name for each in found for name in (each.name, *(column.name for column in columns(each.rows)))
    )


def over_groups(names: Names, found: Sequence[Beside], over: Over) -> list[Beside]:
    """Returns values and marks whose conditions are written over groups.

    Raises UnsupportedError: a condition reads a column of rows, or compares a sum of floats.
    """
    mapped = [_over(each, over) for each in found]
    for each in mapped:
        for condition in _conditions(each):
            names.refuse_float_comparison(condition, WHAT)
    return mapped


def _over(each: Beside, over: Over) -> Beside:
    """Returns a value or mark whose conditions are written over groups."""
    try:
        match each:
            case ValueBeside(name, value, rows, ties, check):
                return ValueBeside(name, value, rows, tuple(map(over, ties)), check)
            case MarkBeside(name, rows, on, perhaps):
                return MarkBeside(name, rows, over(on), None if perhaps is None else over(perhaps))
            case _:
                assert_never(each)
    except DefinitionError as error:
        raise UnsupportedError(f"{WHAT} ({error})") from error


def refuse_keys_of_sets(found: Iterable[Beside], keys: Iterable[str]) -> None:
    """Raises UnsupportedError where a condition over the groups of grouping sets reads a key.

    The key of a subtotal is NULL, and a query inside may have no rows for that.
    """
    columns = {*keys}
    for condition in (each for beside in found for each in _conditions(beside)):
        if any(isinstance(part, Col) and part.name in columns for part in walk(condition)):
            raise UnsupportedError(
                "a subquery that reads a key of grouping sets", "put the groups into a sub-select"
            )


def _conditions(each: Beside) -> list[Expr]:
    """Returns the conditions that tie the rows of a subquery to a row or group of the block."""
    match each:
        case ValueBeside():
            return [*each.ties]
        case MarkBeside():
            return [each.on, *([] if each.perhaps is None else [each.perhaps])]
        case _:
            assert_never(each)
