"""The formats of dbcop: `history.bincode` of 2019, JSON and YAML of the same structure, and `.hist` text."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence

from dvs_model.errors import HistoryError
from dvs_model.formats.reader import Form, decoded, json_value, reads
from dvs_model.observed.seen import Kind, Observed, Op, Records, Status, Transaction

RECORDS = Records(aborts=True, initial=frozenset({None, 0}))
"""What JSON, YAML and `.hist` record: a read that shows nothing or 0 shows what was there before the run."""


@reads(Form.BINCODE)
def read_bincode(data: bytes, name: str) -> Observed:
    """Returns the history of a `history.bincode`."""
    return _Bincode(data).history(name)


class _Bincode:
    """Bytes with a place `at` that is read next: integers of 8 bytes, little-endian; booleans of one."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def number(self) -> int:
        if self.at + 8 > len(self.data):
            raise HistoryError(f"byte {self.at}: the file ends inside of a number")
        (found,) = struct.unpack_from("<Q", self.data, self.at)
        self.at += 8
        return int(found)

    def length(self, least: int) -> int:
        """Returns the length of a vector whose elements have at least some bytes."""
        at, found = self.at, self.number()
        if found * least > len(self.data) - self.at:
            raise HistoryError(f"byte {at}: {found} elements do not fit into the rest of the file")
        return found

    def boolean(self) -> bool:
        value = self.data[self.at : self.at + 1]
        if value not in (b"\0", b"\1"):
            found = f"{value[0]:#04x}" if value else "the end"
            raise HistoryError(f"byte {self.at}: a boolean is 0 or 1, not {found}")
        self.at += 1
        return value == b"\1"

    def text(self) -> str:
        length = self.length(1)
        self.at += length
        return self.data[self.at - length : self.at].decode("utf-8", "replace")

    def history(self, name: str) -> Observed:
        for _ in range(5):
            self.number()
        info, start, end = self.text(), self.text(), self.text()
        transactions: list[Transaction] = []
        for session in range(self.length(8)):
            for _ in range(self.length(9)):
                place = f"session {session}, byte {self.at}"
                events = [self.event() for _ in range(self.length(18))]
                if not (committed := self.boolean()):
                    events = [event for event in events if event[0].kind is Kind.WRITE]
                number = len(transactions) + 1
                transactions += _with_failed(number, session, events, place, committed=committed)
        if self.at != len(self.data):
            raise HistoryError(
                f"byte {self.at}: the history ends here, and {len(self.data) - self.at} bytes follow"
            )
        if not transactions:
            raise HistoryError("there is no transaction in it")
        observed = Observed(name, transactions, Records(aborts=True, initial=frozenset({0})))
        observed.notes.append(f"recorded from {info}, {start} to {end}")
        return observed

    def event(self) -> tuple[Op, bool]:
        write, key, value = self.boolean(), self.number(), self.number()
        return Op(Kind.WRITE if write else Kind.READ, str(key), value), self.boolean()


@reads(Form.DBCOP_JSON)
def read_json(data: bytes, name: str) -> Observed:
    """Returns the history of a JSON file, whole or a bare list of sessions."""
    return _structured(json_value(decoded(data)), name)


@reads(Form.DBCOP_JSON)
def read_yaml(data: bytes, name: str) -> Observed:
    """Returns the history of a YAML file of the same structure as the JSON."""
    return _structured(_yaml_value(decoded(data)), name)


def _structured(found: object, name: str) -> Observed:
    sessions = found.get("data") if isinstance(found, dict) else found
    if not isinstance(sessions, list):
        raise HistoryError('a history is a list of sessions, or an object with "data"', 1, 1)
    return Observed(name, list(_transactions(sessions)), RECORDS)


def _yaml_value(text: str) -> object:
    # Imported here, because every command would start later with it.
    import yaml

    try:
        # The quicker reader in C crashes on what is nested very deep.
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError, AttributeError, LookupError, TypeError) as error:
        mark = getattr(error, "problem_mark", None)
        place = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
        raise HistoryError(f"no YAML: {getattr(error, 'problem', None) or error}", *place) from None


def _transactions(sessions: list[object]) -> Iterator[Transaction]:
    number = 0
    for session, transactions in enumerate(sessions):
        if not isinstance(transactions, list):
            raise HistoryError(f"session {session} is no list of transactions")
        for at, transaction in enumerate(transactions):
            where = f"session {session}, transaction {at}"
            if not isinstance(transaction, dict) or not isinstance(transaction.get("events"), list):
                raise HistoryError(f'{where}: a transaction is {{"events": [...], "committed": true}}')
            committed = transaction.get("committed", transaction.get("success"))
            if not isinstance(committed, bool):
                raise HistoryError(f"{where}: committed is true or false, not {committed!r}")
            if transaction.get("success", committed) != committed:
                raise HistoryError(f"{where}: committed and success contradict each other")
            events = [(_event(e, f"{where}, event {n}"), e) for n, e in enumerate(transaction["events"])]
            done = [(op, not _failed(e)) for op, e in events]
            for each in _with_failed(number + 1, session, done, where, committed=committed):
                yield each
                number += 1
    if not number:
        raise HistoryError("there is no transaction in it")


def _with_failed(
    number: int, session: int, events: Sequence[tuple[Op, bool]], place: str, *, committed: bool
) -> Iterator[Transaction]:
    """Yields a transaction and, as an aborted one, the writes that failed in one that committed.

    `events`: the operations, and whether each has happened; a write of one that aborted counts anyway.
    """
    ops = [op for op, happened in events if happened or (op.kind is Kind.WRITE and not committed)]
    status = Status.COMMITTED if committed else Status.ABORTED
    yield Transaction(number, str(session), status, ops, place)
    failed = [op for op, happened in events if committed and not happened and op.kind is Kind.WRITE]
    if failed:
        yield Transaction(number + 1, f"{session} failed", Status.ABORTED, failed, place)


def _failed(event: object) -> bool:
    """Tells whether an event of 2019's structure says that it did not happen."""
    return isinstance(event, dict) and event.get("success") is False


def _event(event: object, where: str) -> Op:
    """Returns the operation of an event in JSON or YAML, in any of the structures that dbcop has had."""
    kind: object
    key: object
    value: object
    match event:
        case [("w" | "r") as kind, key, value]:
            pass
        case {"Write": {"variable": key, "version": value}, **other} if "Read" not in other:
            kind = "w"
        case {"Read": {"variable": key, "version": value}, **other} if "Write" not in other:
            kind = "r"
        case {"write": bool() as write, "variable": key, "value": value}:
            kind = "w" if write else "r"
        case _:
            raise HistoryError(
                f'{where}: an event is ["w", 3, 9] or {{"Write": {{"variable": 3, "version": 9}}}}'
            )
    whole = [
        isinstance(each, int) and not isinstance(each, bool) and 0 <= each < 2**64 for each in (key, value)
    ]
    if not whole[0] or not (whole[1] or (value is None and kind == "r")):
        raise HistoryError(
            f"{where}: variable and version are numbers from 0 to 2**64 - 1, not {key!r} and {value!r}"
        )
    return Op(Kind.WRITE if kind == "w" else Kind.READ, str(key), value)


GROUP = re.compile(r"\[([^\[\]]*)\](!?)")
"""A transaction of `.hist`; a ! after it: it aborted."""
EVENT = re.compile(r"(\w+)(?::=(\d{1,20})|==(\d{1,20}|\?))", re.ASCII)
"""An event of `.hist`: a write x:=1, a read x==1, or x==? of what was there before the run."""


@reads(Form.HIST)
def read_hist(data: bytes, name: str) -> Observed:
    """Returns the history of a `.hist` text."""
    transactions = list(_grouped(decoded(data)))
    if not transactions:
        raise HistoryError("there is no transaction in it; one is written [x:=1 y==2]", 1, 1)
    return Observed(name, transactions, RECORDS)


def _grouped(text: str) -> Iterator[Transaction]:
    """Yields the transactions of a `.hist` text. Raises HistoryError with line and column."""
    session = number = 0
    for line_number, given in enumerate(text.split("\n"), 1):
        line = given.removesuffix("\r")
        stripped = line.strip(" \t")
        if stripped.startswith("//") or not stripped:
            continue
        if not stripped.strip("-"):
            session += 1
            continue
        at = 0
        while at < len(line):
            if line[at] in " \t":
                at += 1
                continue
            if at and line.startswith("//", at):
                break
            found = GROUP.match(line, at)
            if found is None:
                raise HistoryError(
                    f"a transaction is [x:=1 y==2], not {line[at : at + 40]!r}", line_number, at + 1
                )
            number += 1
            status = Status.ABORTED if found[2] else Status.COMMITTED
            ops = [_op_of_word(word, line_number, found.start(1) + 1) for word in found[1].split()]
            if not ops or found[1] != found[1].strip():
                fact = "a transaction has an event, and no blanks beside its brackets"
                raise HistoryError(fact, line_number, at + 1)
            yield Transaction(number, str(session), status, ops, f"session {session}, line {line_number}")
            at = found.end()


def _op_of_word(word: str, line: int, column: int) -> Op:
    """Returns the operation of a word such as `x:=1`, `x==1` or `x==?`."""
    found = EVENT.fullmatch(word)
    if found is None or int(found[2] or (found[3] or "0").replace("?", "0")) >= 2**64:
        raise HistoryError(f"an event is x:=1, x==1 or x==?, not {word[:40]!r}", line, column)
    if found[2] is not None:
        return Op(Kind.WRITE, found[1], int(found[2]))
    return Op(Kind.READ, found[1], None if found[3] == "?" else int(found[3]))
