"""Changes at the two borders of a plan: captured from a source's versions, consolidated at the root."""

from __future__ import annotations

from functools import reduce

from dynamic_tables.differentiate.differentiation import ACT, ID, At, leaf_name
from dynamic_tables.differentiate.outer_join import both_ends
from dynamic_tables.differentiate.row_id import RowIds
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit
from dynamic_tables.plan.functions import CASE
from dynamic_tables.plan.nodes import (
    ACTION,
    DELETE,
    INSERT,
    ROW_ID,
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Leaf,
    Numbered,
    Plan,
    Project,
    SemiJoin,
    Values,
    columns,
)
from dynamic_tables.plan.types import BIGINT, BOOLEAN, INT, Type

Columns = tuple[tuple[str, Type], ...]

OTHER = "$OTHER_"


def conjunction(parts: list[Expr]) -> Expr:
    """All of them."""
    return reduce(lambda left, right: Fn("and", (left, right), BOOLEAN), parts)


def stored(name: str, schema: Columns) -> Leaf:
    """A leaf with row ids."""
    pairs = tuple((column, Col(column, type_)) for column, type_ in schema)
    return Leaf(name, (*pairs, (ROW_ID, ID)))


def capture(source: str, schema: Columns) -> Plan:
    """The changes of a stored relation between two versions, from the rows themselves.

    An old image is a row at t0 without an equal row of the same id at t1; a new image the reverse. What
    a commit touched does not matter: a no-op UPDATE, OPTIMIZE, or A -> B -> A inside the interval is no
    change, and a RESTORE is one. At most one DELETE and one INSERT per id come out.
    """
    ends = {at: stored(leaf_name(source, at), schema) for at in At}
    opposite = {At.T0: At.T1, At.T1: At.T0}

    def gone(at: At) -> Plan:
        other = ends[opposite[at]]
        renamed = Project(other, tuple((OTHER + column.name, column) for column in columns(other)))
        equal: list[Expr] = [
            Fn(
                "=" if column.name == ROW_ID else "is not distinct from",
                (column, Col(OTHER + column.name, column.type)),
                BOOLEAN,
            )
            for column in reversed(columns(other))
        ]
        return SemiJoin(ends[at], renamed, conjunction(equal), anti=True)

    return both_ends(gone)


def identify(source: str, at: At, schema: Columns, row_ids: RowIds) -> Plan:
    """The rows of a relation that keeps no ids (a FULL table): content and occurrence number."""
    leaf = Leaf(
        f"{leaf_name(source, at)}/rows", tuple((column, Col(column, type_)) for column, type_ in schema)
    )
    values = list(columns(leaf))
    numbered = Numbered(leaf, tuple(values), "$OCCURRENCE")
    items: tuple[tuple[str, Expr], ...] = tuple((column.name, column) for column in values)
    return Project(numbered, (*items, (ROW_ID, row_ids.occurrence(values, Col("$OCCURRENCE", INT)))))


def consolidate(changes: Plan) -> Plan:
    """Net changes: equal rows of one id count INSERT as +1 and DELETE as -1, and zero vanishes.

    Right changes net to at most one row per `$ROW_ID` and `$ACTION` (DVS paper, section 5.5). A larger
    count comes out as two rows: enough for the validation to see it, whatever the count.
    """
    weight: Expr = Fn(
        CASE, (Fn("=", (ACT, Lit(INSERT, ACT.type)), BOOLEAN), Lit(1, BIGINT), Lit(-1, BIGINT)), BIGINT
    )
    keys: tuple[tuple[str, Expr], ...] = tuple((c.name, c) for c in columns(changes) if c.name != ACTION)
    net = Col("$NET", BIGINT)
    zero = Lit(0, BIGINT)
    summed = Aggregate(changes, keys, ((net.name, Agg("SUM", weight, False, BIGINT)),))
    surviving = Filter(summed, Fn("<>", (net, zero), BOOLEAN))
    copies = Values((Col("$COPY", BIGINT),), ((1,), (2,)))
    repeated = Join(
        JoinKind.INNER,
        surviving,
        copies,
        Fn("<=", (Col("$COPY", BIGINT), Fn("abs", (net,), BIGINT)), BOOLEAN),
    )
    action: Expr = Fn(
        CASE, (Fn(">", (net, zero), BOOLEAN), Lit(INSERT, ACT.type), Lit(DELETE, ACT.type)), ACT.type
    )
    return Project(repeated, tuple((c.name, action if c.name == ACTION else c) for c in columns(changes)))
