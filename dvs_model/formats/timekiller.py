"""TimeKiller's JSON: committed transactions with the start and commit timestamps of the database."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from dvs_model.columns.table import columns_of, held_twice
from dvs_model.errors import HistoryError
from dvs_model.formats.reader import Form, decoded, json_value, reads
from dvs_model.observed.seen import Kind, Observed, Op, Records, Status, Transaction

KINDS = {
    "w": Kind.WRITE,
    "write": Kind.WRITE,
    "r": Kind.READ,
    "read": Kind.READ,
    "a": Kind.APPEND,
    "append": Kind.APPEND,
}


STAMP = re.compile("[0-9]{1,40}")
"""A part of a timestamp that is text."""


@reads(Form.TIMEKILLER)
def read(data: bytes, name: str) -> Observed:
    """Returns the history of a file: one array of transactions."""
    found = json_value(decoded(data))
    if not isinstance(found, list) or not found:
        raise HistoryError("a history is one array of transactions, with at least one", 1, 1)
    return _history(found, name)


def with_initial(observed: Observed, data: bytes, name: str) -> Observed:
    """Returns a history that begins with the initial state of a second file: one transaction, as an object.

    It commits before every other one. Raises HistoryError: there is none in the file, or no timestamps in
    the history.
    """
    if not observed.records.stamps:
        raise HistoryError("--initial is for histories of TimeKiller, which have the database's timestamps")
    found = json_value(decoded(data))
    if not isinstance(found, dict) or not isinstance(found.get("ops"), list):
        raise HistoryError(
            f'{name}: the initial state is one transaction, {{"ops": [{{"t": "w", ..}}]}}', 1, 1
        )
    ops = [_op(op, observed.records.lists, name) for op in found["ops"]]
    if not all(op.kind in (Kind.WRITE, Kind.APPEND) for op in ops):
        raise HistoryError(f"{name}: the initial state has writes alone")
    least = min((each.start for each in observed.transactions if each.start is not None), default=(0, 0))
    number = 1 + max((each.number for each in observed.transactions), default=0)
    first = Transaction(number, "initial state", Status.COMMITTED, ops, f"the initial state, {name}")
    first.start = first.commit = (least[0] - 1, 0)
    return replace(observed, transactions=[first, *observed.transactions])


def _history(found: list[object], name: str) -> Observed:
    """Returns the history of an array of transactions. Raises HistoryError."""
    transactions: list[Transaction] = []
    numbers: dict[object, int] = {}
    lists = any(_has_lists(item) for item in found)
    for at, item in enumerate(found):
        where = f"transaction {at}"
        if not isinstance(item, dict) or not isinstance(item.get("ops"), list):
            raise HistoryError(
                f'{where}: a transaction is {{"tid": 4, "sid": 1, "sts": ..., "cts": ..., "ops": [..]}}'
            )
        tid = item.get("tid")
        if not isinstance(tid, int | str) or isinstance(tid, bool):
            raise HistoryError(f"{where}: tid is a number or text, not {tid!r}")
        if tid in numbers:
            raise HistoryError(f"{where}: tid {tid} is that of transaction {numbers[tid]} too")
        numbers[tid] = at
        ops = [_op(op, lists, f"{where} (tid {tid})") for op in item["ops"]]
        start, commit = (_stamp(item.get(key), f"{where} (tid {tid}): {key}") for key in ("sts", "cts"))
        if commit < start:
            raise HistoryError(f"{where} (tid {tid}): cts {commit} is before sts {start}")
        sid = item.get("sid")
        if not isinstance(sid, int | str) or isinstance(sid, bool):
            raise HistoryError(f"{where} (tid {tid}): sid is a number or text, not {sid!r}")
        # 1 and "1" are two sessions.
        session = json.dumps(sid) if isinstance(sid, str) and sid.lstrip("-").isdigit() else str(sid)
        place = f"session {session}, tid {tid}"
        number = tid if isinstance(tid, int) and 0 < tid < 10**17 else 10**17 + at
        transaction = Transaction(number, session, Status.COMMITTED, ops, place)
        transaction.start, transaction.commit = start, commit
        transactions.append(transaction)
    columns = columns_of(transactions) if lists else None
    if columns is not None and (both := held_twice(columns.kind, columns.key, columns.value)):
        place = transactions[int(columns.txn[both[1]])].place
        raise HistoryError(f"{place}: key {columns.op(both[1]).key} is written here and a list elsewhere")
    return Observed(name, transactions, Records(aborts=False, lists=lists, stamps=True))


def _has_lists(item: object) -> bool:
    """Tells whether a transaction appends to a list or reads one."""
    ops = item.get("ops") if isinstance(item, dict) else None
    return isinstance(ops, list) and any(
        isinstance(op, dict)
        and (isinstance(op.get("v"), list) or str(op.get("t")).lower() in ("a", "append"))
        for op in ops
    )


def _op(op: object, lists: bool, where: str) -> Op:
    """Returns an operation. `lists`: reads show lists. Raises HistoryError: it is none."""
    if not isinstance(op, dict) or str(op.get("t")).lower() not in KINDS:
        raise HistoryError(
            f'{where}: an operation is {{"t": "w", "k": 7, "v": 3}}, not {json.dumps(op)[:60]}'
        )
    kind, key, value = KINDS[str(op["t"]).lower()], op.get("k"), op.get("v")
    if not isinstance(key, int) or isinstance(key, bool) or key < 0:
        raise HistoryError(f"{where}: k is a number from 0, not {key!r}")
    if kind is Kind.READ and lists:
        if value is not None and not isinstance(value, list):
            raise HistoryError(f"{where}: a read of a list shows a list, not {value!r}")
        if not all(type(each) is int for each in value or ()):
            raise HistoryError(f"{where}: the elements of a list are numbers, not {json.dumps(value)[:60]}")
        return Op(Kind.READ_LIST, str(key), tuple(value or ()))
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise HistoryError(f"{where}: v is a number or null, not {value!r}")
    if value is None and kind is not Kind.READ:
        raise HistoryError(f"{where}: a write has a value v")
    return Op(kind, str(key), value)


def _stamp(value: object, what: str) -> tuple[int, int]:
    """Returns a timestamp: the physical and the logical part. Raises HistoryError: it is none."""
    if isinstance(value, dict):
        parts = [value.get("p"), value.get("l")]
        whole = [
            int(part) if type(part) is int or (isinstance(part, str) and STAMP.fullmatch(part)) else None
            for part in parts
        ]
        if whole[0] is not None and whole[1] is not None:
            return whole[0], whole[1]
    raise HistoryError(f'{what} is {{"p": 90, "l": 0}}, not {json.dumps(value)[:60]}')
