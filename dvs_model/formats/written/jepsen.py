"""Histories of clients as Jepsen and Elle write them: EDN, and elle-cli's JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from dvs_model.errors import HistoryError
from dvs_model.formats.edn import canonical, forms
from dvs_model.formats.written.plain import sessions_of
from dvs_model.observed.seen import Kind, Observed, Op, Status, Transaction
from dvs_model.observed.values import Symbol, Text

TYPES = {Status.COMMITTED: "ok", Status.ABORTED: "fail", Status.UNKNOWN: "info"}
"""The type of the operation with which a transaction ends."""


def edn(observed: Observed) -> bytes:
    """Returns the history in EDN: invocations and completions of transactions, in order."""
    lines = (
        f"{{:type :{kind}, :process {process}, :value [{_ops(each, shown=kind != 'invoke')}]}}\n"
        for kind, process, each in _moments(observed)
    )
    return "".join(lines).encode()


def _moments(observed: Observed) -> Iterator[tuple[str, int, Transaction]]:
    """Yields the beginnings and ends of transactions in order: type, number of the process, transaction."""
    moments: list[tuple[float, int, str, Transaction]] = []
    numbers = sessions_of(observed)
    windows = [
        each.window or (2.0 * place, 2.0 * place + 1) for place, each in enumerate(observed.transactions)
    ]
    turns = list(zip((each.session for each in observed.transactions), windows, strict=True))
    last_to_begin = {(session, begin): place for place, (session, (begin, _)) in enumerate(turns)}
    first_to_end = {(session, end): place for place, (session, (_, end)) in reversed([*enumerate(turns)])}
    for place, (each, (session, (begin, end))) in enumerate(zip(observed.transactions, turns, strict=True)):
        # What ends when another one begins was not over before: so at one moment, beginnings come first.
        # But a process does one after the other: it ends one, and then begins the next one.
        after = first_to_end.get((session, begin), place) < place
        moments.append((begin, 2 if after else 0, "invoke", each))
        if end != float("inf") or each.status is not Status.UNKNOWN:
            before = last_to_begin.get((session, end), place) > place
            moments.append((end, 1 if before else 3, TYPES[each.status], each))
    for _, _, kind, each in sorted(moments, key=lambda moment: moment[:2]):
        yield kind, numbers[each.session], each


def _ops(transaction: Transaction, *, shown: bool) -> str:
    return " ".join(_op(op, shown=shown) for op in transaction.ops)


def _op(op: Op, *, shown: bool) -> str:
    word = {Kind.WRITE: ":w", Kind.APPEND: ":append"}.get(op.kind, ":r")
    value = "nil" if word == ":r" and not shown else _value(op.value)
    return f"[{word} {_key(op.key)} {value}]"


def _key(key: str) -> str:
    """Returns a key as it stands in EDN, if it comes from EDN; any other key as a text."""
    try:
        read = [canonical(form) for form, _ in forms(key)]
    except HistoryError:
        read = []
    return key if read == [key] else json.dumps(key, ensure_ascii=False)


def _value(value: object) -> str:
    match value:
        case None:
            return "nil"
        case tuple():
            return f"[{' '.join(map(_value, value))}]"
        case int():
            return str(value)
        case Symbol(text):
            return text
        case Text(text):
            return json.dumps(text, ensure_ascii=False)
        case str() if value.startswith(":"):
            return value
        case _:
            return json.dumps(str(value), ensure_ascii=False)


def elle_json(observed: Observed) -> bytes:
    """Returns the history as elle-cli's JSON: one array of operations.

    Raises HistoryError: a key or a value that JSON does not have, such as a keyword or a set.
    """
    keys = {op.key for each in observed.transactions for op in each.ops}
    if len({json.dumps(_json_key(key)) for key in keys}) < len(keys):
        raise HistoryError("two keys would be one in JSON, such as a text and a symbol; write .edn")
    operations = [
        {"type": kind, "f": "txn", "process": process, "value": _arrays(each, shown=kind != "invoke")}
        for kind, process, each in _moments(observed)
    ]
    lines = (json.dumps(operation, ensure_ascii=False) for operation in operations)
    return ("[" + ",\n ".join(lines) + "]\n").encode()


def _arrays(transaction: Transaction, *, shown: bool) -> list[list[object]]:
    words = {Kind.WRITE: "w", Kind.APPEND: "append"}
    return [
        [
            words.get(op.kind, "r"),
            _json_key(op.key),
            _json_value(op.value) if shown or op.kind in words else None,
        ]
        for op in transaction.ops
    ]


def _json_key(key: str) -> object:
    """Returns a key, which is EDN where the file was EDN: a number, a text in quotes, or a name."""
    if re.fullmatch(r"-?[0-9]{1,18}", key):
        return int(key)
    if re.fullmatch(r'"(?:[^"\\]|\\.)*"', key):
        return str(json.loads(key))
    if key[:1] in ":#[({":
        raise HistoryError(f"JSON has numbers and texts as keys, not {key[:60]}; write .edn")
    return key


def _json_value(value: object) -> object:
    match value:
        case tuple():
            return list(map(_json_value, value))
        case Text(text):
            return text
        case None | int():
            return value
        case Symbol("true" | "false" as text):
            return text == "true"
        case _:
            raise HistoryError(f"JSON has numbers and texts as values, not {_value(value)[:60]}; write .edn")
