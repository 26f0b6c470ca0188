"""Triggers of window functions and grouping sets: what a change does to rows that did not change."""

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
    other_column,
    script,
    set_value,
)
from generators.queries.expressions import Term, call, constant
from generators.queries.grouping_sets import grouping_sets
from generators.queries.relations import FromClause, Generated, scope_of, select, summed_type
from generators.queries.windows import UNORDERED, Order, Windows
from workload import query as ir
from workload.types import BIGINT, BOOLEAN, INT, Value


def row_comes_between(b: ScenarioBuilder) -> Script:
    """Inserts a row between two others, deletes the first, moves one to the end: neighbours change."""
    table = b.choices.pick(b.tables)
    source = _ordered(b, shapes.reading(b, table.name))
    partitioned = b.choices.chance(30)
    if b.choices.chance(50):
        block = _running(b, source, partitioned=partitioned)
    else:
        block = _places(b, source, partitioned=partitioned)
    k = source.scope[0]
    target = shapes.define(b, block if b.choices.chance(60) else _filtered(b, block, k))
    return script(
        target,
        act(insert(b, table, k=0), insert(b, table, k=2), insert(b, table, k=4)),
        act(insert(b, table, k=b.choices.pick((1, 3)))),
        act(delete(table, "k", 0)),
        act(move_key(table, 2, None)),
        act(insert(b, table, k=1)) + act(delete(table, "k", 4)),
    )


def running_values(b: ScenarioBuilder) -> Script:
    """Inserts rows in the middle and at the end of those that running values go over, better and worse ones.

    Others come with the key of a row that is there, and with a key of NULL; a value becomes NULL.
    """
    table = b.add_table((b.choices.pick(shapes.ORDERED), b.choices.pick(shapes.ORDERED)))
    source = shapes.reading(b, table.name)
    k, first, value, *_ = source.scope
    partitioned = b.choices.chance(60)
    order_by = first if partitioned else k
    descending = b.choices.chance(50)
    order = (ir.OrderKey(order_by.expr, descending),)
    partition = (k.expr,) if partitioned else ()
    windows = Windows(b.queries, source, [k, first, value], None)
    functions = [_running_value(b, windows, value, partition, order) for _ in range(b.choices.integer(1, 3))]
    where = b.queries.sometimes(replace(source, scope=[k, first]), 25)
    block = select(source, [k, first, value, *functions], where)
    target = shapes.define(b, block if b.choices.chance(75) else _filtered(b, block, k))
    at, of = table.columns[1].name, table.columns[2].name
    low, middle, _, high = four_values(table, 2)
    inner: tuple[Value, ...] = four_values(table, 1) if partitioned else (0, 1, 3, 4)
    # In the order of the window, so that what comes at the end has rows before it.
    places = (*(reversed(inner) if descending else inner), None)
    home = b.choices.pick((1, None))
    rows: list[dict[str, Value]] = [
        {"k": home, at: place} if partitioned else {"k": place} for place in places
    ]
    begin, between, later, end, unknown = rows
    return script(
        target,
        act(insert(b, table, **{**begin, of: middle}), insert(b, table, **{**later, of: middle})),
        act(insert(b, table, **{**between, of: b.choices.pick((low, high))})),
        act(insert(b, table, **{**end, of: b.choices.pick((None, None, low, high))})),
        act(set_value(table, of, None, is_value(table, of, middle)), insert(b, table, **{**later, of: low}))
        + act(insert(b, table, **{**unknown, of: b.choices.pick((low, high))})),
    )


def first_of_each_key(b: ScenarioBuilder) -> Script:
    """Inserts a better first row of a key, and deletes it with and without one in its place.

    It moves back behind others, a better one comes while it goes, and its key goes.
    """
    kinds = [type_ for type_ in shapes.ORDERED if type_.kind not in UNORDERED]
    table = b.add_table((b.choices.pick(kinds), b.choices.pick(kinds)))
    source = shapes.reading(b, table.name)
    k, first, second, *_ = source.scope
    descending = b.choices.chance(60)
    order = (ir.OrderKey(first.expr, descending), ir.OrderKey(second.expr, b.choices.chance(40)))
    place = Term(ir.Window(ir.WindowFunction.ROW_NUMBER, (), (k.expr,), order, None, INT))
    is_first = call(b.choices.pick(("eq", "eq", "le")), BOOLEAN, place, constant(1, INT))
    where = b.queries.sometimes(replace(source, scope=[k, second]), 20)
    block = select(source, [k, first, second], where)
    assert isinstance(block.query, ir.Select)
    target = shapes.define(b, replace(block, query=replace(block.query, qualify=is_first.expr)))
    at, beside = table.columns[1].name, table.columns[2].name
    values = four_values(table, 1)
    best, good, fair, worst = reversed(values) if descending else values
    low, _, _, high = four_values(table, 2)
    home = b.choices.pick((key(b), None))
    return script(
        target,
        act(insert(b, table, k=home, **{at: good}), insert(b, table, k=home, **{at: worst})),
        act(insert(b, table, k=home, **{at: best, beside: high})),
        act(delete(table, at, best)),
        act(delete(table, at, good), insert(b, table, k=home, **{at: fair, beside: low})),
        act(set_value(table, at, worst, is_value(table, at, fair)), insert(b, table, k=home, **{at: good})),
        act(set_value(table, beside, low, is_value(table, at, good))),
        act(delete(table, at, good), insert(b, table, k=home, **{at: best})),
        act(delete(table, "k", home), insert(b, table, k=None)),
    )


def _running_value(
    b: ScenarioBuilder,
    windows: Windows,
    value: Term,
    partition: tuple[ir.Expr, ...],
    order: tuple[ir.OrderKey, ...],
) -> Term:
    """Returns MIN, MAX, SUM or COUNT of a column up to each row, or its rank."""
    function = b.choices.weighted(
        ((3, "MIN"), (3, "MAX"), (6, "SUM"), (1, "COUNT"), (1, "COUNT_STAR"), (2, "RANK"))
    )
    if function == "RANK":
        return Term(ir.Window(ir.WindowFunction.RANK, (), partition, order, None, INT), windows.growth)
    if function == "SUM" and summed_type(value, windows.growth) is not None:
        source = windows.source
        term = b.queries.sum_or_average(source, ir.AggregateFunction.SUM, value, windows.growth, False)
    elif function in ("COUNT", "COUNT_STAR"):
        arg = value.expr if function == "COUNT" else None
        term = Term(ir.Aggregate(ir.AggregateFunction[function], arg, False, BIGINT), windows.growth)
    else:
        named = ir.AggregateFunction.MAX if function == "SUM" else ir.AggregateFunction[function]
        term = replace(value, expr=ir.Aggregate(named, value.expr, False, value.type))
    return windows.over(term, partition, order, None)


def partition_changed(b: ScenarioBuilder) -> Script:
    """Moves rows between partitions that keep others, also that of key NULL; two PARTITION BY lists."""
    table = b.choices.pick(b.tables)
    source = shapes.reading(b, table.name)
    other = other_column(b, table)
    first, second = source.scope[0], shapes.column_of(source, other.name)
    windows = Windows(b.queries, source, [first, second], None)
    lists = (((first,), (second,)), ((second,), (first,)), ((first,), ()))
    partitions = b.choices.pick(lists)
    functions = [
        windows.over(windows.simple_aggregate(), tuple(term.expr for term in partition), (), None)
        for partition in partitions
    ]
    target = shapes.define(b, select(source, [first, second, *functions]))
    k, value = key(b), b.choices.pick(other.values)
    return script(
        target,
        act(insert(b, table, k=k), insert(b, table, k=k), insert(b, table, k=k + 1)),
        act(set_value(table, other.name, value, is_value(table, "k", k + 1))),
        act(move_key(table, k + 1, k)),
        act(insert(b, table, k=None)) + act(move_key(table, None, k)),
        act(insert(b, table, k=None, **{other.name: None})),
    )


def subtotals(b: ScenarioBuilder) -> Script:
    """Makes a key NULL beside the subtotal of all keys; deletes a group, whose subtotal stays."""
    table = b.choices.pick(b.tables)
    source = shapes.reading(b, table.name)
    other = other_column(b, table)
    keys = [source.scope[0], shapes.column_of(source, other.name)]
    target = shapes.define(b, grouping_sets(b.queries, source, None, keys[: b.choices.integer(1, 2)]))
    k = key(b)
    return script(
        target,
        act(insert(b, table, k=k), insert(b, table, k=k)),
        act(insert(b, table, k=None), insert(b, table, k=None, **{other.name: None})),
        act(delete(table, "k", k)),
        act(delete(table, "k", None), insert(b, table, k=k)),
        act(set_value(table, other.name, None, is_value(table, "k", k))),
    )


def _ordered(b: ScenarioBuilder, source: FromClause) -> FromClause:
    """Returns the clause with its key and at most one more column, which rows can be ordered by."""
    ordered = [term for term in source.matchable if term.type.kind not in UNORDERED]
    return replace(source, scope=[ordered[0], *b.choices.subset(ordered[1:], 0, 1)])


def _places(b: ScenarioBuilder, source: FromClause, *, partitioned: bool) -> Generated:
    """Returns the rows with one or two functions of their places, in an order that begins with the key."""
    first, *rest = source.scope
    cut = rest if partitioned else []
    keys = [first, *(term for term in rest if term not in cut)]
    order = tuple(ir.OrderKey(term.expr, b.choices.chance(30)) for term in keys)
    total = Order(tuple(term.expr for term in cut), order)
    windows = Windows(b.queries, source, source.scope, total)
    functions: list[Term] = [windows.place(total) for _ in range(b.choices.integer(1, 2))]
    return select(source, [*source.scope, *functions])


def _running(b: ScenarioBuilder, source: FromClause, *, partitioned: bool) -> Generated:
    """Returns the rows with one or two aggregates of the rows up to each one, and sometimes their rank."""
    first, *rest = source.scope
    partition = tuple(term.expr for term in rest) if partitioned else ()
    order = (ir.OrderKey(first.expr, b.choices.chance(30)),)
    windows = Windows(b.queries, source, source.scope, None)
    functions = [
        windows.over(windows.simple_aggregate(), partition, order, None)
        for _ in range(b.choices.integer(1, 2))
    ]
    if b.choices.chance(30):
        rank = ir.Window(ir.WindowFunction.RANK, (), partition, order, None, INT)
        functions.append(Term(rank, windows.growth))
    return select(source, [*source.scope, *functions])


def _filtered(b: ScenarioBuilder, block: Generated, k: Term) -> Generated:
    """Returns some of the rows of a block, by its key: a filter above the window functions."""
    alias = b.queries.alias()
    scope = scope_of(alias, block.columns)
    assert isinstance(block.query, ir.Select)
    wanted = call(
        b.choices.pick(("ne", "gt", "le")), BOOLEAN, scope[0], constant(b.choices.integer(0, 3), k.type)
    )
    return select(FromClause(ir.Derived(block.query, alias), scope, block.rows), scope, wanted.expr)
