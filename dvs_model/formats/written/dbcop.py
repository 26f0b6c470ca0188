"""Histories of registers as dbcop writes them: its JSON, and the older binary file."""

from __future__ import annotations

import json
import struct

from dvs_model.formats.written.plain import by_session, number, value_of
from dvs_model.observed.seen import Kind, Observed, Op, Status, Transaction

GREATEST_NUMBER = 2**64 - 1


def dbcop_json(observed: Observed) -> bytes:
    """Returns the JSON of dbcop: the sessions alone.

    Raises HistoryError: a list, a key or value that is no number, or a transaction without an answer.
    """
    sessions = [
        [
            {"events": list(map(_array, each.ops)), "committed": each.status is Status.COMMITTED}
            for each in mine
        ]
        for mine in by_session(observed).values()
    ]
    return (json.dumps(sessions, indent=1) + "\n").encode()


def _array(op: Op) -> list[object]:
    """Returns an operation as dbcop's JSON has it, such as ["w", 3, 9]."""
    if op.kind is Kind.READ and op.value is None:
        return ["r", number(op.key, GREATEST_NUMBER), None]
    value = number(op.value, GREATEST_NUMBER) if op.value == 0 else value_of(op, GREATEST_NUMBER)
    return ["w" if op.kind is Kind.WRITE else "r", number(op.key, GREATEST_NUMBER), value]


def bincode(observed: Observed) -> bytes:
    """Returns the binary file of 2019. Raises HistoryError: as `dbcop_json`, and a written 0."""
    sessions = by_session(observed)
    counts = len(sessions), len({op.key for each in observed.transactions for op in each.ops})
    most = (
        max(map(len, sessions.values()), default=0),
        max((len(each.ops) for each in observed.transactions), default=0),
    )
    head = _integers(0, *counts, *most) + _text("") + _text(BEGAN) + _text(BEGAN)
    parts = (_integers(len(mine)) + b"".join(map(_transaction, mine)) for mine in sessions.values())
    return head + _integers(len(sessions)) + b"".join(parts)


BEGAN = "1970-01-01T00:00:00+00:00"
"""The beginning and end of the run, which nobody reads."""


def _integers(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


def _text(text: str) -> bytes:
    return _integers(len(text.encode())) + text.encode()


def _transaction(transaction: Transaction) -> bytes:
    events = b"".join(
        bytes([op.kind is Kind.WRITE])
        + _integers(number(op.key, GREATEST_NUMBER), value_of(op, GREATEST_NUMBER))
        + b"\1"
        for op in transaction.ops
    )
    return _integers(len(transaction.ops)) + events + bytes([transaction.status is Status.COMMITTED])
