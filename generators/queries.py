"""Random typed queries over everything the engine supports, nested to a chosen depth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from generators import expressions
from generators.choices import Choices
from generators.expressions import Term
from workload.query import (
    Aggregate,
    AggregateFunction,
    Call,
    ColumnRef,
    Cte,
    Derived,
    Expr,
    Item,
    Join,
    JoinKind,
    Literal,
    Named,
    Query,
    Relation,
    Select,
    UnionAll,
    With,
)
from workload.types import BIGINT, BOOLEAN, DOUBLE, INT, MAX_DECIMAL_PRECISION, Kind, SqlType, decimal


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
    """A query with its output."""

    query: Query
    columns: tuple[OutputColumn, ...]
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryWeights:
    """How often each shape is drawn; see `profiles`."""

    depth: int = 2
    joins: tuple[tuple[int, JoinKind], ...] = (
        (4, JoinKind.INNER),
        (3, JoinKind.LEFT),
        (2, JoinKind.RIGHT),
        (2, JoinKind.FULL),
        (1, JoinKind.CROSS),
    )
    relations: tuple[tuple[int, int], ...] = ((4, 1), (5, 2), (2, 3))
    shapes: tuple[tuple[int, str], ...] = (
        (5, "plain"),
        (5, "grouped"),
        (1, "scalar"),
        (2, "distinct"),
        (2, "union"),
        (1, "cte"),
    )
    where_percent: int = 45
    having_percent: int = 30
    derived_percent: int = 30
    max_rows: int = 400
    """Joins that may yield more rows than this are not generated: tests want many small cases."""


@dataclass(slots=True)
class QueryGenerator:
    """Draws queries over some sources. Aliases are unique in one query."""

    choices: Choices
    weights: QueryWeights = field(default_factory=QueryWeights)
    aliases: int = 0

    def query(self, sources: Sequence[Source], depth: int | None = None) -> Generated:
        """A random query."""
        depth = self.weights.depth if depth is None else depth
        shapes = (
            self.weights.shapes
            if depth > 0
            else [(w, s) for w, s in self.weights.shapes if s not in ("union", "cte")]
        )
        shape = self.choices.weighted(list(shapes))
        match shape:
            case "union":
                return self.union(sources, depth)
            case "cte":
                return self.cte_twice(sources, depth)
            case _:
                return self.select(sources, depth, shape)

    def select(self, sources: Sequence[Source], depth: int, shape: str) -> Generated:
        """One SELECT block of a shape: plain, grouped, scalar or distinct."""
        relation, scope, rows = self.relations(sources, depth)
        return self.over(relation, scope, rows, shape)

    def over(self, relation: Relation, scope: list[Term], rows: int, shape: str) -> Generated:
        """A SELECT block over a FROM clause."""
        where = None
        if self.choices.chance(self.weights.where_percent):
            where = expressions.predicate(self.choices, scope, 1).expr
        match shape:
            case "grouped":
                return self.grouped(relation, scope, where, rows)
            case "scalar":
                return self.aggregated(relation, scope, where, (), 1, rows)
            case _:
                return self.plain(relation, scope, where, rows, distinct=shape == "distinct")

    def alias(self) -> str:
        """An alias not used before."""
        self.aliases += 1
        return f"t{self.aliases}"

    def relations(self, sources: Sequence[Source], depth: int) -> tuple[Relation, list[Term], int]:
        """A FROM clause: one to three relations, joined."""
        count = self.choices.weighted(self.weights.relations)
        relation, scope, rows = self.relation(sources, depth)
        for _ in range(count - 1):
            right, right_scope, right_rows = self.relation(sources, depth)
            if rows * right_rows > self.weights.max_rows * 4:
                break
            kind = self.choices.weighted(self.weights.joins)
            if kind is JoinKind.CROSS and rows * right_rows > self.weights.max_rows:
                kind = JoinKind.INNER
            relation, rows = self.join(kind, relation, right, scope, right_scope), rows * right_rows
            scope = scope + right_scope
        return relation, scope, rows

    def relation(self, sources: Sequence[Source], depth: int) -> tuple[Relation, list[Term], int]:
        """A named relation or a sub-select."""
        alias = self.alias()
        if depth > 0 and self.choices.chance(self.weights.derived_percent):
            inner = self.query(sources, depth - 1)
            return Derived(inner.query, alias), scope_of(alias, inner.columns), inner.rows
        source = self.choices.pick(sources)
        return Named(source.name, alias), scope_of(alias, source.columns), source.rows

    def join(
        self, kind: JoinKind, left: Relation, right: Relation, left_scope: list[Term], right_scope: list[Term]
    ) -> Join:
        """A join with a condition that usually equates two columns."""
        if kind is JoinKind.CROSS:
            return Join(kind, left, right, None)
        return Join(kind, left, right, self.condition(left_scope, right_scope))

    def condition(self, left: list[Term], right: list[Term]) -> Expr:
        """An ON condition: usually an equality, sometimes with a second conjunct."""
        pairs = [
            (a, b) for a in left for b in right if a.type == b.type and a.key and b.key and a.type != BOOLEAN
        ]
        if not pairs or self.choices.chance(8):
            keys = [term for term in left + right if term.key]
            return expressions.predicate(self.choices, keys, 0).expr if keys else TRUE
        first = [pair for pair in pairs if pair[0].type == INT] or pairs
        a, b = self.choices.pick(first if self.choices.chance(80) else pairs)
        if self.choices.chance(30):
            a, b = b, a
        name = self.choices.weighted(((8, "eq"), (1, "same"), (1, "le")))
        condition: Expr = Call(name, (a.expr, b.expr), BOOLEAN)
        if self.choices.chance(25):
            c, d = self.choices.pick(pairs)
            second = Call(self.choices.pick(("lt", "ne", "ge", "eq")), (c.expr, d.expr), BOOLEAN)
            condition = Call("and", (condition, second), BOOLEAN)
        return condition

    def plain(
        self, relation: Relation, scope: list[Term], where: Expr | None, rows: int, *, distinct: bool
    ) -> Generated:
        """A projection, perhaps DISTINCT."""
        usable = [term for term in scope if term.key] if distinct else scope
        terms = self.choices.subset(usable, 1, 3) or [expressions.literal(self.choices, INT)]
        for _ in range(self.choices.integer(0, 1)):
            type_ = self.choices.pick(usable).type if usable else INT
            terms.append(expressions.expression(self.choices, usable, type_, 2))
        if not any(isinstance(term.expr, ColumnRef) for term in terms) and usable:
            terms.append(self.choices.pick(usable))
        items, columns = self.items(terms)
        return Generated(Select(items, relation, where, distinct=distinct), columns, rows)

    def grouped(self, relation: Relation, scope: list[Term], where: Expr | None, rows: int) -> Generated:
        """GROUP BY one or two keys, columns or expressions."""
        usable = [term for term in scope if term.key]
        if not usable:
            return self.plain(relation, scope, where, rows, distinct=False)
        keys = self.choices.subset(usable, 1, 2)
        if self.choices.chance(20):
            computed = expressions.expression(self.choices, usable, self.choices.pick(usable).type, 1)
            if (
                computed.key
                and any(isinstance(part, ColumnRef) for part in _parts(computed.expr))
                and computed not in keys
            ):
                keys.append(computed)
        return self.aggregated(relation, scope, where, tuple(keys), self.choices.integer(1, 3), rows)

    def aggregated(
        self,
        relation: Relation,
        scope: list[Term],
        where: Expr | None,
        keys: tuple[Term, ...],
        count: int,
        rows: int,
    ) -> Generated:
        """Aggregates over groups, or over all rows where there are no keys; sometimes HAVING."""
        aggregates = [self.aggregate(scope, rows) for _ in range(max(1, count))]
        shown = list(keys) if self.choices.chance(85) else list(keys[1:])
        if self.choices.chance(15) and aggregates[0].digits < 40 and aggregates[0].type == BIGINT:
            over = Call("add", (aggregates[0].expr, expressions.literal(self.choices, BIGINT).expr), BIGINT)
            aggregates[0] = Term(over, aggregates[0].digits + 1, aggregates[0].key)
        having = None
        if self.choices.chance(self.weights.having_percent):
            tested = self.choices.pick([self.aggregate(scope, rows), *aggregates])
            bound = expressions.literal(self.choices, tested.type)
            having = Call(self.choices.pick(("gt", "le", "ge", "ne")), (tested.expr, bound.expr), BOOLEAN)
        items, columns = self.items([*shown, *aggregates])
        group_by = tuple(key.expr for key in keys)
        return Generated(Select(items, relation, where, group_by, having), columns, rows if keys else 1)

    def aggregate(self, scope: list[Term], rows: int) -> Term:
        """An aggregate, DISTINCT in a quarter of the cases."""
        function = self.choices.weighted(
            (
                (3, AggregateFunction.COUNT_STAR),
                (2, AggregateFunction.COUNT),
                (4, AggregateFunction.SUM),
                (2, AggregateFunction.AVG),
                (3, AggregateFunction.MIN),
                (3, AggregateFunction.MAX),
            )
        )
        growth = max(rows, 2).bit_length()
        distinct = self.choices.chance(20)
        if function is AggregateFunction.COUNT_STAR:
            return Term(Aggregate(function, None, False, BIGINT), growth)
        if function in (AggregateFunction.SUM, AggregateFunction.AVG):
            summable = [t for t in scope if summed_type(t, growth) is not None]
            if not summable:
                return Term(Aggregate(AggregateFunction.COUNT_STAR, None, False, BIGINT), growth)
            return self.sum_or_average(function, self.choices.pick(summable), growth, distinct)
        arg = self.choices.pick(scope)
        if self.choices.chance(20):
            arg = expressions.expression(self.choices, scope, arg.type, 1)
        if function is AggregateFunction.COUNT:
            return Term(Aggregate(function, arg.expr, distinct, BIGINT), growth, arg.key)
        return Term(Aggregate(function, arg.expr, distinct, arg.type), arg.digits, arg.key)

    def sum_or_average(self, function: AggregateFunction, arg: Term, growth: int, distinct: bool) -> Term:
        """SUM or AVG; a float result is no key, and an average no multiple of a power of two."""
        if self.choices.chance(25) and arg.type in (INT, BIGINT):
            when = Call("is_not_null", (arg.expr,), BOOLEAN)
            arg = Term(
                Call("case", (when, arg.expr, expressions.literal(self.choices, arg.type).expr), arg.type),
                max(3, arg.digits),
                arg.key,
            )
        if function is AggregateFunction.AVG and arg.type.kind is not Kind.DECIMAL:
            return Term(Aggregate(function, arg.expr, distinct, DOUBLE), key=False)
        type_ = summed_type(arg, growth)
        assert type_ is not None
        sum_ = Aggregate(AggregateFunction.SUM, arg.expr, distinct, type_)
        return Term(sum_, arg.digits + growth, arg.key and type_ != DOUBLE)

    def union(self, sources: Sequence[Source], depth: int) -> Generated:
        """UNION ALL of two or three branches of one shape; often over one table."""
        first = self.select(sources, depth - 1, "plain")
        branches, columns, rows = [first.query], list(first.columns), first.rows
        for _ in range(self.choices.integer(1, 2)):
            relation, scope, more = self.relations(sources, 0)
            terms = [expressions.expression(self.choices, scope, column.type, 1) for column in columns]
            where = expressions.predicate(self.choices, scope, 0).expr if self.choices.chance(40) else None
            items, _ = self.items(terms)
            branches.append(Select(items, relation, where))
            rows += more
            columns = [
                OutputColumn(c.name, c.type, max(c.digits, t.digits), c.key and t.key)
                for c, t in zip(columns, terms, strict=True)
            ]
        return Generated(UnionAll(tuple(branches)), tuple(columns), rows)

    def cte_twice(self, sources: Sequence[Source], depth: int) -> Generated:
        """A CTE read twice and joined with itself."""
        inner = self.query(sources, depth - 1)
        if inner.rows * inner.rows > self.weights.max_rows * 4:
            return inner
        name = f"c{self.aliases}"
        left, right = self.alias(), self.alias()
        scopes = scope_of(left, inner.columns), scope_of(right, inner.columns)
        kind = self.choices.weighted([(w, k) for w, k in self.weights.joins if k is not JoinKind.CROSS])
        joined = self.join(kind, Named(name, left), Named(name, right), *scopes)
        shape = self.choices.weighted(((3, "plain"), (2, "grouped")))
        body = self.over(joined, scopes[0] + scopes[1], inner.rows * inner.rows, shape)
        return Generated(With((Cte(name, inner.query),), body.query), body.columns, body.rows)

    def items(self, terms: Sequence[Term]) -> tuple[tuple[Item, ...], tuple[OutputColumn, ...]]:
        """The select list, every output with a name of its own."""
        items = []
        columns = []
        for number, term in enumerate(terms):
            name = f"x{number}"
            items.append(Item(term.expr, name))
            columns.append(OutputColumn(name, term.type, term.digits, term.key))
        return tuple(items), tuple(columns)


TRUE = Call("is_not_null", (Literal(1, INT),), BOOLEAN)


def scope_of(alias: str, columns: Sequence[OutputColumn]) -> list[Term]:
    """A relation's columns as terms."""
    return [Term(ColumnRef(alias, column.name, column.type), column.digits, column.key) for column in columns]


def summed_type(term: Term, growth: int) -> SqlType | None:
    """The type of SUM over a term; None where the sum could overflow or lose digits."""
    match term.type.kind:
        case Kind.INT | Kind.BIGINT if term.digits + growth <= 60:
            return BIGINT
        case Kind.DOUBLE if term.digits + growth <= 50:
            return DOUBLE
        case Kind.DECIMAL if term.type.precision + 10 <= 28 <= MAX_DECIMAL_PRECISION:
            return decimal(term.type.precision + 10, term.type.scale)
        case _:
            return None


def _parts(expr: Expr) -> list[Expr]:
    return [expr, *(part for arg in expr.args for part in _parts(arg))] if isinstance(expr, Call) else [expr]
