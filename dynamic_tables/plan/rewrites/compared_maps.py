"""Finds queries that cannot be maintained because an operator would compare maps, which Spark refuses.

A map may be read and passed from operator to operator. It must be no key of a grouping, a partition or an
order, and in no row that DISTINCT or a set operation compares.
"""

from __future__ import annotations

from collections.abc import Iterable

from dynamic_tables.errors import UnsupportedError
from dynamic_tables.plan.expressions import Expr
from dynamic_tables.plan.nested_types import holds_map
from dynamic_tables.plan.nodes import (
    Aggregate,
    BoundQuery,
    Distinct,
    ExceptAll,
    IntersectAll,
    Limit,
    Numbered,
    Plan,
    Window,
    columns,
    walk,
)

NO_MAPS = "Spark does not compare maps"
"""The reason for every refusal of a map."""


def compared_map(query: BoundQuery) -> UnsupportedError | None:
    """Returns which map is compared where the changes of a query are computed; None: none is."""
    for node in walk(query.plan):
        for value in _compared(node):
            if holds_map(value.type):
                return UnsupportedError(f"a key of type {value.type}", NO_MAPS)
    return None


def _compared(node: Plan) -> Iterable[Expr]:
    """Returns the values by which a node tells rows apart or puts them in order."""
    match node:
        case Distinct(child) | Numbered(child):
            return columns(child)
        case ExceptAll() | IntersectAll():
            return columns(node)
        case Aggregate(_, keys, aggregates):
            different = [arg for _, call in aggregates if call.distinct for arg in call.args]
            return [*(key for _, key in keys), *different]
        case Limit(_, order):
            return [key.expr for key in order]
        case Window(_, calls):
            return [key for _, call in calls for key in (*call.partition, *(o.expr for o in call.order))]
        case _:
            return ()
