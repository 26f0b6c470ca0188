"""Relations as the generator sees them: what a query may read, and the blocks that are built from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from generators.choices import Choices
from generators.queries.expressions import Term, matchable
from workload import query as ir
from workload.types import BIGINT, BITS, DOUBLE, Kind, SqlType, decimal

COUNT_STAR = ir.Aggregate(ir.AggregateFunction.COUNT_STAR, None, False, BIGINT)


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column of a relation, with what the generator must know to use it (see `expressions.Term`)."""

    name: str
    type: SqlType
    digits: int
    key: bool = True


@dataclass(frozen=True, slots=True)
class Source:
    """A relation that a query may read. `rows`: how many it may hold at most, roughly."""

    name: str
    columns: tuple[OutputColumn, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class Generated:
    """A query with its output columns and, roughly, the number of rows it may yield at most."""

    query: ir.Query
    columns: tuple[OutputColumn, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class FromClause:
    """A FROM clause: the columns it brings into scope and, roughly, the rows it may yield at most."""

    relation: ir.Relation
    scope: list[Term]
    rows: int

    @property
    def matchable(self) -> list[Term]:
        """The columns by which rows may be matched and grouped."""
        return matchable(self.scope)


def scope_of(alias: str, columns: Sequence[OutputColumn]) -> list[Term]:
    """Returns the columns of a relation, as terms under an alias."""
    return [
        Term(ir.ColumnRef(alias, column.name, column.type), column.digits, column.key) for column in columns
    ]


def read(source: Source, alias: str) -> FromClause:
    """Returns the FROM clause that reads one source under an alias."""
    return FromClause(ir.Named(source.name, alias), scope_of(alias, source.columns), source.rows)


def joined(kind: ir.JoinKind, left: FromClause, right: FromClause, condition: ir.Expr | None) -> FromClause:
    """Returns the join of two FROM clauses on a given condition."""
    relation = ir.Join(kind, left.relation, right.relation, condition)
    if kind in ir.MEMBERSHIP:
        return FromClause(relation, left.scope, left.rows)
    return FromClause(relation, left.scope + right.scope, left.rows * right.rows)


def select(
    source: FromClause,
    terms: Sequence[Term],
    where: ir.Expr | None = None,
    *,
    group_by: Sequence[Term] | None = None,
    having: ir.Expr | None = None,
    distinct: bool = False,
) -> Generated:
    """Returns a SELECT block whose output columns are the terms, named x0, x1, and so on.

    `group_by`: None for no grouping, empty for one group of all rows.
    """
    items = tuple(ir.Item(term.expr, f"x{number}") for number, term in enumerate(terms))
    columns = tuple(OutputColumn(f"x{n}", term.type, term.digits, term.key) for n, term in enumerate(terms))
    keys = None if group_by is None else tuple(key.expr for key in group_by)
    query = ir.Select(items, source.relation, where, keys, having, distinct)
    return Generated(query, columns, 1 if keys == () else source.rows)


def named_as_input(choices: Choices, source: FromClause, block: Generated) -> Generated:
    """Returns the block with one output under the name of a column of its FROM clause, if a name is free.

    In GROUP BY such a name means the column, in ORDER BY the output; so it is the name of a key, if any.
    """
    if not isinstance(block.query, ir.Select):
        return block
    keys = block.query.group_by or ()
    inputs = [e for e in keys or [term.expr for term in source.scope] if isinstance(e, ir.ColumnRef)]
    free = [column for column in inputs if column.name not in {output.name for output in block.columns}]
    if not free:
        return block
    column = choices.pick(free)
    # Best is the output of another key: no other output could be taken for a key.
    places = [n for n, item in enumerate(block.query.items) if item.expr in keys and item.expr != column]
    place, name = choices.pick(places or range(len(block.columns))), column.name
    items, columns = list(block.query.items), list(block.columns)
    items[place] = replace(items[place], name=name)
    columns[place] = replace(columns[place], name=name)
    return replace(block, query=replace(block.query, items=tuple(items)), columns=tuple(columns))


def summed_type(term: Term, growth: int) -> SqlType | None:
    """Returns the type of SUM over a term; None where the sum could overflow or lose digits."""
    match term.type.kind:
        case kind if kind in BITS and term.digits + growth <= 60:
            return BIGINT
        case Kind.FLOAT | Kind.DOUBLE if term.digits + growth <= 50:
            return DOUBLE
        case Kind.DECIMAL if term.type.precision + 10 <= 28:
            return decimal(term.type.precision + 10, term.type.scale)
        case _:
            return None
