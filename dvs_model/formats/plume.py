"""The text of Plume, PolySI and IsoVista: lines `r(key,value,session,txn)` and `w(...)`; txn -1: aborted.

A large file of plain lines is read at once, twenty times as fast as line by line.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dvs_model.columns.lookup import coded, numbered, pairs
from dvs_model.columns.names import Numbered
from dvs_model.columns.table import (
    ABORTED,
    COMMITTED,
    NOTHING,
    OTHERS,
    READ,
    WRITE,
    Bools,
    Columns,
    Ints,
    Rows,
    Values,
)
from dvs_model.errors import HistoryError
from dvs_model.formats.reader import Form, decoded, reads
from dvs_model.observed.seen import Kind, Observed, Records, Status

LINE = re.compile(r"([rw])\((\d{1,19}),(\d{1,19}),(\d{1,19}),(-1|\d{1,19})\)", re.ASCII)
FOLLOWS = re.compile(r"\s*(\d{1,19})\s*->\s*(\d{1,19})\s*", re.ASCII)
LARGEST = 2**63 - 1
"""The largest number that these files hold."""


@reads(Form.PLUME)
def read(data: bytes, name: str) -> Observed:
    """Returns the history of a file; a companion `NAME_ww` adds the write dependencies that it lists."""
    observed = observed_in(data, name)
    companion = Path(f"{name}_ww")
    if companion.is_file():
        zero = ZERO.search(data) is not None
        observed.follows = list(_stated(observed, _follows(companion), companion.name, zero=zero))
    return observed


ZERO = re.compile(rb",0\)\s*$", re.MULTILINE)
"""The end of a line of transaction 0."""

LARGE_FILE = 1 << 20
"""Bytes of a file from which on it is read at once."""


def _stated(
    observed: Observed, pairs: list[tuple[int, int]], name: str, *, zero: bool
) -> Iterator[tuple[int, int]]:
    """Yields the pairs of a companion file with the numbers that transactions have in the history.

    `zero`: the file has a transaction 0. In the history it has the first number after the highest one, or it
    is what was there before the run. Raises HistoryError: there is no such transaction, or there is no key
    that both write.
    """
    keys = {
        each.number: {op.key for op in each.ops if op.kind is Kind.WRITE} for each in observed.transactions
    }
    renumbered_count = zero + sum(each.status is Status.ABORTED for each in observed.transactions)
    zero_is_kept = zero and observed.records.initial == {0}
    # Numbers after the highest one: transaction 0 has the first of them, then come aborted ones.
    renumbered = max(keys, default=0) - renumbered_count + 1
    for pair in pairs:
        before, after = (renumbered if number == 0 and zero_is_kept else number for number in pair)
        if zero and not zero_is_kept and pair[0] == 0:
            # What was there before the run comes first anyway.
            continue
        for number, renamed in zip(pair, (before, after), strict=True):
            if renamed not in keys or (number == 0 and not zero_is_kept):
                raise HistoryError(f"{name}: {pair[0]} -> {pair[1]}: the history has no transaction {number}")
        if not keys[before] & keys[after]:
            raise HistoryError(f"{name}: {pair[0]} -> {pair[1]}: there is no key that both write")
        if before != after:
            yield before, after


PARENTHESES = bytes.maketrans(b"()", b",\n")
AROUND = len("r(,,,)\n")
"""Characters of a line beside its numbers."""

BLOCK = 1 << 24
"""Bytes that Arrow's reader takes at once."""


@dataclass(slots=True)
class Lines:
    """The lines of a file as arrays, an element each. `key`, `session`: places in `keys` and `sessions`.

    `number`: where the line stands in the file.
    """

    write: Bools
    key: Ints
    value: Ints
    session: Ints
    txn: Ints
    number: Ints
    keys: Sequence[str]
    sessions: Sequence[str]
    values: Values


def observed_in(data: bytes, name: str, large: int = LARGE_FILE) -> Observed:
    """Returns the history of a file. Raises HistoryError."""
    lines = quick(data) if len(data) >= large else None
    return _observed(_one_by_one(decoded(data)) if lines is None else lines, name)


def _one_by_one(text: str) -> Lines:
    """Returns the lines of a file. Raises HistoryError with the line that is wrong."""
    keys, sessions, values = dict[str, int](), dict[str, int](), Values()
    found: list[tuple[int, int, int, int, int, int]] = []
    wrong = None
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        parts = LINE.fullmatch(line.removesuffix("\r"))
        if parts is None or max(map(int, parts.groups()[1:])) > LARGEST:
            fact = f"a line is r(key,value,session,txn) or w(...), not {line[:60]!r}"
            wrong = HistoryError(fact, number, 1)
            break
        word, key, value, session, txn = parts.groups()
        if word == "w" or txn != "-1":
            of = sessions.setdefault(session, len(sessions))
            code = keys.setdefault(key, len(keys))
            found.append((word == "w", code, values.code(int(value)), of, int(txn), number))
    all_of = np.array(found, np.int64).reshape(-1, 6)
    write, key_of, shown, client, txns, where = (all_of[:, at] for at in range(6))
    lines = Lines(write != 0, key_of, shown, client, txns, where, list(keys), list(sessions), values)
    # What is wrong with a line before comes first.
    by_txn(lines)
    if wrong is not None:
        raise wrong
    return lines


def by_txn(lines: Lines) -> tuple[Ints, Ints, Ints, Ints]:
    """Returns the lines of transactions that did not abort, their numbers, first lines, and places by line.

    Numbers ascend. First lines are places among these lines, as are the entries of the last array. Raises
    HistoryError: a transaction is of two sessions.
    """
    there = np.flatnonzero(lines.txn >= 0)
    txns, first, inverse = numbered(lines.txn[there])
    other = np.flatnonzero(lines.session[there] != lines.session[there[first]][inverse])
    if len(other):
        here, before = there[other[0]], there[first[inverse[other[0]]]]
        one, two = (lines.sessions[int(lines.session[at])] for at in (here, before))
        of = f"of session {one} here, and of {two} in line {lines.number[before]}"
        raise HistoryError(f"transaction {lines.txn[here]} is {of}", int(lines.number[here]), 1)
    return there, txns, first, inverse


def _observed(lines: Lines, name: str) -> Observed:
    """Returns the history of lines. Raises HistoryError."""
    there, txns, first, inverse = by_txn(lines)
    # Of an aborted transaction only the writes are known, and not which one it was.
    aborted = np.flatnonzero((lines.txn < 0) & lines.write)
    count = len(txns)
    if not count and not len(aborted):
        raise HistoryError("there is no operation in it", 1, 1)
    row = np.concatenate((there, aborted))
    index = np.concatenate((inverse, count + np.arange(len(aborted))))
    if (index[1:] < index[:-1]).any():
        order = np.argsort(index, kind="stable")
        row, index = row[order], index[order]
    begin = np.concatenate((there[first], aborted))
    number = np.concatenate((txns, np.full(len(aborted), -1, np.int64)))
    # T0 is what was there before the run.
    again = np.flatnonzero(number <= 0)
    highest = int(txns.max(initial=0))
    if highest + len(again) > LARGEST:
        # Larger numbers are objects of Python.
        number = number.astype(object)
    number[again] = [highest + 1 + at for at in range(len(again))]
    status = np.full(len(number), COMMITTED, np.int8)
    status[count:] = ABORTED
    kind = np.where(lines.write[row], WRITE, READ).astype(np.int8)
    assembly = _Assembly(
        lines, index, kind, lines.key[row], lines.value[row], number, status, lines.session[begin],
        lines.number[begin],
    )  # fmt: skip
    zero = np.flatnonzero(txns == 0)
    notes = assembly.without_initial(int(zero[0])) if len(zero) else []
    initial = frozenset({None} if notes else {0})
    return Observed(name, assembly.rows(), Records(aborts=True, initial=initial), notes)


@dataclass(slots=True)
class _Assembly:
    """Columns that are put together, in the words of `Columns`. `begin`: by transaction its first line."""

    lines: Lines
    txn: Ints
    kind: np.ndarray[tuple[int], np.dtype[np.int8]]
    key: Ints
    value: Ints
    number: Ints
    status: np.ndarray[tuple[int], np.dtype[np.int8]]
    session: Ints
    begin: Ints

    def without_initial(self, first: int) -> list[str]:
        """Drops a transaction that writes every key, alone in its session, as what was there before the run.

        Returns what is to be said of it; nothing for another transaction. `first`: its place among the
        transactions. Raises HistoryError: one of its values is written once more.
        """
        of_first, every = self.txn == first, len(np.unique(self.key))
        keys, place = self.key[of_first], self.place(first)
        all_of_them = (
            bool((self.kind[of_first] == WRITE).all()) and len(np.unique(keys)) == len(keys) == every
        )
        alone = np.count_nonzero(self.session == self.session[first]) == 1
        if len(self.number) == 1 or not (all_of_them and alone):
            return []
        initial_values = pairs(keys, self.value[of_first])
        self.txn, self.kind, self.key = self.txn[~of_first], self.kind[~of_first], self.key[~of_first]
        found = initial_values.find(self.key, self.value[~of_first])
        repeated = np.flatnonzero((found >= 0) & (self.kind == WRITE))
        if len(repeated):
            at = int(repeated[0])
            shown = self.lines.values.value(int(self.value[~of_first][at]))
            places = f"in {place} and in {self.place(int(self.txn[at]))}"
            raise HistoryError(
                f"{shown} is written twice to key {self.lines.keys[int(self.key[at])]}: {places}; values "
                "must be unique, or no read tells what it has read"
            )
        self.value = np.where((self.kind == READ) & (found >= 0), NOTHING, self.value[~of_first])
        self.txn = self.txn - (self.txn > first)
        others = np.arange(len(self.number)) != first
        self.number, self.status = self.number[others], self.status[others]
        self.session, self.begin = self.session[others], self.begin[others]
        return [f"{place}: this transaction writes every key, so it is what was there before"]

    def place(self, index: int) -> str:
        """Returns where a transaction stands in the file."""
        line = f"line {self.begin[index]}"
        aborted = self.status[index] == ABORTED
        return line if aborted else f"session {self.lines.sessions[int(self.session[index])]}, {line}"

    def rows(self) -> Rows:
        """Returns the transactions."""
        columns = Columns(
            txn=self.txn,
            kind=self.kind,
            key=self.key,
            value=self.value,
            starts=None,
            items=np.empty(0, np.int64),
            writer=None,
            first=np.searchsorted(self.txn, np.arange(len(self.number) + 1)),
            number=self.number,
            status=self.status,
            session=self.session,
            keys=self.lines.keys,
            sessions=self.lines.sessions,
            values=self.lines.values,
        )
        return Rows(columns, self.place)


def quick(data: bytes) -> Lines | None:
    """Returns the lines of a file; None: read it line by line, since one is not of the plain form."""
    # Imported here, because every command would start later with it.
    import pyarrow as pa
    from pyarrow import csv

    types = {"op": pa.string()} | {name: pa.int64() for name in ("key", "value", "session", "txn")}
    try:
        table = csv.read_csv(
            io.BytesIO(data.translate(PARENTHESES)),
            read_options=csv.ReadOptions(column_names=list(types), block_size=BLOCK),
            convert_options=csv.ConvertOptions(column_types=types, null_values=[], strings_can_be_null=False),
        )
    except (pa.ArrowException, ValueError):
        return None
    rows = table.num_rows
    if not rows:
        return None
    opened = data.count(b"\nr(") + data.count(b"\nw(") + data.startswith((b"r(", b"w("))
    closed = data.count(b")\n") + data.endswith(b")")
    if not rows == opened == closed == data.count(b"(") == data.count(b")"):
        return None
    numbers = [table[each].to_numpy() for each in list(types)[1:]]
    digits = sum(int(_digits(each)) for each in numbers)
    least = [int(each.min()) for each in numbers]
    # Written again they are as long: no sign, zero or blank stands there that the numbers do not have.
    same = rows * AROUND + digits == len(data) + (not data.endswith(b"\n"))
    if not same or min(least[:3]) < 0 or least[3] < -1:
        return None
    if int(numbers[1].max()) >= OTHERS or int(numbers[3].max()) >= OTHERS:
        # These need more than the codes of small numbers.
        return None
    write = np.asarray(table["op"].to_numpy() == "w")
    key, keys = coded(numbers[0])
    session, sessions = coded(numbers[2])
    names = Numbered(keys), Numbered(sessions)
    return Lines(write, key, numbers[1], session, numbers[3], np.arange(1, rows + 1), *names, Values())


def _digits(numbers: Ints) -> int:
    """Returns how many characters numbers from -1 up have together."""
    total = len(numbers) + int((numbers < 0).sum())
    most = int(numbers.max(initial=0))
    bound = 10
    while bound <= most:
        total += int(np.count_nonzero(numbers >= bound))
        bound *= 10
    return total


def _follows(path: Path) -> list[tuple[int, int]]:
    """Returns the pairs a -> b of a companion file of IsoVista. Raises HistoryError."""
    pairs = []
    for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
        if line.strip():
            found = FOLLOWS.fullmatch(line)
            if found is None:
                raise HistoryError(f"{path.name}:{number}: a line is a -> b, not {line[:40]!r}")
            pairs.append((int(found[1]), int(found[2])))
    return pairs
