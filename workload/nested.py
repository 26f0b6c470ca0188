"""The dynamic tables that cannot be maintained incrementally because of columns of nested types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from workload.query import Query, names_read
from workload.scenario import Definition, DynamicTable, RefreshMode, View
from workload.types import Kind, SqlType

TypesOf = Callable[[str], Sequence[SqlType]]
"""The types of the columns of a table, view or dynamic table, by its name."""


def only_in_full(query: Query, definitions: Mapping[str, Definition], types_of: TypesOf) -> bool:
    """Tells whether some source, also behind views, has columns whose changes cannot be computed.

    These are a MAP inside a nested type or in a MAP, because only the pairs of plain maps are compared; and
    a MAP or VARIANT in a dynamic table that is refreshed in full: it has no row ids, and none can be made of
    such values.
    """
    return any(_has_unknown_changes(name, definitions, types_of) for name in names_read(query))


def _has_unknown_changes(name: str, definitions: Mapping[str, Definition], types_of: TypesOf) -> bool:
    match definitions.get(name):
        case View(_, query):
            return only_in_full(query, definitions, types_of)
        case DynamicTable(_, query, mode):
            ids = mode is not RefreshMode.FULL and not only_in_full(query, definitions, types_of)
            return any(
                _holds_map_inside(t) or (t.kind in (Kind.MAP, Kind.VARIANT) and not ids)
                for t in types_of(name)
            )
        case None:
            return any(map(_holds_map_inside, types_of(name)))


def _holds_map(type_: SqlType) -> bool:
    return type_.kind is Kind.MAP or _holds_map_inside(type_)


def _holds_map_inside(type_: SqlType) -> bool:
    return any(map(_holds_map, (part for _, part in type_.parts)))
