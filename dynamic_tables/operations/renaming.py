"""Renames of several tables and views together: all get their new names, or none, also if the process dies.

Each table and view is a folder, and is renamed by itself. So the journal says before what will be renamed
(`Moving`); if the process dies, the next operation of another one takes that over and finishes it.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from dynamic_tables.definition import Definition, DynamicTable
from dynamic_tables.errors import CorruptTable, DefinitionError, StoreError
from dynamic_tables.journal.events import Event, Moved, Moving, Renamed
from dynamic_tables.journal.state import Operations
from dynamic_tables.operations.tables import AccountTables, ensure_not_moving
from dynamic_tables.store.port import NamingStore
from dynamic_tables.store.transactions.owner import is_gone

RUNNING: set[str] = set()
"""The ids of the `Moving` that are under way in this process, also by other accounts and threads."""

BACK: set[str] = set()
"""The ids of the `Moving` that this process has taken back without being able to write `Moved`."""


def naming(account: AccountTables) -> NamingStore:
    """Returns the store of an account whose tables may get other names. Raises DefinitionError."""
    if not isinstance(account.store, NamingStore):
        raise DefinitionError("this account's store keeps no names; rename tables where they live")
    return account.store


def all_renamed(account: AccountTables, moves: Sequence[tuple[Definition, str]]) -> None:
    """Gives tables other names, one by one; all of them, or none if one cannot be, as on a full disk.

    Raises StoreError.
    """
    store = naming(account)
    if not store.renames:
        raise DefinitionError(
            f"{moves[0][0].name} keeps its name: an object store cannot rename a folder at once; clone the "
            "table under the other name, and drop this one"
        )
    moving = _planned(account, store, moves)
    RUNNING.add(moving.id)
    try:
        store.journal.append(lambda state: _begun(moving, state))
        try:
            for name, new_name, _ in moving.moves:
                store.rename(name, new_name)
            _note(account, moving)
            _end(account, moving)
        except BaseException:
            with suppress(StoreError):
                _go_back(account, store, moving)
            raise
    finally:
        RUNNING.discard(moving.id)
        _forget(account, moving)


def finish_renames(account: AccountTables) -> None:
    """Finishes the renames that a process had begun before it ended; nothing if there are none.

    What cannot be finished now, such as on a full disk, is tried again by the next operation.
    """
    store = account.store
    with suppress(StoreError, CorruptTable):
        unfinished = [moving for moving, _ in store.journal.poll().moving.values()]
        if not unfinished or not isinstance(store, NamingStore):
            return
        for moving in unfinished:
            mine = moving.by == account.process
            if moving.id in RUNNING or not (mine or is_gone(moving.by, moving.at // 1000)):
                continue
            if mine and moving.id in BACK:
                _end(account, moving)
            else:
                _finish(account, store, moving)
        store.begin()


def _planned(account: AccountTables, store: NamingStore, moves: Sequence[tuple[Definition, str]]) -> Moving:
    """Returns the event that announces some renames, with the identity of each table."""
    identities: dict[str, str] = {}
    listed: list[tuple[str, str, str]] = []
    for definition, new_name in moves:
        # A table that is renamed twice still lies under its first name.
        name = definition.name
        identities[new_name] = identities[name] if name in identities else store.identity(name)
        listed.append((name, new_name, identities[new_name]))
    return Moving(
        at=account.clock.now(),
        by=account.process,
        id=uuid.uuid4().hex,
        moves=tuple(listed),
        noted=tuple((each.name, new_name) for each, new_name in moves if isinstance(each, DynamicTable)),
    )


def _begun(moving: Moving, state: Operations) -> Moving:
    """Returns the event for the journal. Raises StoreError: one of the names is being changed already."""
    ensure_not_moving(state, *(name for move in moving.moves for name in move[:2]))
    return moving


def _finish(account: AccountTables, store: NamingStore, begun: Moving) -> None:
    """Takes over what another process has begun, and finishes it; nothing if somebody was faster."""
    takeover = replace(begun, at=account.clock.now(), by=account.process, id=uuid.uuid4().hex, takes=begun.id)
    RUNNING.add(takeover.id)
    try:
        if store.journal.append(lambda state: takeover if begun.id in state.moving else None) is None:
            return
        # Whatever this account knows of these names is from before.
        _forget(account, takeover)
        if not all(_is_there(store, takeover, identity) for *_, identity in takeover.moves):
            # Somebody has dropped or renamed one of them before it began.
            _go_back(account, store, takeover)
            return
        for name, new_name, identity in takeover.moves:
            if identity and store.identity(name) == identity:
                if store.identity(new_name):
                    # Somebody has made another table of that name meanwhile.
                    _go_back(account, store, takeover)
                    break
                store.rename(name, new_name)
        else:
            _note(account, takeover)
        _end(account, takeover)
    finally:
        RUNNING.discard(takeover.id)
        _forget(account, takeover)


def _go_back(account: AccountTables, store: NamingStore, moving: Moving) -> None:
    """Gives all their old names again, as far as these are free. Raises StoreError."""
    for name, new_name, identity in reversed(moving.moves):
        if identity and store.identity(new_name) == identity and not store.identity(name):
            store.rename(new_name, name)
    first = {identity: name for name, _, identity in reversed(moving.moves)}
    if all(
        store.identity(name) == identity or not _is_there(store, moving, identity)
        for identity, name in first.items()
    ):
        BACK.add(moving.id)
        while store.journal.append(lambda state: _next_back(account, moving, state)) is not None:
            pass
        _end(account, moving)


def _is_there(store: NamingStore, moving: Moving, identity: str) -> bool:
    """Tells whether a table of an identity has one of the names that it is to have in turn."""
    names = {name for *pair, moved in moving.moves if moved == identity for name in pair}
    return not identity or any(store.identity(name) == identity for name in names)


def _note(account: AccountTables, moving: Moving) -> None:
    """Notes in the journal each new name that is not noted there."""
    while account.store.journal.append(lambda state: _next(account, moving, state)) is not None:
        pass


def _next(account: AccountTables, moving: Moving, state: Operations) -> Event | None:
    """Returns the first `Renamed` that the journal does not have yet; None: it has all."""
    _, count = state.moving.get(moving.id, (moving, len(moving.noted)))
    for table, name in moving.noted[count : count + 1]:
        return _renamed(account, moving, table, name)
    return None


def _next_back(account: AccountTables, moving: Moving, state: Operations) -> Event | None:
    """Returns the reverse of the last `Renamed` that the journal has; None: it has none any more."""
    _, count = state.moving.get(moving.id, (moving, 0))
    for table, name in moving.noted[max(0, count - 1) : count]:
        return _renamed(account, moving, name, table)
    return None


def _renamed(account: AccountTables, moving: Moving, table: str, name: str) -> Renamed:
    """Returns the event that one table of a joint renaming has its new name."""
    return Renamed(at=account.clock.now(), by=account.process, table=table, name=name, moving=moving.id)


def _end(account: AccountTables, moving: Moving) -> None:
    """Writes `Moved` into the journal, unless another process has done it."""
    end = Moved(at=account.clock.now(), by=account.process, id=moving.id)
    account.store.journal.append(lambda state: end if moving.id in state.moving else None)
    BACK.discard(moving.id)


def _forget(account: AccountTables, moving: Moving) -> None:
    """Forgets what the account has computed for tables of the old and the new names."""
    for name, new_name, _ in moving.moves:
        account.forget(name)
        account.forget(new_name)
