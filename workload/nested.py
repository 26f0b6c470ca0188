"""Which dynamic tables cannot be maintained incrementally because of columns of nested types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from workload.query import Query, names_read
from workload.scenario import Definition, DynamicTable, RefreshMode, View
from workload.types import NESTED, Kind, SqlType

TypesOf = Callable[[str], Sequence[SqlType]]
"""The types of the columns of a table, view or dynamic table, by its name."""


def only_in_full(
    query: Query, outputs: Sequence[SqlType], definitions: Mapping[str, Definition], types_of: TypesOf
) -> bool:
    """Whether the changes of a query, with outputs of some types, cannot be told because of nested types.

    They cannot where an output holds a MAP, because Spark does not compare maps; where a source, also behind
    views, has a MAP inside a nested type or in a MAP; and where a source is a dynamic table that is refreshed
    in full and has a column of a nested type: such a table has no row ids, and none can be made of it.
    """
    return any(map(_holds_map, outputs)) or _reads_uncaptured(query, definitions, types_of)


def _reads_uncaptured(query: Query, definitions: Mapping[str, Definition], types_of: TypesOf) -> bool:
    return any(_cannot_be_captured(name, definitions, types_of) for name in names_read(query))


def _cannot_be_captured(name: str, definitions: Mapping[str, Definition], types_of: TypesOf) -> bool:
    match definitions.get(name):
        case View(_, query):
            return _reads_uncaptured(query, definitions, types_of)
        case DynamicTable(_, query, mode):
            outputs = types_of(name)
            full = mode is RefreshMode.FULL or only_in_full(query, outputs, definitions, types_of)
            return full and any(each.kind in NESTED for each in outputs)
        case None:
            return any(_holds_map_inside(each) for each in types_of(name))


def _holds_map(type_: SqlType) -> bool:
    return type_.kind is Kind.MAP or _holds_map_inside(type_)


def _holds_map_inside(type_: SqlType) -> bool:
    return any(map(_holds_map, (part for _, part in type_.parts)))
