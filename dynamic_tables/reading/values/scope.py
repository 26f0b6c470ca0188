"""Names while a query is bound: which column a name stands for, and unique names for new columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.branches import Branch
from dynamic_tables.plan.expressions import Col, Expr, Fn, walk
from dynamic_tables.plan.nested_types import is_key_type
from dynamic_tables.plan.nodes import Plan
from dynamic_tables.reading.values.passed import TypeOf

Outputs = tuple[tuple[str, Col], ...]
"""Output names as users see them, each with its column in the plan."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound query: its plan and its outputs."""

    plan: Plan
    outputs: Outputs


@dataclass(frozen=True, slots=True)
class Cte:
    """The query of a CTE, the CTEs that are visible in it, and its name with its column list, if any."""

    query: exp.Expr
    visible: Mapping[str, Cte]
    alias: exp.Expr | None = None


def listed(outputs: Outputs, alias: exp.Expr | None) -> Outputs:
    """Returns the outputs of a relation under the names of its column list, where its alias has one.

    Raises DefinitionError: for a list of another length.
    """
    names = [] if alias is None else [column.name for column in alias.args.get("columns") or ()]
    if not names:
        return outputs
    if len(names) != len(outputs):
        name = alias.name if alias is not None else ""
        raise DefinitionError(f"the column list of {name} names {len(names)} of {len(outputs)} columns")
    return tuple((name, column) for name, (_, column) in zip(names, outputs, strict=True))


@dataclass(frozen=True, slots=True)
class Scope:
    """The relations that one SELECT block reads, in order: (lower-case alias, its outputs).

    `merged`: the columns of joins with USING or NATURAL. `hidden`: the columns that they stand for, which
    only a qualified name reaches.
    """

    relations: tuple[tuple[str, Outputs], ...]
    merged: Outputs = ()
    hidden: frozenset[str] = frozenset()

    @property
    def visible(self) -> Outputs:
        """The columns that `*` shows, in its order."""
        listed = (output for _, outputs in self.relations for output in outputs)
        return (*self.merged, *(output for output in listed if output[1].name not in self.hidden))

    def resolve(self, node: exp.Column) -> Expr:
        """Returns the column that a name stands for. Raises DefinitionError if none or several do."""
        if node.args.get("db") is not None:
            raise DefinitionError(f"column {node.sql()}: qualify a column by its table's name only")
        table, name = node.table.lower(), node.name.lower()
        if table and table not in {alias for alias, _ in self.relations}:
            names = ", ".join(alias for alias, _ in self._shown)
            raise DefinitionError(f"unknown table {node.table} in {node.sql()}; in scope: {names}")
        # A qualified name also reaches a column that USING has merged with another one.
        reached = self.star(table) if table else self.visible
        matches = [column for output, column in reached if output.lower() == name]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise DefinitionError(f"column {node.sql()} is ambiguous; qualify it")
        names = ", ".join(f"{alias}.{output}" for alias, outputs in self._shown for output, _ in outputs)
        raise DefinitionError(f"unknown column {node.sql()}; in scope: {names}")

    @property
    def _shown(self) -> Sequence[tuple[str, Outputs]]:
        """The relations that the user has written."""
        return [(alias, outputs) for alias, outputs in self.relations if not alias.startswith("$")]

    def shown(self, column: Col) -> str:
        """Returns the qualified name by which a user may write a column of the plan."""
        for alias, outputs in self.relations:
            for name, candidate in outputs:
                if candidate == column:
                    return f"{alias}.{name}"
        return column.name

    def star(self, table: str | None) -> Outputs:
        """Returns the columns of `*` (`table` None) or `table.*`. Raises DefinitionError: unknown table."""
        if table is None:
            return self.visible
        picked = [outputs for alias, outputs in self.relations if alias == table.lower()]
        if not picked:
            raise DefinitionError(f"unknown table {table} in {table}.*")
        return tuple(output for outputs in picked for output in outputs)


@dataclass(slots=True)
class Names:
    """Gives out column names that are unique in the whole plan, and knows which hold a float aggregate.

    A float aggregate is a sum or statistic of doubles: its last bits depend on the order of summation. It may
    be shown, but no row may be matched, grouped or filtered by it (DVS paper, section 3.4): computed again
    from the rows before a change, the value may be another one than the stored one. `type_of`: as in
    `ExpressionBinder`.
    """

    type_of: TypeOf | None = None
    taken: dict[str, int] = field(default_factory=dict)
    float_aggregates: set[str] = field(default_factory=set)
    """Columns of the plan whose last bits depend on the order of summation."""
    branches: set[Branch] = field(default_factory=set)
    """The branches that binding has taken so far."""

    def fresh(self, name: str) -> str:
        """Returns a column name that was not used before: the name itself, or with a number added."""
        base = name.lower()
        count = self.taken.get(base, 0)
        self.taken[base] = count + 1
        return base if count == 0 else self.fresh(f"{base}_{count + 1}")

    def refuse_float_keys(self, exprs: Iterable[Expr], where: str) -> None:
        """Raises UnsupportedError if rows would be matched by a sum of floats (DVS paper, section 3.4)."""
        for expr in exprs:
            if self.is_float_aggregate(expr):
                raise UnsupportedError(
                    f"float aggregate as key of {where}", "its last bits depend on the order of summation"
                )

    def refuse_float_comparison(self, condition: Expr, clause: str) -> None:
        """Raises UnsupportedError if a condition compares a sum of floats with anything.

        Example: HAVING SUM(x) > 1 kept a group. Computed again, in another order, for its DELETE, the sum may
        be exactly 1, so the old row would not be deleted. `IS NULL` does not depend on the last bits.
        """
        match condition:
            case Fn("is null", (Col(),), _):
                return
            case Col(name, _) if name in self.float_aggregates:
                raise UnsupportedError(
                    f"float aggregate in {clause}", "its last bits depend on the order of summation"
                )
            case Fn(_, args, _):
                for arg in args:
                    self.refuse_float_comparison(arg, clause)
            case _:
                pass

    def refuse_keys(self, exprs: Iterable[Expr], where: str) -> None:
        """Raises UnsupportedError if rows cannot be identified by the value of an expression."""
        listed = list(exprs)
        self.refuse_float_keys(listed, where)
        for expr in listed:
            if not is_key_type(expr.type):
                raise UnsupportedError(f"{where} by a value of type {expr.type}", "no row id can hold it")

    def is_float_aggregate(self, expr: Expr) -> bool:
        """Tells whether an expression reads a column that holds a float aggregate."""
        return any(isinstance(part, Col) and part.name in self.float_aggregates for part in walk(expr))
