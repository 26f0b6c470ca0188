"""Places in a scenario, and replacing what stands there.

A `Site` is one node (a query, a relation, an expression, a statement) with `put`, which returns the scenario
with another node in its place. Reductions walk sites; no value is changed in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar, assert_never

from shrink.substitute import changed_block, with_parts
from workload import query as ir
from workload.dml import Dml, Update, statement_expressions, with_expressions
from workload.errors import WorkloadError
from workload.query import children
from workload.scenario import Commit, Scenario, Step
from workload.scope import Catalog, Scope, output_columns, relation_scope
from workload.wellformed import check_definitions

S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Site(Generic[S]):
    """One node of a scenario. `catalog`: the relations visible at that place, CTEs included."""

    node: S
    catalog: Catalog
    put: Callable[[S], Scenario]

    def inside(self, node: T, rebuild: Callable[[T], S]) -> Site[T]:
        """Returns the site of a part of this node; `rebuild` returns this node with another part."""
        put = self.put
        return Site(node, self.catalog, lambda new: put(rebuild(new)))


@dataclass(frozen=True, slots=True)
class Place:
    """An expression's site with the columns it may read.

    `predicate`: the expression is a whole condition; `joins`: it is the condition of a join.
    """

    site: Site[ir.Expr]
    scope: Scope
    predicate: bool = False
    joins: bool = False


def put_at(items: tuple[T, ...], position: int, *new: T) -> tuple[T, ...]:
    """Returns the tuple with the element at a position replaced by any number of others."""
    return (*items[:position], *new, *items[position + 1 :])


def parts(site: Site[Any]) -> Iterator[Site[Any]]:
    """Yields the sites of a node's parts, in the order of `children`; later parts see the CTEs before."""
    nodes: tuple[ir.Node, ...] = children(site.node)
    catalog = site.catalog
    for number, part in enumerate(nodes):
        yield Site(part, catalog, partial(_put_part, site, nodes, number))
        if isinstance(part, ir.Cte):
            catalog = {**catalog, part.name: output_columns(part.query, catalog)}


def _put_part(site: Site[Any], nodes: tuple[ir.Node, ...], number: int, new: ir.Node) -> Scenario:
    return site.put(with_parts(site.node, put_at(nodes, number, new)))


def definition_queries(scenario: Scenario) -> Iterator[Site[ir.Query]]:
    """Yields the query of every definition, downstream ones first."""
    catalog = check_definitions(scenario)
    for position, definition in reversed(list(enumerate(scenario.definitions))):

        def put(query: ir.Query, position: int = position) -> Scenario:
            changed = replace(scenario.definitions[position], query=query)
            return replace(scenario, definitions=put_at(scenario.definitions, position, changed))

        yield Site(definition.query, catalog, put)


def queries(scenario: Scenario) -> Iterator[Site[ir.Query]]:
    """Yields every query at any depth, outside in."""
    for site in definition_queries(scenario):
        yield from nested(site)


def nested(site: Site[Any]) -> Iterator[Site[ir.Query]]:
    """Yields a query and the queries inside it, outside in."""
    if isinstance(site.node, ir.Query) and not isinstance(site.node, ir.Verbatim):
        yield site
    for part in parts(site):
        if isinstance(part.node, ir.RowSource):
            yield from nested(part)


def blocks(scenario: Scenario) -> Iterator[tuple[Site[ir.Query], ir.Select]]:
    """Yields every SELECT block with its site, where any query may be put."""
    for site in queries(scenario):
        if isinstance(site.node, ir.Select):
            yield site, site.node


def relations(site: Site[Any]) -> Iterator[Site[ir.Relation]]:
    """Yields the relations in FROM at the site of a block, outside in; sub-selects are not entered."""
    for part in parts(site):
        if isinstance(part.node, ir.Relation):
            yield part
            yield from relations(part)


def first_block(query: ir.Query) -> ir.Select:
    """Returns the block that names a query's outputs."""
    match query:
        case ir.Select():
            return query
        case ir.SetOperation(branches):
            return first_block(branches[0])
        case ir.With(_, body):
            return first_block(body)
        case ir.Limited(limited):
            return first_block(limited)
        case ir.Verbatim():
            raise WorkloadError("a query that is given as text has no blocks")
        case _:
            assert_never(query)


def with_statements(scenario: Scenario, change: Callable[[int, int, Dml], tuple[Dml, ...]]) -> Scenario:
    """Returns the scenario with every statement replaced by any number of others.

    `change` is given the number of the step, the statement's position in it, and the statement.
    """

    def changed(number: int, step: Step) -> Step:
        if not isinstance(step, Commit):
            return step
        new = (change(number, position, s) for position, s in enumerate(step.statements))
        return replace(step, statements=tuple(statement for several in new for statement in several))

    return replace(scenario, steps=tuple(changed(number, step) for number, step in enumerate(scenario.steps)))


def statements(scenario: Scenario) -> Iterator[Site[tuple[Dml, ...]]]:
    """Yields every DML statement as a tuple of one, in whose place any number may be put; last first."""
    for number, step in reversed(list(enumerate(scenario.steps))):
        if isinstance(step, Commit):
            for position, statement in enumerate(step.statements):

                def put(
                    new: tuple[Dml, ...], number: int = number, step: Commit = step, position: int = position
                ) -> Scenario:
                    changed = replace(step, statements=put_at(step.statements, position, *new))
                    return replace(scenario, steps=put_at(scenario.steps, number, changed))

                yield Site((statement,), {}, put)


def expressions(scenario: Scenario) -> Iterator[Place]:
    """Yields every expression of queries and DML at any depth, outside in."""
    for site, select in blocks(scenario):
        for place in _block_expressions(site, select):
            yield from _nested_places(place)
    tables = {table.name: table for table in scenario.tables}
    for statement in statements(scenario):
        table = tables[statement.node[0].table]
        row = {table.name: {column.name: column.type for column in table.columns}}
        for place in _statement_expressions(statement, row):
            yield from _nested_places(place)


def _block_expressions(site: Site[ir.Query], select: ir.Select) -> Iterator[Place]:
    """Yields the top expressions of a block; a new grouping key replaces its copies, too."""
    scope = relation_scope(select.source, site.catalog)
    for relation in relations(site):
        if isinstance(relation.node, ir.Join) and relation.node.on is not None:
            *_, condition = parts(relation)
            yield Place(condition, scope, predicate=True, joins=True)
    if select.where is not None:
        where = site.inside(select.where, lambda new: replace(select, where=new))
        yield Place(where, scope, predicate=True)
    if select.having is not None:
        having = site.inside(select.having, lambda new: replace(select, having=new))
        yield Place(having, scope, predicate=True)
    if select.qualify is not None:
        qualify = site.inside(select.qualify, lambda new: replace(select, qualify=new))
        yield Place(qualify, scope, predicate=True)
    keys = select.group_by or ()
    for key in keys:
        yield Place(site.inside(key, partial(_with_key, select, key)), scope)
    for item in parts(site):
        if isinstance(item.node, ir.Item) and item.node.expr not in keys:
            (expr,) = parts(item)
            yield Place(expr, scope)


def _with_key(select: ir.Select, key: ir.Expr, new: ir.Expr) -> ir.Query:
    return changed_block(select, lambda node: new if node == key else None)


def _statement_expressions(site: Site[tuple[Dml, ...]], row: Scope) -> Iterator[Place]:
    (statement,) = site.node
    exprs = statement_expressions(statement)
    values = len(statement.assignments) if isinstance(statement, Update) else 0
    for number, expr in enumerate(exprs):

        def rebuild(new: ir.Expr, number: int = number) -> tuple[Dml, ...]:
            return (with_expressions(statement, put_at(exprs, number, new)),)

        yield Place(site.inside(expr, rebuild), row, predicate=number >= values)


def _nested_places(place: Place) -> Iterator[Place]:
    yield place
    for part in parts(place.site):
        yield from _nested_places(Place(part, place.scope))
