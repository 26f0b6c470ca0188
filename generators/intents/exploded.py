"""Triggers of exploded arrays: elements that move, come twice, and the pad of a row that has none."""

from __future__ import annotations

from generators.builder import ScenarioBuilder, source_of
from generators.domains import ARRAY
from generators.intents import shapes
from generators.intents.script import (
    Act,
    Script,
    act,
    delete,
    insert,
    is_value,
    key,
    move_key,
    script,
    set_value,
)
from generators.queries.expressions import Term
from generators.queries.relations import FromClause, read
from workload.query import ColumnRef, Exploded
from workload.types import INT


def elements_change(b: ScenarioBuilder) -> Script:
    """Adds and removes elements of an array: in the middle, one of two equal ones, then all, then the array.

    With OUTER the row that loses its elements keeps a pad, which an empty array and NULL share.
    """
    table = b.add_table((INT, ARRAY), shared=False)
    source, alias = read(source_of(table, 8), b.queries.alias()), b.queries.alias()
    array = shapes.column_of(source, "b")
    outer, position = b.choices.chance(70), b.choices.chance(40)
    node = Exploded(source.relation, array.expr, alias, outer, position)
    added = [Term(ColumnRef(alias, name, type_), 3) for name, type_ in node.columns.items()]
    rows = FromClause(node, [*source.scope, *added], 24)
    shape = b.choices.weighted(((4, "plain"), (2, "grouped"), (1, "distinct")))
    k = key(b)
    other = k + 1

    def becomes(*elements: int | None) -> Act:
        return act(set_value(table, "b", elements, is_value(table, "k", k)))

    return script(
        shapes.define_over(b, rows, 24, shape),
        act(insert(b, table, k=k, b=(1, 2)), insert(b, table, k=other, b=(2, 2))),
        becomes(1, None, 2) + act(set_value(table, "b", (2,), is_value(table, "k", other))),
        becomes(1, 2),
        becomes() + act(insert(b, table, k=other, b=())),
        act(set_value(table, "b", None, is_value(table, "k", k))),
        becomes(2, 2, 1) + act(move_key(table, other, k)),
        act(delete(table, "k", k)),
    )
