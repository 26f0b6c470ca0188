"""Histories of Jepsen and Elle: EDN, elle-cli's JSON and `history.txt`.

The workloads are list-append and rw-register; `closed_predicate` has the third one.

Operations are paired by process: `:invoke` opens, `:ok`, `:fail` or `:info` closes. What is a transaction is
decided by the shape of `:value`, as a vector of `[:append k v]`, `[:w k v]` and `[:r k ...]`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import pairwise
from typing import BinaryIO

from dvs_model.errors import HistoryError
from dvs_model.formats.closed_predicate import closed_predicate, is_closed_predicate
from dvs_model.formats.edn import canonical, shown
from dvs_model.formats.edn_columns import quick
from dvs_model.formats.jepsen import NO_PROCESS, TYPES, Operation, edn_operations, json_operations
from dvs_model.formats.processes import apart, independent_key, is_client, left_out, lives, paired, strangers
from dvs_model.formats.reader import Form, Item, Refused, Viewed, decoded
from dvs_model.observed.seen import AGREED, READS, Kind, Observed, Op, Records, Status, Transaction, Window
from dvs_model.observed.values import Symbol, Text

CLOSED_PREDICATE = "closed-predicate"
"""The name of the workload whose transactions also read by predicates."""

WORKLOADS = ("list-append", "register", CLOSED_PREDICATE)
"""The workloads by name; without one the operations tell which it is."""

PREDICATE_WORDS = ("init", "insert", "delete", "rp")
"""Words of which a file of the closed-predicate workload has one."""

OTHER = {":transfer", ":add", ":cas", ":acquire", ":release", ":enqueue", ":dequeue", ":inc", ":dec"}
"""Operations of other workloads of Jepsen."""

LARGE_FILE = 1 << 20
"""Bytes of a file from which on its lines are read by their shapes."""

BINARY = (b"JEPSEN", b"\xcd", b"\xc0")
"""The first bytes of Jepsen's binary files."""


@dataclass(slots=True)
class Gathered:
    """A history that is put together.

    `again`: how many transactions come after one of their process that got no answer. `lists`: whether a read
    shows a list or an append was seen. `nils`: whether a read shows nil. `kinds`: by key whether it holds a
    single value or a list, and the first line that shows it.
    """

    name: str
    workload: str | None
    again: int = 0
    lists: bool = False
    nils: bool = False
    transactions: list[Transaction] = field(default_factory=list)
    kinds: dict[str, tuple[Kind, int]] = field(default_factory=dict)

    def held(self, key: str, kind: Kind, line: int) -> None:
        """Notes that a key holds a list, or else a single value. Raises HistoryError: both."""
        other, at = self.kinds.setdefault(key, (kind, line))
        if other is not kind:
            what = ("a list", "a single value") if kind is Kind.APPEND else ("a single value", "a list")
            raise HistoryError(f"key {key} holds {what[0]} here and {what[1]} in line {at}", line, 1)


def read_edn(file: BinaryIO, name: str, workload: str | None = None) -> Iterator[Item]:
    """Yields the history of an EDN file, or those of its independent keys."""
    data = file.read()
    observed = quick(data, name, workload) if len(data) >= LARGE_FILE and _plain(data, workload) else None
    if observed is not None:
        yield Viewed(observed, 1, Form.EDN)
        return
    yield from _read(data, name, workload, edn_operations)


def _plain(data: bytes, workload: str | None) -> bool:
    """Tells whether no operation of the closed-predicate workload can be in a file."""
    return workload in WORKLOADS[:2] or not any(word.encode() in data for word in PREDICATE_WORDS)


def read_json(file: BinaryIO, name: str, workload: str | None = None) -> Iterator[Item]:
    """Yields the history of a file of elle-cli: one JSON array of operations."""
    for item in _read(file.read(), name, workload, json_operations):
        yield replace(item, form=Form.ELLE_JSON) if isinstance(item, Viewed) else item


def _read(
    data: bytes, name: str, workload: str | None, parse: Callable[[str], list[Operation]]
) -> Iterator[Item]:
    """Yields the histories of a file by its operations, or what is wrong with it."""
    try:
        if data.startswith(BINARY[0]) or (data[:1] in BINARY[1:] and not _is_text(data[:64])):
            raise HistoryError("a binary file of Jepsen; check the history.edn beside it", 1, 1)
        text = decoded(data)
        if not text.strip():
            raise HistoryError("an empty file; a history has operations", 1, 1)
        # Looked for in the text first, because looking at each operation takes long.
        may = workload is None and any(word in text for word in PREDICATE_WORDS)
        yield from _histories(parse(text), name, workload, may_be_predicates=may)
    except HistoryError as error:
        yield Refused(name, error)


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _histories(
    operations: list[Operation], name: str, workload: str | None, *, may_be_predicates: bool
) -> Iterator[Item]:
    """Yields the history of operations, or one for each independent key. Raises HistoryError."""
    if not operations:
        raise HistoryError("there is no operation in it", 1, 1)
    parts = {name: operations}
    if any(map(independent_key, operations)):
        parts = {f"{name} key {key}": part for key, part in apart(operations).items()}
    found = [
        _history(part, called, workload, may_be_predicates=may_be_predicates)
        for called, part in parts.items()
    ]
    with_operations = [
        each
        for each in found
        if not isinstance(each, Viewed) or any(t.ops for t in each.observed.transactions)
    ]
    if not with_operations:
        raise HistoryError("there is no transaction in it that wrote, or read and was answered", 1, 1)
    yield from with_operations


def _history(
    operations: list[Operation], name: str, workload: str | None, *, may_be_predicates: bool
) -> Item:
    """Returns the history of operations. Raises HistoryError."""
    has_process = any(operation.process is not NO_PROCESS for operation in operations)
    client = [o for o in operations if not has_process or is_client(o.process)]
    if not client:
        raise HistoryError(
            "no operation is of a client: every :process is something else than a number", 1, 1
        )
    unknown = strangers(operations) if has_process else []
    invoked = any(o.type == ":invoke" for o in client)
    if not has_process or not invoked:
        ends: list[tuple[Operation | None, Operation]] = [(None, o) for o in client if o.type != ":invoke"]
    else:
        ends = paired(client)
    timed = has_process and invoked
    if workload == CLOSED_PREDICATE or (may_be_predicates and is_closed_predicate(client)):
        if unknown:
            raise HistoryError(f"{left_out(unknown)}; reads by predicates need all", unknown[0].line, 1)
        return closed_predicate(ends, name, sessions=has_process, timed=timed and not _goes_back(client))
    reading = _transactions(ends, name, workload, alone=not has_process)
    lists = reading.lists or workload == "list-append"
    if lists and reading.nils:
        for transaction in reading.transactions:
            transaction.ops = [_as_list(reading, op) for op in transaction.ops]
    records = Records(aborts=True, sessions=has_process, real_time=timed, lists=lists, partial=bool(unknown))
    observed = Observed(name, reading.transactions, records)
    if timed:
        _times(observed, ends)
    if unknown:
        observed.notes.append(left_out(unknown))
    if reading.again:
        observed.notes.append(
            f"{reading.again} times a process goes on after an operation without an answer; what it does "
            "afterwards is a session of its own"
        )
    if not has_process:
        observed.notes.append("no operation has a :process, so sessions and real time are not known")
    return Viewed(observed, 1, Form.EDN)


def _transactions(
    ends: Sequence[tuple[Operation | None, Operation]], name: str, workload: str | None, *, alone: bool
) -> Gathered:
    """Returns the transactions of invocations and completions. Raises HistoryError.

    `alone`: each is a session of its own.
    """
    again = lives(ends)
    reading = Gathered(name, workload, len(again))
    for number, (begin, end) in enumerate(ends, 1):
        life = 1 if begin is None else again.get(begin.at, 1)
        _add(reading, number, begin, end, alone=alone, life=life)
    if workload == "register" and reading.lists:
        raise HistoryError(
            "it holds appends or reads of lists; --workload register is for single values", 1, 1
        )
    written = next((key for key, (kind, _) in reading.kinds.items() if kind is Kind.WRITE), None)
    if workload == "list-append" and written is not None:
        raise HistoryError(
            f"key {written} is written, not appended to; --workload list-append is for lists", 1, 1
        )
    _settle(reading.transactions)
    return reading


def _settle(transactions: Sequence[Transaction]) -> None:
    """Counts unanswered transactions as committed if a committed one read from them; drops others' reads.

    What an unanswered transaction has read is an answer if it committed, and it did if a committed one shows
    what it wrote.
    """
    unanswered = [each for each in transactions if each.status is Status.UNKNOWN]
    if not any(op.kind in READS for each in unanswered for op in each.ops):
        return
    written = {(op.key, op.value): each for each in unanswered for op in each.ops if op.kind not in READS}
    readers = [each for each in transactions if each.status is Status.COMMITTED]
    while readers:
        for op in readers.pop().ops:
            if op.kind in READS:
                for value in op.value if isinstance(op.value, tuple) else (op.value,):
                    writer = written.get((op.key, value))
                    if writer is not None and writer.status is Status.UNKNOWN:
                        writer.status = Status.COMMITTED
                        readers.append(writer)
    for each in unanswered:
        if each.status is Status.UNKNOWN:
            each.ops = [op for op in each.ops if op.kind not in READS]


def _add(
    reading: Gathered, number: int, begin: Operation | None, end: Operation, *, alone: bool, life: int
) -> None:
    """Adds the transaction of an invocation and its completion, if it is one. Raises HistoryError.

    `alone`: it is a session of its own. `life`: which session of its process it is in (see `lives`).
    """
    status = TYPES[end.type]
    assert status is not None
    line = end.line or (begin.line if begin else 0)
    source, reads = end, ReadAnswers.ALL
    if status is not Status.COMMITTED:
        # What a failed or unanswered transaction read is no answer, unless there is a value.
        if (not _is_transaction(end.value) or end.value == []) and begin is not None:
            source = begin
        elif status is Status.UNKNOWN and begin is not None and _is_transaction(begin.value):
            source = begin if end.value is None or not _is_transaction(end.value) else end
        answered = status is Status.UNKNOWN and source is end and begin is not None
        reads = ReadAnswers.VALUES if answered else ReadAnswers.NONE
    if not _is_transaction(source.value):
        if _unknown_value(source, status):
            return
        f = shown(source.f) if source.f is not None else "without :f"
        fact = f"operation {f} is no transaction: :value is a vector such as [[:append 1 2] [:r 1 nil]]"
        raise HistoryError(f"{fact}, not {shown(source.value)[:60]}", source.line or line, 1)
    assert isinstance(source.value, list)
    parts = source.value
    if reads is ReadAnswers.VALUES and begin is not None and _is_transaction(begin.value):
        parts = _answered(begin.value, parts)
    ops = [op for part in parts if (op := _op(reading, part, source.line, reads)) is not None]
    process = end.process if begin is None else begin.process
    session = f"{number}" if alone else f"{process}" if life == 1 else f"{process}, life {life}"
    where = begin.place if begin and not end.line else end.place
    place = where if alone else f"process {session}, {where}"
    window = None
    if begin is not None:
        window = Window(begin.at, end.at if end.at >= 0 and status is Status.COMMITTED else float("inf"))
    reading.transactions.append(Transaction(number, session, status, ops, place, window))


def _unknown_value(source: Operation, status: Status) -> bool:
    """Tells whether an operation without a value took no effect that could be seen."""
    return status is not Status.COMMITTED and source.value is None and str(source.f) not in OTHER


def _is_transaction(value: object) -> bool:
    return type(value) is list and all(
        type(part) is list and len(part) in (2, 3) and type(part[0]) is str and part[0] in _MICRO
        for part in value
    )


_MICRO = {":append", ":r", ":w", ":read", ":write"}
"""The words of micro-operations."""


def _answered(invoked: object, answers_given: list[object]) -> list[list[object]]:
    """Returns the micro-operations that a client asked for, with its answers where the same reads stand."""
    assert isinstance(invoked, list)
    answers = dict(enumerate(answers_given))
    return [
        answer
        if isinstance(answer := answers.get(place), list)
        and answer[:2] == part[:2]
        and part[0] in (":r", ":read")
        else part
        for place, part in enumerate(invoked)
    ]


class ReadAnswers(Enum):
    """The reads of a transaction that are answers. VALUES: those with a value, not nil."""

    ALL = "all"
    VALUES = "values"
    NONE = "none"


def _op(reading: Gathered, part: Sequence[object], line: int, shown: ReadAnswers) -> Op | None:
    """Returns the operation of a micro-operation; None: a read without an answer. `shown`: which have one."""
    f, key = part[0], canonical(part[1]) if type(part[1]) is not int else str(part[1])
    value = part[2] if len(part) == 3 else None
    if f in (":r", ":read"):
        reads = shown is ReadAnswers.ALL or (shown is ReadAnswers.VALUES and value is not None)
        if reads and value is not None:
            reading.held(key, Kind.APPEND if type(value) is list else Kind.WRITE, line)
        if type(value) is list:
            reading.lists = True
            plain = set(map(type, value)) <= {int}
            return Op(Kind.READ_LIST, key, tuple(value if plain else map(_hashed, value))) if reads else None
        if not reads:
            return None
        reading.nils = reading.nils or value is None
        return Op(Kind.READ, key, _hashed(value))
    kind = Kind.APPEND if f == ":append" else Kind.WRITE
    if kind is Kind.APPEND:
        reading.lists = True
    if len(part) < 3:
        raise HistoryError(
            f"a write has a key and a value, as in [{f} {key} 1]; [{f} {key}] has none", line, 1
        )
    if value is None:
        raise HistoryError(f"nil is written to key {key}, and nil is what was there before the run", line, 1)
    reading.held(key, kind, line)
    return Op(kind, key, _hashed(value))


def _as_list(reading: Gathered, op: Op) -> Op:
    """Returns a read of nil as one of the empty list, where the key holds a list."""
    written = reading.kinds.get(op.key, (Kind.APPEND, 0))[0]
    empty = op.kind is Kind.READ and op.value is None and written is Kind.APPEND
    return Op(Kind.READ_LIST, op.key, ()) if empty else op


def _hashed(value: object) -> object:
    """Returns a value that can be compared and hashed; what is neither number nor text is its EDN."""
    if value is None or type(value) is int or isinstance(value, str | Text | Symbol):
        return value
    # Of Python true is 1, of Clojure it is not.
    return Symbol(canonical(value))


def _goes_back(operations: Sequence[Operation]) -> int:
    """Returns how often `:time` goes back, among operations that have one."""
    times = [each.time for each in sorted(operations, key=lambda each: each.at)]
    recorded = [time for time in times if _is_time(time)]
    return sum(b < a for a, b in pairwise(recorded))  # type: ignore[operator]


def _is_time(time: object) -> bool:
    return isinstance(time, int | float) and not isinstance(time, bool)


def _times(observed: Observed, ends: Sequence[tuple[Operation | None, Operation]]) -> None:
    """Adds windows by `:time` where times go back, and says how often."""
    events = [o for begin, end in ends for o in (begin, end) if o is not None and o.at >= 0]
    back = _goes_back(events)
    if not back:
        return
    observed.notes.append(f":time goes back {back:,} times; {AGREED}")
    by_number: Mapping[int, tuple[Operation | None, Operation]] = dict(enumerate(ends, 1))
    for transaction in observed.transactions:
        begin, end = by_number[transaction.number]
        if begin is not None and transaction.window is not None:
            answered = transaction.window.end != float("inf") and _is_time(end.time)
            # Without a time nothing tells who was over before whom began.
            transaction.timed = Window(
                float(begin.time) if _is_time(begin.time) else float("-inf"),  # type: ignore[arg-type]
                float(end.time) if answered else float("inf"),  # type: ignore[arg-type]
            )
