"""What names mean while a query is bound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.expressions import Col, Expr, walk
from dynamic_tables.plan.nodes import Plan

Outputs = tuple[tuple[str, Col], ...]
"""Output names as the user sees them, each with its column in the plan."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound sub-query."""

    plan: Plan
    outputs: Outputs


@dataclass(frozen=True, slots=True)
class Scope:
    """What column names mean in one SELECT block: (alias, its columns) in order."""

    relations: tuple[tuple[str, Outputs], ...]

    def resolve(self, node: exp.Column) -> Expr:
        """The column a name stands for. Raises DefinitionError: unknown or ambiguous."""
        if node.args.get("db") is not None:
            raise DefinitionError(f"column {node.sql()}: qualify a column by its table's name only")
        table, name = node.table.lower(), node.name.lower()
        if table and table not in {alias for alias, _ in self.relations}:
            known = ", ".join(alias for alias, _ in self.relations)
            raise DefinitionError(f"unknown table {node.table} in {node.sql()}; in scope: {known}")
        found = [
            column
            for alias, outputs in self.relations
            if not table or alias == table
            for output, column in outputs
            if output.lower() == name
        ]
        if len(found) == 1:
            return found[0]
        if found:
            raise DefinitionError(f"column {node.sql()} is ambiguous; qualify it")
        raise DefinitionError(f"unknown column {node.sql()}; in scope: {', '.join(self._names())}")

    def _names(self) -> Iterator[str]:
        for alias, outputs in self.relations:
            for output, _ in outputs:
                yield f"{alias}.{output}"

    def shown(self, column: Col) -> str:
        """A column as the user may write it."""
        for alias, outputs in self.relations:
            for name, candidate in outputs:
                if candidate == column:
                    return f"{alias}.{name}"
        return column.name

    def star(self, table: str | None) -> Outputs:
        """The columns `*` or `table.*` stands for."""
        picked = [outputs for alias, outputs in self.relations if table is None or alias == table.lower()]
        if not picked:
            raise DefinitionError(f"unknown table {table} in {table}.*")
        return tuple(output for outputs in picked for output in outputs)


@dataclass(slots=True)
class Names:
    """Column names that are unique in the whole plan, and which of them hold a float aggregate."""

    taken: dict[str, int] = field(default_factory=dict)
    float_aggregates: set[str] = field(default_factory=set)
    """Plan columns whose last bits depend on the order of summation."""

    def fresh(self, name: str) -> str:
        """A column name not used before."""
        base = name.lower()
        count = self.taken.get(base, 0)
        self.taken[base] = count + 1
        return base if count == 0 else self.fresh(f"{base}_{count + 1}")

    def refuse_float_keys(self, exprs: Iterable[Expr], where: str) -> None:
        """Raises UnsupportedError where rows would be matched by a sum of floats (DVS paper, section 3.4)."""
        for expr in exprs:
            if self.is_float_aggregate(expr):
                raise UnsupportedError(
                    f"float aggregate as key of {where}", "its last bits depend on the order of summation"
                )

    def is_float_aggregate(self, expr: Expr) -> bool:
        """Whether an expression reads a column that a float aggregate made."""
        return any(isinstance(part, Col) and part.name in self.float_aggregates for part in walk(expr))
