"""The operations of a file of Elle's closed-predicate workload: see `closed_predicate`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from dvs_model.errors import HistoryError
from dvs_model.formats.edn import Pairs, shown
from dvs_model.formats.jepsen import TYPES, Operation
from dvs_model.observed.history import plain_value
from dvs_model.observed.seen import Status
from dvs_model.observed.values import Text

WRITES = {":insert", ":w", ":write"}
READS = {":r", ":read"}

THERE = "there"
"""The kind of predicate that a read of one key is."""

WRITE, DELETE, READ = "write", "delete", "read"
"""The kinds of micro-operations."""


@dataclass(frozen=True, slots=True)
class Predicate:
    """`:true`; `[:= c]`, which matches the value c; or `[:mod m r]`, the numbers with the remainder r.

    THERE: that one key has a value, for reads of a key that find nothing.
    """

    kind: str
    arguments: tuple[object, ...] = ()

    @property
    def name(self) -> str:
        """The name in the notation."""
        parts = [plain_value(each) or "" for each in self.arguments]
        if not parts:
            return "all"
        text = "_".join([{"=": "is"}.get(self.kind, self.kind), *parts])
        return "".join(c if c.isalnum() or c == "_" else "_" for c in text.replace("-", "minus"))

    def keys(self, keys: Collection[str]) -> list[str]:
        """Returns those of some keys over which it ranges."""
        if self.kind == THERE:
            return [str(key) for key in self.arguments if key in keys]
        return list(keys)

    def matches(self, value: object) -> bool:
        """Tells whether a value that is there matches."""
        match self.kind, self.arguments:
            case "=", (wanted,):
                return value == wanted
            case "mod", (int() as modulus, remainder):
                return type(value) is int and value % modulus == remainder
        return True


@dataclass(frozen=True, slots=True)
class Txn:
    """A transaction of the file. `ops`: for each the kind, the key or the predicate, and the value or rows.

    `begin`, `end`: places of its invocation and completion in the file; `end` is None if it has none.
    """

    number: int
    status: Status
    session: str
    place: str
    line: int
    begin: int
    end: int | None
    ops: tuple[tuple[str, str | Predicate, object], ...]

    @property
    def end_at(self) -> int:
        """The place where it completed, or else where it was invoked."""
        return self.begin if self.end is None else self.end

    @property
    def answered(self) -> bool:
        """Whether it committed, and when is known."""
        return self.end is not None and self.status is Status.COMMITTED


@dataclass(slots=True)
class PredicateFile:
    """The transactions of a file, as operations are added. `initial`: what the keys held at first."""

    initialised: bool = False
    initial: dict[str, object] = field(default_factory=dict)
    transactions: list[Txn] = field(default_factory=list)

    def add(self, begin: Operation | None, end: Operation, number: int | None = None) -> int | None:
        """Adds the transaction of an operation, and returns its number; None: the operation is none.

        `number`: of the transaction; else one more than the last one's. Raises HistoryError: the operation is
        not of this workload.
        """
        status = TYPES[end.type]
        assert status is not None
        opened = begin or end
        # What a transaction without an answer has asked for is in its invocation; so of most that failed.
        asked = status is not Status.COMMITTED and opened.value is not None
        source = opened if asked and (status is Status.UNKNOWN or type(end.value) is not list) else end
        if source.f == ":init":
            self._init(source, status, end.type)
            return None
        if source.value is None and status is not Status.COMMITTED:
            return None
        if type(source.value) is not list:
            fact = f"a transaction is a vector such as [[:w 1 2]], not {shown(source.value)[:60]}"
            raise HistoryError(fact, source.line, 1)
        # Without processes, each operation is a client of its own.
        number = len(self.transactions) + 1 if number is None else number
        session = str(opened.process if isinstance(opened.process, int) else number)
        reads = status is Status.COMMITTED
        self.transactions.append(
            Txn(
                number=number,
                status=status,
                session=session,
                place=f"process {session}, line {source.line}",
                line=source.line,
                begin=opened.at,
                end=end.at if end.at >= 0 else None,
                ops=tuple(_op(part, source.line, reads=reads) for part in source.value),
            )
        )
        return number

    def _init(self, operation: Operation, status: Status, kind: str) -> None:
        """Adds what the keys hold at first. Raises HistoryError: it failed, or comes too late."""
        if self.initialised or self.transactions:
            raise HistoryError("operation :init comes once, before all others", operation.line, 1)
        if status is not Status.COMMITTED:
            fact = f"operation :init ends with {kind}, so nobody knows what the keys hold"
            raise HistoryError(fact, operation.line, 1)
        self.initialised = True
        value_of_key = _pairs(operation.value, operation.line)
        self.initial = {key: value for key, value in value_of_key.items() if value is not None}


def _op(part: object, line: int, *, reads: bool) -> tuple[str, str | Predicate, object]:
    """Returns one micro-operation. `reads`: whether what it read is known."""
    match part:
        case [str() as f, key, value] if f in WRITES:
            # A key without a value is not there.
            return (DELETE if value is None else WRITE), shown(key), _value(value)
        case [":delete", key, *_]:
            return DELETE, shown(key), None
        case [str() as f, key, *value] if f in READS and len(value) < 2:
            return READ, shown(key), _value(value[0]) if value and reads else None
        case [":rp", predicate, *value] if len(value) < 2:
            rows = _pairs(value[0], line) if value and reads else {}
            return READ, _predicate(predicate, line), rows
    raise HistoryError(
        "a micro-operation is [:insert k v], [:w k v], [:delete k], [:r k v] or [:rp pred {k v}], "
        f"not {shown(part)[:60]}",
        line,
        1,
    )


def _pairs(value: object, line: int) -> dict[str, object]:
    """Returns the value of each key of a map."""
    if value is None:
        return {}
    if isinstance(value, Pairs):
        return {shown(key): _value(each) for key, each in value}
    if isinstance(value, dict):
        # The keys of a JSON object are text, also where they are numbers elsewhere in the file.
        return {key if key.lstrip("-").isdigit() else shown(Text(key)): _value(v) for key, v in value.items()}
    raise HistoryError(f"what keys hold is a map such as {{1 2}}, not {shown(value)[:60]}", line, 1)


def _value(value: object) -> object:
    return value if value is None or type(value) is int else shown(value)


def _predicate(form: object, line: int) -> Predicate:
    """Returns a predicate. Raises HistoryError: the form is none."""
    head, *arguments = form if isinstance(form, list) and form else [form]
    word = head.text if isinstance(head, Text) else head.removeprefix(":") if isinstance(head, str) else head
    match word, [_value(each) for each in arguments]:
        case (("true" | True), []):
            return Predicate("true")
        case "=", [wanted]:
            return Predicate("=", (wanted,))
        case "mod", [int() as modulus, int() as remainder] if modulus:
            return Predicate("mod", (modulus, remainder))
    raise HistoryError(f"a predicate is :true, [:= c] or [:mod m r], not {shown(form)[:60]}", line, 1)
