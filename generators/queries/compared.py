"""Rows beside an aggregate of other rows: what scalar subqueries and EXISTS under OR say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from generators.queries import expressions
from generators.queries.expressions import TRUE, Term, call
from generators.queries.relations import (
    COUNT_STAR,
    FromClause,
    Generated,
    Source,
    joined,
    read,
    scope_of,
    select,
)
from generators.queries.windows import UNORDERED, DrawsAggregates
from workload.query import ColumnRef, Derived, Expr, JoinKind
from workload.types import BOOLEAN


class DrawsValues(DrawsAggregates, Protocol):
    """The part of `queries.QueryGenerator` that this module needs: it draws aggregates and conditions."""

    def alias(self) -> str: ...

    def sometimes(self, source: FromClause, percent: int, *, depth: int = 1) -> Expr | None: ...


def compared(draw: DrawsValues, sources: Sequence[Source]) -> Generated:
    """Returns rows beside an aggregate of another relation, or of its group, as scalar subqueries give it."""
    first = draw.choices.pick(sources)
    left, right = read(first, draw.alias()), read(draw.choices.pick(sources), draw.alias())
    of_groups = draw.choices.chance(45)
    left = _groups(draw, left) if of_groups else left
    lefts, rights = ([term for term in side.matchable if term.type != BOOLEAN] for side in (left, right))
    pairs = [(a, b) for a in lefts for b in rights if a.type == b.type]
    if pairs and not of_groups and draw.choices.chance(20):
        return _tied_by_an_inequality(draw, first, left, right, draw.choices.pick(pairs))
    value, where = draw.aggregate(right), draw.sometimes(right, 30)
    keyed = bool(pairs) and draw.choices.chance(40 if of_groups else 75)
    marked = keyed and draw.choices.chance(40)
    if marked:
        value = Term(COUNT_STAR, max(right.rows, 2).bit_length())
    pair = draw.choices.pick(pairs) if keyed else None
    keys = () if pair is None else (pair[1],)
    inner, alias = select(right, [*keys, value], where, group_by=keys), draw.alias()
    groups = FromClause(Derived(inner.query, alias), scope_of(alias, inner.columns), inner.rows)
    if pair is None:
        source = joined(JoinKind.CROSS, left, groups, None)
    else:
        source = joined(JoinKind.LEFT, left, groups, call("eq", BOOLEAN, pair[0], groups.scope[0]).expr)
    found = groups.scope[-1]
    condition = None
    if marked:
        # Whether there is a group at all, under OR or as an output: EXISTS.
        found = call(draw.choices.pick(("is_not_null", "is_null")), BOOLEAN, found)
        other = expressions.predicate(draw.choices, lefts, 1) if lefts else Term(TRUE)
        if draw.choices.chance(60):
            condition = call(draw.choices.pick(("or", "or", "and")), BOOLEAN, other, found).expr
    elif found.key and draw.choices.chance(50):
        others = [term for term in lefts if term.type == found.type]
        other = draw.choices.pick(others) if others else expressions.literal(draw.choices, found.type)
        condition = call(draw.choices.pick(("eq", "lt", "ge")), BOOLEAN, other, found).expr
    terms = draw.choices.subset(left.scope, 1, 3)
    if condition is None or draw.choices.chance(50):
        terms.append(found)
    return select(source, terms, condition)


def _groups(draw: DrawsValues, rows: FromClause) -> FromClause:
    """Returns the groups of some rows, or all as one, with aggregates: what HAVING can compare."""
    by = [term for term in rows.matchable if term.type.kind not in UNORDERED]
    keys = draw.choices.subset(by, 0, 2)
    values = [draw.aggregate(rows) for _ in range(draw.choices.integer(1, 2))]
    groups, alias = select(rows, [*keys, *values], draw.sometimes(rows, 20), group_by=keys), draw.alias()
    return FromClause(Derived(groups.query, alias), scope_of(alias, groups.columns), groups.rows)


def _tied_by_an_inequality(
    draw: DrawsValues, source: Source, left: FromClause, right: FromClause, pair: tuple[Term, Term]
) -> Generated:
    """Returns rows beside an aggregate of the rows that are tied to each by a comparison such as `<=`.

    It is computed once for each different value of the rows: what a scalar subquery with any condition says.
    """
    outer, inner = pair
    assert isinstance(outer.expr, ColumnRef), "pairs are of columns"
    again = read(source, draw.alias())
    same = next(t for t in again.scope if isinstance(t.expr, ColumnRef) and t.expr.name == outer.expr.name)
    block, alias = select(again, [same], distinct=True), draw.alias()
    values = FromClause(Derived(block.query, alias), scope_of(alias, block.columns), block.rows)
    key = values.scope[0]
    tie = call(draw.choices.pick(("le", "lt", "ge", "ne")), BOOLEAN, inner, key).expr
    both = joined(JoinKind.INNER, values, right, tie)
    groups = select(both, [key, draw.aggregate(right)], draw.sometimes(right, 30), group_by=[key])
    beside = FromClause(
        Derived(groups.query, alias := draw.alias()), scope_of(alias, groups.columns), groups.rows
    )
    on = call("same", BOOLEAN, outer, beside.scope[0]).expr
    terms = [*draw.choices.subset(left.scope, 1, 3), beside.scope[-1]]
    return select(replace(joined(JoinKind.LEFT, left, beside, on), rows=left.rows), terms)
