"""Rows that a primary key identifies: their ids, and the search for a key that two rows share.

A row with a key keeps its identity however often its table is written anew: `INSERT OVERWRITE` of 200,000
rows of which one differs is the change of one row. A NULL in a key is a value like others, and two NULLs are
the same one, as in GROUP BY.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dynamic_tables.differentiate.changes import named
from dynamic_tables.differentiate.differentiation import ACT, ID, At, leaf_name
from dynamic_tables.differentiate.linear import same
from dynamic_tables.differentiate.row_id import RowIds
from dynamic_tables.plan.expressions import Agg, Col, Lit, boolean, conjunction, text
from dynamic_tables.plan.nodes import (
    ACTION,
    INSERT,
    ROW_ID,
    Aggregate,
    Filter,
    Leaf,
    Plan,
    Project,
    SemiJoin,
    children,
    children_first,
    columns,
    rebuilt,
)
from dynamic_tables.plan.types import BIGINT, STRING, Columns

CAME = "$CAME_"
"""The beginning of the names of the key columns of rows that came, beside those of all rows."""

Key = Sequence[str]
"""The names of the columns of a primary key."""

Keyed = Callable[[str, At, Columns, Key, RowIds], Plan]
"""The type of `keyed`."""


def rows_of(source: str, at: At) -> str:
    """Returns the name of the leaf with the rows of a source at one end of an interval, without ids."""
    return f"{leaf_name(source, at)}/rows"


def keyed(source: str, at: At, schema: Columns, key: Key, row_ids: RowIds) -> Plan:
    """Returns the rows of a table at one end of an interval, with ids that are made of its primary key.

    The same key has the same id in every version, also in one that was written anew as a whole.
    """
    leaf = Leaf(rows_of(source, at), named(schema))
    return Project(leaf, (*same(leaf), (ROW_ID, row_ids.primary(_columns(leaf, key)))))


def keyed_capture(
    source: str,
    schema: Columns,
    key: Key,
    row_ids: RowIds,
    capture: Callable[[str, Columns], Plan],
    ids: Keyed,
) -> Plan:
    """Returns the plan `capture` over rows without ids: those that a key gives them are made in it."""
    ends = {leaf_name(source, at): ids(source, at, schema, key, row_ids) for at in At}
    done: dict[int, Plan] = {}
    plan = capture(source, schema)
    for node in children_first(plan):
        match node:
            case Leaf(name) if name in ends:
                done[id(node)] = ends[name]
            case _:
                done[id(node)] = rebuilt(node, [done[id(child)] for child in children(node)])
    return done[id(plan)]


def shared_key(source: str, schema: Columns, key: Key, row_ids: RowIds, came: bool) -> Plan:
    """Returns one row: the least id that two rows at t1 have, or NULL where each row has its own.

    `came`: only the keys of the rows that came in the interval are looked up. A key that was there once
    before is there twice only if a row came with it.
    """
    rows = keyed(source, At.T1, schema, key, row_ids)
    if came:
        changes = Leaf(leaf_name(source, None), (*named(schema), (ACTION, ACT), (ROW_ID, ID)))
        inserted = Filter(changes, boolean("=", ACT, text(INSERT)))
        keys = Project(
            inserted,
            (*((CAME + column.name, column) for column in _columns(inserted, key)), (CAME + ROW_ID, ID)),
        )
        # The id alone decides; the columns let files be skipped by their statistics.
        equal = [
            boolean("is not distinct from", column, Col(CAME + column.name, column.type))
            for column in _columns(rows, key)
        ]
        rows = SemiJoin(rows, keys, conjunction((*equal, boolean("=", ID, Col(CAME + ROW_ID, STRING)))))
    count = Col("$ROWS", BIGINT)
    counted = Aggregate(rows, ((ROW_ID, ID),), ((count.name, Agg("SUM", Lit(1, BIGINT), False, BIGINT)),))
    shared = Filter(counted, boolean(">", count, Lit(1, BIGINT)))
    return Aggregate(shared, (), ((ROW_ID, Agg("MIN", ID, False, STRING)),))


def with_id(source: str, schema: Columns, key: Key, row_ids: RowIds, row_id: str) -> Plan:
    """Returns the rows of a table at t1 that have one id, without it."""
    rows = keyed(source, At.T1, schema, key, row_ids)
    return Project(Filter(rows, boolean("=", ID, text(row_id))), named(schema))


def _columns(plan: Plan, key: Key) -> list[Col]:
    by_name = {column.name: column for column in columns(plan)}
    return [by_name[name] for name in key]
