"""Rows of an engine as rows of the harness, where the engine stores other values than those of the types."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

from workload.schema import Column
from workload.sql import Dialect, column_name, type_name
from workload.types import Kind, Row, SqlType, Value

Hooks = Mapping[Kind, Callable[[Any], Value]]
"""For a kind of types the function that makes the harness's value of the engine's."""

NO_HOOKS: Hooks = {}


def typed_rows(
    rows: Iterable[Sequence[Any]], columns: Sequence[Column], hooks: Hooks = NO_HOOKS
) -> list[Row]:
    """Returns the rows with values of the columns' types.

    Booleans may be 0 and 1, whole numbers floats and the other way round, decimals numbers or text, dates and
    timestamps text as ISO 8601 writes them. `hooks`: what an engine stores in its own way. Any other value is
    given back as it is, and the comparison says that it is none of its type.

    >>> typed_rows([(1,), (None,)], [Column("a", SqlType(Kind.BOOLEAN))])
    [(True,), (None,)]
    """
    makers: list[tuple[type | None, Callable[[Any], Any]]] = [
        (PLAIN.get(each.type.kind), partial(_value, each.type))
        if (hook := hooks.get(each.type.kind)) is None
        else (None, hook)
        for each in columns
    ]

    # Most rows need no change, and a result has few combinations of types: each is looked at once.
    right: dict[tuple[type, ...], bool] = {}

    def typed(row: Sequence[Any]) -> Row:
        types = tuple(map(type, row))
        if types not in right:
            right[types] = len(types) == len(makers) and all(
                (kind is type(None) or kind is plain) for kind, (plain, _) in zip(types, makers, strict=True)
            )
        if right[types]:
            return tuple(row)
        values = [
            value if value is None or type(value) is plain else make(value)
            for value, (plain, make) in zip(row, makers, strict=False)
        ]
        # A row of another length keeps it, which the comparison then names.
        return (*values, *row[len(makers) :])

    return [typed(row) for row in rows]


def cast_items(columns: Sequence[Column], dialect: Dialect) -> str:
    """Returns the items of a SELECT of columns, cast to their types."""
    return ", ".join(f"CAST({column_name(c.name, dialect)} AS {type_name(c.type, dialect)})" for c in columns)


PLAIN: Mapping[Kind, type] = {
    **dict.fromkeys((Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT), int),
    **dict.fromkeys((Kind.FLOAT, Kind.DOUBLE), float),
    Kind.BOOLEAN: bool,
    Kind.STRING: str,
    Kind.BINARY: bytes,
}
"""The types of Python whose values are right as they are: most values of most engines."""


def _value(type_: SqlType, value: Any) -> Any:
    try:
        match type_.kind, value:
            case Kind.BOOLEAN, 0 | 1:
                return bool(value)
            case ((Kind.FLOAT | Kind.DOUBLE), int() | str()):
                return float(value)
            case ((Kind.TINYINT | Kind.SMALLINT | Kind.INT | Kind.BIGINT), float()) if value.is_integer():
                return int(value)
            case Kind.DECIMAL, int() | float() | str():
                return Decimal(str(value)).quantize(Decimal(1).scaleb(-type_.scale))
            case Kind.DATE, str():
                return dt.date.fromisoformat(value)
            case ((Kind.TIMESTAMP | Kind.TIMESTAMP_NTZ), str()):
                return dt.datetime.fromisoformat(value)
    except (ValueError, ArithmeticError):
        # A text that is none of the type.
        pass
    return value
