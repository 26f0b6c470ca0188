"""Random statements over base tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from generators import domains
from generators.choices import Choices
from generators.domains import Domain, TableSketch
from generators.queries import expressions
from generators.queries.expressions import Term, call, constant
from workload import dml
from workload.query import ColumnRef, Expr
from workload.types import BOOLEAN, NESTED, Row, SqlType

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
"""How often each kind of statement is drawn, unless a profile says otherwise."""


@dataclass(slots=True)
class DmlGenerator:
    """The source of random statements. `null_percent`: NULLs in new rows; `weights`: kind -> how often."""

    choices: Choices
    null_percent: int = 18
    weights: Mapping[str, int] = field(default_factory=lambda: DML_WEIGHTS)

    def rows(self, table: TableSketch, low: int, high: int) -> tuple[Row, ...]:
        """Returns `low` to `high` random rows, and sometimes one of them once more."""
        rows = [
            domains.row(self.choices, table, self.null_percent)
            for _ in range(self.choices.integer(low, high))
        ]
        if rows and self.choices.chance(30):
            rows.append(self.choices.pick(rows))
        return tuple(rows)

    def statement(self, table: TableSketch, restorable: Sequence[int]) -> dml.Dml:
        """Returns a random statement. `restorable`: the commit times that RESTORE may go back to."""
        options = [(weight, kind) for kind, weight in self.weights.items() if kind != "restore" or restorable]
        kind = self.choices.weighted(options)
        if kind == "restore":
            return dml.Restore(table.name, self.choices.pick(restorable))
        return STATEMENTS[kind](self, table)

    def update(self, table: TableSketch) -> dml.Update:
        """Returns an UPDATE of one or two columns, to new or old values, with a random condition."""
        positions = self.choices.subset(range(len(table.columns)), 1, 2)
        assignments = tuple(self.assignment(table, position) for position in positions)
        return dml.Update(table.name, assignments, self.condition(table))

    def assignment(self, table: TableSketch, position: int) -> dml.Assignment:
        """Returns a new value of a column: a constant, its old value, another column's, or a CASE of two.

        It stays within the column's domain, so that digits stay bounded however often the column is updated.
        """
        column, domain = table.columns[position], table.domains[position]
        scope = row_scope(table)
        old = scope[position]
        same_domain = [
            term
            for term, other in zip(scope, table.domains, strict=True)
            if term.type == column.type and other == domain
        ]
        match self.choices.weighted(((6, "constant"), (1, "same"), (2, "other"), (2, "case"))):
            case "same":
                value = old
            case "other":
                value = self.choices.pick(same_domain)
            case "case":
                when = expressions.predicate(self.choices, scope, 0)
                value = call("case", column.type, when, self.value(domain, column.type), old)
            case _:
                value = self.value(domain, column.type)
        return dml.Assignment(column.name, value.expr)

    def value(self, domain: Domain, type_: SqlType) -> Term:
        """Returns a random value of a domain, or NULL, as a literal."""
        return constant(domains.value(self.choices, domain, self.null_percent), type_)

    def narrow(self, table: TableSketch) -> Expr:
        """Returns the condition that every column has a given random value."""
        terms = row_scope(table)
        parts = [
            call("same", BOOLEAN, term, self.value(domain, term.type))
            for term, domain in zip(terms, table.domains, strict=True)
            if term.type.kind not in NESTED
        ]
        return reduce(lambda left, right: call("and", BOOLEAN, left, right), parts).expr

    def merge(self, table: TableSketch) -> dml.Merge:
        """Returns a MERGE of rows with distinct keys, matched on the first column."""
        # Two source rows of one key are an error where the key matches (Spark, Delta).
        rows: dict[object, Row] = {}
        for row in self.rows(table, 1, 3):
            rows.setdefault(row[0], row)
        delete_when = None
        if self.choices.chance(40):
            delete_when = expressions.predicate(self.choices, row_scope(table), 0).expr
        keys = (table.columns[0].name,)
        return dml.Merge(table.name, keys, tuple(rows.values()), delete_when, self.choices.chance(70))

    def no_op(self, table: TableSketch) -> dml.Dml:
        """Returns a statement that surely changes no row: OPTIMIZE, or every column set to itself."""
        if self.choices.chance(30):
            return dml.Optimize(table.name)
        return to_itself(table)

    def condition(self, table: TableSketch) -> Expr | None:
        """Returns a random WHERE or None: mostly about one value of one column, so that some rows match."""
        if self.choices.chance(8):
            return None
        scope = row_scope(table)
        if self.choices.chance(65):
            position = self.choices.integer(0, len(table.columns) - 1)
            if scope[position].type.kind in NESTED:
                # The first column, which is the key, can be compared.
                position = 0
            value = domains.value(self.choices, table.domains[position], 15)
            name = "same" if value is None else self.choices.weighted(((4, "eq"), (1, "le"), (1, "gt")))
            return call(name, BOOLEAN, scope[position], constant(value, scope[position].type)).expr
        return expressions.predicate(self.choices, scope, 1).expr


STATEMENTS: Mapping[str, Callable[[DmlGenerator, TableSketch], dml.Dml]] = {
    "insert": lambda draw, table: dml.Insert(table.name, draw.rows(table, 1, 3)),
    "update": DmlGenerator.update,
    "delete": lambda draw, table: dml.Delete(table.name, draw.condition(table)),
    "update_one": lambda draw, table: replace(draw.update(table), where=draw.narrow(table)),
    "delete_one": lambda draw, table: dml.Delete(table.name, draw.narrow(table)),
    "merge": DmlGenerator.merge,
    "truncate": lambda draw, table: dml.Truncate(table.name),
    "overwrite": lambda draw, table: dml.Overwrite(table.name, draw.rows(table, 0, 4)),
    "optimize": lambda draw, table: dml.Optimize(table.name),
    "replace": lambda draw, table: dml.Replace(table.name, draw.rows(table, 0, 4)),
}
"""The function that draws each kind of statement but RESTORE, which needs a history.

`update_one` and `delete_one` change the few rows that a value of every column picks out: most changes in
production are small.
"""


def row_scope(table: TableSketch) -> list[Term]:
    """Returns a table's columns as terms, as a statement over the table refers to them."""
    return [
        Term(ColumnRef(table.name, column.name, column.type), domain.digits)
        for column, domain in zip(table.columns, table.domains, strict=True)
    ]


def to_itself(table: TableSketch) -> dml.Update:
    """Returns an UPDATE that sets every column of every row to its old value."""
    refs = (ColumnRef(table.name, column.name, column.type) for column in table.columns)
    return dml.Update(table.name, tuple(dml.Assignment(ref.name, ref) for ref in refs), None)
