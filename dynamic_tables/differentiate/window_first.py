"""`ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) = 1`: the first row of each partition, from the stored ones.

The stored row of a partition is its first row at t0 (delayed view semantics). If it is still there at t1, the
first row at t1 is the first of it and the new rows of its partition, as no other row can come before it. If
it is gone, a new row that comes before its old place, or takes it, is the first one. Only if there is none
does another row of the partition move up, and the partition is read. Example: the stored row of k = 1 has
v = 3, and it is deleted. With a new row (1, 2) this is the first one; with a new row (1, 5) there may be
a row (1, 4) before it.

So a new version of a key, the commonest change under such a query, is found without reading its old ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dynamic_tables.differentiate.differentiation import ACT, ID, Differentiation
from dynamic_tables.differentiate.linear import same
from dynamic_tables.differentiate.outer_join import marked
from dynamic_tables.differentiate.stored_parts import (
    OnTop,
    affected_parts,
    key_columns,
    rows_now,
    shown_rows,
    stored_rows,
)
from dynamic_tables.differentiate.window_tail import is_stored
from dynamic_tables.plan.affected import affected_keys, is_affected
from dynamic_tables.plan.branches import Branch
from dynamic_tables.plan.expressions import Col, Expr, Fn, Lit, SortKey, Win, boolean, text
from dynamic_tables.plan.functions import CASE
from dynamic_tables.plan.nodes import (
    ACTION,
    DELETE,
    INSERT,
    ROW_ID,
    BoundQuery,
    Filter,
    Join,
    JoinKind,
    Plan,
    Project,
    UnionAll,
    Window,
    walk,
)
from dynamic_tables.plan.time import expressions, holds_time
from dynamic_tables.plan.types import BOOLEAN, INT

STORED, GONE, PLACE, AGAIN = "$STORED", "$GONE", "$PLACE", "$AGAIN"
"""Columns of `ranked`: whether the row is a stored one; whether that one is gone at t1; the number of the row
in its partition; and whether the partition must be read, because a row that is gone has the first place."""

ONE = (("=", 1), ("<=", 1), ("<", 2))
"""The conditions on ROW_NUMBER that only the first row meets."""


@dataclass(frozen=True, slots=True)
class Firsts:
    """A query for the first row of each partition. `order`: its order, by the outputs that show its keys."""

    top: OnTop
    node: Window
    order: tuple[SortKey, ...]


def firsts_of(top: OnTop) -> Firsts | None:
    """Returns how the first rows are ordered, if a query asks for these and shows the keys of the order.

    None otherwise, and where the changes of the input may hold a DELETE and an INSERT that cancel: such an
    INSERT is no new row. A filtered table has no such changes.
    """
    node = top.node
    if not isinstance(node, Window):
        return None
    ((name, call), *others) = node.calls
    if others or call.function != Fn("row_number", (), call.type) or not is_stored(node.child):
        return None
    if any(holds_time(expr) for part in walk(node.child) for expr in expressions(part)):
        return None
    order = top.showing([key.expr for key in call.order])
    if order is None or len(top.filters) != 1 or not _asks_for_first(top.filters[0], name):
        return None
    keys = (replace(key, expr=Col(each, key.expr.type)) for each, key in zip(order, call.order, strict=True))
    return Firsts(top, node, tuple(keys))


def _asks_for_first(condition: Expr, name: str) -> bool:
    match condition:
        case Fn(sign, (Col(column), Lit(value)), _):
            return column == name and (sign, value) in ONE
        case _:
            return False


def delta_of_firsts(query: BoundQuery, firsts: Firsts, d: Differentiation) -> Plan:
    """Returns the stored rows that are no longer first as DELETE, and the rows that are now first as INSERT.

    A row that was updated and is still the first one has both; so has one that was read again. Equal rows
    cancel.
    """
    d.met(Branch.WINDOW_FIRST)
    rows = ranked(firsts, candidates(query, firsts, d.delta(firsts.node.child, True)))
    first = boolean("=", Col(PLACE, INT), Lit(1, INT))
    stored, gone = Col(STORED, BOOLEAN), Col(GONE, BOOLEAN)
    leaves = boolean("and", stored, boolean("or", gone, boolean("not", first)))
    comes = boolean("and", boolean("not", stored), first)
    action = Fn(CASE, (stored, text(DELETE), text(INSERT)), ACT.type)
    outputs = tuple((name, Col(name, type_)) for name, type_ in query.schema)
    known = Project(Filter(rows, boolean("or", leaves, comes)), (*outputs, (ACTION, action), (ROW_ID, ID)))
    again = affected_keys(Filter(rows, Col(AGAIN, BOOLEAN)), key_columns(firsts.top))
    return UnionAll((known, marked(rows_now(query, firsts.top, again, d), INSERT)))


def candidates(query: BoundQuery, firsts: Firsts, changes: Plan) -> Plan:
    """Returns the stored rows of affected partitions, and the new rows of `changes` as outputs."""
    top = firsts.top
    stored = stored_rows(query, top, affected_parts(changes, top))
    # By the keys of the partition, too: a row that has gone to another one is gone in this one.
    old = affected_keys(Filter(changes, boolean("=", ACT, text(DELETE))), [ID, *firsts.node.partition])
    deleted = Project(old, (*same(old), (GONE, Lit(True, BOOLEAN))))
    found = Join(JoinKind.LEFT, stored, deleted, is_affected([ID, *key_columns(top)]))
    new = Filter(changes, boolean("=", ACT, text(INSERT)))
    # Each new row is taken for the first of its partition: its outputs are then those that it would have.
    numbers = tuple((name, Lit(1, call.type)) for name, call in firsts.node.calls)
    values = tuple(item for item in same(new) if item[0] not in (ACTION, ROW_ID))
    shown = shown_rows(query, Project(new, (*values, *numbers, (ROW_ID, ID))))
    is_stored, is_new = (STORED, Lit(True, BOOLEAN)), (STORED, Lit(False, BOOLEAN))
    return UnionAll(
        (
            Project(found, (*same(stored), is_stored, (GONE, boolean("is true", Col(GONE, BOOLEAN))))),
            Project(shown, (*same(shown), is_new, (GONE, Lit(False, BOOLEAN)))),
        )
    )


def ranked(firsts: Firsts, rows: Plan) -> Plan:
    """Returns candidates with their places in their partitions.

    Rows that are equal in the order are taken in the order of their ids, as `window.windowed` takes them. Of
    a row that was updated and has its old place, the new version comes first: so the old one is not missed.
    """
    order = (*firsts.order, SortKey(ID), SortKey(Col(STORED, BOOLEAN)))
    number = Win(Fn("row_number", (), INT), tuple(key_columns(firsts.top)), order, None, False, INT)
    placed = Window(rows, ((PLACE, number),))
    first = boolean("=", Col(PLACE, INT), Lit(1, INT))
    return Project(placed, (*same(placed), (AGAIN, boolean("and", Col(GONE, BOOLEAN), first))))
