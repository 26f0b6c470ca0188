"""Draws random typed queries with everything the engine supports, nested to a chosen depth.

`ScenarioBuilder` gives each dynamic table of a scenario such a query; the modules beside draw single shapes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from generators.choices import Choices
from generators.queries import expressions
from generators.queries.aggregates import aggregate_form, beside_texts
from generators.queries.compared import compared
from generators.queries.exploded import exploded
from generators.queries.expressions import TRUE, Term, call, constant, matchable, met, of_type
from generators.queries.grouping_sets import grouping_sets
from generators.queries.relations import (
    COUNT_STAR,
    FromClause,
    Generated,
    OutputColumn,
    Source,
    joined,
    named_as_input,
    read,
    scope_of,
    select,
    summed_type,
)
from generators.queries.stacked import stacked
from generators.queries.windows import UNORDERED, windowed_groups, windowed_rows
from workload import query as ir
from workload.operators import SET_OPERATIONS, Operator
from workload.orders import leaves_ties
from workload.types import BIGINT, BITS, BOOLEAN, DOUBLE, INT, NESTED, Kind, decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryWeights:
    """How often each shape of a query is drawn: pairs of a weight and what it is the weight of.

    `joins`: by kind. `relations`: how many relations a FROM clause joins. `shapes`: what
    `QueryGenerator.query` draws; of them `compared` are rows beside an aggregate of other rows, `sets` are
    GROUPING SETS, and `stacked` are several blocks of one operator each. The profiles
    (`generators.profiles`) have weights of their own.

    The repr is part of the seed of every scenario (see `generate.scenario_at`): a renamed field changes
    all draws.
    """

    depth: int = 2
    joins: tuple[tuple[int, ir.JoinKind], ...] = (
        (4, ir.JoinKind.INNER),
        (3, ir.JoinKind.LEFT),
        (2, ir.JoinKind.RIGHT),
        (2, ir.JoinKind.FULL),
        (1, ir.JoinKind.CROSS),
        (2, ir.JoinKind.SEMI),
        (2, ir.JoinKind.ANTI),
    )
    relations: tuple[tuple[int, int], ...] = ((4, 1), (5, 2), (2, 3))
    shapes: tuple[tuple[int, str], ...] = (
        (5, "plain"),
        (5, "grouped"),
        (1, "scalar"),
        (2, "distinct"),
        (2, "union"),
        (3, "difference"),
        (1, "cte"),
        (2, "compared"),
        (1, "limited"),
        (4, "windowed"),
        (2, "sets"),
        (6, "stacked"),
    )
    where_percent: int = 45
    having_percent: int = 30
    derived_percent: int = 30
    forms_percent: int = 20
    """Percent of aggregates with further arguments, and of statistics (`generators.queries.aggregates`)."""
    exploded_percent: int = 5
    """Percent of relations, and of whole FROM clauses, beside which the elements of an array stand."""
    max_rows: int = 400
    """Joins that may yield more rows than this are not generated: tests want many small cases."""


SHAPES: Mapping[str, str] = {
    Operator.GROUPED_AGGREGATION: "grouped",
    Operator.SCALAR_AGGREGATION: "scalar",
    Operator.DISTINCT: "distinct",
    Operator.UNION_ALL: "union",
    Operator.UNION: "union",
    Operator.EXCEPT_ALL: "difference",
    Operator.EXCEPT: "difference",
    Operator.INTERSECT_ALL: "difference",
    Operator.INTERSECT: "difference",
    Operator.LIMIT: "limited",
    Operator.WINDOW: "windowed",
    Operator.GROUPING_SETS: "sets",
}
"""By operator, the shape of `QueryWeights.shapes` whose queries have it."""

NESTED_SHAPES = frozenset(SHAPES[operator] for operator in SET_OPERATIONS) | {
    "cte",
    "compared",
    "limited",
    "stacked",
}
"""Shapes that hold other queries, and so are drawn only where the depth allows it."""

DIFFERENCES: Sequence[tuple[int, type[ir.ExceptAll | ir.Except | ir.IntersectAll | ir.Intersect]]] = (
    (3, ir.ExceptAll),
    (2, ir.Except),
    (2, ir.IntersectAll),
    (2, ir.Intersect),
)
"""The operations that compare the rows of two queries, with weights."""

EXACTLY_AVERAGED = 12
"""Digits from which Spark averages a DECIMAL exactly; one of fewer it averages as a DOUBLE."""

AGGREGATES: Sequence[tuple[int, ir.AggregateFunction]] = (
    (3, ir.AggregateFunction.COUNT_STAR),
    (2, ir.AggregateFunction.COUNT),
    (4, ir.AggregateFunction.SUM),
    (2, ir.AggregateFunction.AVG),
    (3, ir.AggregateFunction.MIN),
    (3, ir.AggregateFunction.MAX),
)
"""The plain aggregates, with weights."""


def never_false(condition: ir.Expr) -> ir.Expr:
    """Returns the condition by which an anti join is NOT IN: a comparison with NULL excludes the row too."""
    match condition:
        case ir.Call("and", (first, rest), _):
            return ir.Call("and", (never_false(first), rest), BOOLEAN)
        case _:
            return ir.Call("not", (ir.Call("is_false", (condition,), BOOLEAN),), BOOLEAN)


@dataclass(slots=True)
class QueryGenerator:
    """The source of random queries over some relations. `aliases`: how many aliases were given so far."""

    choices: Choices
    weights: QueryWeights = field(default_factory=QueryWeights)
    aliases: int = 0

    @property
    def most_rows(self) -> int:
        """Rows of a join above which it is not drawn."""
        return self.weights.max_rows

    def query(self, sources: Sequence[Source], depth: int | None = None) -> Generated:
        """Returns a random query over the sources, at most `depth` deep (default: the weights' depth)."""
        depth = self.weights.depth if depth is None else depth
        shapes = [(w, s) for w, s in self.weights.shapes if depth > 0 or s not in NESTED_SHAPES]
        shape = self.choices.weighted(shapes)
        match shape:
            case "union":
                return self.union(sources, depth)
            case "difference":
                return self.difference(sources, depth)
            case "cte":
                return self.cte_twice(sources, depth)
            case "compared":
                return compared(self, sources)
            case "stacked":
                return stacked(self, sources)
            case "limited":
                return self.limited(self.from_clause(sources, depth - 1))
            case _:
                return self.over(self.from_clause(sources, depth), shape)

    def difference(self, sources: Sequence[Source], depth: int) -> Generated:
        """Returns EXCEPT or INTERSECT, also with ALL, of one block with two conditions or of two blocks."""
        source = self.from_clause(sources, depth - 1)
        # Rows are matched by all their columns.
        source = replace(source, scope=source.matchable)
        first = self.plain(source, self.sometimes(source, 30), distinct=False)
        assert isinstance(first.query, ir.Select)
        if any(not column.key for column in first.columns):
            return first
        second: ir.Query = replace(first.query, where=self.sometimes(source, 80))
        if self.choices.chance(60):
            other = self.alike(self.from_clause(sources, 0), first.columns)
            second = second if other is None else other.query
        operation = self.choices.weighted(DIFFERENCES)
        return replace(first, query=operation((first.query, second)))

    def limited(self, source: FromClause) -> Generated:
        """Returns the first rows of a block in an order of all its columns, so that only equal rows tie."""
        ordered = [term for term in source.matchable if term.type.kind not in UNORDERED]
        block = self.over(
            replace(source, scope=ordered),
            self.choices.weighted(((3, "plain"), (3, "grouped"), (1, "distinct"))),
        )
        if any(not column.key or column.type.kind in UNORDERED for column in block.columns):
            return block
        return self.first_of(block)

    def first_of(self, block: Generated) -> Generated:
        """Returns LIMIT of up to four rows over a block, sometimes with OFFSET, in an order without ties.

        The order has all columns; in half of the cases the last ones are left out while there are no ties.
        """
        rest, order = list(block.columns), []
        while rest:
            column = rest.pop(self.choices.integer(0, len(rest) - 1))
            order.append(ir.SortKey(column.name, self.choices.chance(50)))
        offset = self.choices.integer(1, 2) if self.choices.chance(25) else 0
        count = 0 if self.choices.chance(4) else self.choices.integer(1, 4)
        limited = ir.Limited(block.query, tuple(order), count, offset)
        if self.choices.chance(50):
            while len(limited.order) > 1 and not leaves_ties(
                shorter := replace(limited, order=limited.order[:-1])
            ):
                limited = shorter
        return replace(block, query=limited, rows=min(block.rows, limited.count))

    def alike(self, source: FromClause, columns: Sequence[OutputColumn]) -> Generated | None:
        """Returns a block with outputs of the types of given columns; None if FROM has none of one type."""
        usable = [of_type(source.matchable, column.type) for column in columns]
        if not all(usable):
            return None
        return select(source, [self.choices.pick(terms) for terms in usable], self.sometimes(source, 30))

    def sometimes(self, source: FromClause, percent: int, *, depth: int = 1) -> ir.Expr | None:
        """Returns a random condition over a FROM clause in so many percent of the cases, else None."""
        if not self.choices.chance(percent):
            return None
        # A condition on the last bits of a sum of floats has more than one right answer.
        return expressions.predicate(self.choices, source.matchable, depth).expr

    def over(self, source: FromClause, shape: str) -> Generated:
        """Returns a SELECT block over a FROM clause, of a shape such as plain, grouped or windowed."""
        where = self.sometimes(source, self.weights.where_percent)
        match shape:
            case "grouped":
                block = self.grouped(source, where)
            case "scalar":
                block = self.aggregated(source, where, (), 1)
            case "windowed":
                return self.windowed(source, where)
            case "sets":
                keys = self.keys(source)
                return grouping_sets(self, source, where, keys) if keys else self.plain(source, where)
            case _:
                block = self.plain(source, where, distinct=shape == "distinct")
        renamed = self.choices.chance(40 if shape == "grouped" else 10)
        return named_as_input(self.choices, source, block) if renamed else block

    def alias(self) -> str:
        """Returns an alias that no relation of this scenario has yet."""
        self.aliases += 1
        return f"t{self.aliases}"

    def from_clause(self, sources: Sequence[Source], depth: int) -> FromClause:
        """Returns a FROM clause: one to three relations, joined."""
        count = self.choices.weighted(self.weights.relations)
        clause = self.relation(sources, depth)
        for _ in range(count - 1):
            right = self.relation(sources, depth)
            rows = clause.rows * right.rows
            if rows > self.weights.max_rows * 4:
                break
            kind = self.choices.weighted(self.weights.joins)
            if kind is ir.JoinKind.CROSS and rows > self.weights.max_rows:
                kind = ir.JoinKind.INNER
            clause = self.join(kind, clause, right)
        return self.with_elements(clause)

    def with_elements(self, clause: FromClause) -> FromClause:
        """Returns the FROM clause, in some cases with the elements of an array beside its rows."""
        if not self.choices.chance(self.weights.exploded_percent) or clause.rows > self.weights.max_rows:
            return clause
        return exploded(self.choices, clause, self.alias()) or clause

    def relation(self, sources: Sequence[Source], depth: int) -> FromClause:
        """Returns one of the sources, or a sub-select."""
        alias = self.alias()
        if depth > 0 and self.choices.chance(self.weights.derived_percent):
            inner = self.query(sources, depth - 1)
            derived = ir.Derived(inner.query, alias)
            return self.with_elements(FromClause(derived, scope_of(alias, inner.columns), inner.rows))
        return self.with_elements(read(self.choices.pick(sources), alias))

    def join(self, kind: ir.JoinKind, left: FromClause, right: FromClause) -> FromClause:
        """Returns a join of two FROM clauses, on a condition that usually equates two columns."""
        condition = None if kind is ir.JoinKind.CROSS else self.condition(left.scope, right.scope)
        if kind is ir.JoinKind.ANTI and condition is not None and self.choices.chance(40):
            condition = never_false(condition)
        return joined(kind, left, right, condition)

    def condition(self, left: list[Term], right: list[Term]) -> ir.Expr:
        """Returns an ON condition: usually an equality, sometimes with a second conjunct."""
        lefts, rights = ([term for term in matchable(s) if term.type != BOOLEAN] for s in (left, right))
        pairs = [(a, b) for a in lefts for b in rights if a.type == b.type]
        if not pairs or self.choices.chance(8):
            either = matchable(left + right)
            return expressions.predicate(self.choices, either, 0).expr if either else TRUE
        if self.choices.chance(10):
            mixed = [meet for a in lefts for b in rights if a.type != b.type and (meet := met(a, b))]
            if mixed:
                return call("eq", BOOLEAN, *self.choices.pick(mixed)).expr
        if self.choices.chance(4):
            # A join on a constant: of one side, or of none.
            side = self.choices.pick(pairs)[self.choices.integer(0, 1)]
            return call("eq", BOOLEAN, side, expressions.literal(self.choices, side.type)).expr
        first = [pair for pair in pairs if pair[0].type == INT] or pairs
        a, b = self.choices.pick(first if self.choices.chance(80) else pairs)
        if self.choices.chance(30):
            a, b = b, a
        condition = call(self.choices.weighted(((8, "eq"), (1, "same"), (1, "le"))), BOOLEAN, a, b)
        if self.choices.chance(25):
            pair = self.choices.pick(pairs)
            second = call(self.choices.pick(("lt", "ne", "ge", "eq")), BOOLEAN, *pair)
            condition = call("and", BOOLEAN, condition, second)
        return condition.expr

    def windowed(self, source: FromClause, where: ir.Expr | None) -> Generated:
        """Returns a block with window functions over rows, or over groups."""
        keys = self.keys(source) if self.choices.chance(30) else []
        return windowed_groups(self, source, where, keys) if keys else windowed_rows(self, source, where)

    def plain(self, source: FromClause, where: ir.Expr | None, *, distinct: bool = False) -> Generated:
        """Returns a projection to one to five terms, DISTINCT if so wanted; one term at least is a column."""
        usable = source.matchable if distinct else source.scope
        terms = self.choices.subset(usable, 1, 3) or [expressions.literal(self.choices, INT)]
        for _ in range(self.choices.integer(0, 1)):
            type_ = self.choices.pick(usable).type if usable else INT
            terms.append(expressions.expression(self.choices, usable, type_, 2))
        if not any(isinstance(term.expr, ir.ColumnRef) for term in terms) and usable:
            terms.append(self.choices.pick(usable))
        return select(source, terms, where, distinct=distinct)

    def grouped(self, source: FromClause, where: ir.Expr | None) -> Generated:
        """Returns a block with GROUP BY of one to three keys, columns or expressions."""
        keys = self.keys(source)
        if not keys:
            return self.plain(source, where)
        return self.aggregated(source, where, tuple(keys), self.choices.integer(1, 3))

    def keys(self, source: FromClause) -> list[Term]:
        """Returns one to three keys of a grouping, columns or expressions; none if no column can be one."""
        usable = source.matchable
        if not usable:
            return []
        keys = self.choices.subset(usable, 1, 2)
        if self.choices.chance(20):
            computed = expressions.expression(self.choices, usable, self.choices.pick(usable).type, 1)
            reads_column = any(isinstance(part, ir.ColumnRef) for part in ir.subexpressions(computed.expr))
            if computed.key and reads_column and computed not in keys:
                keys.append(computed)
        return keys

    def aggregated(
        self, source: FromClause, where: ir.Expr | None, keys: tuple[Term, ...], count: int
    ) -> Generated:
        """Returns `count` aggregates over groups, or over all rows without keys; sometimes with HAVING."""
        aggregates = [self.aggregate(source) for _ in range(count)]
        shown = keys if self.choices.chance(85) else keys[1:]
        first = aggregates[0]
        if self.choices.chance(15) and first.digits < 40 and first.type == BIGINT:
            one = expressions.literal(self.choices, BIGINT)
            aggregates[0] = call("add", BIGINT, first, one, digits=first.digits + 1)
        having = None
        tests = [self.aggregate(source)] if self.choices.chance(self.weights.having_percent) else []
        drawn = beside_texts([*tests, *aggregates])
        if tests:
            tested = self.choices.pick(matchable(drawn) or [Term(COUNT_STAR)])
            bound = expressions.literal(self.choices, tested.type)
            having = call(self.choices.pick(("gt", "le", "ge", "ne")), BOOLEAN, tested, bound).expr
        return select(source, [*shown, *drawn[len(tests) :]], where, group_by=keys, having=having)

    def aggregate(self, source: FromClause) -> Term:
        """Returns a random aggregate over a FROM clause, DISTINCT in a fifth of the cases."""
        if self.choices.chance(self.weights.forms_percent):
            form = aggregate_form(self.choices, source.scope, partial(self.where_true, source))
            if form is not None:
                return form
        function = self.choices.weighted(AGGREGATES)
        growth = max(source.rows, 2).bit_length()
        distinct = self.choices.chance(20)
        if function is ir.AggregateFunction.COUNT_STAR:
            return Term(COUNT_STAR, growth)
        if function in (ir.AggregateFunction.SUM, ir.AggregateFunction.AVG):
            if summable := [term for term in source.scope if summed_type(term, growth) is not None]:
                return self.sum_or_average(source, function, self.choices.pick(summable), growth, distinct)
            return Term(COUNT_STAR, growth)
        candidates = expressions.comparable(source.scope)
        if not candidates:
            return Term(COUNT_STAR, growth)
        arg = self.choices.pick(candidates)
        if self.choices.chance(20):
            arg = expressions.expression(self.choices, source.scope, arg.type, 1)
        if function is ir.AggregateFunction.COUNT:
            if self.choices.chance(30):
                arg = self.where_true(source, arg if self.choices.chance(50) else constant(1, INT))
            return Term(ir.Aggregate(function, arg.expr, distinct, BIGINT), growth, arg.key)
        if self.choices.chance(10):
            arg = self.where_true(source, arg)
        return Term(ir.Aggregate(function, arg.expr, distinct, arg.type), arg.digits, arg.key)

    def where_true(self, source: FromClause, value: Term) -> Term:
        """Returns the value where a random condition holds, else NULL: an aggregate of it has a FILTER."""
        if not source.matchable or value.type.kind in NESTED:
            return value
        condition = expressions.predicate(self.choices, source.matchable, 1)
        none = Term(ir.Literal(None, value.type), value.digits)
        return replace(call("case", value.type, condition, value, none, digits=value.digits), key=value.key)

    def sum_or_average(
        self, source: FromClause, function: ir.AggregateFunction, arg: Term, growth: int, distinct: bool
    ) -> Term:
        """Returns SUM or AVG of a term, or of a CASE over it; `growth`: the binary digits that a sum adds."""
        if self.choices.chance(15):
            arg = self.where_true(source, arg)
        elif self.choices.chance(25) and arg.type.kind in BITS:
            when = call("is_not_null", BOOLEAN, arg)
            other = expressions.literal(self.choices, arg.type)
            arg = call("case", arg.type, when, arg, other, digits=max(3, arg.digits))
        if function is ir.AggregateFunction.AVG:
            if arg.type.kind is Kind.DECIMAL:
                if arg.type.precision < EXACTLY_AVERAGED:
                    arg = call("cast", decimal(18, arg.type.scale), arg)
                type_ = decimal(arg.type.precision + 4, arg.type.scale + 4)
                return Term(ir.Aggregate(function, arg.expr, distinct, type_))
            # No multiple of a power of two: nothing is calculated from it. The sum of integers is exact, so
            # their average has one value; an average of doubles has one up to its last bits only.
            average = ir.Aggregate(function, arg.expr, distinct, DOUBLE)
            return Term(average, key=arg.key and arg.type.kind in BITS)
        summed = summed_type(arg, growth)
        assert summed is not None, "the caller picks summable terms only"
        sum_ = ir.Aggregate(ir.AggregateFunction.SUM, arg.expr, distinct, summed)
        return Term(sum_, arg.digits + growth, arg.key and summed != DOUBLE)

    def union(self, sources: Sequence[Source], depth: int) -> Generated:
        """Returns UNION ALL or UNION of two or three branches with the same types, often of one table."""
        source = self.from_clause(sources, depth - 1)
        first = self.over(source, self.choices.weighted(((4, "plain"), (1, "grouped"))))
        branches, columns, rows = [first.query], first.columns, first.rows
        if isinstance(first.query, ir.Select) and self.choices.chance(25):
            # The same block once more over other rows, as in a sum by region of two years.
            other = replace(first.query, where=self.sometimes(source, 90))
            return self.union_of([first.query, other], columns, rows * 2)
        for _ in range(self.choices.integer(1, 2)):
            source = self.from_clause(sources, 0)
            if any(c.type.kind in NESTED and not of_type(source.scope, c.type) for c in columns):
                # There are no literals of nested types in queries.
                continue
            terms = [expressions.expression(self.choices, source.scope, c.type, 1) for c in columns]
            where = self.sometimes(source, 40, depth=0)
            branches.append(select(source, terms, where).query)
            rows += source.rows
            columns = tuple(
                OutputColumn(c.name, c.type, max(c.digits, t.digits), c.key and t.key)
                for c, t in zip(columns, terms, strict=True)
            )
        return self.union_of(branches, columns, rows) if len(branches) > 1 else first

    def union_of(self, branches: list[ir.Query], columns: tuple[OutputColumn, ...], rows: int) -> Generated:
        """Returns UNION ALL of branches; UNION in a third of the cases, if all columns can match rows."""
        distinct = all(column.key for column in columns) and self.choices.chance(33)
        return Generated((ir.Union if distinct else ir.UnionAll)(tuple(branches)), columns, rows)

    def cte_twice(self, sources: Sequence[Source], depth: int) -> Generated:
        """Returns a CTE joined with itself."""
        inner = self.query(sources, depth - 1)
        if inner.rows * inner.rows > self.weights.max_rows * 4:
            return inner
        cte = Source(f"c{self.aliases}", inner.columns, inner.rows)
        left, right = (read(cte, self.alias()) for _ in range(2))
        kind = self.choices.weighted([(w, k) for w, k in self.weights.joins if k is not ir.JoinKind.CROSS])
        source = self.join(kind, left, right)
        body = self.over(source, self.choices.weighted(((3, "plain"), (2, "grouped"))))
        return replace(body, query=ir.With((ir.Cte(cte.name, inner.query),), body.query))
