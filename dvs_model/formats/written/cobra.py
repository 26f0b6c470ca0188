"""Histories of registers as Cobra's logs: a binary file for each session."""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Mapping

from dvs_model.errors import HistoryError
from dvs_model.formats.cobra import LOADED
from dvs_model.formats.written.plain import by_session
from dvs_model.observed.seen import Kind, Observed, Op, Status, Transaction

Writers = dict[tuple[str, object], Transaction]
"""By key and value who wrote it."""


def cobra(observed: Observed) -> Mapping[str, bytes]:
    """Returns the logs by the names of their files. A value is the id of its write, which must be unique.

    Raises HistoryError: a list, a key or value that is no number, a value that is written to two keys, or a
    transaction without an answer.
    """
    writers: Writers = {}
    for each in observed.transactions:
        writers |= {(op.key, op.value): each for op in each.ops if op.kind is Kind.WRITE}
    ids = Counter(op.value for each in observed.transactions for op in each.ops if op.kind is Kind.WRITE)
    for value, count in ids.items():
        if count > 1:
            raise HistoryError(f"Cobra's write ids are unique, and {value} is written twice; write .edn")
    sessions = by_session(observed)
    named = all(re.fullmatch(r"T[0-9]+", name) for name in sessions)
    return {
        f"{name if named else f'T{place}'}.log": b"".join(_log(each, writers) for each in mine)
        for place, (name, mine) in enumerate(sessions.items(), 1)
    }


def _log(transaction: Transaction, writers: Writers) -> bytes:
    """Returns the records of a transaction."""
    end = "C" if transaction.status is Status.COMMITTED else "A"
    ops = (_op(op, writers) for op in transaction.ops)
    return _record("S", transaction.number) + b"".join(ops) + _record(end, transaction.number)


def _op(op: Op, writers: Writers) -> bytes:
    """Returns the record of an operation. Raises HistoryError: its key or value is no integer."""
    key = _integer(op.key)
    if op.kind is Kind.READ and op.value is None:
        return _record("R", LOADED, LOADED, key, 0)
    if op.kind not in (Kind.READ, Kind.WRITE):
        raise HistoryError("Cobra's logs have no lists; write .edn")
    hashed = 0 if op.writer is None else op.writer[1]
    if op.kind is Kind.WRITE:
        return _record("W", _integer(op.value), key, hashed)
    if op.writer is not None:
        return _record("R", op.writer[0], _integer(op.value), key, hashed)
    # A writer that is not there is one outside of the log.
    writer = writers[op.key, op.value].number if (op.key, op.value) in writers else 0
    return _record("R", writer, _integer(op.value), key, hashed)


def _integer(value: object) -> int:
    text = str(value)
    if not re.fullmatch(r"-?[0-9]{1,19}", text) or not -(2**63) <= int(text) < 2**63:
        raise HistoryError(f"Cobra's logs have numbers of 64 bits, and {text[:60]!r} is none; write .edn")
    return int(text)


def _record(tag: str, *fields: int) -> bytes:
    return tag.encode() + struct.pack(f">{len(fields)}q", *fields)
