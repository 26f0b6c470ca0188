"""Claims: of the processes that refresh a table at the same time, one goes on and the others wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event as Signal, Thread

from dynamic_tables.errors import DynamicTablesError, StoreError
from dynamic_tables.journal.events import Claimed, Released
from dynamic_tables.journal.state import Claim, Operations
from dynamic_tables.operations.states import is_held
from dynamic_tables.operations.tables import AccountTables
from dynamic_tables.schedule.lag import SECOND
from dynamic_tables.store.transactions.owner import has_ended

LEASE = 60 * SECOND
"""How long a claim holds without another sign of life, in microseconds."""

Decide = Callable[[Operations], Claimed | None]
"""From a state of the journal to the claim to write into it; None: nothing is to be claimed."""

PAUSE = 0.2
"""Seconds between two looks at a table that another process refreshes."""


@contextmanager
def claimed(
    account: AccountTables,
    tables: Sequence[str],
    timestamp: int,
    *,
    lease: int = LEASE,
    gone: Callable[[str], bool] = has_ended,
    observe: Callable[[DynamicTablesError], None] = lambda error: None,
    beats: bool = True,
) -> Iterator[bool]:
    """Claims tables inside the block; yields False, and claims none, if another process has one of them.

    `timestamp`: the data timestamp to which they will be refreshed. `lease`: how long the claim holds without
    a sign of life, in microseconds; with `beats` there is one each third of it. `gone`: tells whether a
    process has ended. `observe`: receives what goes wrong with a sign of life; the claim then runs out.
    Raises StoreError: the claim cannot be written.
    """
    claim = _whole(account, tables, timestamp, lease, gone)
    if account.store.journal.append(claim) is None:
        yield False
        return
    with _released(account, tables, observe), _alive(account, claim, lease if beats else 0, observe):
        yield True


@contextmanager
def claimed_in_turn(
    account: AccountTables,
    tables: Sequence[str],
    timestamp: int,
    *,
    pause: Callable[[float], None] = time.sleep,
) -> Iterator[bool]:
    """Claims tables inside the block, after other processes that live; yields whether it has waited for them.

    Tables are claimed in the order of their names, so that two who wait never wait for each other. With a
    clock that stands still while this process waits there is no waiting. Raises StoreError: the claim cannot
    be written, or another process has a table and there is no waiting.
    """
    ordered = sorted(tables)
    until, waited = 0, False

    def claim(operations: Operations) -> Claimed | None:
        nonlocal until
        now = _now(account, operations)
        free = ordered[: _free(account, ordered, operations, now, has_ended)]
        own = [each for each in free if _is_own(operations.of(each).claim, account.process, now)]
        # Own claims are made anew after a third of the lease, as `_alive` does.
        if free == own and until - now > LEASE * 2 // 3:
            return None
        until = now + LEASE
        return _claim(account, free, timestamp, until, now) if free else None

    with _released(account, ordered, lambda error: None):
        while True:
            account.store.journal.append(claim)
            operations = account.store.journal.poll()
            free = _free(account, ordered, operations, _now(account, operations), has_ended)
            if free == len(ordered):
                break
            if account.clock.simulated:
                other = operations.of(ordered[free]).claim
                by = "" if other is None else f" by {other.by}"
                raise StoreError(f"{ordered[free]} is being refreshed{by}; refresh it again after that")
            waited = True
            pause(PAUSE)
        whole = _whole(account, ordered, timestamp, LEASE, has_ended)
        with _alive(account, whole, 0 if account.clock.simulated else LEASE, lambda error: None):
            yield waited


def _whole(
    account: AccountTables, tables: Sequence[str], timestamp: int, lease: int, gone: Callable[[str], bool]
) -> Decide:
    """Returns the decision to claim all of some tables, or none while another process has one of them."""

    def claim(operations: Operations) -> Claimed | None:
        now = _now(account, operations)
        if _free(account, tables, operations, now, gone) < len(tables):
            return None
        return _claim(account, tables, timestamp, now + lease, now)

    return claim


def _now(account: AccountTables, operations: Operations) -> int:
    """Returns the time, not before the last event: a clock that went back must not undo a claim."""
    return max(account.clock.now(), operations.newest)


def _free(
    account: AccountTables,
    tables: Sequence[str],
    operations: Operations,
    now: int,
    gone: Callable[[str], bool],
) -> int:
    """Returns how many tables come before the first one that another process has."""
    claims = (operations.of(table).claim for table in tables)
    places = (index for index, each in enumerate(claims) if is_held(each, account.process, now, gone))
    return next(places, len(tables))


def _is_own(claim: Claim | None, process: str, now: int) -> bool:
    """Tells whether a claim is one of a process, and has not run out."""
    return claim is not None and claim.by == process and claim.until > now


def _claim(account: AccountTables, tables: Sequence[str], timestamp: int, until: int, now: int) -> Claimed:
    return Claimed(at=now, by=account.process, tables=tuple(tables), timestamp=timestamp, until=until)


@contextmanager
def _released(
    account: AccountTables, tables: Sequence[str], observe: Callable[[DynamicTablesError], None]
) -> Iterator[None]:
    """Opens a block after which the claims of this process on some tables are released."""
    try:
        yield
    finally:
        try:
            account.store.journal.add(
                Released(at=account.clock.now(), by=account.process, tables=tuple(tables))
            )
        except StoreError as error:
            # The claim runs out by itself.
            observe(error)


@contextmanager
def _alive(
    account: AccountTables,
    claim: Decide,
    lease: int,
    observe: Callable[[DynamicTablesError], None],
) -> Iterator[None]:
    """Opens a block in which a claim is made anew each third of a lease; with a lease of 0 never."""
    if not lease:
        yield
        return
    ended = Signal()

    def beat() -> None:
        while not ended.wait(lease / SECOND / 3):
            try:
                account.store.journal.append(claim)
            except DynamicTablesError as error:
                observe(error)

    heart = Thread(target=beat, name="claim", daemon=True)
    heart.start()
    try:
        yield
    finally:
        ended.set()
        heart.join()
