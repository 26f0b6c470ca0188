"""The garbage collection of McSherry's article: rows of `intents` that no result depends on any more.

Rows are named by id and key, as the article's appendix corrects it: a row comparison never matches a NULL
value. What may go is found with one largest id by key, not with a self join (the appendix's aggregates).
The ids of all rows given must be closed: no transaction with a smaller id than the greatest may come later.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from protocols.data_plane.intents import IntentRow, intents_of
from protocols.data_plane.resolve import CLAUSES, Clauses, Resolved, resolve


@dataclass(frozen=True, slots=True)
class Retirable:
    """Rows that may go: of transactions rolled back, reads of committed ones, and writes that are dead."""

    failed: tuple[IntentRow, ...]
    committed_reads: tuple[IntentRow, ...]
    dead_writes: tuple[IntentRow, ...]

    @property
    def rows(self) -> frozenset[IntentRow]:
        """All of them, each once: one statement can delete them."""
        return frozenset((*self.failed, *self.committed_reads, *self.dead_writes))


def retirable(rows: Sequence[IntentRow], to_rollback: Set[int], clauses: Clauses = CLAUSES) -> Retirable:
    """Returns the rows that may go now.

    A write is dead if a committed transaction has written its key later and no later row reads the key: rows
    of reads that may go too still count, so some writes are dead only after the next call.
    """
    last_write = _largest(row for row in rows if not row.is_read and row.id not in to_rollback)
    last_read = _largest(row for row in rows if row.is_read)
    return Retirable(
        failed=tuple(row for row in rows if row.id in to_rollback),
        committed_reads=tuple(row for row in rows if row.is_read and row.id not in to_rollback),
        dead_writes=tuple(
            row
            for row in rows
            if not row.is_read
            and clauses.superseded(row.id, last_write.get(row.key, row.id))
            and clauses.unread(row.id, last_read.get(row.key, row.id))
        ),
    )


def _largest(rows: Iterable[IntentRow]) -> dict[str, int]:
    largest: dict[str, int] = {}
    for row in rows:
        largest[row.key] = max(row.id, largest.get(row.key, row.id))
    return largest


def retired(
    rows: Sequence[IntentRow], to_rollback: Set[int], clauses: Clauses = CLAUSES
) -> tuple[IntentRow, ...]:
    """Returns the rows that are left after all three tasks of the article, one after the other."""
    left = [row for row in rows if row.id not in to_rollback and not row.is_read]
    dead = set(retirable(left, frozenset(), clauses).dead_writes)
    return tuple(row for row in left if row not in dead)


def broken_task(rows: Sequence[IntentRow], resolved: Resolved, clauses: Clauses = CLAUSES) -> str:
    """Returns which task of the garbage collection changes what readers see; empty if none does.

    Each task runs by itself, because the one after it may hide what it has done: a write that is still read
    may only go once its readers' rows are gone. After a task the rows that are left must resolve to the same
    store, and the same transactions among them must be rolled back.
    """
    gone = retirable(rows, resolved.to_rollback, clauses)
    tasks = {
        "rows of transactions rolled back": frozenset(gone.failed),
        "reads of committed transactions": frozenset(gone.committed_reads),
        "dead writes": frozenset(gone.dead_writes),
        "all rows that may go": gone.rows,
    }
    for task, dropped in tasks.items():
        left = intents_of(row for row in rows if row not in dropped)
        again = resolve(left, clauses=clauses)
        if again.store != resolved.store:
            first, second = again.store.items(), resolved.store.items()
            key = min(key for key, _ in first ^ second)
            found, expected = again.store.get(key, "nothing"), resolved.store.get(key, "nothing")
            return f"without the {task} the store holds {found} at {key}, and {expected} with them"
        due = resolved.to_rollback & {intent.id for intent in left}
        if again.to_rollback != due:
            number = min(again.to_rollback ^ due)
            fate = "committed" if number in due else "rolled back"
            return f"without the {task} T{number} is {fate}, with them it is not"
    return ""
