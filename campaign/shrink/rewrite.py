"""Places in a scenario, and rewriting what stands there.

A `Site` is one node (a query, a relation, an expression, a statement) with a path for people and `put`, which
gives the scenario with something else in its place. Reductions walk sites; nothing is changed in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

from campaign.shrink.substitute import changed_block, with_args
from workload.dml import Delete, Dml, Merge, Update
from workload.query import (
    Aggregate,
    Call,
    Derived,
    Expr,
    Join,
    Query,
    Relation,
    Select,
    UnionAll,
    With,
)
from workload.scenario import Commit, Scenario
from workload.scope import Catalog, Scope, output_columns, relation_scope
from workload.wellformed import check_scenario

N = TypeVar("N")
M = TypeVar("M")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Site(Generic[N]):
    """One node of a scenario. `catalog`: the relations visible there, CTEs included."""

    path: tuple[str, ...]
    node: N
    catalog: Catalog
    put: Callable[[N], Scenario]

    def child(
        self, label: str, node: M, rebuild: Callable[[M], N], catalog: Catalog | None = None
    ) -> Site[M]:
        """The site of a part of this node; `rebuild` gives the node with another part."""
        put = self.put
        return Site((*self.path, label), node, catalog or self.catalog, lambda new: put(rebuild(new)))


@dataclass(frozen=True, slots=True)
class Place:
    """An expression's site with the columns it may read. `predicate`: it is a whole condition."""

    site: Site[Expr]
    scope: Scope
    predicate: bool


def put_at(items: tuple[T, ...], position: int, *new: T) -> tuple[T, ...]:
    """The tuple with the element at a position replaced by any number of others."""
    return (*items[:position], *new, *items[position + 1 :])


def definition_queries(scenario: Scenario) -> Iterator[Site[Query]]:
    """The query of every definition, downstream ones first."""
    catalog = check_scenario(scenario)
    for position, definition in reversed(list(enumerate(scenario.definitions))):

        def put(query: Query, position: int = position) -> Scenario:
            changed = replace(scenario.definitions[position], query=query)
            return replace(scenario, definitions=put_at(scenario.definitions, position, changed))

        yield Site((definition.name,), definition.query, catalog, put)


def queries(scenario: Scenario) -> Iterator[Site[Query]]:
    """Every query at any depth, outside in."""
    for site in definition_queries(scenario):
        yield from nested(site)


def nested(site: Site[Query]) -> Iterator[Site[Query]]:
    """A query and those inside it, outside in."""
    yield site
    match site.node:
        case Select():
            for relation in relations(site, site.node):
                if isinstance(relation.node, Derived):
                    derived = relation.node
                    rebuild = partial(_derived, derived.alias)
                    yield from nested(relation.child(derived.alias, derived.query, rebuild))
        case UnionAll(branches):
            for number, branch in enumerate(branches):
                yield from nested(
                    site.child(f"branch {number}", branch, partial(_with_branch, branches, number))
                )
        case With(ctes, body):
            catalog = dict(site.catalog)
            for number, cte in enumerate(ctes):
                rebuild_cte = partial(_with_cte, site.node, number)
                yield from nested(site.child(cte.name, cte.query, rebuild_cte, dict(catalog)))
                catalog[cte.name] = output_columns(cte.query, catalog)
            yield from nested(site.child("body", body, lambda new: With(ctes, new), catalog))


def blocks(scenario: Scenario) -> Iterator[tuple[Site[Query], Select]]:
    """Every SELECT block with its site, where any query may be put."""
    for site in queries(scenario):
        if isinstance(site.node, Select):
            yield site, site.node


def relations(site: Site[Query], select: Select) -> Iterator[Site[Relation]]:
    """The relations of a block's FROM, joins before what they join; sub-selects are not entered."""
    yield from _joined(site.child("from", select.source, lambda new: replace(select, source=new)))


def _joined(site: Site[Relation]) -> Iterator[Site[Relation]]:
    yield site
    if isinstance(site.node, Join):
        join = site.node
        yield from _joined(site.child("left", join.left, lambda new: replace(join, left=new)))
        yield from _joined(site.child("right", join.right, lambda new: replace(join, right=new)))


def statements(scenario: Scenario) -> Iterator[Site[tuple[Dml, ...]]]:
    """Every DML statement as a tuple of one, for which any number of statements may be put; last first."""
    for number, step in reversed(list(enumerate(scenario.steps))):
        if isinstance(step, Commit):
            for position, statement in enumerate(step.statements):

                def put(
                    new: tuple[Dml, ...], number: int = number, step: Commit = step, position: int = position
                ) -> Scenario:
                    changed = replace(step, statements=put_at(step.statements, position, *new))
                    return replace(scenario, steps=put_at(scenario.steps, number, changed))

                yield Site((f"commit {step.at}", f"{position}"), (statement,), {}, put)


def expressions(scenario: Scenario) -> Iterator[Place]:
    """Every expression of queries and DML at any depth, outside in."""
    for site, select in blocks(scenario):
        scope = relation_scope(select.source, site.catalog)
        for top, predicate in block_expressions(site, select):
            yield from _inside(Place(top, scope, predicate))
    tables = {table.name: table for table in scenario.tables}
    for statement in statements(scenario):
        table = tables[statement.node[0].table]
        row = {table.name: {column.name: column.type for column in table.columns}}
        for top, predicate in statement_expressions(statement):
            yield from _inside(Place(top, row, predicate))


def block_expressions(site: Site[Query], select: Select) -> Iterator[tuple[Site[Expr], bool]]:
    """The top expressions of a block; True with those that are conditions.

    A grouping key is put together with its copies in the select list and in HAVING.
    """
    for relation in relations(site, select):
        if isinstance(relation.node, Join) and relation.node.on is not None:
            yield relation.child("on", relation.node.on, partial(_with_on, relation.node)), True
    if select.where is not None:
        yield site.child("where", select.where, lambda new: replace(select, where=new)), True
    if select.having is not None:
        yield site.child("having", select.having, lambda new: replace(select, having=new)), True
    keys = select.group_by or ()
    for number, key in enumerate(keys):
        yield site.child(f"key {number}", key, partial(_with_key, select, key)), False
    for number, item in enumerate(select.items):
        if item.expr not in keys:
            yield site.child(item.name, item.expr, partial(_with_item, select, number)), False


def statement_expressions(site: Site[tuple[Dml, ...]]) -> Iterator[tuple[Site[Expr], bool]]:
    """The top expressions of a statement; True with those that are conditions."""
    match site.node[0]:
        case Update(_, assignments, where) as update:
            for number, assignment in enumerate(assignments):
                rebuild = partial(_with_value, update, number)
                yield site.child(assignment.column, assignment.value, rebuild), False
            if where is not None:
                yield site.child("where", where, lambda new: (replace(update, where=new),)), True
        case Delete(_, where) as delete if where is not None:
            yield site.child("where", where, lambda new: (replace(delete, where=new),)), True
        case Merge(delete_when=when) as merge if when is not None:
            yield site.child("delete when", when, lambda new: (replace(merge, delete_when=new),)), True
        case _:
            pass


def _inside(place: Place) -> Iterator[Place]:
    yield place
    site = place.site
    match site.node:
        case Call(args=args) as call:
            for number, arg in enumerate(args):
                part = site.child(f"{number}", arg, partial(_with_arg, call, number))
                yield from _inside(Place(part, place.scope, False))
        case Aggregate(arg=arg) as aggregate if arg is not None:
            part = site.child("of", arg, lambda new: replace(aggregate, arg=new))
            yield from _inside(Place(part, place.scope, False))
        case _:
            pass


def _derived(alias: str, new: Query) -> Relation:
    return Derived(new, alias)


def _with_branch(branches: tuple[Query, ...], number: int, new: Query) -> Query:
    return UnionAll(put_at(branches, number, new))


def _with_cte(query: With, number: int, new: Query) -> Query:
    return replace(query, ctes=put_at(query.ctes, number, replace(query.ctes[number], query=new)))


def _with_on(join: Join, new: Expr) -> Relation:
    return replace(join, on=new)


def _with_key(select: Select, key: Expr, new: Expr) -> Query:
    return changed_block(select, lambda expr: new if expr == key else None)


def _with_item(select: Select, number: int, new: Expr) -> Query:
    return replace(select, items=put_at(select.items, number, replace(select.items[number], expr=new)))


def _with_value(update: Update, number: int, new: Expr) -> tuple[Dml, ...]:
    changed = replace(update.assignments[number], value=new)
    return (replace(update, assignments=put_at(update.assignments, number, changed)),)


def _with_arg(call: Call, number: int, new: Expr) -> Expr:
    return with_args(call, put_at(call.args, number, new))
