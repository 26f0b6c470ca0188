"""Triggers of ORDER BY with LIMIT: one row goes and another comes in, or a new one pushes another out."""

from __future__ import annotations

from dataclasses import replace

from generators.builder import ScenarioBuilder
from generators.domains import TableSketch
from generators.intents import shapes
from generators.intents.script import Script, act, delete, four_values, insert, key, move_key, script
from generators.queries.expressions import Term, call
from generators.queries.relations import COUNT_STAR, FromClause, joined, select
from generators.queries.windows import UNORDERED
from workload.dml import Insert
from workload.query import JoinKind, Limited, SortKey
from workload.types import INT


def first_rows_change(b: ScenarioBuilder) -> Script:
    """Deletes the first row, so that the next comes in; adds one, which pushes one out; NULL is least."""
    table = b.choices.pick(b.tables)
    source = shapes.reading(b, table.name)
    block = b.queries.first_of(select(source, _ordered(source, b.choices.integer(1, 3))))
    k = key(b)
    return script(
        shapes.define(b, block),
        act(insert(b, table, k=1), insert(b, table, k=2), insert(b, table, k=3)),
        act(delete(table, "k", 1)),
        act(insert(b, table, k=-1), insert(b, table, k=4)),
        act(move_key(table, k, None)),
        act(insert(b, table, k=None)) + act(delete(table, "k", -1)),
    )


def first_rows_below(b: ScenarioBuilder) -> Script:
    """Changes rows before, among and after the first rows, which are joined or grouped above."""
    table = b.choices.pick(b.tables)
    rows = _first_by_key(b, table)
    match b.choices.pick(("grouped", "scalar", "join", "difference")):
        case "grouped":
            block = select(rows, [rows.scope[0], Term(COUNT_STAR, 4)], group_by=rows.scope[:1])
        case "scalar":
            block = b.queries.aggregated(rows, None, (), 2)
        case "join":
            other = shapes.reading(b, shapes.partner(b, table).name)
            kind = b.choices.pick((JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI))
            sides = (other, rows) if b.choices.chance(40) else (rows, other)
            source = joined(kind, *sides, shapes.on_keys(*sides))
            block = select(source, source.scope[:3])
        case _:
            block = select(rows, rows.scope, distinct=True)
    return script(
        shapes.define(b, block),
        act(*(insert(b, table, k=k) for k in (0, 1, 2, 3))),
        act(insert(b, table, k=-1)),
        act(delete(table, "k", 1), insert(b, table, k=4)),
        act(move_key(table, 0, b.choices.pick((5, 2, None)))),
    )


def rows_equal_at_the_border(b: ScenarioBuilder) -> Script:
    """Changes rows that tie for the last place that LIMIT keeps, and one before them.

    Any of them are right, so nothing reads the table. Or the other columns follow from the order.
    """
    table = b.add_table((b.choices.pick((INT, *shapes.ORDERED)),))
    source = shapes.reading(b, table.name)
    shown = _ordered(source, 3)
    tied = b.choices.chance(70) and len(shown) > 1
    if not tied:
        shown = [shown[0], call("add", INT, shown[0], shown[0], digits=5), *shown[:1]]
    block = select(source, shown)
    keys = (SortKey("x0", b.choices.chance(50)),)
    count, offset = b.choices.integer(1, 3), b.choices.pick((0, 0, 0, 1))
    limited = replace(block, query=Limited(block.query, keys, count, offset), rows=count)
    target = b.add_dynamic_table(limited, shared=not tied).name
    name, values = table.columns[1].name, four_values(table, 1)
    first, second = insert(b, table, k=2, **{name: values[0]}), insert(b, table, k=2, **{name: values[-1]})
    return script(
        target,
        act(insert(b, table, k=1), first, second, insert(b, table, k=3)),
        act(insert(b, table, k=2, **{name: values[1]})),
        act(insert(b, table, k=b.choices.pick((0, 4))), delete(table, name, values[-1])),
        act(delete(table, "k", 1)) + act(Insert(table.name, (b.row(table, k=2), b.row(table, k=2)))),
    )


def _ordered(source: FromClause, most: int) -> list[Term]:
    """Returns the first columns of a clause that rows can be ordered by."""
    return [term for term in source.matchable if term.type.kind not in UNORDERED][:most]


def _first_by_key(b: ScenarioBuilder, table: TableSketch) -> FromClause:
    """Returns the first rows of a table in an order that begins with the key, mostly after some others."""
    source = shapes.reading(b, table.name)
    block = select(source, _ordered(source, b.choices.integer(1, 2)))
    order = tuple(SortKey(column.name, b.choices.chance(40)) for column in block.columns)
    count, offset = b.choices.pick((1, 2, 2, 3, 0)), b.choices.pick((0, 1, 1, 2))
    return shapes.read_under(b, replace(block, query=Limited(block.query, order, count, offset), rows=3))
