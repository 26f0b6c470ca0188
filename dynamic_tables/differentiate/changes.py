"""Change sets where they enter a plan and where they leave it.

`capture` makes the change set of a source by comparing its rows at t0 and t1 (the leaves of a plan);
`consolidate` nets the changes of the whole query (the root). Between them a rule may return a DELETE and an
INSERT that cancel, which keeps the rules simple. Both compare rows bit for bit, where SQL's `=` does not:
NULL, -0.0 and maps need care.
"""

from __future__ import annotations

from dynamic_tables.differentiate.differentiation import ACT, ID, At, leaf_name
from dynamic_tables.differentiate.linear import same
from dynamic_tables.differentiate.outer_join import both_ends
from dynamic_tables.differentiate.row_id import RowIds, concat
from dynamic_tables.plan import nodes
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit, boolean, conjunction, text
from dynamic_tables.plan.functions import CANONICAL, CASE, CAST, DIGEST, MAP_ENTRIES, MAP_FROM_ENTRIES
from dynamic_tables.plan.nested_types import has_comparable_pairs, pair_of, pairs_type, with_texts
from dynamic_tables.plan.types import BIGINT, FLOATING, INT, STRING, VARIANT, Columns as Columns

OTHER = "$OTHER_"

ANY = "$ANY_"
"""Of VARIANTs with one canonical text, the one that stands for all."""


def named(schema: Columns) -> tuple[tuple[str, Col], ...]:
    """Returns the columns of a schema, each with its name."""
    return tuple((column, Col(column, type_)) for column, type_ in schema)


def stored(name: str, schema: Columns) -> nodes.Leaf:
    """Returns a leaf for stored rows: the columns and `$ROW_ID`."""
    return nodes.Leaf(name, (*named(schema), (nodes.ROW_ID, ID)))


def capture(source: str, schema: Columns) -> nodes.Plan:
    """Returns the changes of a stored relation between t0 and t1, from the rows of both versions.

    A DELETE is a row at t0 without an equal row of the same id at t1, and an INSERT is a row at t1 without
    one at t0. Row ids are unique in each version, so there is at most one DELETE and one INSERT per row id.
    """
    # Rows are compared, not Delta's row commit versions: a no-op UPDATE gives a row a new commit version,
    # and RESTORE gives a row that it changes back its old one.
    ends = {at: stored(leaf_name(source, at), schema) for at in At}

    def only_at(at: At) -> nodes.Plan:
        """Returns the rows at one end that have no equal row of the same id at the other end."""
        other = ends[At.T1 if at is At.T0 else At.T0]
        renamed = nodes.Project(
            other, tuple((OTHER + column.name, column) for column in nodes.columns(other))
        )
        # Values are compared null-safely: with `=`, a row with a NULL would differ from itself.
        equal = (
            boolean(
                "=" if column.name == nodes.ROW_ID else "is not distinct from",
                comparable(column),
                comparable(Col(OTHER + column.name, column.type)),
            )
            for column in reversed(nodes.columns(other))
        )
        return nodes.SemiJoin(ends[at], renamed, conjunction(equal), anti=True)

    return both_ends(only_at)


def comparable(column: Col) -> Expr:
    """Returns what is compared instead of a column: for a MAP the array of its pairs, for a float its text.

    Spark compares no maps. The order of the pairs counts, because functions such as `map_keys` show it. As
    texts, -0.0 and 0.0 differ. Of a VARIANT it is the canonical text (`plan.functions.canonical`).
    """
    if column.type == VARIANT:
        return Fn(CANONICAL, (column,), STRING)
    pair = pair_of(column.type)
    if pair is None or not has_comparable_pairs(column.type):
        return exact(column)
    return exact(Fn(MAP_ENTRIES, (column,), pairs_type(pair)))


def exact(value: Expr) -> Expr:
    """Returns a value with each float in it, also inside of arrays and structs, replaced by its text.

    To `=` and GROUP BY, -0.0 and 0.0 are equal. But an UPDATE from one to the other is a change of the row,
    and a grouping must not store one of them for the other.
    """
    type_ = with_texts(value.type)
    return value if type_ == value.type else Fn(CAST, (value,), type_)


def _from_comparable(column: Col) -> Expr:
    """Returns a column from what `comparable` made of it; the text of a float is cast back."""
    compared = comparable(column)
    if compared is column:
        return column
    if column.type == VARIANT:
        return Col(ANY + column.name, VARIANT)
    pair = pair_of(column.type)
    values = column.type if pair is None else pairs_type(pair)
    value: Expr = Col(column.name, compared.type)
    value = value if values == compared.type else Fn(CAST, (value,), values)
    return value if pair is None else Fn(MAP_FROM_ENTRIES, (value,), column.type)


def identify(source: str, at: At, schema: Columns, row_ids: RowIds) -> nodes.Plan:
    """Returns the rows of a FULL table, which stores no row ids, with ids made of content and occurrence.

    Of two equal rows (1, 'a') one gets an id with the number 1 and the other with 2. So the ids of a version
    depend on its rows alone, and the same rows have the same ids at both ends of an interval.
    """
    leaf = nodes.Leaf(f"{leaf_name(source, at)}/rows", named(schema))
    numbered = nodes.Numbered(leaf, tuple(map(comparable, nodes.columns(leaf))), "$OCCURRENCE")
    # A VARIANT may be long, and is in the id as 64 digits of a hash.
    framed = [Fn(DIGEST, (c,), STRING) if c.type == VARIANT else c for c in nodes.columns(leaf)]
    row_id = row_ids.occurrence(framed, Col("$OCCURRENCE", INT))
    # In ids -0.0 is 0.0, but here rows that differ in nothing else are numbered apart (`exact`). So the id
    # also says which columns hold -0.0, or two different rows would have one id.
    marks = (
        Fn(CASE, (boolean("=", exact(column), text("-0.0")), text(f"-{place}"), text("")), STRING)
        for place, column in enumerate(nodes.columns(leaf))
        if column.type.kind in FLOATING
    )
    return nodes.Project(numbered, (*same(leaf), (nodes.ROW_ID, concat(row_id, *marks))))


def consolidate(changes: nodes.Plan) -> nodes.Plan:
    """Returns the net changes: among equal rows of one id, each INSERT cancels one DELETE.

    Rows are grouped by id and values; INSERT counts 1 and DELETE -1, and a sum of 0 leaves. A correct change
    set nets to at most one row per `$ROW_ID` and `$ACTION` (DVS paper, section 5.5).
    """
    weight: Expr = Fn(CASE, (boolean("=", ACT, text(nodes.INSERT)), Lit(1, BIGINT), Lit(-1, BIGINT)), BIGINT)
    # Grouping by a map itself would put its pairs into another order.
    keys = tuple((c.name, comparable(c)) for c in nodes.columns(changes) if c.name != nodes.ACTION)
    net = Col("$NET", BIGINT)
    zero = Lit(0, BIGINT)
    variants = (c for c in nodes.columns(changes) if c.type == VARIANT)
    kept = ((ANY + c.name, Agg("ANY_VALUE", c, False, VARIANT)) for c in variants)
    summed = nodes.Aggregate(changes, keys, ((net.name, Agg("SUM", weight, False, BIGINT)), *kept))
    surviving = nodes.Filter(summed, boolean("<>", net, zero))
    # A net count above one is a fault of a rule. It becomes two rows: enough for the validation to see a
    # duplicate, and few even if the count is large.
    copy = Col("$COPY", BIGINT)
    copies = nodes.Values((copy,), ((1,), (2,)))
    repeated = nodes.Join(
        nodes.JoinKind.INNER, surviving, copies, boolean("<=", copy, Fn("abs", (net,), BIGINT))
    )
    action: Expr = Fn(CASE, (boolean(">", net, zero), text(nodes.INSERT), text(nodes.DELETE)), ACT.type)
    outputs = (
        (c.name, action if c.name == nodes.ACTION else _from_comparable(c)) for c in nodes.columns(changes)
    )
    return nodes.Project(repeated, tuple(outputs))
