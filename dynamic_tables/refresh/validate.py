"""The engine's own validations of a change set (DVS paper, section 6.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dynamic_tables.differentiate.apply import ABSENT, DUPLICATED, PRESENT
from dynamic_tables.plan.nodes import DELETE, INSERT

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
    """Returns what the plan `differentiate.apply.validate_changes` says of a change set, without a query.

    `changes`: `$ACTION` and `$ROW_ID` of each row.
    """
    counts = Counter((str(row[1]), str(row[0])) for row in changes)
    actions = Counter(str(row[0]) for row in changes)
    several = sorted(row_id for (row_id, _), count in counts.items() if count > 1)
    rows: list[tuple[object, ...]] = [(action, count, "") for action, count in actions.items()]
    if several:
        rows.append((DUPLICATED, len(several), several[0]))
    return read_validation(rows)


def read_validation(rows: Sequence[tuple[object, ...]]) -> Validated:
    """Returns what the rows (check, number, example) of the plan `differentiate.apply.validate` say."""
    counted = {str(check): (int(str(number)), str(example)) for check, number, example in rows}
    violations = tuple(
        f"{MESSAGES[check].format(rows=number)} (for example {example})"
        for check, (number, example) in sorted(counted.items())
        if check in MESSAGES
    )
    return Validated(counted.get(INSERT, (0, ""))[0], counted.get(DELETE, (0, ""))[0], violations)
