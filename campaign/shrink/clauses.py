"""SELECT blocks with fewer clauses: no WHERE, HAVING, DISTINCT, fewer keys, fewer outputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from campaign.shrink.admit import admissible, tidied
from campaign.shrink.reduction import Reduction, chunks
from campaign.shrink.rewrite import Site, blocks, put_at, queries
from campaign.shrink.substitute import regrouped
from campaign.shrink.values import simplest
from workload.query import (
    Aggregate,
    AggregateFunction,
    Call,
    ColumnRef,
    Expr,
    Query,
    Select,
    UnionAll,
    With,
    subexpressions,
)
from workload.scenario import Scenario
from workload.scope import relation_scope
from workload.types import BIGINT


def drop_clauses(scenario: Scenario) -> Iterator[Scenario]:
    """A block without all its clauses, without one, without grouping, without one key."""
    for site, select in blocks(scenario):
        bare = replace(select, where=None, having=None, distinct=False)
        options = [bare]
        if select.where is not None:
            options.append(replace(select, where=None))
        if select.having is not None:
            options.append(replace(select, having=None))
        if select.distinct:
            options.append(replace(select, distinct=False))
        for option in dict.fromkeys(options):
            if option != select:
                yield site.put(option)


def drop_grouping(scenario: Scenario) -> Iterator[Scenario]:
    """A grouped block over single rows instead, HAVING gone or as WHERE; or by fewer keys, or DISTINCT."""
    for site, select in blocks(scenario):
        if select.group_by is None:
            continue
        yield site.put(ungrouped(select))
        if select.having is not None and select.where is None:
            yield site.put(replace(ungrouped(select), where=_of_one_row(select.having)))
        if not any(isinstance(p, Aggregate) for item in select.items for p in subexpressions(item.expr)):
            yield site.put(replace(select, group_by=None, having=None, distinct=True))
        for number, key in enumerate(select.group_by):
            yield site.put(_without_key(select, number, key))


def ungrouped(select: Select) -> Select:
    """The block over single rows: an aggregate becomes its argument, or a literal where types differ."""
    items = tuple(replace(item, expr=_of_one_row(item.expr)) for item in select.items)
    return replace(select, items=items, group_by=None, having=None)


def _of_one_row(expr: Expr) -> Expr:
    match expr:
        case Aggregate(_, arg, _, type_):
            return arg if arg is not None and arg.type == type_ else simplest(type_)
        case Call(args=args):
            return replace(expr, args=tuple(_of_one_row(arg) for arg in args))
        case _:
            return expr


def _without_key(select: Select, number: int, key: Expr) -> Select:
    """Grouped without one key; where it is shown, any of its values stands in: the least."""
    least = Aggregate(AggregateFunction.MIN, key, False, key.type)
    items = tuple(replace(item, expr=least) if item.expr == key else item for item in select.items)
    return regrouped(replace(select, items=items, group_by=put_at(select.group_by or (), number)))


def drop_outputs(scenario: Scenario) -> Iterator[Scenario]:
    """Without the output columns that nothing reads: of every query all such, then fewer at once."""
    for site in queries(scenario):
        count = len(_first(site.node).items)
        unread = [n for n in range(count) if count > 1 and _droppable(site, n)]
        for chunk in chunks(len(unread)):
            gone = frozenset(unread[i] for i in chunk)
            if len(gone) < count:
                yield site.put(without_outputs(site.node, gone))


def _droppable(site: Site[Query], number: int) -> bool:
    return admissible(tidied(site.put(without_outputs(site.node, frozenset({number})))))


def _first(query: Query) -> Select:
    """The block that names a query's outputs."""
    match query:
        case Select():
            return query
        case UnionAll(branches):
            return _first(branches[0])
        case With(_, body):
            return _first(body)


def without_outputs(query: Query, positions: frozenset[int]) -> Query:
    """The query without some of its output columns, in all branches."""
    match query:
        case Select(items=items):
            left = tuple(item for number, item in enumerate(items) if number not in positions)
            return replace(query, items=left)
        case UnionAll(branches):
            return UnionAll(tuple(without_outputs(branch, positions) for branch in branches))
        case With(ctes, body):
            return With(ctes, without_outputs(body, positions))


def show_plainly(scenario: Scenario) -> Iterator[Scenario]:
    """A column or COUNT(*) instead of an output of any type that nothing reads."""
    for site, select in blocks(scenario):
        keys = select.group_by or ()
        for number, item in enumerate(select.items):
            if isinstance(item.expr, ColumnRef) or item.expr in keys:
                continue
            for plain in _plain(site, select):
                shown = replace(item, expr=plain)
                yield site.put(replace(select, items=put_at(select.items, number, shown)))


def show_condition(scenario: Scenario) -> Iterator[Scenario]:
    """What HAVING computes as an output instead, and no HAVING."""
    for site, select in blocks(scenario):
        if select.having is not None:
            shown = [part for part in subexpressions(select.having) if isinstance(part, Aggregate)]
            for number, item in enumerate(select.items):
                for part in dict.fromkeys(shown):
                    if part.type == item.expr.type and part != item.expr:
                        items = put_at(select.items, number, replace(item, expr=part))
                        yield site.put(replace(select, items=items, having=None))


def _plain(site: Site[Query], select: Select) -> Iterator[Expr]:
    if select.group_by is not None:
        yield Aggregate(AggregateFunction.COUNT_STAR, None, False, BIGINT)
        return
    for alias, columns in relation_scope(select.source, site.catalog).items():
        name, type_ = next(iter(columns.items()))
        yield ColumnRef(alias, name, type_)


REDUCTIONS = (
    Reduction("drop clauses", drop_clauses),
    Reduction("drop grouping", drop_grouping),
    Reduction("drop unread outputs", drop_outputs),
    Reduction("show outputs plainly", show_plainly),
    Reduction("show what HAVING computes", show_condition),
)
