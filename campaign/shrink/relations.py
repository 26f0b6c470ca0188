"""Nearer to the base tables: sub-selects, CTEs, views and upstream dynamic tables by what is below them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from campaign.shrink.definitions import without_definitions
from campaign.shrink.joins import standing_in
from campaign.shrink.reduction import Reduction
from campaign.shrink.rewrite import Site, blocks, definition_queries, nested, put_at, queries, relations
from campaign.shrink.substitute import by_column, changed_block, with_relation
from workload.query import (
    Call,
    ColumnRef,
    Derived,
    Expr,
    Item,
    Join,
    Named,
    Query,
    Relation,
    Select,
    UnionAll,
    With,
    names_read,
    relations_of,
)
from workload.scenario import Definition, Refresh, Scenario
from workload.scope import relation_scope
from workload.types import BOOLEAN


def inner_query(scenario: Scenario) -> Iterator[Scenario]:
    """A query inside a definition instead of the whole: a sub-select, a CTE, a branch."""
    for site in definition_queries(scenario):
        parts = [part.node for part in nested(site)][1:]
        for part in dict.fromkeys(parts):
            yield site.put(_under_names(part, site.node))


def _under_names(query: Query, like: Query) -> Query:
    """The query with its outputs named as another's, as far as they go, so that its readers may find them."""
    if not isinstance(query, Select):
        return query
    names = [item.name for item in _outputs(like)]
    if len(names) < len(query.items) or any(
        i.expr.type != o.expr.type for i, o in zip(query.items, _outputs(like), strict=False)
    ):
        return query
    return replace(
        query, items=tuple(Item(i.expr, name) for i, name in zip(query.items, names, strict=False))
    )


def _outputs(query: Query) -> tuple[Item, ...]:
    match query:
        case Select(items=items):
            return items
        case UnionAll(branches):
            return _outputs(branches[0])
        case With(_, body):
            return _outputs(body)


def fewer_branches(scenario: Scenario) -> Iterator[Scenario]:
    """One branch of a UNION ALL instead of all; then all but one."""
    for site in queries(scenario):
        if isinstance(site.node, UnionAll):
            branches = site.node.branches
            for branch in branches:
                yield site.put(_under_names(branch, branches[0]))
            if len(branches) > 2:
                for number in range(len(branches)):
                    left = put_at(branches, number)
                    yield site.put(UnionAll((_under_names(left[0], branches[0]), *left[1:])))


def inline_ctes(scenario: Scenario) -> Iterator[Scenario]:
    """The body of a WITH alone, every CTE a sub-select where it is read."""
    for site in queries(scenario):
        if isinstance(site.node, With):
            query = site.node.body
            for cte in reversed(site.node.ctes):
                query = expanded(query, cte.name, cte.query)
            yield site.put(query)


def expanded(query: Query, name: str, by: Query) -> Query:
    """The query reading another as a sub-select instead of a relation by name."""
    match query:
        case Select(source=source):
            return replace(query, source=_expanded_relation(source, name, by))
        case UnionAll(branches):
            return UnionAll(tuple(expanded(branch, name, by) for branch in branches))
        case With(ctes, body):
            inner = tuple(replace(cte, query=expanded(cte.query, name, by)) for cte in ctes)
            return With(inner, expanded(body, name, by))


def _expanded_relation(relation: Relation, name: str, by: Query) -> Relation:
    match relation:
        case Named(found, alias):
            return Derived(by, alias) if found == name else relation
        case Derived(query, alias):
            return Derived(expanded(query, name, by), alias)
        case Join(left=left, right=right):
            sides = _expanded_relation(left, name, by), _expanded_relation(right, name, by)
            return replace(relation, left=sides[0], right=sides[1])


def inline_upstream(scenario: Scenario) -> Iterator[Scenario]:
    """A view or dynamic table as a sub-select of its readers; itself it goes.

    Its refreshes go with it, or become a reader's.
    """
    read = {name for definition in scenario.definitions for name in names_read(definition.query)}
    for definition in reversed(scenario.definitions):
        if definition.name in read:
            readers = tuple(
                replace(reader, query=expanded(reader.query, definition.name, definition.query))
                for reader in scenario.definitions
            )
            inlined = replace(scenario, definitions=readers)
            yield without_definitions(inlined, frozenset({definition.name}))
            yield without_definitions(
                _refreshing_reader(inlined, scenario, definition), frozenset({definition.name})
            )


def _refreshing_reader(inlined: Scenario, scenario: Scenario, upstream: Definition) -> Scenario:
    """Refreshes of a reader instead of those of its upstream."""
    readers = [table.name for table in scenario.dynamic_tables if upstream.name in names_read(table.query)]
    steps = tuple(
        replace(step, table=readers[-1])
        if isinstance(step, Refresh) and step.table == upstream.name and readers
        else step
        for step in inlined.steps
    )
    return replace(inlined, steps=steps)


def bypass_upstream(scenario: Scenario) -> Iterator[Scenario]:
    """A relation that a view or dynamic table reads, instead of it wherever it is read; itself it goes."""
    read = {name for definition in scenario.definitions for name in names_read(definition.query)}
    for definition in reversed(scenario.definitions):
        if definition.name in read:
            for below in names_read(definition.query):
                changed = scenario
                for number in range(sum(1 for _ in blocks(scenario))):
                    changed = _block_reading(changed, number, definition, below)
                yield without_definitions(changed, frozenset({definition.name}))


def _block_reading(scenario: Scenario, number: int, upstream: Definition, below: str) -> Scenario:
    """The scenario with the block of that number reading a relation instead of an upstream that reads it."""
    while True:
        site, select = next(islice(blocks(scenario), number, None))
        sources = (r for r in relations_of(select.source) if isinstance(r, Named) and r.name == upstream.name)
        source = next(sources, None)
        if source is None:
            return scenario
        scenario = _reading(site, select, source, upstream.query, below)


def read_below(scenario: Scenario) -> Iterator[Scenario]:
    """A relation that a sub-select, CTE, view or dynamic table reads, instead of that one.

    Its columns stand for theirs: the one that passes through, else one of the type, else a literal.
    """
    below = {definition.name: definition.query for definition in scenario.definitions}
    for site, select in blocks(scenario):
        for relation in relations_of(select.source):
            match relation:
                case Derived(query, _):
                    yield from _instead(site, select, relation, query)
                case Named(name, _) if name in below:
                    for candidate in _instead(site, select, relation, below[name]):
                        yield _without_unread(candidate, name)
                case _:
                    pass


def _instead(
    site: Site[Query], select: Select, relation: Named | Derived, query: Query
) -> Iterator[Scenario]:
    for name in names_read(query):
        if name in site.catalog:
            yield _reading(site, select, relation, query, name)


def _reading(
    site: Site[Query], select: Select, relation: Named | Derived, query: Query, name: str
) -> Scenario:
    """The block with a relation by name instead of one that stands for a query."""
    new = Named(name, relation.alias)
    scope = relation_scope(new, site.catalog)
    mapping = standing_in(relation_scope(relation, site.catalog), scope, None)
    mapping.update(_passed(query, new))
    smaller = replace(select, source=with_relation(select.source, relation, new))
    return site.put(changed_block(smaller, by_column(mapping)))


def _passed(query: Query, new: Named) -> dict[tuple[str, str], Expr]:
    """The outputs of a query that are columns of a relation it reads."""
    mapping: dict[tuple[str, str], Expr] = {}
    if isinstance(query, Select):
        aliases = {r.alias for r in relations_of(query.source) if isinstance(r, Named) and r.name == new.name}
        for item in query.items:
            if isinstance(item.expr, ColumnRef) and item.expr.relation in aliases:
                mapping[new.alias, item.name] = replace(item.expr, relation=new.alias)
    return mapping


def _without_unread(scenario: Scenario, name: str) -> Scenario:
    if any(name in names_read(definition.query) for definition in scenario.definitions):
        return scenario
    return without_definitions(scenario, frozenset({name}))


def merge_derived(scenario: Scenario) -> Iterator[Scenario]:
    """A sub-select without grouping and DISTINCT as part of the block that reads it."""
    for site, select in blocks(scenario):
        for place in relations(site, select):
            match place.node:
                case Derived(Select(group_by=None, distinct=False) as inner, alias) as derived:
                    inner = _with_own_aliases(inner, select)
                    items = {(alias, item.name): item.expr for item in inner.items}
                    source = with_relation(select.source, derived, inner.source)
                    merged = changed_block(replace(select, source=source), by_column(items))
                    both = [condition for condition in (merged.where, inner.where) if condition is not None]
                    where = Call("and", tuple(both), BOOLEAN) if len(both) == 2 else next(iter(both), None)
                    yield site.put(replace(merged, where=where))
                case _:
                    pass


def _with_own_aliases(inner: Select, outer: Select) -> Select:
    """The inner block with aliases that the outer one has not."""
    taken = {r.alias for r in relations_of(outer.source) if not isinstance(r, Join)}
    own = [r.alias for r in relations_of(inner.source) if not isinstance(r, Join)]
    fresh: dict[str, str] = {}
    number = 0
    for alias in own:
        new = alias
        while new in taken:
            number += 1
            new = f"u{number}"
        taken.add(new)
        fresh[alias] = new

    def renamed(expr: Expr) -> Expr | None:
        if isinstance(expr, ColumnRef) and expr.relation in fresh:
            return replace(expr, relation=fresh[expr.relation])
        return None

    source = _realiased(inner.source, fresh)
    return changed_block(replace(inner, source=source), renamed)


def _realiased(relation: Relation, fresh: dict[str, str]) -> Relation:
    match relation:
        case Join(left=left, right=right):
            return replace(relation, left=_realiased(left, fresh), right=_realiased(right, fresh))
        case _:
            return replace(relation, alias=fresh[relation.alias])


REDUCTIONS = (
    Reduction("bypass an upstream", bypass_upstream),
    Reduction("read below", read_below),
    Reduction("inline an upstream", inline_upstream),
    Reduction("an inner query", inner_query),
    Reduction("fewer branches", fewer_branches),
    Reduction("inline CTEs", inline_ctes),
    Reduction("merge a sub-select", merge_derived),
)
