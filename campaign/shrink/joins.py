"""Joins: one of the sides instead, or an easier kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from campaign.shrink.reduction import Reduction
from campaign.shrink.rewrite import blocks, queries, relations
from campaign.shrink.substitute import by_column, changed_block, with_relation
from campaign.shrink.values import simplest
from workload.query import (
    Call,
    ColumnRef,
    Expr,
    Join,
    JoinKind,
    Select,
    UnionAll,
    relations_of,
    subexpressions,
)
from workload.scenario import Scenario
from workload.scope import Catalog, Scope, output_columns, relation_scope
from workload.types import Kind, SqlType

EASIER: Mapping[JoinKind, tuple[JoinKind, ...]] = {
    JoinKind.INNER: (),
    JoinKind.CROSS: (),
    JoinKind.LEFT: (JoinKind.INNER,),
    JoinKind.RIGHT: (JoinKind.INNER, JoinKind.LEFT),
    JoinKind.FULL: (JoinKind.INNER, JoinKind.LEFT, JoinKind.RIGHT),
}


def one_side(scenario: Scenario) -> Iterator[Scenario]:
    """One side of a join instead of the join; see `standing_in` for what read the other side."""
    for site, select in blocks(scenario):
        for smaller in with_one_side(select, site.catalog):
            yield site.put(smaller)


def with_one_side(select: Select, catalog: Catalog) -> Iterator[Select]:
    """A block with one side of one of its joins instead of the join."""
    for join in relations_of(select.source):
        if isinstance(join, Join):
            for kept, gone in ((join.left, join.right), (join.right, join.left)):
                there = relation_scope(kept, catalog)
                mapping = standing_in(relation_scope(gone, catalog), there, join.on)
                source = with_relation(select.source, join, kept)
                yield changed_block(replace(select, source=source), by_column(mapping))


def branches_alike(scenario: Scenario) -> Iterator[Scenario]:
    """One branch of a UNION ALL instead of each, with one side of a join: what must stay alike shrinks so."""
    for site in queries(scenario):
        if isinstance(site.node, UnionAll):
            names = [column.name for column in output_columns(site.node, site.catalog)]
            for branch in dict.fromkeys(site.node.branches):
                if isinstance(branch, Select) and [item.name for item in branch.items] == names:
                    for smaller in (branch, *with_one_side(branch, site.catalog)):
                        yield site.put(UnionAll((smaller,) * len(site.node.branches)))


def standing_in(gone: Scope, there: Scope, on: Expr | None) -> dict[tuple[str, str], Expr]:
    """For every column of a removed relation an expression over what is left.

    The column that the join equated with it; else the column of that name and type, or the first of the
    type; else a literal.
    """
    equated = _equated(on)
    mapping: dict[tuple[str, str], Expr] = {}
    for alias, columns in gone.items():
        for name, type_ in columns.items():
            partner = equated.get((alias, name))
            if partner is None or partner.relation not in there or partner.type != type_:
                partner = similar(name, type_, there)
            mapping[alias, name] = simplest(type_) if partner is None else partner
    return mapping


def _equated(on: Expr | None) -> dict[tuple[str, str], ColumnRef]:
    found: dict[tuple[str, str], ColumnRef] = {}
    for part in () if on is None else subexpressions(on):
        match part:
            case Call("eq" | "same", (ColumnRef() as left, ColumnRef() as right), _):
                found.setdefault((left.relation, left.name), right)
                found.setdefault((right.relation, right.name), left)
            case _:
                pass
    return found


def similar(name: str, type_: SqlType, scope: Scope) -> ColumnRef | None:
    """A column to read instead of one of that name and type; none for DOUBLE, whose sums may not be exact."""
    if type_.kind is Kind.DOUBLE:
        candidates = [(alias, name) for alias, columns in scope.items() if columns.get(name) == type_]
    else:
        columns = [(alias, n) for alias, of in scope.items() for n, t in of.items() if t == type_]
        candidates = sorted(columns, key=lambda column: column[1] != name)
    return ColumnRef(*candidates[0], type_) if candidates else None


def easier_kind(scenario: Scenario) -> Iterator[Scenario]:
    """INNER instead of an outer join, LEFT instead of FULL; a mirrored LEFT instead of RIGHT."""
    for site, select in blocks(scenario):
        for relation in relations(site, select):
            if isinstance(relation.node, Join):
                join = relation.node
                for kind in EASIER[join.kind]:
                    yield relation.put(replace(join, kind=kind))
                if join.kind is JoinKind.RIGHT:
                    yield relation.put(Join(JoinKind.LEFT, join.right, join.left, join.on))


REDUCTIONS = (
    Reduction("one side of a join", one_side),
    Reduction("branches alike", branches_alike),
    Reduction("easier kind of join", easier_kind),
)
