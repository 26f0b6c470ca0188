"""The text of Plume, PolySI and IsoVista: lines `r(key,value,session,txn)` and `w(...)`; txn -1: aborted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from dvs_model.errors import HistoryError
from dvs_model.formats.plume_columns import quick
from dvs_model.formats.reader import Form, Item, Refused, Viewed, decoded
from dvs_model.observed.seen import Kind, Observed, Op, Records, Status, Transaction

LINE = re.compile(r"([rw])\((\d{1,19}),(\d{1,19}),(\d{1,19}),(-1|\d{1,19})\)", re.ASCII)
FOLLOWS = re.compile(r"\s*(\d{1,19})\s*->\s*(\d{1,19})\s*", re.ASCII)
LARGEST = 2**63 - 1
"""The largest number that these files hold."""


def read(file: BinaryIO, name: str, workload: str | None = None) -> Iterator[Item]:
    """Yields the history of a file; a companion `NAME_ww` adds the write dependencies that it lists."""
    try:
        data = file.read()
        observed = observed_in(data, name)
        companion = Path(f"{name}_ww")
        if companion.is_file():
            zero = ZERO.search(data) is not None
            observed.follows = list(_stated(observed, _follows(companion), companion.name, zero=zero))
        yield Viewed(observed, 1, Form.PLUME)
    except HistoryError as error:
        yield Refused(name, error)


ZERO = re.compile(rb",0\)\s*$", re.MULTILINE)
"""The end of a line of transaction 0."""

LARGE = 1 << 20
"""Bytes of a file from which on it is read at once."""


def _stated(
    observed: Observed, pairs: list[tuple[int, int]], name: str, *, zero: bool
) -> Iterator[tuple[int, int]]:
    """Yields pairs by the numbers of the history. `zero`: there is a transaction 0, which has another one.

    Raises HistoryError: there is no such transaction, or there is no key that both write.
    """
    keys = {
        each.number: {op.key for op in each.ops if op.kind is Kind.WRITE} for each in observed.transactions
    }
    again = zero + sum(each.status is Status.ABORTED for each in observed.transactions)
    kept = zero and observed.records.initial == {0}
    renumbered = max(keys, default=0) - again + 1
    for pair in pairs:
        before, after = (renumbered if number == 0 and kept else number for number in pair)
        if zero and not kept and pair[0] == 0:
            # What was there before the run comes first anyway.
            continue
        for number, known in zip(pair, (before, after), strict=True):
            if known not in keys or (number == 0 and not kept):
                raise HistoryError(f"{name}: {pair[0]} -> {pair[1]}: the history has no transaction {number}")
        if not keys[before] & keys[after]:
            raise HistoryError(f"{name}: {pair[0]} -> {pair[1]}: there is no key that both write")
        if before != after:
            yield before, after


def observed_in(data: bytes, name: str, large: int = LARGE) -> Observed:
    """Returns the history of a file. Raises HistoryError."""
    observed = quick(data, name) if len(data) >= large else None
    return _history(decoded(data), name) if observed is None else observed


def _history(text: str, name: str) -> Observed:
    ops: dict[int, list[Op]] = {}
    sessions: dict[int, str] = {}
    places: dict[int, int] = {}
    aborted: list[Transaction] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        found = LINE.fullmatch(line.removesuffix("\r"))
        if found is None or max(map(int, found.groups()[1:])) > LARGEST:
            raise HistoryError(f"a line is r(key,value,session,txn) or w(...), not {line[:60]!r}", number, 1)
        kind = Kind.READ if found[1] == "r" else Kind.WRITE
        op, session, txn = Op(kind, found[2], int(found[3])), found[4], int(found[5])
        if txn == -1:
            if kind is Kind.WRITE:
                # Which transaction it belonged to is lost.
                aborted.append(Transaction(-1, session, Status.ABORTED, [op], f"line {number}"))
            continue
        if sessions.setdefault(txn, session) != session:
            other = f"of {sessions[txn]} in line {places[txn]}"
            fact = f"transaction {txn} is of session {session} here, and {other}"
            raise HistoryError(fact, number, 1)
        places.setdefault(txn, number)
        ops.setdefault(txn, []).append(op)
    if not ops and not aborted:
        raise HistoryError("there is no operation in it", 1, 1)
    transactions = [
        Transaction(
            txn, sessions[txn], Status.COMMITTED, each, f"session {sessions[txn]}, line {places[txn]}"
        )
        for txn, each in ops.items()
    ]
    highest = max(ops, default=0)
    # T0 is what was there before the run.
    again = [*(each for each in transactions if each.number == 0), *aborted]
    for number, transaction in enumerate(again, highest + 1):
        transaction.number = number
    records = Records(aborts=True, initial=frozenset({0}))
    observed = Observed(name, [*transactions, *aborted], records)
    return _without_initial(observed, list(ops).index(0)) if 0 in ops else observed


def _without_initial(observed: Observed, at: int) -> Observed:
    """Returns the history with transaction 0 of IsoVista, which writes every key, as what was there before.

    It is the only one of its session, and only writes. `at`: its place among the transactions.
    """
    first = observed.transactions[at]
    others = [each for each in observed.transactions if each is not first]
    alone = sum(each.session == first.session for each in observed.transactions) == 1
    keys = {op.key for each in observed.transactions for op in each.ops}
    only_writes = all(op.kind is Kind.WRITE for op in first.ops) and len(first.ops) == len(keys)
    if len(observed.transactions) == 1 or not (
        alone and only_writes and {op.key for op in first.ops} == keys
    ):
        return observed
    before = {(op.key, op.value) for op in first.ops}
    for each in others:
        for op in each.ops:
            if op.kind is Kind.WRITE and (op.key, op.value) in before:
                raise HistoryError(
                    f"{op.value} is written twice to key {op.key}: in {first.place} and in {each.place}; "
                    "values must be unique, or no read tells what it has read"
                )
    observed.transactions = others
    for each in observed.transactions:
        each.ops = [
            Op(op.kind, op.key, None) if op.kind is Kind.READ and (op.key, op.value) in before else op
            for op in each.ops
        ]
    place = first.place
    observed.notes.append(f"{place}: this transaction writes every key, so it is what was there before")
    # So no other value is what was there before.
    observed.records = replace(observed.records, initial=frozenset({None}))
    return observed


def _follows(path: Path) -> list[tuple[int, int]]:
    """Returns the pairs a -> b of a companion file of IsoVista. Raises HistoryError."""
    pairs = []
    for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
        if line.strip():
            found = FOLLOWS.fullmatch(line)
            if found is None:
                raise HistoryError(f"{path.name}:{number}: a line is a -> b, not {line[:40]!r}")
            pairs.append((int(found[1]), int(found[2])))
    return pairs
