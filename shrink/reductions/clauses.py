"""Reductions of SELECT blocks: fewer clauses, keys and outputs, and outputs that are simpler to read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from shrink.admit import admissible, tidied
from shrink.reduction import Reduction, chunks
from shrink.reductions.values import simplest
from shrink.rewrite import Site, blocks, first_block, put_at, queries
from shrink.substitute import aggregates, regrouped
from workload import query as ir
from workload.query import changed
from workload.scenario import Scenario
from workload.scope import relation_scope
from workload.types import BIGINT


def drop_clauses(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with a block without all its conditions and DISTINCT, then without one of these."""
    for site, select in blocks(scenario):
        options = (
            replace(select, where=None, having=None, qualify=None, distinct=False),
            replace(select, where=None),
            replace(select, having=None),
            replace(select, qualify=None),
            replace(select, distinct=False),
        )
        yield from (site.put(option) for option in dict.fromkeys(options) if option != select)


def drop_grouping(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with a grouped block over single rows, with DISTINCT, or by a key less."""
    for site, select in blocks(scenario):
        if select.group_by is None:
            continue
        if select.sets is not None:
            continue
        yield site.put(ungrouped(select))
        if select.having is not None and select.where is None:
            yield site.put(replace(ungrouped(select), where=_of_one_row(select.having)))
        if not aggregates(item.expr for item in select.items):
            yield site.put(replace(select, group_by=None, having=None, distinct=True))
        for number, key in enumerate(select.group_by):
            yield site.put(_without_key(select, number, key))


def ungrouped(select: ir.Select) -> ir.Select:
    """Returns the block over single rows: an aggregate becomes its argument, or a literal of another type."""
    items = tuple(replace(item, expr=_of_one_row(item.expr)) for item in select.items)
    return replace(select, items=items, group_by=None, having=None, sets=None)


def _of_one_row(expr: ir.Expr) -> ir.Expr:
    """Returns an expression over single rows instead of groups, as in `ungrouped`."""

    def change(node: ir.Node) -> ir.Node | None:
        match node:
            case ir.Aggregate(_, arg, _, type_):
                return arg if arg is not None and arg.type == type_ else simplest(type_)
            case _:
                return None

    return changed(expr, change)


def _without_key(select: ir.Select, number: int, key: ir.Expr) -> ir.Select:
    """Returns the block grouped without a key; an output that shows it shows its least value instead."""
    least = ir.Aggregate(ir.AggregateFunction.MIN, key, False, key.type)
    items = tuple(replace(item, expr=least) if item.expr == key else item for item in select.items)
    return regrouped(replace(select, items=items, group_by=put_at(select.group_by or (), number)))


def drop_outputs(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with a query without all outputs that nothing reads, then without fewer at once."""
    for site in queries(scenario):
        count = len(first_block(site.node).items)
        unread = [n for n in range(count) if count > 1 and _droppable(site, n)]
        for positions in chunks(unread):
            if len(positions) < count:
                yield site.put(without_outputs(site.node, positions))


def _droppable(site: Site[ir.Query], number: int) -> bool:
    """Tells whether nothing reads an output: without it, the scenario is still one that a tier can run."""
    return admissible(tidied(site.put(without_outputs(site.node, frozenset({number})))))


def without_outputs(query: ir.Query, positions: frozenset[int]) -> ir.Query:
    """Returns the query without some of its output columns, in all branches."""
    match query:
        case ir.Select(items=items):
            return replace(query, items=tuple(i for n, i in enumerate(items) if n not in positions))
        case ir.SetOperation(branches):
            return replace(query, branches=tuple(without_outputs(b, positions) for b in branches))
        case ir.With(ctes, body):
            return ir.With(ctes, without_outputs(body, positions))
        case ir.Limited(limited, order):
            gone = {item.name for n, item in enumerate(first_block(limited).items) if n in positions}
            kept = tuple(key for key in order if key.column not in gone)
            return replace(query, query=without_outputs(limited, positions), order=kept)
        case ir.Verbatim():
            return query
        case _:
            assert_never(query)


def show_plainly(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates that show a column or COUNT(*) in place of an output that nothing reads."""
    for site, select in blocks(scenario):
        keys = select.group_by or ()
        for number, item in enumerate(select.items):
            if isinstance(item.expr, ir.ColumnRef) or item.expr in keys:
                continue
            for plain in _plain(site, select):
                shown = replace(item, expr=plain)
                yield site.put(replace(select, items=put_at(select.items, number, shown)))


def show_condition(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates that show an aggregate of HAVING in place of an output, and have no HAVING."""
    for site, select in blocks(scenario):
        if select.having is not None:
            for number, item in enumerate(select.items):
                for part in dict.fromkeys(aggregates([select.having])):
                    if part.type == item.expr.type and part != item.expr:
                        items = put_at(select.items, number, replace(item, expr=part))
                        yield site.put(replace(select, items=items, having=None))


def _plain(site: Site[ir.Query], select: ir.Select) -> Iterator[ir.Expr]:
    """Yields what shows a block plainly: COUNT(*) of groups, else the first column of each relation."""
    if select.group_by is not None:
        yield ir.Aggregate(ir.AggregateFunction.COUNT_STAR, None, False, BIGINT)
        return
    for alias, columns in relation_scope(select.source, site.catalog).items():
        name, type_ = next(iter(columns.items()))
        yield ir.ColumnRef(alias, name, type_)


REDUCTIONS = (
    Reduction("drop clauses", drop_clauses),
    Reduction("drop grouping", drop_grouping),
    Reduction("drop unread outputs", drop_outputs),
    Reduction("show outputs plainly", show_plainly),
    Reduction("show what HAVING computes", show_condition),
)
