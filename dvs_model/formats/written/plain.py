"""What the formats of registers share: sessions, keys and values that are numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dvs_model.errors import HistoryError
from dvs_model.observed.seen import Kind, Observed, Op, Status, Transaction

LARGEST = 2**63 - 1


def sessions_of(observed: Observed) -> Mapping[str, int]:
    """Returns the number of each session: its own, or one by their order where any name is no number."""
    names = dict.fromkeys(each.session for each in observed.transactions)
    if all(_is_number(name) for name in names):
        return {name: int(name) for name in names}
    return {name: number for number, name in enumerate(names, 1)}


def by_session(observed: Observed) -> Mapping[str, list[Transaction]]:
    """Returns the transactions of each session. Raises HistoryError: one got no answer."""
    for each in observed.transactions:
        if each.status is Status.UNKNOWN:
            raise HistoryError(
                f"this format has no transactions without an answer, as {each.place}; write .edn"
            )
    return observed.by_session()


def unmarked(observed: Observed) -> Observed:
    """Returns the history in which a read of what was there before the run shows nothing.

    Each format has a mark of its own for that, such as 0, which is replaced here.
    """
    marks = observed.records.initial - {None}
    if not marks:
        return observed
    written = {
        (op.key, op.value) for each in observed.transactions for op in each.ops if op.kind is Kind.WRITE
    }
    transactions = [
        replace(
            each,
            ops=[
                op._replace(value=None)
                if op.kind is Kind.READ and op.value in marks and (op.key, op.value) not in written
                else op
                for op in each.ops
            ],
        )
        for each in observed.transactions
    ]
    return replace(observed, transactions=transactions)


def number(value: object, most: int = LARGEST) -> int:
    """Returns a key or value that is a number from 0. Raises HistoryError: it is none, or too large."""
    text = str(value)
    if not _is_number(text) or int(text) > most:
        raise HistoryError(f"this format has numbers alone, and {text[:60]!r} is none of them; write .edn")
    return int(text)


def _is_number(text: str) -> bool:
    """Tells whether a text is a number from 0 as it is written: 07 is another name than 7."""
    return text.isdecimal() and text.isascii() and len(text) < 25 and str(int(text)) == text


def value_of(op: Op, most: int = LARGEST, *, zero_marks: bool = True) -> int:
    """Returns the value of an operation on a register; 0: what was there before the run.

    `zero_marks`: in this format 0 stands for what was there before the run, so that none may be written.
    Raises HistoryError: the operation is on a list, or its value is no number, or a 0 that was written.
    """
    if op.kind in (Kind.APPEND, Kind.READ_LIST):
        raise HistoryError("this format has no lists; write .edn")
    if zero_marks and op.kind is Kind.WRITE and op.value == 0:
        raise HistoryError("0 stands for what was there before the run, and it is written here; write .edn")
    return 0 if op.value is None else number(op.value, most)
