"""Change sets at both ends of a plan: captured from the versions of a source, consolidated at the root."""

from __future__ import annotations

from dynamic_tables.differentiate.differentiation import ACT, ID, At, leaf_name
from dynamic_tables.differentiate.linear import same
from dynamic_tables.differentiate.outer_join import both_ends
from dynamic_tables.differentiate.row_id import RowIds, concat
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit, boolean, conjunction, text
from dynamic_tables.plan.functions import CASE, CAST, MAP_ENTRIES, MAP_FROM_ENTRIES
from dynamic_tables.plan.nested_types import has_comparable_pairs, pair_of, pairs_type, with_texts
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
from dynamic_tables.plan.types import BIGINT, FLOATING, INT, STRING, Columns as Columns

OTHER = "$OTHER_"


def named(schema: Columns) -> tuple[tuple[str, Col], ...]:
    """Returns the columns of a schema, each with its name."""
    return tuple((column, Col(column, type_)) for column, type_ in schema)


def stored(name: str, schema: Columns) -> Leaf:
    """Returns a leaf for stored rows: the columns and `$ROW_ID`."""
    return Leaf(name, (*named(schema), (ROW_ID, ID)))


def capture(source: str, schema: Columns) -> Plan:
    """Returns the changes of a stored relation between t0 and t1, from the rows of both versions.

    An old image is a row at t0 without an equal row of the same id at t1; a new image is the reverse. There
    is at most one DELETE and one INSERT per row id.
    """
    # Rows are compared, not Delta's row commit versions: a no-op UPDATE gives a row a new commit version,
    # and RESTORE gives a row that it changes back its old one.
    ends = {at: stored(leaf_name(source, at), schema) for at in At}

    def only_at(at: At) -> Plan:
        other = ends[At.T1 if at is At.T0 else At.T0]
        renamed = Project(other, tuple((OTHER + column.name, column) for column in columns(other)))
        # Values are compared null-safely: with `=`, a row with a NULL would differ from itself.
        equal = (
            boolean(
                "=" if column.name == ROW_ID else "is not distinct from",
                comparable(column),
                comparable(Col(OTHER + column.name, column.type)),
            )
            for column in reversed(columns(other))
        )
        return SemiJoin(ends[at], renamed, conjunction(equal), anti=True)

    return both_ends(only_at)


def comparable(column: Col) -> Expr:
    """Returns what is compared instead of a column: of a MAP its pairs, for Spark compares no maps.

    Their order counts, as `map_keys` shows it. Floats are compared as texts, so that -0.0 differs from 0.0.
    """
    pair = pair_of(column.type)
    if pair is None or not has_comparable_pairs(column.type):
        return exact(column)
    return exact(Fn(MAP_ENTRIES, (column,), pairs_type(pair)))


def exact(value: Expr) -> Expr:
    """Returns a value with the text of each float in it: to `=` and GROUP BY, -0.0 and 0.0 are equal.

    A change from one to the other is a change of the row, and neither may be stored for the other.
    """
    type_ = with_texts(value.type)
    return value if type_ == value.type else Fn(CAST, (value,), type_)


def _from_comparable(column: Col) -> Expr:
    """Returns a column from what was compared instead of it."""
    compared = comparable(column)
    if compared is column:
        return column
    pair = pair_of(column.type)
    values = column.type if pair is None else pairs_type(pair)
    value: Expr = Col(column.name, compared.type)
    value = value if values == compared.type else Fn(CAST, (value,), values)
    return value if pair is None else Fn(MAP_FROM_ENTRIES, (value,), column.type)


def identify(source: str, at: At, schema: Columns, row_ids: RowIds) -> Plan:
    """Returns the rows of a FULL table, which stores no row ids, with ids made of content and occurrence."""
    leaf = Leaf(f"{leaf_name(source, at)}/rows", named(schema))
    numbered = Numbered(leaf, tuple(map(exact, columns(leaf))), "$OCCURRENCE")
    row_id = row_ids.occurrence(columns(leaf), Col("$OCCURRENCE", INT))
    # In ids -0.0 is 0.0. Rows that differ in that alone would be numbered in an order that may change.
    marks = (
        Fn(CASE, (boolean("=", exact(column), text("-0.0")), text(f"-{place}"), text("")), STRING)
        for place, column in enumerate(columns(leaf))
        if column.type.kind in FLOATING
    )
    return Project(numbered, (*same(leaf), (ROW_ID, concat(row_id, *marks))))


def consolidate(changes: Plan) -> Plan:
    """Returns the net changes: among equal rows of one id, each INSERT cancels one DELETE.

    A correct change set nets to at most one row per `$ROW_ID` and `$ACTION` (DVS paper, section 5.5).
    """
    weight: Expr = Fn(CASE, (boolean("=", ACT, text(INSERT)), Lit(1, BIGINT), Lit(-1, BIGINT)), BIGINT)
    # Grouping by a map would put its pairs into another order.
    keys = tuple((c.name, comparable(c)) for c in columns(changes) if c.name != ACTION)
    net = Col("$NET", BIGINT)
    zero = Lit(0, BIGINT)
    summed = Aggregate(changes, keys, ((net.name, Agg("SUM", weight, False, BIGINT)),))
    surviving = Filter(summed, boolean("<>", net, zero))
    # A net count above one shows a fault; it becomes two rows, enough for the validation to see it.
    copy = Col("$COPY", BIGINT)
    copies = Values((copy,), ((1,), (2,)))
    repeated = Join(JoinKind.INNER, surviving, copies, boolean("<=", copy, Fn("abs", (net,), BIGINT)))
    action: Expr = Fn(CASE, (boolean(">", net, zero), text(INSERT), text(DELETE)), ACT.type)
    outputs = ((c.name, action if c.name == ACTION else _from_comparable(c)) for c in columns(changes))
    return Project(repeated, tuple(outputs))
