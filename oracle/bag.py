"""Bags of typed rows: the one notion of equality that judgements use (docs/semantics.md, Judging)."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from oracle.errors import UnfitValue
from workload.types import ESTIMATE, NESTED, SIGNED, Kind, Row, SqlType, Value, document_text, to_float

Tagged = tuple[str, bool | int | float | str] | tuple[str, int, int]
Nested = tuple[str, tuple[Any, ...]]
Canonical = None | int | str | dt.date | dt.datetime | Tagged | Nested
"""The form of a value by which bags compare it; a tag keeps equal Python values of two types apart."""
CanonicalRow = tuple[Canonical, ...]

NAN: Tagged = ("double", "NaN")
"""The canonical form of every NaN: SQL treats all NaNs as equal in grouping, joins and set operations."""


def canonical(value: Value, type_: SqlType) -> Canonical:
    """Returns the value's canonical form: two forms are equal exactly when the SQL values are equal.

    NULL equals NULL, NaN equals NaN, -0.0 equals 0.0 except in the types SIGNED; a DECIMAL is its unscaled
    integer at the type's scale; strings are compared by code point, dates and timestamps exactly. Forms of
    different types differ even where Python calls the values equal (1, 1.0 and True). Raises UnfitValue: the
    value does not belong to the type.
    """
    if value is None:
        return None
    match type_.kind:
        case Kind.TINYINT | Kind.SMALLINT | Kind.INT | Kind.BIGINT if type(value) is int:
            return value
        case Kind.STRING if type(value) is str:
            return value
        case Kind.BINARY if type(value) is bytes:
            return ("binary", value.hex())
        case Kind.FLOAT | Kind.DOUBLE if type(value) is float:
            return _number(value, type_)
        case Kind.DECIMAL if isinstance(value, Decimal) and value.is_finite():
            return ("decimal", f"{_unscaled(value, type_)}e-{type_.scale}")
        case Kind.BOOLEAN if type(value) is bool:
            return ("boolean", value)
        case Kind.DATE if type(value) is dt.date:
            return value
        case Kind.TIMESTAMP_NTZ | Kind.TIMESTAMP if type(value) is dt.datetime and value.tzinfo is None:
            return value
        case Kind.ARRAY | Kind.STRUCT | Kind.MAP if type(value) is tuple:
            return _nested(value, type_)
        case Kind.VARIANT if type(value) is str:
            return ("document", _document(value))
        case _:
            raise UnfitValue(f"{value!r} is not a value of type {type_}: its reader mixed up the types")


def _document(text: str) -> str:
    """Returns the text of a JSON document whose spaces and order of keys are always the same."""
    try:
        return document_text(json.loads(text))
    except ValueError as error:
        raise UnfitValue(f"{text!r} is no JSON: {error}") from error


def _nested(value: tuple[Any, ...], type_: SqlType) -> Canonical:
    types = [part for _, part in type_.parts]
    match type_.kind:
        case Kind.ARRAY:
            return ("array", tuple(canonical(element, types[0]) for element in value))
        case Kind.STRUCT:
            return ("struct", canonical_row(value, types))
        case _:
            # A map has no order: by text, because keys of one type may not be comparable.
            return ("map", tuple(sorted((canonical_row(pair, types) for pair in value), key=repr)))


def _number(value: float, type_: SqlType) -> Canonical:
    if math.isnan(value):
        return NAN
    if type_ in SIGNED and value == 0:
        return ("zero", math.copysign(1.0, value))
    if type_.kind is Kind.FLOAT:
        try:
            # Some readers give the shortest text of a FLOAT, read as a double.
            return ("float", to_float(value) + 0.0)
        except OverflowError as error:
            raise UnfitValue(f"{value!r} is not a value of type {type_}: it is too large") from error
    if type_ == ESTIMATE and math.isfinite(value):
        return ("about", *_on_grid(value, type_.precision))
    return ("double", value + 0.0)  # -0.0 + 0.0 is 0.0


def _on_grid(value: float, bits: int) -> tuple[int, int]:
    """Returns the cell of a value, and the size of the cell: 2**-bits below 2, relative to the value above.

    The borders of cells, and the values at which they grow, are no short fractions: no result of an exact
    calculation with small numbers is near one, so that rounding errors do not carry it into another cell.
    """
    size = max(0, math.frexp(value * 0.7123456789)[1])
    return math.floor(math.ldexp(value, bits - size) + 0.3183098862), size


def _unscaled(value: Decimal, type_: SqlType) -> int:
    # By integers, since Decimal arithmetic rounds to the context's 28 digits and SQL has 38.
    numerator, denominator = value.as_integer_ratio()
    unscaled, rest = divmod(numerator * int(10**type_.scale), denominator)
    if rest or abs(unscaled) >= 10**type_.precision:
        raise UnfitValue(f"{value} is not a value of type {type_}: it has more digits")
    return unscaled


def canonical_row(row: Row, types: Sequence[SqlType]) -> CanonicalRow:
    """Returns the canonical form of a row. Raises UnfitValue: wrong width, or a value of another type."""
    if len(row) != len(types):
        raise UnfitValue(f"a row of {len(row)} values for {len(types)} columns: {row!r}")
    return tuple([canonical(value, type_) for value, type_ in zip(row, types, strict=True)])


@dataclass(frozen=True, slots=True)
class Bag:
    """A multiset of rows: canonical row -> multiplicity, never 0.

    Multiplicities may be negative: a difference of bags is a bag, and so is a change set (INSERT +1,
    DELETE -1). Bags are an Abelian group under `+`, so a change set is applied by `before + changes`.
    `originals` keeps, for display only, one row as the caller gave it for each canonical row.
    """

    multiplicities: Mapping[CanonicalRow, int]
    originals: Mapping[CanonicalRow, Row] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        # The only place that drops zeros, so that equal multisets are always equal values.
        nonzero = {row: count for row, count in self.multiplicities.items() if count}
        object.__setattr__(self, "multiplicities", nonzero)

    @classmethod
    def of(cls, rows: Iterable[Row], types: Sequence[SqlType]) -> Bag:
        """Returns the bag of the given rows, each counted once. Raises UnfitValue as `canonical_row` does."""
        return cls.weighted(((row, 1) for row in rows), types)

    @classmethod
    def weighted(cls, entries: Iterable[tuple[Row, int]], types: Sequence[SqlType]) -> Bag:
        """Returns the bag of rows with multiplicities; those of equal rows add up. Raises UnfitValue."""
        # Large tables hold few different rows: each of them gets its canonical form once. Python calls 1, 1.0
        # and True equal, so the types of the values stand beside them; or their texts, for 0.0 and -0.0 too.
        by_text = any(type_.kind in NESTED or type_ in SIGNED for type_ in types)
        distinguish: Callable[[Value], object] = repr if by_text else type
        alike: dict[tuple[Row, tuple[object, ...]], int] = {}
        for row, count in entries:
            exact_row = row, tuple(map(distinguish, row))
            try:
                alike[exact_row] = alike.get(exact_row, 0) + count
            except TypeError:
                # A list, say, which no reader should give: this says so.
                canonical_row(row, types)
                raise
        counts: dict[CanonicalRow, int] = {}
        originals: dict[CanonicalRow, Row] = {}
        for (row, _), count in alike.items():
            key = canonical_row(row, types)
            counts[key] = counts.get(key, 0) + count
            originals.setdefault(key, row)
        return cls(counts, originals)

    def __len__(self) -> int:
        """Returns the number of rows: the sum of the absolute multiplicities."""
        return sum(map(abs, self.multiplicities.values()))

    def count(self, row: Row, types: Sequence[SqlType]) -> int:
        """Returns the multiplicity of a row, which need not be in canonical form; 0 if the bag lacks it."""
        return self.multiplicities.get(canonical_row(row, types), 0)

    def __neg__(self) -> Bag:
        return Bag({row: -count for row, count in self.multiplicities.items()}, self.originals)

    def __add__(self, other: Bag) -> Bag:
        counts = dict(self.multiplicities)
        for row, count in other.multiplicities.items():
            counts[row] = counts.get(row, 0) + count
        return Bag(counts, {**other.originals, **self.originals})

    def __sub__(self, other: Bag) -> Bag:
        return self + -other

    def entries(self) -> Iterator[tuple[Row, int]]:
        """Yields each row as first given, with its multiplicity; equal bags give the same order."""
        for row, count in sorted(self.multiplicities.items(), key=lambda entry: repr(entry[0])):
            yield self.originals.get(row, ()), count
