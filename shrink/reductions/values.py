"""How simple a value is, and the simple values of each type."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal

from workload.query import Literal
from workload.types import BITS, Kind, SqlType, Value, fits

SIMPLE: Mapping[Kind, Sequence[Value]] = {
    **dict.fromkeys(BITS, (0, 1, 2, 3)),
    Kind.DECIMAL: (Decimal(0), Decimal(1), Decimal(2)),
    Kind.FLOAT: (0.0, 1.0, 2.0),
    Kind.DOUBLE: (0.0, 1.0, 2.0),
    Kind.BOOLEAN: (False, True),
    Kind.STRING: ("a", "b", "c"),
    Kind.BINARY: (b"", b"a", b"b"),
    Kind.DATE: (dt.date(2024, 1, 1), dt.date(2024, 1, 2)),
    **dict.fromkeys(
        (Kind.TIMESTAMP_NTZ, Kind.TIMESTAMP),
        (dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2)),  # noqa: DTZ001  # the SQL types have no zone
    ),
    Kind.ARRAY: ((),),
    Kind.STRUCT: (),
    Kind.MAP: ((),),
    Kind.VARIANT: ("{}",),
}
"""The values that are easiest to read, simplest first."""

NULL_RANK = 4
"""NULL comes after all simple values of a type, of which there are four at most."""
OTHER_RANK = 6
"""Of a short value that is none of these; longer ones rank higher."""


def rank(value: Value, type_: SqlType) -> int:
    """Returns how complicated a value is: 0 for the simplest one of its type, more for others.

    NULL ranks after the simple values, so a NULL in a shrunk scenario is needed for the failure.
    """
    if value is None:
        return NULL_RANK
    for position, simple in enumerate(SIMPLE[type_.kind]):
        # By text: -0.0 is not 0.0, and NaN is itself.
        if repr(simple) == repr(value):
            return position
    return OTHER_RANK + len(repr(value)) // 8


def simpler(value: Value, type_: SqlType) -> tuple[Value, ...]:
    """Returns the values of lower rank, simplest first, that fit the type."""
    limit = rank(value, type_)
    options: tuple[Value, ...] = (*SIMPLE[type_.kind], None)
    return tuple(option for option in options if rank(option, type_) < limit and fits(option, type_))


def simplest(type_: SqlType) -> Literal:
    """Returns the simplest literal of a type."""
    first = next((value for value in SIMPLE[type_.kind] if fits(value, type_)), None)
    return Literal(first, type_)
