"""Notes in the journal that a table was dropped: once, also if the process dies, and of that table alone."""

from __future__ import annotations

from contextlib import suppress

from dynamic_tables.errors import CorruptTable, StoreError
from dynamic_tables.journal.events import Dropped
from dynamic_tables.journal.state import Operations
from dynamic_tables.operations.tables import AccountTables


def note_dropped(account: AccountTables, table: str, number: int) -> None:
    """Writes into the journal that a table was dropped. Raises StoreError.

    `number`: the number of the table in the journal. Nothing is written if the journal says so already, or if
    it knows another table of that name by now, which has nothing to do with the table that was dropped.
    """
    dropped = Dropped(at=account.clock.now(), by=account.process, table=table)
    account.store.journal.append(lambda state: dropped if state.of(table).number == number else None)


def finish_drops(account: AccountTables) -> None:
    """Notes the drops that a process did not note before it ended, as far as they matter: members of groups.

    A group waits for all its members, so one that is gone would keep the others from being published.
    """
    with suppress(StoreError, CorruptTable):
        operations = account.store.journal.poll()
        if not operations.groups:
            return
        definitions = account.store.definitions()
        for member in [member for group in operations.groups.values() for member in group.members]:
            with suppress(CorruptTable):
                if member not in definitions and not operations.is_moving([member]):
                    _note_missing(account, member, operations.of(member).number)


def _note_missing(account: AccountTables, member: str, number: int) -> None:
    """Notes a member of a group as dropped, unless it is there, or under another name, by now."""
    dropped = Dropped(at=account.clock.now(), by=account.process, table=member)

    def make(state: Operations) -> Dropped | None:
        same = state.of(member).number == number and state.group_of(member) is not None
        gone = same and not state.is_moving([member]) and member not in account.store.definitions()
        return dropped if gone else None

    account.store.journal.append(make)
