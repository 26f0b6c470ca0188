"""Reductions of joins: one of the sides instead, or an easier kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from shrink.reduction import Reduction
from shrink.reductions.values import simplest
from shrink.rewrite import blocks, queries, relations
from shrink.substitute import by_column, changed_block, with_relation
from workload import query as ir
from workload.query import relations_of, subexpressions
from workload.scenario import Scenario
from workload.scope import Catalog, Scope, output_columns, relation_scope
from workload.types import Kind, SqlType

EASIER: Mapping[ir.JoinKind, tuple[ir.JoinKind, ...]] = {
    ir.JoinKind.INNER: (),
    ir.JoinKind.CROSS: (),
    ir.JoinKind.LEFT: (ir.JoinKind.INNER,),
    ir.JoinKind.RIGHT: (ir.JoinKind.INNER, ir.JoinKind.LEFT),
    ir.JoinKind.FULL: (ir.JoinKind.INNER, ir.JoinKind.LEFT, ir.JoinKind.RIGHT),
    ir.JoinKind.SEMI: (ir.JoinKind.INNER,),
    ir.JoinKind.ANTI: (ir.JoinKind.SEMI,),
}
"""The kinds of join that may replace a kind."""


def one_side(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with one side of a join alone; see `standing_in` for what read the other side."""
    for site, select in blocks(scenario):
        for smaller in with_one_side(select, site.catalog):
            yield site.put(smaller)


def with_one_side(select: ir.Select, catalog: Catalog) -> Iterator[ir.Select]:
    """Yields a block with one side of one of its joins instead of the join."""
    for join in relations_of(select.source):
        if isinstance(join, ir.Join):
            for side, removed in ((join.left, join.right), (join.right, join.left)):
                scope = relation_scope(side, catalog)
                mapping = standing_in(relation_scope(removed, catalog), scope, join.on)
                source = with_relation(select.source, join, side)
                yield changed_block(replace(select, source=source), by_column(mapping))


def equal_branches(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with one branch of a set operation in place of every branch.

    The branch is whole, or has one side of one of its joins. A failure that needs equal branches can shrink
    in no other way.
    """
    for site in queries(scenario):
        if isinstance(site.node, ir.SetOperation):
            names = [column.name for column in output_columns(site.node, site.catalog)]
            for branch in dict.fromkeys(site.node.branches):
                if isinstance(branch, ir.Select) and [item.name for item in branch.items] == names:
                    for smaller in (branch, *with_one_side(branch, site.catalog)):
                        yield site.put(replace(site.node, branches=(smaller,) * len(site.node.branches)))


def standing_in(removed: Scope, scope: Scope, on: ir.Expr | None) -> dict[tuple[str, str], ir.Expr]:
    """Returns for every column of a removed relation an expression over the columns that stay in scope.

    It is the column that the join equated with it; else the column of that name and type, or the first of the
    type; else a literal.
    """
    equated = _equated(on)
    mapping: dict[tuple[str, str], ir.Expr] = {}
    for alias, columns in removed.items():
        for name, type_ in columns.items():
            partner = equated.get((alias, name))
            if partner is None or partner.relation not in scope or partner.type != type_:
                partner = similar(name, type_, scope)
            mapping[alias, name] = simplest(type_) if partner is None else partner
    return mapping


def _equated(on: ir.Expr | None) -> dict[tuple[str, str], ir.ColumnRef]:
    pairs: dict[tuple[str, str], ir.ColumnRef] = {}
    for part in () if on is None else subexpressions(on):
        match part:
            case ir.Call("eq" | "same", (ir.ColumnRef() as left, ir.ColumnRef() as right), _):
                pairs.setdefault((left.relation, left.name), right)
                pairs.setdefault((right.relation, right.name), left)
            case _:
                pass
    return pairs


def similar(name: str, type_: SqlType, scope: Scope) -> ir.ColumnRef | None:
    """Returns a column to read instead of one of that name and type; None: the scope has none.

    Instead of a DOUBLE only one of the same name is read, since sums of others may not be exact.
    """
    if type_.kind is Kind.DOUBLE:
        candidates = [(alias, name) for alias, columns in scope.items() if columns.get(name) == type_]
    else:
        columns = [(alias, n) for alias, of in scope.items() for n, t in of.items() if t == type_]
        candidates = sorted(columns, key=lambda column: column[1] != name)
    return ir.ColumnRef(*candidates[0], type_) if candidates else None


def easier_kind(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with INNER for an outer join, LEFT for FULL, or a mirrored LEFT for RIGHT."""
    for site, _ in blocks(scenario):
        for relation in relations(site):
            if isinstance(relation.node, ir.Join):
                join = relation.node
                for kind in EASIER[join.kind]:
                    yield relation.put(replace(join, kind=kind))
                if join.kind is ir.JoinKind.RIGHT:
                    yield relation.put(ir.Join(ir.JoinKind.LEFT, join.right, join.left, join.on))


REDUCTIONS = (
    Reduction("one side of a join", one_side),
    Reduction("branches alike", equal_branches),
    Reduction("easier kind of join", easier_kind),
)
