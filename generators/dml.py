"""Random statements over base tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from generators import domains, expressions
from generators.choices import Choices
from generators.domains import TableSketch
from generators.expressions import Term
from workload.dml import (
    Assignment,
    Delete,
    Dml,
    Insert,
    Merge,
    Optimize,
    Overwrite,
    Replace,
    Restore,
    Truncate,
    Update,
)
from workload.query import Call, ColumnRef, Expr, Literal
from workload.types import BOOLEAN, Row

DML_WEIGHTS: Mapping[str, int] = {
    "insert": 6,
    "update": 7,
    "delete": 4,
    "merge": 3,
    "truncate": 1,
    "overwrite": 1,
    "restore": 1,
    "optimize": 1,
    "replace": 0,
}


@dataclass(slots=True)
class DmlGenerator:
    """Draws statements. `null_percent`: share of NULLs among new values."""

    choices: Choices
    null_percent: int = 18
    weights: Mapping[str, int] = field(default_factory=lambda: DML_WEIGHTS)

    def rows(self, table: TableSketch, low: int, high: int) -> tuple[Row, ...]:
        """Random rows, sometimes the same one twice."""
        rows = [
            domains.row(self.choices, table, self.null_percent)
            for _ in range(self.choices.integer(low, high))
        ]
        if rows and self.choices.chance(30):
            rows.append(self.choices.pick(rows))
        return tuple(rows)

    def statement(self, table: TableSketch, restorable: Sequence[int]) -> Dml:
        """A random statement. `restorable`: commit times the table can go back to."""
        options = [(weight, kind) for kind, weight in self.weights.items() if kind != "restore" or restorable]
        kind = self.choices.weighted(options)
        if kind == "restore":
            return Restore(table.name, self.choices.pick(restorable))
        return STATEMENTS[kind](self, table)

    def insert(self, table: TableSketch) -> Dml:
        """One to three rows."""
        return Insert(table.name, self.rows(table, 1, 3))

    def update(self, table: TableSketch) -> Dml:
        """One or two columns; a constant, an expression of the old row, or the old value (a no-op)."""
        scope = row_scope(table)
        chosen = self.choices.subset(range(len(table.columns)), 1, 2)
        return Update(
            table.name,
            tuple(self.assignment(table, scope, position) for position in chosen),
            self.condition(table),
        )

    def assignment(self, table: TableSketch, scope: list[Term], position: int) -> Assignment:
        """A new value within the column's domain, so that digits stay bounded however often it is updated."""
        column, domain = table.columns[position], table.domains[position]
        own = scope[position].expr
        same_type = [
            i for i, c in enumerate(table.columns) if c.type == column.type and table.domains[i] == domain
        ]
        match self.choices.weighted(((6, "constant"), (1, "same"), (2, "other"), (2, "case"))):
            case "same":
                value: Expr = own
            case "other":
                value = scope[self.choices.pick(same_type)].expr
            case "case":
                when = expressions.predicate(self.choices, scope, 0).expr
                new = Literal(domains.value(self.choices, domain, self.null_percent), column.type)
                value = Call("case", (when, new, own), column.type)
            case _:
                value = Literal(domains.value(self.choices, domain, self.null_percent), column.type)
        return Assignment(column.name, value)

    def delete(self, table: TableSketch) -> Dml:
        """The rows of a condition."""
        return Delete(table.name, self.condition(table))

    def update_one(self, table: TableSketch) -> Dml:
        """One column of the few rows that two columns pick out: most changes in production are small."""
        statement = self.update(table)
        return replace(statement, where=self.narrow(table)) if isinstance(statement, Update) else statement

    def delete_one(self, table: TableSketch) -> Dml:
        """The few rows that all columns pick out."""
        return Delete(table.name, self.narrow(table))

    def narrow(self, table: TableSketch) -> Expr:
        """A value for every column."""
        terms = row_scope(table)
        parts = [
            Call(
                "same",
                (term.expr, Literal(domains.value(self.choices, domain, self.null_percent), term.type)),
                BOOLEAN,
            )
            for term, domain in zip(terms, table.domains, strict=True)
        ]
        return reduce(lambda left, right: Call("and", (left, right), BOOLEAN), parts)

    def merge(self, table: TableSketch) -> Dml:
        """Rows with distinct keys, matched on the first column."""
        keys: dict[object, Row] = {}
        for row in self.rows(table, 1, 3):
            keys.setdefault(row[0], row)
        delete_when = (
            expressions.predicate(self.choices, row_scope(table), 0).expr if self.choices.chance(40) else None
        )
        return Merge(
            table.name, (table.columns[0].name,), tuple(keys.values()), delete_when, self.choices.chance(70)
        )

    def no_op(self, table: TableSketch) -> Dml:
        """A statement that surely changes no row: OPTIMIZE, or every column set to itself."""
        if self.choices.chance(30):
            return Optimize(table.name)
        own = (ColumnRef(table.name, column.name, column.type) for column in table.columns)
        return Update(table.name, tuple(Assignment(ref.name, ref) for ref in own), None)

    def truncate(self, table: TableSketch) -> Dml:
        """All rows go."""
        return Truncate(table.name)

    def overwrite(self, table: TableSketch) -> Dml:
        """New rows for old."""
        return Overwrite(table.name, self.rows(table, 0, 4))

    def optimize(self, table: TableSketch) -> Dml:
        """No row changes."""
        return Optimize(table.name)

    def replace(self, table: TableSketch) -> Dml:
        """Another table under the old name."""
        return Replace(table.name, self.rows(table, 0, 4))

    def condition(self, table: TableSketch) -> Expr | None:
        """Usually one value of one column, so that some rows match and some do not."""
        if self.choices.chance(8):
            return None
        scope = row_scope(table)
        if self.choices.chance(65):
            position = self.choices.integer(0, len(table.columns) - 1)
            column, domain = table.columns[position], table.domains[position]
            value = domains.value(self.choices, domain, 15)
            name = "same" if value is None else self.choices.weighted(((4, "eq"), (1, "le"), (1, "gt")))
            return Call(name, (scope[position].expr, Literal(value, column.type)), BOOLEAN)
        return expressions.predicate(self.choices, scope, 1).expr


STATEMENTS: Mapping[str, Callable[[DmlGenerator, TableSketch], Dml]] = {
    "insert": DmlGenerator.insert,
    "update": DmlGenerator.update,
    "delete": DmlGenerator.delete,
    "update_one": DmlGenerator.update_one,
    "delete_one": DmlGenerator.delete_one,
    "merge": DmlGenerator.merge,
    "truncate": DmlGenerator.truncate,
    "overwrite": DmlGenerator.overwrite,
    "optimize": DmlGenerator.optimize,
    "replace": DmlGenerator.replace,
}


def row_scope(table: TableSketch) -> list[Term]:
    """A table's columns as a statement over it reads them."""
    return [
        Term(ColumnRef(table.name, column.name, column.type), domain.digits)
        for column, domain in zip(table.columns, table.domains, strict=True)
    ]
