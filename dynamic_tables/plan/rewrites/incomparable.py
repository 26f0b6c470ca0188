"""Finds queries that cannot be maintained because an operator would compare what Spark does not compare.

These are maps and VARIANTs. One may be read and passed from operator to operator. It must be no key of a
grouping, a partition or an order, and in no row that DISTINCT or a set operation compares.
"""

from __future__ import annotations

from collections.abc import Iterable

from dynamic_tables.errors import UnsupportedError
from dynamic_tables.plan import nodes
from dynamic_tables.plan.expressions import Expr
from dynamic_tables.plan.nested_types import holds_map, holds_variant
from dynamic_tables.plan.types import VARIANT

NO_MAPS = "Spark does not compare maps"
"""The reason for every refusal of a map."""

NO_VARIANTS = "Spark does not compare VARIANTs, and the engine compares only whole columns of this type"
"""The reason for every refusal of a VARIANT."""


def incomparable(query: nodes.BoundQuery) -> UnsupportedError | None:
    """Returns what its changes would compare although Spark cannot; None: there is no such thing."""
    for node in nodes.walk(query.plan):
        for value in _compared(node):
            if holds_map(value.type):
                return UnsupportedError(f"a key of type {value.type}", NO_MAPS)
            if value.type == VARIANT or holds_variant(value.type):
                return UnsupportedError(f"a key of type {value.type}", NO_VARIANTS)
    # The changes of the outputs are netted by their values.
    for name, type_ in query.schema:
        if holds_variant(type_):
            return UnsupportedError(f"column {name} of type {type_}", NO_VARIANTS)
    return None


def _compared(node: nodes.Plan) -> Iterable[Expr]:
    """Returns the values by which a node tells rows apart or puts them in order."""
    match node:
        case nodes.Distinct(child) | nodes.Numbered(child):
            return nodes.columns(child)
        case nodes.ExceptAll() | nodes.IntersectAll():
            return nodes.columns(node)
        case nodes.Aggregate(_, keys, aggregates):
            different = [arg for _, call in aggregates if call.distinct for arg in call.args]
            return [*(key for _, key in keys), *different]
        case nodes.Limit(_, order):
            return [key.expr for key in order]
        case nodes.Window(_, calls):
            return [key for _, call in calls for key in (*call.partition, *(o.expr for o in call.order))]
        case _:
            return ()
