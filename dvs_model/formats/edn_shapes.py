"""EDN whose lines have few shapes: read by the shape of each line, and by all numbers at once.

The shape of a line is what is left of it if each run of numbers, parted by single blanks, becomes one 0:
`{:type :ok, :process 3, :value [[:append 5 71] [:r 8 [1 2]]]}` has the shape `{:type :ok, :process 0, :value
[[:append 0] [:r 0 [0]]]}`. Of a history of Jepsen there are some hundred shapes, so that the reader of EDN
reads shapes and not lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dvs_model.columns.table import Bools, Ints
from dvs_model.errors import HistoryError
from dvs_model.formats.edn import Pairs, forms

MOST_DIGITS = 18
"""The most digits of a number that is read here."""

OTHER_ENDS = (b"\r", b"\v", b"\f", b"\x1c", b"\x1d", b"\x1e")
"""What ends a line for the reader of single operations as well."""

FEW_SHAPES = 2000
"""The most shapes of a file, unless it has LINES_OF_A_SHAPE lines for each."""
LINES_OF_A_SHAPE = 20


@dataclass(frozen=True, slots=True)
class Shaped:
    """The lines of a file, by shape.

    `maps`: by shape its map. `shape`: by line its shape, or -1: the line is blank. `run`: by line its first
    run of numbers. `first`, with one more at the end: by run its first number in `numbers`.
    """

    maps: list[Pairs]
    shape: Ints
    run: Ints
    first: Ints
    numbers: Ints

    def run_lengths(self, runs: Ints) -> Ints:
        """Returns how many numbers runs have."""
        return self.first[runs + 1] - self.first[runs]


def shaped(data: bytes) -> Shaped | None:
    """Returns a file by the shapes of its lines; None: it has to be read otherwise."""
    text = np.frombuffer(data, np.uint8)
    # Bytes below "0" wrap around and are great then.
    digit = text - np.uint8(ord("0")) < 10
    edge = np.diff(digit.view(np.int8), prepend=np.int8(0), append=np.int8(0))
    begin, end = np.flatnonzero(edge == 1), np.flatnonzero(edge == -1)
    del edge
    if len(begin) == 0 or int((end - begin).max()) > MOST_DIGITS:
        return None
    # By number: whether one blank alone parts it from the number before, so that both are of one run.
    joined = np.zeros(len(begin), np.bool_)
    joined[1:] = (begin[1:] == end[:-1] + 1) & (text[begin[1:] - 1] == ord(" "))
    kept = ~digit
    kept[begin[joined] - 1] = False
    kept[begin[~joined]] = True
    plain = text.copy()
    plain[begin] = ord("0")
    skeleton = plain[kept].tobytes()
    del plain, kept, digit
    # A sign is no part of a run.
    if b"-0" in skeleton or not skeleton.isascii():
        return None
    skeleton = skeleton.replace(b"\r\n", b"\n")
    if any(other in skeleton for other in OTHER_ENDS):
        return None
    lines = skeleton.split(b"\n")
    shape_of: dict[bytes, int] = {}
    shape = np.fromiter((shape_of.setdefault(line, len(shape_of)) for line in lines), np.int64, len(lines))
    if len(shape_of) > max(FEW_SHAPES, len(lines) // LINES_OF_A_SHAPE):
        return None
    maps, counts, codes = list[Pairs](), list[int](), list[int]()
    for line in shape_of:
        found = _map(line) if line.strip() else None
        if found is None and line.strip():
            return None
        codes.append(-1 if found is None else len(maps))
        counts.append(line.count(b"0"))
        if found is not None:
            maps.append(found)
    of_line = np.array(counts)[shape]
    run = np.cumsum(of_line) - of_line
    first = np.append(np.flatnonzero(~joined), len(begin))
    return Shaped(maps, np.array(codes)[shape], run, first, _numbers(text, begin, end))


def _map(line: bytes) -> Pairs | None:
    """Returns the map that is a shape; None: it is none, or a digit stands there that is no whole number."""
    try:
        found = [form for form, _ in forms(line.decode())]
    except HistoryError:
        return None
    if len(found) != 1 or not isinstance(found[0], Pairs):
        return None
    return found[0] if sum(1 for _ in _whole(found[0])) == line.count(b"0") else None


def _whole(form: object) -> Iterator[int]:
    """Yields the whole numbers in a form."""
    if isinstance(form, Pairs):
        for name, value in form:
            yield from _whole(name)
            yield from _whole(value)
    elif isinstance(form, list):
        for item in form:
            yield from _whole(item)
    elif type(form) is int:
        yield form


def _numbers(text: np.ndarray[tuple[int], np.dtype[np.uint8]], begin: Ints, end: Ints) -> Ints:
    """Returns the numbers between places of a text, all of them digit by digit."""
    numbers = np.zeros(len(begin), np.int64)
    lengths = end - begin
    for place in range(int(lengths.max())):
        there: Bools = lengths > place
        if there.all():
            numbers = numbers * 10 + (text[begin + place] - ord("0"))
        else:
            chosen = np.flatnonzero(there)
            numbers[chosen] = numbers[chosen] * 10 + (text[begin[chosen] + place] - ord("0"))
    return numbers
