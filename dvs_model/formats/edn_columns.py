"""Large histories of Jepsen read as columns, by the shapes of their lines (`edn_shapes`).

Lines of one shape say the same with other numbers, so the operations of all of them are read as arrays at
once. What is not as usual makes `quick` return None: `elle` reads the file then, and its rules are these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dvs_model.columns.lookup import coded, spread
from dvs_model.columns.names import Numbered
from dvs_model.columns.table import (
    APPEND,
    COMMITTED,
    NOTHING,
    READ,
    READ_LIST,
    WRITE,
    Bools,
    Columns,
    Ints,
    Rows,
    Values,
    held_twice,
)
from dvs_model.formats.edn import Members, Pairs
from dvs_model.formats.edn_shapes import Shaped, shaped
from dvs_model.formats.processes import NEMESES
from dvs_model.observed.seen import AGREED, Observed, Records
from dvs_model.observed.time import Windows

TYPES = {":invoke": -1, ":ok": 0, ":fail": 1, ":info": 2}
"""The code of a status, or -1 for an invocation."""

READS, WRITES = (":r", ":read"), {":append": APPEND, ":w": WRITE, ":write": WRITE}
NO_RUN = -1
"""Instead of the number of a run: the shape has none there."""


@dataclass(frozen=True, slots=True)
class MicroOp:
    """A micro-operation of a shape. `key`: the run that begins with its key. `items`: that of a list.

    `kind`: as in `columns.table`. `alone`: the key is a run of its own; else the value is the second number
    of the run.
    """

    kind: int
    key: int
    items: int = NO_RUN
    alone: bool = False


@dataclass(slots=True)
class Shape:
    """What lines of a shape say. `process`, `index`, `time`: runs, or NO_RUN. `ops`: None: no transaction.

    `type`: as in TYPES; -2: none. `single`: runs outside of `:value`, which must be one number each.
    """

    type: int
    process: int = NO_RUN
    index: int = NO_RUN
    time: int = NO_RUN
    ops: list[MicroOp] | None = None
    single: list[int] = field(default_factory=list)


def quick(data: bytes, name: str, workload: str | None) -> Observed | None:
    """Returns the history of a file; None: read it operation by operation, which says what is wrong."""
    lines = shaped(data)
    if lines is None:
        return None
    shapes = [_shape(each) for each in lines.maps]
    if any(each is None for each in shapes):
        return None
    return _Reading(lines, [each for each in shapes if each is not None]).observed(name, workload)


def _shape(form: Pairs) -> Shape | None:
    """Returns what a shape says; None: something that is not usual."""
    run, shape, process = 0, Shape(-2), False
    for key, value in form:
        match key, value:
            case ":type", str() if value in TYPES:
                shape.type = TYPES[value]
            case ":process", _:
                # A nemesis is no client.
                process, shape.process = True, run if type(value) is int else NO_RUN
            case ":index", _ if type(value) is int:
                shape.index = run
            case ":time", _ if type(value) is int:
                shape.time = run
            case ":value", list():
                shape.ops = _ops(value, run)
            case ((":index" | ":time" | ":type"), _):
                return None
            case _:
                pass
        count = _runs(key) + _runs(value)
        if key != ":value" or type(value) is int:
            # One number each: of two the second one would be a key.
            shape.single += range(run, run + count)
        run += count
    value, who = form.find(":value"), form.find(":process")
    if type(value) is list and who not in NEMESES and (shape.ops is None or type(who) is not int):
        # A transaction that is written in another way, or of a stranger, or none at all.
        return None
    repeated_key = len({key for key, _ in form if isinstance(key, str)}) < len(form)
    return shape if shape.type != -2 and process and not repeated_key else None


def _ops(value: list[object], run: int) -> list[MicroOp] | None:
    """Returns the micro-operations of a transaction; None: it is none. `run`: its first run."""
    if isinstance(value, Pairs | Members):
        return None
    ops = []
    for part in value:
        op = _op(part, run)
        if op is None:
            return None
        ops.append(op)
        run += _runs(part)
    return ops


def _op(part: object, run: int) -> MicroOp | None:
    """Returns a micro-operation of a shape, where a 0 stands for one number or several; None: it is none."""
    if type(part) is not list or len(part) not in (2, 3) or type(part[1]) is not int:
        return None
    f, shown = part[0], part[2:]
    if type(f) is not str:
        return None
    if f in WRITES:
        return MicroOp(WRITES[f], run) if not shown else None
    if f not in READS:
        return None
    if not shown:
        # One number: the key, without what was read. Two: a value as well.
        return MicroOp(READ, run)
    if shown == [None]:
        return MicroOp(READ, run, alone=True)
    items = shown[0]
    if type(items) is not list or any(type(item) is not int for item in items) or len(items) > 1:
        return None
    return MicroOp(READ_LIST, run, run + 1 if items else NO_RUN, alone=True)


def _runs(form: object) -> int:
    """Returns how many runs of numbers a form has."""
    if isinstance(form, Pairs):
        return sum(_runs(name) + _runs(value) for name, value in form)
    if isinstance(form, list):
        return sum(map(_runs, form))
    return type(form) is int


@dataclass(slots=True)
class _Ops:
    """Operations that are put together: by each its line, its place there, kind, key, value, and its list."""

    line: list[Ints] = field(default_factory=list)
    place: list[Ints] = field(default_factory=list)
    kind: list[Ints] = field(default_factory=list)
    key: list[Ints] = field(default_factory=list)
    value: list[Ints] = field(default_factory=list)
    begin: list[Ints] = field(default_factory=list)
    end: list[Ints] = field(default_factory=list)

    def joined(self) -> tuple[Ints, ...]:
        """Returns all columns, by line and place."""
        nothing = np.empty(0, np.int64)
        of = (self.line, self.place, self.kind, self.key, self.value, self.begin, self.end)
        columns = [np.concatenate([nothing, *parts]) for parts in of]
        order = np.lexsort((columns[1], columns[0]))
        return tuple(each[order] for each in columns)


class _Reading:
    """A file that is read. By line, from 0: `type` (-2: blank), `process`, `index`, `time`, `transaction`.

    `usual`: whether all so far is as usual; looked at in the end alone.
    """

    def __init__(self, lines: Shaped, shapes: Sequence[Shape]) -> None:
        self.lines, self.shapes = lines, shapes
        count = len(lines.shape)
        self.type = np.full(count, -2, np.int64)
        self.process, self.index, self.time = (np.full(count, -1, np.int64) for _ in range(3))
        self.transaction = np.zeros(count, np.bool_)
        self.usual = True

    def single(self, lines: Ints, run: int) -> Ints:
        """Returns the numbers that are runs of their own."""
        runs = self.lines.run[lines] + run
        self.usual &= bool((self.lines.run_lengths(runs) == 1).all())
        return self.lines.numbers[self.lines.first[runs]]

    def observed(self, name: str, workload: str | None) -> Observed | None:
        """Returns the history; None: something in it is not usual."""
        ops, by_shape = _Ops(), np.argsort(self.lines.shape, kind="stable")
        ends = np.searchsorted(self.lines.shape[by_shape], np.arange(len(self.shapes) + 1))
        for number, shape in enumerate(self.shapes):
            of = by_shape[ends[number] : ends[number + 1]]
            self.type[of] = shape.type
            for run in shape.single:
                self.single(of, run)
            for run, column in (
                (shape.process, self.process),
                (shape.index, self.index),
                (shape.time, self.time),
            ):
                if run != NO_RUN:
                    column[of] = self.single(of, run)
            # A nemesis is not looked at, nor what a client asks for.
            if shape.ops is not None and shape.process != NO_RUN:
                self.transaction[of] = True
                self.add(ops, of, shape.ops)
        pairs = self.pairs() if self.usual and self.numbered() else None
        return None if pairs is None else self.history(name, workload, ops.joined(), *pairs)

    def add(self, ops: _Ops, of: Ints, shaped_ops: Sequence[MicroOp]) -> None:
        """Adds the operations of lines of one shape."""
        lines = self.lines
        for place, op in enumerate(shaped_ops):
            runs = lines.run[of] + op.key
            length, at = lines.run_lengths(runs), lines.first[runs]
            kind = np.full(len(of), op.kind, np.int64)
            value = np.full(len(of), NOTHING, np.int64)
            begin = end = np.zeros(len(of), np.int64)
            if op.alone:
                self.usual &= bool((length == 1).all())
                if op.items != NO_RUN:
                    items = lines.run[of] + op.items
                    begin, end = lines.first[items], lines.first[items + 1]
                    value = lines.numbers[end - 1]
            else:
                two = length == 2
                self.usual &= bool((two | (length == 1)).all() if op.kind == READ else two.all())
                value[two] = lines.numbers[at[two] + 1]
            ops.line.append(of)
            ops.place.append(np.full(len(of), place, np.int64))
            ops.kind.append(kind)
            ops.key.append(lines.numbers[at])
            ops.value.append(value)
            ops.begin.append(begin)
            ops.end.append(end)

    def numbered(self) -> bool:
        """Numbers operations that have no index; returns whether the order of the file and indexes agree."""
        there = np.flatnonzero(self.type > -2)
        given = self.index[there] >= 0
        if not given.any():
            self.index[there] = np.arange(len(there))
            return True
        return bool(given.all()) and bool((np.diff(self.index[there]) > 0).all())

    def pairs(self) -> tuple[Ints, Ints] | None:
        """Returns by transaction the line of its invocation, and that of its completion or -1."""
        client = np.flatnonzero((self.type > -2) & (self.process >= 0))
        order = client[np.argsort(self.process[client], kind="stable")]
        begins = self.type[order] == -1
        last = np.ones(len(order), np.bool_)
        last[:-1] = self.process[order][1:] != self.process[order][:-1]
        first = np.ones(len(order), np.bool_)
        first[1:] = last[:-1]
        # Invocations and completions take turns in each process, which ends where it got no answer.
        if (begins[first] == 0).any() or (begins[1:] == begins[:-1])[~first[1:]].any():
            return None
        if (self.type[order][~last] == TYPES[":info"]).any():
            return None
        begin = order[begins]
        has_end = ~last[begins]
        end = np.full(len(begin), -1, np.int64)
        end[has_end] = order[np.flatnonzero(begins)[has_end] + 1]
        by_begin = np.argsort(begin)
        return begin[by_begin], end[by_begin]

    def history(
        self, name: str, workload: str | None, ops: tuple[Ints, ...], begin: Ints, end: Ints
    ) -> Observed | None:
        """Returns the history of transactions; None: something in it is not usual."""
        times = self.time[np.concatenate((begin, end[end >= 0]))]
        if not len(begin) or ((times < 0).any() and (times >= 0).any()):
            return None
        status = np.where(end >= 0, self.type[end], 2)
        # What a failed or unanswered transaction has read is no answer, so that its invocation will do.
        filled = np.zeros(len(self.type), np.bool_)
        filled[ops[0]] = True
        answered = (ops[2] == READ_LIST) | ((ops[2] == READ) & (ops[4] != NOTHING))
        if answered[self.type[ops[0]] == TYPES[":info"]].any():
            # Somebody may have read from it, and then its reads count.
            return None
        source = np.where((end >= 0) & ((status == COMMITTED) | ((status == 1) & filled[end])), end, begin)
        if not self.transaction[source].all():
            return None
        # By line the transaction that it tells of; -1: lines that are not the source of one.
        of_line = np.full(len(self.type), -1, np.int64)
        of_line[source] = np.arange(len(source))
        txn = of_line[ops[0]]
        kept = txn >= 0
        # Of transactions that did not commit only the writes: WRITE and APPEND are the least kinds.
        kept &= (status[txn] == COMMITTED) | (ops[2] <= APPEND)
        lists = bool((ops[2][txn >= 0] == READ_LIST).any() or (ops[2][txn >= 0] == APPEND).any())
        chosen = np.flatnonzero(kept)
        if not len(chosen):
            return None
        chosen = chosen[np.argsort(txn[chosen], kind="stable")]
        txn = txn[chosen]
        kind, key, value, first, last = (each[chosen] for each in ops[2:])
        code, keys = coded(key)
        nothing = (kind == READ) & (value == NOTHING)
        other = (workload == "register" and lists) or (workload == "list-append" and (kind == WRITE).any())
        if other or held_twice(kind, code, value) is not None:
            return None
        lists = lists or workload == "list-append"
        if lists:
            # Of a key that shows no single value, nothing is the empty list.
            single = (kind == WRITE) | ((kind == READ) & ~nothing)
            kind[nothing & ~(np.bincount(code[single], minlength=len(keys)) > 0)[code]] = READ_LIST
        starts, items = self.elements(kind, first, last)
        session, sessions = coded(self.process[begin])
        columns = Columns(
            txn=txn,
            kind=kind.astype(np.int8),
            key=code,
            value=value,
            starts=starts,
            items=items,
            writer=None,
            first=np.searchsorted(txn, np.arange(len(begin) + 1)),
            number=np.arange(1, len(begin) + 1),
            status=status.astype(np.int8),
            session=session,
            keys=Numbered(keys),
            sessions=Numbered(sessions),
            values=Values(),
        )
        records = Records(aborts=True, sessions=True, real_time=True, lists=lists)
        return self.timed(name, columns, records, begin, end)

    def elements(self, kind: Ints, first: Ints, last: Ints) -> tuple[Ints | None, Ints]:
        """Returns where the elements of each list begin, and the elements."""
        if not (kind == READ_LIST).any():
            return None, np.empty(0, np.int64)
        place, _ = spread(first, last)
        return np.concatenate(([0], np.cumsum(last - first))), self.lines.numbers[place]

    def timed(self, name: str, columns: Columns, records: Records, begin: Ints, end: Ints) -> Observed:
        """Returns the history with its real time."""
        answered = (end >= 0) & (columns.status == COMMITTED)
        windows = _windows(self.index, begin, end, answered)
        timed, notes = None, list[str]()
        events = np.sort(np.concatenate((begin, end[end >= 0])))
        times = self.time[events]
        back = int((np.diff(times) < 0).sum())
        if back:
            notes.append(f":time goes back {back:,} times; {AGREED}")
            timed = _windows(self.time, begin, end, answered)
        sessions, session = columns.sessions, columns.session
        line = np.where(end >= 0, end, begin) + 1

        def place(index: int) -> str:
            return f"process {sessions[int(session[index])]}, line {line[index]}"

        return Observed(name, Rows(columns, place, windows, timed), records, notes)


def _windows(moments: Ints, begin: Ints, end: Ints, answered: Bools) -> Windows:
    """Returns begin and end by transaction, of which those without an answer have no end."""
    found = np.full((len(begin), 2), np.inf)
    found[:, 0] = moments[begin]
    found[answered, 1] = moments[end[answered]]
    return found
