"""The engine's own validations of a change set (DVS paper, section 6.1).

They run before the commit, so a fault in a rule makes a refresh fail instead of storing a wrong table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dynamic_tables.definition import BaseTable, DynamicTable
from dynamic_tables.differentiate.apply import ABSENT, CHANGES, DUPLICATED, PRESENT
from dynamic_tables.plan.nodes import DELETE, INSERT
from dynamic_tables.refresh.plans import Plans
from dynamic_tables.store.port import Relation, Store

# By the name of a validation in `differentiate.apply`: what a refresh says when it fails.
MESSAGES = {
    DUPLICATED: "{rows} pairs of $ROW_ID and $ACTION occur more than once in the change set",
    ABSENT: "{rows} DELETEs of rows that are not in the table",
    PRESENT: "{rows} INSERTs of rows that are in the table and stay there",
}


@dataclass(frozen=True, slots=True)
class Validated:
    """The size of a change set in rows, and a message for each validation that failed."""

    inserted: int
    deleted: int
    violations: tuple[str, ...]


def validated_here(changes: Sequence[tuple[object, ...]]) -> Validated:
    """Returns the result of the plan `differentiate.apply.validate_changes`, computed in Python.

    `changes`: `$ACTION` and `$ROW_ID` of each row.
    """
    counts = Counter((str(row[1]), str(row[0])) for row in changes)
    actions = Counter(str(row[0]) for row in changes)
    several = sorted(row_id for (row_id, _), count in counts.items() if count > 1)
    return read_validation(
        ((actions[INSERT], actions[DELETE], len(several), several[0] if several else None),)
    )


def read_validation(rows: Sequence[tuple[object, ...]]) -> Validated:
    """Returns the one row of the plan `validate` or `validate_changes` of `differentiate.apply`, decoded.

    The row: inserted, deleted, then for each validation a number of rows, then for each one an example.
    """
    (row,) = rows
    # Two sizes, and two columns for each validation: the length tells which of both plans it was.
    validations = (DUPLICATED, ABSENT, PRESENT)[: (len(row) - 2) // 2]
    # Of no rows at all, SUM is NULL. A value of a row has the type `object`, which `int` does not accept.
    inserted, deleted, *counts = (int(str(count or 0)) for count in row[: 2 + len(validations)])
    violations = tuple(
        f"{MESSAGES[name].format(rows=count)} (for example {example})"
        for name, count, example in zip(validations, counts, row[2 + len(validations) :], strict=True)
        if count
    )
    return Validated(inserted, deleted, violations)


def count_rows(changes: Relation, table: BaseTable | DynamicTable, store: Store, plans: Plans) -> int:
    """Returns the number of rows of a set of changes."""
    if changes.local:
        return len(changes.last(1))
    plan = plans.of(plans.rules.validate_changes, table.columns)
    counted = read_validation(store.compute(plan, {CHANGES: changes}, once=False).rows())
    return counted.inserted + counted.deleted
