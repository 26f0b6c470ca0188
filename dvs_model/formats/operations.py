"""Operations of clients in Arrow tables, as columns.

The columns are those of `formats.table`. Of a table that somebody else has made, `transaction`, `kind`, `key`
and `value` are enough.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dvs_model.columns.table import APPEND, KINDS, NOTHING, OTHERS, READ, READ_LIST, Ints, Values, held_twice
from dvs_model.errors import HistoryError, first_line
from dvs_model.observed.values import Symbol, Text

NEEDED = ("transaction", "kind", "key", "value")
"""The columns that every table has."""

PLAIN = r"^(0|-?[1-9][0-9]{0,17})$"
"""Integers that are their own codes."""

NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)")
"""An integer as text."""
WORDS = {kind.value: code for code, kind in enumerate(KINDS)}
"""Kind of an operation -> its code."""


@dataclass(frozen=True, slots=True)
class Operations:
    """The operations of transactions, as columns. `keys`: the names of the keys; the rest as in `Columns`."""

    kind: np.ndarray[tuple[int], np.dtype[np.int8]]
    key: Ints
    value: Ints
    starts: Ints | None
    items: Ints
    writer: Ints | None
    keys: list[str]
    values: Values


def with_operation(table: pa.Table) -> Ints:
    """Returns the rows that hold an operation: one without a kind stands for a transaction that has none.

    Raises HistoryError: a row has a key or a value, and no kind.
    """
    without_kind = numpy(table["kind"].is_null()).astype(np.bool_)
    if not without_kind.any():
        return np.arange(len(table))
    for name in ("key", "value", "list"):
        if (
            name in table.column_names
            and (without_kind & ~numpy(table[name].is_null()).astype(np.bool_)).any()
        ):
            raise HistoryError(f"a row has a {name} and no kind; a kind is one of {', '.join(WORDS)}")
    return np.flatnonzero(~without_kind)


def operations(table: pa.Table, rows: Ints, *, escaped: bool) -> Operations:
    """Returns the operations of a table, a row each. Raises HistoryError: a cell is no key or no value.

    `rows`: the numbers of the rows in the file. `escaped`: texts are those that `cell` has written.
    """
    try:
        found = _operations(table, escaped=escaped)
    except HistoryError:
        raise
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise HistoryError(f"a cell that is no key and no value: {first_line(error)[:200]}") from None
    _ensure_sound(found, rows)
    return found


def _ensure_sound(found: Operations, rows: Ints) -> None:
    """Raises HistoryError: a write has no value, or a key holds a list and a single value."""
    nothing = np.flatnonzero((found.kind <= APPEND) & (found.value == NOTHING))
    if len(nothing):
        fact = f"row {rows[nothing[0]]:,}: nothing is written to key {found.keys[int(found.key[nothing[0]])]}"
        raise HistoryError(f"{fact}, and nothing is what was there before the run; a write has a value")
    if both := held_twice(found.kind, found.key, found.value):
        held = zip(rows[[*both]].tolist(), ("a list", "a single value"), strict=True)
        (before, other), (row, here) = sorted(held)
        key = found.keys[int(found.key[both[0]])]
        raise HistoryError(f"row {row:,}: key {key} holds {here} here and {other} in row {before:,}")


def _operations(table: pa.Table, *, escaped: bool) -> Operations:
    values = Values()
    kind = words(table["kind"], WORDS, "a kind").astype(np.int8)
    key = text(table["key"]).combine_chunks().dictionary_encode()
    value = codes(table["value"], values, escaped=escaped)
    starts, items = None, np.empty(0, np.int64)
    if "list" in table.column_names and (lists := table["list"].combine_chunks()).null_count < len(lists):
        kind = np.where((kind == READ) & ~numpy(lists.is_null()), READ_LIST, kind).astype(np.int8)
        lengths = numpy(pc.fill_null(pc.list_value_length(lists), 0)).astype(np.int64)
        starts = np.concatenate(([0], np.cumsum(lengths)))
        items = codes(pa.chunked_array([lists.flatten()]), values, escaped=escaped)
        full = np.flatnonzero((lengths > 0) & (kind == READ_LIST))
        value[full] = items[starts[full + 1] - 1]
    if starts is None and (kind == READ_LIST).any():
        # Lists that show nothing.
        starts = np.zeros(len(kind) + 1, np.int64)
    if key.indices.null_count:
        raise HistoryError("an operation has no key")
    place = numpy(key.indices).astype(np.int64)
    writer = pairs(table["writer"]) if "writer" in table.column_names else None
    return Operations(kind, place, value, starts, items, writer, key.dictionary.to_pylist(), values)


def codes(column: pa.ChunkedArray, values: Values, *, escaped: bool) -> Ints:
    """Returns the codes of values, which are integers or texts; `escaped`: as `cell` writes them."""
    if pa.types.is_null(column.type):
        return np.full(len(column), NOTHING, np.int64)
    if pa.types.is_integer(column.type):
        most = pc.min_max(column).as_py()
        if most["max"] is not None and (most["max"] >= OTHERS or most["min"] <= -OTHERS):
            return np.fromiter(map(values.code, column.to_pylist()), np.int64, len(column))
        return numpy(pc.fill_null(column.cast(pa.int64()), NOTHING)).copy()
    array = text(column).combine_chunks()
    plain = pc.fill_null(pc.match_substring_regex(array, PLAIN), False)
    found = np.full(len(array), NOTHING, np.int64)
    mask = numpy(plain)
    found[mask] = numpy(array.filter(plain).cast(pa.int64()))
    rest = np.flatnonzero(~mask & ~numpy(array.is_null()))
    for at, shown in zip(rest.tolist(), array.take(pa.array(rest)).to_pylist(), strict=True):
        found[at] = values.code(value_of(shown) if escaped else _plain(shown))
    return found


def pairs(column: pa.ChunkedArray) -> Ints | None:
    """Returns lists of two numbers as rows of an array, NOTHING where there is none; None: there is none."""
    if column.null_count == len(column):
        return None
    found = np.full((len(column), 2), NOTHING, np.int64)
    found[numpy(column.is_valid()).astype(np.bool_)] = numpy(column.combine_chunks().flatten()).reshape(-1, 2)
    return found


def cell(value: object) -> str | None:
    """Returns the text of a value; of different values, such as 3 and "3" in EDN, the texts differ."""
    match value:
        case None:
            return None
        case Symbol("true" | "false" as shown):
            return shown
        case Symbol(shown):
            return f"\\{shown}"
        case Text(shown):
            return json.dumps(shown)
        case str() if NO_NAME.match(value):
            return f"'{value}"
        case _:
            return str(value)


NO_NAME = re.compile(r"[\"'\\]|(?:true|false|-?[0-9]+)$")
"""Names that would be read as something else; they get a quote before them."""


def value_of(shown: str | None) -> object:
    """Returns the value that `cell` has written."""
    match shown:
        case None:
            return None
        case "true" | "false":
            return Symbol(shown)
        case _ if shown.startswith('"'):
            return Text(json.loads(shown))
        case _ if shown.startswith("'"):
            return shown[1:]
        case _ if shown.startswith("\\"):
            return Symbol(shown[1:])
        case _:
            return int(shown) if NUMBER.fullmatch(shown) else shown


def _plain(shown: str) -> object:
    """Returns the value that somebody else has written as a text."""
    whole = NUMBER.fullmatch(shown) is not None and shown != "-0"
    return int(shown) if whole else shown


def words(column: pa.ChunkedArray, codes_of: dict[str, int], what: str) -> Ints:
    """Returns the codes of words. Raises HistoryError: another word."""
    coded = text(column).combine_chunks().dictionary_encode()
    names = coded.dictionary.to_pylist()
    for name in names:
        if name not in codes_of:
            raise HistoryError(f"{name!r} is not {what}; it is one of {', '.join(codes_of)}")
    if coded.indices.null_count:
        raise HistoryError(f"{what} is missing; it is one of {', '.join(codes_of)}")
    return np.array([codes_of[name] for name in names], np.int64)[numpy(coded.indices)]


def text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Returns a column as text."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.large_string())


def numpy(array: pa.Array | pa.ChunkedArray) -> Ints:
    """Returns the values of an array."""
    if isinstance(array, pa.ChunkedArray):
        return np.asarray(array.to_numpy())
    return np.asarray(array.to_numpy(zero_copy_only=False))
