"""Triggers of subqueries that only some styles write: NOT IN of several columns, EXISTS over groups.

The IR has joins for these; the definition gets a style in which its text has the subquery.
"""

from __future__ import annotations

from dataclasses import replace

from generators.builder import ScenarioBuilder
from generators.intents import shapes
from generators.intents.script import (
    Script,
    act,
    delete,
    four_values,
    insert,
    is_value,
    key,
    move_key,
    script,
    set_value,
)
from generators.queries.expressions import Term, call, constant
from generators.queries.queries import never_false
from generators.queries.relations import COUNT_STAR, joined, select
from generators.queries.windows import UNORDERED
from workload import query as ir
from workload.dml import Delete
from workload.types import BIGINT, BOOLEAN, INT


def member_by_two_columns(b: ScenarioBuilder) -> Script:
    """Changes members by two columns, or by one and a tie; NULL comes to either column and goes again."""
    type_ = b.choices.pick(shapes.ORDERED)
    left, right = b.add_table((type_,)), b.add_table((type_,))
    rows, others = shapes.reading(b, left.name), shapes.reading(b, right.name)
    keys = call("eq", BOOLEAN, rows.scope[0], others.scope[0]).expr
    values = call("eq", BOOLEAN, rows.scope[1], others.scope[1]).expr
    match b.choices.weighted(((5, "not in"), (2, "in"), (3, "tied"))):
        case "not in":
            kind, on, written = ir.JoinKind.ANTI, [never_false(keys), never_false(values)], r"\) NOT IN \("
        case "in":
            kind, on, written = ir.JoinKind.SEMI, [keys, values], r", [^()]*\) IN \("
        case _:
            kind, on, written = ir.JoinKind.ANTI, [never_false(values), keys], r" NOT IN \(SELECT .* WHERE "
    source = joined(kind, rows, others, call("and", BOOLEAN, *map(Term, on)).expr)
    target = shapes.define(b, select(source, rows.scope[:3]), written)
    name = left.columns[1].name
    # Both tables get the values, and what is calculated from the narrower domain must not overflow.
    one, _, _, two = four_values(min(left, right, key=lambda table: table.domains[1].digits), 1)
    return script(
        target,
        act(
            insert(b, left, k=1, **{name: one}),
            insert(b, left, k=1, **{name: None}),
            Delete(right.name, None),
        )
        + act(insert(b, left, k=None, **{name: two})),
        act(insert(b, right, k=1, **{name: one}), insert(b, right, k=2, **{name: two})),
        act(set_value(right, name, None, is_value(right, "k", 1))),
        act(move_key(right, 2, None), delete(right, name, None), insert(b, left, k=2, **{name: two})),
    )


def marked_by_unknown(b: ScenarioBuilder) -> Script:
    """Shows by IN whether another table has a key, where that key, or one there, becomes NULL."""
    left, right = shapes.two_tables(b)
    rows, others = shapes.reading(b, left.name), shapes.reading(b, right.name)
    groups = select(others, [others.scope[0], Term(COUNT_STAR, 4)], group_by=others.scope[:1])
    beside = shapes.read_under(b, groups)
    on = call("eq", BOOLEAN, rows.scope[0], beside.scope[0]).expr
    source = joined(ir.JoinKind.LEFT, rows, beside, on)
    found = call(b.choices.pick(("is_not_null", "is_null")), BOOLEAN, beside.scope[1])
    target = shapes.define(b, select(source, [*rows.scope[:2], found]), r" IN \(SELECT ")
    k = key(b)
    return script(
        target,
        act(insert(b, left, k=k), insert(b, left, k=None), delete(right, "k", k)),
        act(insert(b, right, k=None), insert(b, right, k=k)),
        act(delete(right, "k", k)),
        act(delete(right, "k", None), move_key(left, None, k)),
    )


def member_of_groups(b: ScenarioBuilder) -> Script:
    """Makes a condition over groups, or over the one group of all rows, true and false again.

    The groups stand inside EXISTS, tied to the row outside; over no rows there is the one group, too.
    """
    left, right = shapes.two_tables(b)
    rows, others = shapes.reading(b, left.name), shapes.reading(b, right.name)
    kind = b.choices.pick((ir.JoinKind.SEMI, ir.JoinKind.ANTI))
    inner, most = others.scope[0], constant(b.choices.integer(1, 2), BIGINT)
    if b.choices.chance(40):
        greatest = Term(ir.Aggregate(ir.AggregateFunction.MAX, inner.expr, False, INT), inner.digits)
        least = constant(b.choices.integer(0, 2), INT)
        having = b.choices.pick(
            (
                call("eq", BOOLEAN, Term(COUNT_STAR), constant(0, BIGINT)),
                call("gt", BOOLEAN, Term(COUNT_STAR), most),
                call("le", BOOLEAN, greatest, least),
            )
        )
        groups = select(others, [Term(COUNT_STAR, 4)], group_by=[], having=having.expr)
        beside = shapes.read_under(b, groups)
        on: ir.Expr = constant(True, BOOLEAN).expr
    else:
        groups = select(others, [inner, Term(COUNT_STAR, 4)], group_by=[inner])
        beside = shapes.read_under(b, groups)
        counted = call(b.choices.pick(("gt", "le")), BOOLEAN, beside.scope[1], most)
        keys = call("eq", BOOLEAN, rows.scope[0], beside.scope[0])
        on = call("and", BOOLEAN, keys, counted).expr
    source = joined(kind, rows, beside, on)
    target = shapes.define(b, select(source, rows.scope[:3]), r"EXISTS \(SELECT .* HAVING ")
    k = key(b)
    return script(
        target,
        act(
            insert(b, left, k=k), insert(b, left, k=k + 1), insert(b, left, k=None), Delete(right.name, None)
        ),
        act(insert(b, right, k=k), insert(b, right, k=k)),
        act(insert(b, right, k=k), insert(b, right, k=k + 1)),
        act(insert(b, right, k=None), delete(right, "k", k)),
    )


def value_of_one_row(b: ScenarioBuilder) -> Script:
    """Changes the one row that a scalar subquery reads, mostly by a key: it comes, changes and goes."""
    left, right = shapes.two_tables(b)
    rows, others = shapes.reading(b, left.name), shapes.reading(b, right.name)
    inner = others.scope[0]
    values = [b.queries.aggregate(others) for _ in range(b.choices.integer(1, 2))]
    where, written = b.queries.sometimes(others, 20), r"\(SELECT [^()]* FROM \(SELECT .* WHERE "
    if b.choices.chance(30):
        # The one group of all rows, which HAVING may leave out.
        many = call(b.choices.pick(("gt", "le")), BOOLEAN, Term(COUNT_STAR), constant(2, BIGINT))
        groups, written = select(others, values, where, group_by=[], having=many.expr), r"\(SELECT .* HAVING "
    elif b.choices.chance(40):
        groups = select(others, [inner], where, group_by=[inner])
    else:
        groups = select(others, [inner, *values], where, group_by=[inner])
    beside = shapes.read_under(b, groups)
    one = groups.rows == 1
    on = constant(True, BOOLEAN) if one else call("eq", BOOLEAN, rows.scope[0], beside.scope[0])
    source = joined(ir.JoinKind.LEFT, rows, beside, on.expr)
    target = shapes.define(b, select(source, [*rows.scope[:2], *beside.scope]), written)
    k = key(b)
    return script(
        target,
        act(insert(b, left, k=k), insert(b, left, k=None), delete(right, "k", k)),
        act(insert(b, right, k=k), insert(b, right, k=k + 1)),
        act(insert(b, right, k=k), move_key(left, None, k + 1)),
        act(delete(right, "k", k), insert(b, right, k=None)),
    )


def first_rows_of_each(b: ScenarioBuilder) -> Script:
    """Changes the rows that LATERAL reads: the first ones of a key in another table, mostly after others.

    Rows come before, among and after these, and go.
    """
    left = b.choices.pick(b.tables)
    right = b.add_table((b.choices.pick(shapes.ORDERED),))
    rows, others = shapes.reading(b, left.name), shapes.reading(b, right.name)
    inner, shown = (
        others.scope[0],
        [t for t in others.scope[1:] if t.type.kind not in UNORDERED and t.key][:2],
    )
    order = tuple(ir.OrderKey(term.expr, b.choices.chance(40)) for term in shown)
    place = Term(ir.Window(ir.WindowFunction.ROW_NUMBER, (), (inner.expr,), order, None, INT))
    skipped, count = b.choices.pick((0, 1, 1, 2)), b.choices.integer(1, 2)
    within = call("le", BOOLEAN, place, constant(skipped + count, INT))
    if skipped:
        within = call("and", BOOLEAN, within, call("gt", BOOLEAN, place, constant(skipped, INT)))
    block = select(others, [inner, *shown])
    assert isinstance(block.query, ir.Select)
    beside = shapes.read_under(b, replace(block, query=replace(block.query, qualify=within.expr), rows=8))
    kind = b.choices.pick((ir.JoinKind.INNER, ir.JoinKind.LEFT))
    source = joined(kind, rows, beside, shapes.on_keys(rows, beside))
    target = shapes.define(
        b, select(source, [*rows.scope[:2], *beside.scope[1:]]), r"LATERAL \(SELECT .* LIMIT "
    )
    name, values = right.columns[1].name, four_values(right, 1)
    k = key(b)
    return script(
        target,
        act(insert(b, left, k=k), *(insert(b, right, k=k, **{name: value}) for value in values[1:])),
        act(insert(b, right, k=k, **{name: values[0]})),
        act(delete(right, name, values[2]), insert(b, right, k=k, **{name: values[-1]})),
        act(delete(right, "k", k), insert(b, right, k=None), insert(b, left, k=None)),
    )
