"""Where the sign of a zero is determined: SQL calls -0.0 and 0.0 equal, and yet a table stores one of them.

A column of a base table that is shown as it is keeps the sign. Where equal values become one (groups,
DISTINCT, set operations, MIN, MAX), or a function is called, either zero is right: SQL does not say which one
is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from workload import query as ir
from workload.scenario import Scenario
from workload.schema import Column
from workload.types import with_signed_zero

Shown = Mapping[str, bool]
"""The columns of a relation, in order, and whether they show values of base tables as they are."""


def zeros_told(scenario: Scenario, name: str, columns: Sequence[Column]) -> tuple[Column, ...]:
    """Returns the columns of a table or definition, with the types by which their values are compared."""
    relations: dict[str, Shown] = {
        table.name: {column.name: True for column in table.columns} for table in scenario.tables
    }
    for definition in scenario.definitions:
        relations[definition.name] = _shown(definition.query, relations)
    return tuple(
        replace(column, type=with_signed_zero(column.type)) if relations[name][column.name] else column
        for column in columns
    )


def _shown(query: ir.Query, relations: Mapping[str, Shown]) -> Shown:
    """Returns the columns of a query, and which of them show values of base tables as they are."""
    match query:
        case ir.Select(items, source):
            scope = _scope(source, relations)
            merges = query.distinct or query.group_by is not None
            return {
                item.name: not merges
                and isinstance(item.expr, ir.ColumnRef)
                and scope.get((item.expr.relation, item.expr.name), False)
                for item in items
            }
        case ir.SetOperation(branches):
            shown = [_shown(branch, relations) for branch in branches]
            keeps = isinstance(query, ir.UnionAll)
            columns = zip(*(each.values() for each in shown), strict=True)
            return dict(zip(shown[0], (keeps and all(column) for column in columns), strict=True))
        case ir.Limited(inner, order):
            shown_inside = _shown(inner, relations)
            total = {key.column for key in order} == set(shown_inside)
            # Of rows that are equal in the order any may be taken.
            return shown_inside if total else dict.fromkeys(shown_inside, False)
        case ir.With(ctes, body):
            for cte in ctes:
                relations = {**relations, cte.name: _shown(cte.query, relations)}
            return _shown(body, relations)
        case ir.Verbatim(columns=given):
            return {column: False for column, _ in given}
        case _:
            assert_never(query)


def _scope(relation: ir.Relation, relations: Mapping[str, Shown]) -> Mapping[tuple[str, str], bool]:
    """Returns, by alias and name, which columns show values as they are; others may be left out."""
    match relation:
        case ir.Named(name, alias):
            return {(alias, column): shown for column, shown in relations[name].items()}
        case ir.Derived(query, alias):
            return {(alias, column): shown for column, shown in _shown(query, relations).items()}
        case ir.Exploded(inner, _, _):
            return _scope(inner, relations)
        case ir.Join(_, left, right):
            return {**_scope(left, relations), **_scope(right, relations)}
        case _:
            assert_never(relation)
