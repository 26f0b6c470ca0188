"""Other names for tables and views: all of those that change together, or none, also if the process dies.

Each table and view is a folder, and is renamed by itself. So the journal says before what will be renamed; if
the process dies, the next operation of another one finishes that.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from dynamic_tables.definition import Definition, DynamicTable
from dynamic_tables.errors import CorruptTable, DefinitionError, StoreError
from dynamic_tables.journal.events import Moved, Moving, Renamed
from dynamic_tables.operations.operated import Operated
from dynamic_tables.store.owner import has_ended
from dynamic_tables.store.port import NamingStore


def naming(account: Operated) -> NamingStore:
    """Returns the store of an account whose tables may get other names. Raises DefinitionError."""
    if not isinstance(account.store, NamingStore):
        raise DefinitionError("this account's store keeps no names; rename tables where they live")
    return account.store


def all_renamed(account: Operated, moves: Sequence[tuple[Definition, str]]) -> None:
    """Gives tables other names, one by one; all of them, or none if one cannot be, as on a full disk.

    Raises StoreError.
    """
    store, moved, noted = naming(account), list[tuple[str, str]](), list[tuple[str, str]]()
    moving = _begun(account, store, moves)
    try:
        for name, new_name, _ in moving.moves:
            store.rename(name, new_name)
            moved.append((name, new_name))
        for name, new_name in moving.noted:
            _note_renamed(account, name, new_name)
            noted.append((name, new_name))
    except BaseException:
        for name, new_name in reversed(moved):
            store.rename(new_name, name)
        with suppress(StoreError):
            for name, new_name in reversed(noted):
                _note_renamed(account, new_name, name)
        raise
    finally:
        for name, new_name, _ in moving.moves:
            account.forget(name)
            account.forget(new_name)
        with suppress(StoreError):
            # If this cannot be written, the next operation of this process does.
            _end(account)


def _begun(account: Operated, store: NamingStore, moves: Sequence[tuple[Definition, str]]) -> Moving:
    """Writes into the journal what will be renamed, and returns that."""
    identities: dict[str, str] = {}
    listed: list[tuple[str, str, str]] = []
    for definition, new_name in moves:
        # A table that is renamed twice still lies under its first name.
        name = definition.name
        identities[new_name] = identities[name] if name in identities else store.identity(name)
        listed.append((name, new_name, identities[new_name]))
    moving = Moving(
        at=account.clock.now(),
        by=account.process,
        moves=tuple(listed),
        noted=tuple((each.name, new_name) for each, new_name in moves if isinstance(each, DynamicTable)),
    )
    store.journal.add(moving)
    return moving


def finish_renames(account: Operated) -> None:
    """Finishes the renames that a process had begun before it ended; nothing if there are none.

    What cannot be finished now, such as on a full disk, is tried again by the next operation.
    """
    store = account.store
    with suppress(StoreError, CorruptTable):
        state = store.journal.poll()
        moving = state.moving
        if moving is None or not isinstance(store, NamingStore):
            return
        if moving.by == account.process:
            # It failed, and this process could not write that all has its old name again.
            _end(account)
        elif has_ended(moving.by):
            for name, new_name, identity in moving.moves:
                if identity and store.identity(name) == identity:
                    store.rename(name, new_name)
            for name, new_name in moving.noted[state.renamed :]:
                _note_renamed(account, name, new_name)
            _end(account)


def _end(account: Operated) -> None:
    account.store.journal.add(Moved(at=account.clock.now(), by=account.process))


def _note_renamed(account: Operated, name: str, new_name: str) -> None:
    event = Renamed(at=account.clock.now(), by=account.process, table=name, name=new_name)
    account.store.journal.add(event)
