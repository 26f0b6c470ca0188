"""Reductions of statements: a simpler kind for another, without conditions and assignments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce

from shrink.reduction import Reduction
from shrink.rewrite import put_at, statements
from workload import dml
from workload.query import Call, ColumnRef, Expr, Literal, both
from workload.scenario import Scenario
from workload.schema import Table
from workload.types import BOOLEAN, Row


def simpler_kind(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with a simpler kind of statement, with a part of the effect, for a statement."""
    tables = {table.name: table for table in scenario.tables}
    for site in statements(scenario):
        for new in instead(site.node[0], tables[site.node[0].table]):
            yield site.put(new)


def instead(statement: dml.Dml, table: Table) -> Iterator[tuple[dml.Dml, ...]]:
    """Yields the statements that may replace a statement, simplest first."""
    match statement:
        case dml.Merge():
            yield from _instead_of_merge(statement, table)
        case dml.Overwrite(name, rows) | dml.Replace(name, rows):
            yield (dml.Delete(name, None),)
            yield (dml.Insert(name, rows),)
            yield (dml.Delete(name, None), dml.Insert(name, rows))
            if isinstance(statement, dml.Replace):
                yield (dml.Overwrite(name, rows),)
        case dml.Truncate(name) | dml.Restore(name, _) | dml.Optimize(name):
            yield (dml.Delete(name, None),)
        case dml.Update(name, _, where):
            yield (dml.Delete(name, where),)
        case _:
            pass


def _instead_of_merge(merge: dml.Merge, table: Table) -> Iterator[tuple[dml.Dml, ...]]:
    yield (dml.Insert(merge.table, merge.rows),)
    if len(merge.rows) == 1:
        row = merge.rows[0]
        matched = _matching(merge, table, row)
        yield (dml.Delete(merge.table, matched),)
        others = [column for column in table.columns if column.name not in merge.keys]
        assignments = tuple(
            dml.Assignment(column.name, Literal(row[table.position(column.name)], column.type))
            for column in others
        )
        if assignments:
            yield (dml.Update(merge.table, assignments, matched),)


def _matching(merge: dml.Merge, table: Table, row: Row) -> Expr:
    """Returns the condition that MERGE matches by, for one source row."""

    def same(key: str) -> Expr:
        column, value = table.columns[table.position(key)], row[table.position(key)]
        pair = (ColumnRef(table.name, key, column.type), Literal(value, column.type))
        return Call("same" if value is None else "eq", pair, BOOLEAN)

    return reduce(both, map(same, merge.keys))


def fewer_parts(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with a statement without a condition, an assignment, or a clause of MERGE."""
    for site in statements(scenario):
        match site.node[0]:
            case dml.Update(_, assignments, where) as update:
                if where is not None:
                    yield site.put((replace(update, where=None),))
                if len(assignments) > 1:
                    for number in range(len(assignments)):
                        yield site.put((replace(update, assignments=put_at(assignments, number)),))
            case dml.Delete(_, where) as delete if where is not None:
                yield site.put((replace(delete, where=None),))
            case dml.Merge(keys=keys, delete_when=when, insert_unmatched=insert) as merge:
                if when is not None:
                    yield site.put((replace(merge, delete_when=None),))
                if insert:
                    yield site.put((replace(merge, insert_unmatched=False),))
                if len(keys) > 1:
                    for number in range(len(keys)):
                        yield site.put((replace(merge, keys=put_at(keys, number)),))
            case _:
                pass


def delete_all(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with DELETE of all rows of some table in place of a statement: it needs no rows."""
    for site in statements(scenario):
        for table in scenario.tables:
            if site.node[0] != dml.Delete(table.name, None):
                yield site.put((dml.Delete(table.name, None),))


REDUCTIONS = (
    Reduction("simpler kind of statement", simpler_kind),
    Reduction("drop parts of statements", fewer_parts),
)

DETAILS = (Reduction("delete all rows instead", delete_all),)
