"""Reductions of what is read: instead of sub-selects, CTEs, views and upstream tables, what is below them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from shrink.reduction import Reduction
from shrink.reductions.definitions import without_definitions
from shrink.reductions.joins import standing_in
from shrink.rewrite import Site, blocks, definition_queries, first_block, nested, put_at, queries, relations
from shrink.substitute import by_column, changed_block, with_relation
from workload import query as ir
from workload.query import changed, names_read, relations_of
from workload.scenario import Definition, Refresh, Scenario
from workload.scope import relation_scope


def inner_query(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with a query inside a definition in its place: a sub-select, a CTE, a branch."""
    for site in definition_queries(scenario):
        parts = [part.node for part in nested(site)][1:]
        for part in dict.fromkeys(parts):
            yield site.put(_under_names(part, site.node))


def _under_names(query: ir.Query, like: ir.Query) -> ir.Query:
    """Returns the query with its outputs named as another query's, so that it can be read in its place."""
    if not isinstance(query, ir.Select):
        return query
    outputs = first_block(like).items
    pairs = list(zip(query.items, outputs, strict=False))
    if len(pairs) < len(query.items) or any(item.expr.type != output.expr.type for item, output in pairs):
        return query
    return replace(query, items=tuple(ir.Item(item.expr, output.name) for item, output in pairs))


def fewer_branches(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with one branch of a set operation instead of all; then with one branch less."""
    for site in queries(scenario):
        if isinstance(site.node, ir.SetOperation):
            branches = site.node.branches
            for branch in branches:
                yield site.put(_under_names(branch, branches[0]))
            if len(branches) > 2:
                for number in range(len(branches)):
                    first, *others = put_at(branches, number)
                    fewer = (_under_names(first, branches[0]), *others)
                    yield site.put(replace(site.node, branches=fewer))


def simpler_limits(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with all rows, no OFFSET, the first row alone, or ascending keys."""
    for site in queries(scenario):
        if not isinstance(site.node, ir.Limited):
            continue
        limited = site.node
        yield site.put(limited.query)
        if limited.offset:
            yield site.put(replace(limited, offset=0))
        if limited.count > 1:
            yield site.put(replace(limited, count=1))
        for number, key in enumerate(limited.order):
            if key.descending:
                order = put_at(limited.order, number, replace(key, descending=False))
                yield site.put(replace(limited, order=order))


def inline_ctes(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with the body of a WITH alone, every CTE a sub-select where it is read."""
    for site in queries(scenario):
        if isinstance(site.node, ir.With):
            query = site.node.body
            for cte in reversed(site.node.ctes):
                query = expanded(query, cte.name, cte.query)
            yield site.put(query)


def expanded(query: ir.Query, name: str, by: ir.Query) -> ir.Query:
    """Returns the query with another one as a sub-select instead of the relation of a name."""

    def change(node: ir.Node) -> ir.Node | None:
        return ir.Derived(by, node.alias) if isinstance(node, ir.Named) and node.name == name else None

    return changed(query, change)


def inline_upstream(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with a view or dynamic table as a sub-select of its readers, no longer a definition.

    Its refreshes are dropped, or become a reader's.
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
    """Returns the scenario with refreshes of a reader instead of those of its upstream."""
    readers = [table.name for table in scenario.dynamic_tables if upstream.name in names_read(table.query)]
    steps = tuple(
        replace(step, table=readers[-1])
        if isinstance(step, Refresh) and step.table == upstream.name and readers
        else step
        for step in inlined.steps
    )
    return replace(inlined, steps=steps)


def bypass_upstream(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates where a relation that a definition reads replaces it, wherever it is read."""
    read = {name for definition in scenario.definitions for name in names_read(definition.query)}
    for definition in reversed(scenario.definitions):
        if definition.name in read:
            for below in names_read(definition.query):
                changed = scenario
                for number in range(sum(1 for _ in blocks(scenario))):
                    changed = _block_reading(changed, number, definition, below)
                yield without_definitions(changed, frozenset({definition.name}))


def _block_reading(scenario: Scenario, number: int, upstream: Definition, below: str) -> Scenario:
    """Returns the scenario whose block `number` reads `below` instead of an upstream that reads `below`."""
    while True:
        site, select = next(islice(blocks(scenario), number, None))
        sources = (
            r for r in relations_of(select.source) if isinstance(r, ir.Named) and r.name == upstream.name
        )
        source = next(sources, None)
        if source is None:
            return scenario
        scenario = _reading(site, select, source, upstream.query, below)


def read_below(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates where one reader reads what a sub-select, view or dynamic table reads, in its place.

    Columns of the replaced relation become the column that they pass through, else one of the same type, else
    a literal.
    """
    below = {definition.name: definition.query for definition in scenario.definitions}
    for site, select in blocks(scenario):
        for relation in relations_of(select.source):
            match relation:
                case ir.Derived(query, _):
                    yield from _instead(site, select, relation, query)
                case ir.Named(name, _) if name in below:
                    for candidate in _instead(site, select, relation, below[name]):
                        yield _without_unread(candidate, name)
                case _:
                    pass


def _instead(
    site: Site[ir.Query], select: ir.Select, relation: ir.Named | ir.Derived, query: ir.Query
) -> Iterator[Scenario]:
    for name in names_read(query):
        if name in site.catalog:
            yield _reading(site, select, relation, query, name)


def _reading(
    site: Site[ir.Query], select: ir.Select, relation: ir.Named | ir.Derived, query: ir.Query, name: str
) -> Scenario:
    """Returns the block with a relation by name instead of one that stands for a query."""
    new = ir.Named(name, relation.alias)
    scope = relation_scope(new, site.catalog)
    mapping = standing_in(relation_scope(relation, site.catalog), scope, None)
    mapping.update(_passed(query, new))
    smaller = replace(select, source=with_relation(select.source, relation, new))
    return site.put(changed_block(smaller, by_column(mapping)))


def _passed(query: ir.Query, new: ir.Named) -> dict[tuple[str, str], ir.Expr]:
    """Returns the outputs of a query that are columns of a relation it reads."""
    mapping: dict[tuple[str, str], ir.Expr] = {}
    if isinstance(query, ir.Select):
        aliases = {
            r.alias for r in relations_of(query.source) if isinstance(r, ir.Named) and r.name == new.name
        }
        for item in query.items:
            if isinstance(item.expr, ir.ColumnRef) and item.expr.relation in aliases:
                mapping[new.alias, item.name] = replace(item.expr, relation=new.alias)
    return mapping


def _without_unread(scenario: Scenario, name: str) -> Scenario:
    if any(name in names_read(definition.query) for definition in scenario.definitions):
        return scenario
    return without_definitions(scenario, frozenset({name}))


def merge_derived(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with a sub-select, if not grouped, as a part of the block that reads it."""
    for site, select in blocks(scenario):
        for place in relations(site):
            match place.node:
                case ir.Derived(ir.Select(group_by=None, distinct=False) as inner, alias) as derived:
                    inner = _with_fresh_aliases(inner, select)
                    items = {(alias, item.name): item.expr for item in inner.items}
                    source = with_relation(select.source, derived, inner.source)
                    merged = changed_block(replace(select, source=source), by_column(items))
                    where = merged.where if inner.where is None else ir.both(merged.where, inner.where)
                    yield site.put(replace(merged, where=where))
                case _:
                    pass


def _with_fresh_aliases(inner: ir.Select, outer: ir.Select) -> ir.Select:
    """Returns the inner block with aliases that the outer one does not have."""
    used = {r.alias for r in relations_of(outer.source) if not isinstance(r, ir.Join)}
    aliases = [r.alias for r in relations_of(inner.source) if not isinstance(r, ir.Join)]
    fresh: dict[str, str] = {}
    number = 0
    for alias in aliases:
        new = alias
        while new in used:
            number += 1
            new = f"u{number}"
        used.add(new)
        fresh[alias] = new

    def renamed(node: ir.Node) -> ir.Node | None:
        match node:
            case ir.ColumnRef(relation, _, _) if relation in fresh:
                return replace(node, relation=fresh[relation])
            case ir.Named(_, alias) | ir.Derived(_, alias):
                return replace(node, alias=fresh[alias])
            case ir.Exploded(inner, array, alias):
                parts = changed(inner, renamed), changed(array, renamed)
                return replace(node, relation=parts[0], array=parts[1], alias=fresh[alias])
            case _:
                return None

    return changed_block(inner, renamed)


REDUCTIONS = (
    Reduction("bypass an upstream", bypass_upstream),
    Reduction("read below", read_below),
    Reduction("inline an upstream", inline_upstream),
    Reduction("an inner query", inner_query),
    Reduction("fewer branches", fewer_branches),
    Reduction("simpler limits", simpler_limits),
    Reduction("inline CTEs", inline_ctes),
    Reduction("merge a sub-select", merge_derived),
)
