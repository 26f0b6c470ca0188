"""Intents: what a transaction has read, and what it would write if that still holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class IntentsError(ValueError):
    """Raised for rows that are no intents; the message names the row."""


class IntentRow(NamedTuple):
    """A row of the table `intents`: transaction `id` has read, or would write, `val` at `key`.

    `val` None: a read that found no value; a write of nothing.
    """

    id: int
    is_read: bool
    key: str
    val: str | None


@dataclass(frozen=True, slots=True)
class Intent:
    """One transaction: the values that it read by key, and the values that it would write by key.

    A key stands for the rows that a predicate selects, a value for the constant that they were compared with.
    One key may be read twice with two values; then the transaction can never commit.
    """

    id: int
    reads: tuple[tuple[str, str | None], ...]
    writes: Mapping[str, str | None] = field(default_factory=dict)


def intents_of(rows: Iterable[IntentRow]) -> tuple[Intent, ...]:
    """Returns the transactions in the order of their ids.

    Of two writes of one transaction to one key the least value counts, as in the article's
    `ORDER BY key, id DESC, val`. Raises IntentsError: an id below 1, or no key.
    """
    reads: dict[int, dict[tuple[str, str | None], None]] = {}
    writes: dict[int, dict[str, str | None]] = {}
    for number, row in enumerate(rows, start=1):
        if row.id < 1:
            raise IntentsError(f"row {number}: the id {row.id} is not greater than 0")
        if not row.key:
            raise IntentsError(f"row {number}: transaction {row.id} names no key; give each row one")
        values = writes.setdefault(row.id, {})
        if row.is_read:
            reads.setdefault(row.id, {})[row.key, row.val] = None
        elif row.key not in values or _before(row.val, values[row.key]):
            values[row.key] = row.val
    return tuple(Intent(id_, tuple(reads.get(id_, ())), writes[id_]) for id_ in sorted(writes))


def _before(value: str | None, other: str | None) -> bool:
    """Tells whether a value sorts before another one, NULL last."""
    return value is not None and (other is None or value < other)


def rows_of(intents: Iterable[Intent]) -> list[IntentRow]:
    """Returns the rows of transactions; `intents_of` reads them back."""
    found: list[IntentRow] = []
    for intent in intents:
        found += [IntentRow(intent.id, True, key, val) for key, val in intent.reads]
        found += [IntentRow(intent.id, False, key, val) for key, val in intent.writes.items()]
    return found
