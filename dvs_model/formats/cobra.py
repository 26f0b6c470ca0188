"""Folders of Cobra's logs: one binary file for each session, which names the writer of each read."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path

from dvs_model.errors import HistoryError
from dvs_model.formats.packed import bare, unpacked
from dvs_model.formats.reader import Form, Item, Refused, Viewed
from dvs_model.observed.seen import Kind, Observed, Op, Records, Status, Transaction, Window

LOADED, MISSING = 0xBEBEEBEE, 0xDEADBEEF
"""Instead of the writer: the key was there before the run; there was no such key."""
DELETE = 0xABCDEFAB
"""The write id of every delete."""
COLLECTION = (0x23332333, 0x66666666)
"""Write ids of reads for the recorder's garbage collection."""
SIZES = {b"S": 8, b"C": 8, b"A": 8, b"W": 24, b"R": 32}
"""Tag of a record (start, commit, abort, write, read) -> the bytes after it."""


def read(folder: Path, name: str) -> Iterator[Item]:
    """Yields the history of a folder."""
    try:
        yield Viewed(_history(folder, name), 1, Form.COBRA)
    except HistoryError as error:
        yield Refused(name, error)
    except OSError as error:
        yield Refused(name, HistoryError(f"cannot read it: {error.strerror or error}"))


def logs(folder: Path) -> Iterator[Path]:
    """Returns the logs of a folder, also compressed ones."""
    return (path for path in folder.iterdir() if bare(path.name).endswith(".log"))


def _session_of(path: Path) -> str:
    return bare(path.name).removesuffix(".log")


def _history(folder: Path, name: str) -> Observed:
    """Returns the history of a folder. Raises HistoryError."""
    files = sorted(logs(folder), key=lambda path: (int(re.sub(r"\D", "", _session_of(path)) or 0), path.name))
    transactions: list[Transaction] = []
    owner: dict[int, str] = {}
    for path in files:
        for transaction in _session(path):
            if transaction.number in owner:
                fact = f"{path.name}: transaction {transaction.number} is in {owner[transaction.number]} too"
                raise HistoryError(fact)
            owner[transaction.number] = path.name
            transactions.append(transaction)
    if not transactions:
        raise HistoryError("there is no transaction in its *.log files")
    if 0 in owner:
        # T0 is what was there before the run.
        other = max(owner) + 1
        for transaction in transactions:
            transaction.number = transaction.number or other
            transaction.ops = [
                op if op.writer is None or op.writer[0] else op._replace(writer=(other, op.writer[1]))
                for op in transaction.ops
            ]
    _agree(transactions)
    timed = all(each.window is not None for each in transactions)
    return Observed(name, transactions, Records(aborts=False, real_time=timed))


def _agree(transactions: list[Transaction]) -> None:
    """Checks that write ids are unique, and that reads name writes as their writers logged them.

    Raises HistoryError with both places.
    """
    writes: dict[object, tuple[Transaction, Op]] = {}
    logged = {each.number for each in transactions}
    for each in transactions:
        for op in each.ops:
            if op.kind is Kind.WRITE:
                other, _ = writes.setdefault(op.value, (each, op))
                if other is not each or writes[op.value][1] is not op:
                    raise HistoryError(f"write id {op.value} is in {other.place} and in {each.place}")
    for each in transactions:
        for op in each.ops:
            if op.kind is Kind.WRITE or op.writer is None or op.writer[0] not in logged:
                continue
            fact = f"{each.place}: a read names write {op.value} of transaction {op.writer[0]}"
            if op.value not in writes:
                raise HistoryError(f"{fact}, whose log has no such write")
            written = writes[op.value][1]
            if written.key != op.key or (written.writer is not None and written.writer[1] != op.writer[1]):
                raise HistoryError(f"{fact} with another key or value hash than the log of that write has")


def _records(path: Path) -> Iterator[tuple[int, bytes, tuple[int, ...]]]:
    """Yields the records of a log: each with the byte where it begins, its tag and its numbers."""
    with path.open("rb") as file:
        data, at = unpacked(file, path.name).read(), 0
    # A variant of the recorder adds milliseconds to the beginning and end of a transaction.
    stamped = len(data) > 17 and data[9:10] not in SIZES and data[17:18] in SIZES
    while at < len(data):
        tag = data[at : at + 1]
        if tag not in SIZES:
            raise _error(path, at, f"byte {tag[0]:#04x} is no record; S, C, A, W or R was expected")
        size = SIZES[tag] + (8 if stamped and tag in (b"S", b"C") else 0)
        body = data[at + 1 : at + 1 + size]
        if len(body) < size:
            raise _error(path, at, f"a record {tag.decode()} of {size} bytes is cut off after {len(body)}")
        yield at, tag, struct.unpack(f">{size // 8}q", body)
        at += 1 + size


def _session(path: Path) -> Iterator[Transaction]:
    """Yields the transactions of a log. Raises HistoryError with the byte that is wrong."""
    current: Transaction | None = None
    ops: list[Op] = []
    for at, tag, fields in _records(path):
        if tag == b"S":
            if current is not None:
                raise _error(path, at, f"transaction {fields[0]} begins inside {current.number}")
            ops = []
            place = f"session {_session_of(path)}, {path.name} byte {at}"
            window = Window(fields[1], float("inf")) if len(fields) > 1 else None
            current = Transaction(fields[0], _session_of(path), Status.COMMITTED, ops, place, window)
        elif current is None:
            raise _error(path, at, f"a record {tag.decode()} outside of a transaction")
        elif tag in (b"C", b"A"):
            if fields[0] != current.number:
                raise _error(path, at, f"transaction {fields[0]} ends inside {current.number}")
            current.status = Status.COMMITTED if tag == b"C" else Status.ABORTED
            if current.window is not None and len(fields) > 1:
                if fields[1] < current.window.begin:
                    raise _error(path, at, f"transaction {fields[0]} ends before it begins")
                current.window = Window(current.window.begin, fields[1])
            yield current
            current = None
        elif (op := _op(tag, fields, path, at)) is not None:
            ops.append(op)
    if current is not None:
        raise _error(path, path.stat().st_size, f"the file ends inside of transaction {current.number}")


def _op(tag: bytes, fields: tuple[int, ...], path: Path, at: int) -> Op | None:
    """Returns the operation of a record; None: a read for the recorder's own garbage collection."""
    if tag == b"W":
        write, key, value = fields
        if write == DELETE:
            raise _error(path, at, "a delete: all deletes share one write id, so reads of them are ambiguous")
        return Op(Kind.WRITE, str(key), write, (0, value))
    txn, write, key, value = fields
    if txn == LOADED and write in COLLECTION:
        return None
    if txn in (LOADED, MISSING) and write == txn:
        return Op(Kind.READ, str(key), None)
    return Op(Kind.READ, str(key), write, (txn, value))


def _error(path: Path, at: int, fact: str) -> HistoryError:
    return HistoryError(f"{path.name} byte {at}: {fact}")
