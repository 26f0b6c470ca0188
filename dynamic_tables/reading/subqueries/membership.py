"""EXISTS and IN with a query become semi joins, and their negations anti joins.

That is for a whole conjunct of WHERE. EXISTS and IN inside another expression, such as OR or CASE, become a
mark join: a column that is true for the members. NOT IN is the hard one, because of NULL: `x NOT IN (1,
NULL)` is never true, and `NULL NOT IN (..)` is true only of a query without rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.branches import Branch
from dynamic_tables.plan.expressions import Agg, Expr, Lit, conjunction, walk
from dynamic_tables.plan.nodes import Distinct, Filter, Plan, Project, SemiJoin
from dynamic_tables.plan.types import BOOLEAN, INT, NUMERIC
from dynamic_tables.reading.blocks.correlated import Block, Ctes, Queries, bind_block, plain_query
from dynamic_tables.reading.blocks.grouping import without_excepted
from dynamic_tables.reading.blocks.limit import is_cut
from dynamic_tables.reading.blocks.subquery_columns import MarkBeside
from dynamic_tables.reading.subqueries.decorrelate import dependent
from dynamic_tables.reading.values.aggregate_forms import AGGREGATE_SYNTAX
from dynamic_tables.reading.values.bind_expression import ExpressionBinder
from dynamic_tables.reading.values.scope import Scope
from dynamic_tables.reading.values.typed import call


@dataclass(frozen=True, slots=True)
class Membership:
    """EXISTS (query), or `values` IN (query). `anti`: with NOT before it."""

    query: exp.Expr
    values: tuple[exp.Expr, ...]
    anti: bool


def is_exists(node: exp.Expr) -> bool:
    """Tells whether an expression is EXISTS (query), and not the function `exists` over an array."""
    return isinstance(node, exp.Exists) and isinstance(node.this, exp.Query)


def membership(condition: exp.Expr, *, anti: bool = False) -> Membership | None:
    """Returns a condition of WHERE as a membership; None for a condition of another kind."""
    match condition:
        case exp.Paren():
            return membership(condition.this, anti=anti)
        case exp.Not():
            return membership(condition.this, anti=not anti)
        case exp.Exists() if is_exists(condition):
            return Membership(condition.this, (), anti)
        case exp.In() if condition.args.get("query") is not None:
            value = condition.this.unnest()
            values = tuple(value.expressions) if isinstance(value, exp.Tuple) else (value,)
            return Membership(condition.args["query"], values, anti)
        case _:
            return None


@dataclass(frozen=True, slots=True)
class Sides:
    """The rows of the query (`right`), its correlated predicates (`ties`), and the pairs that IN compares."""

    right: Plan
    ties: tuple[Expr, ...]
    pairs: tuple[tuple[Expr, Expr], ...]

    @property
    def on(self) -> Expr:
        """The condition that makes a row of the query a match."""
        return conjunction([*self.ties, *self._equal] or [Lit(True, BOOLEAN)])

    @property
    def perhaps(self) -> Expr:
        """The condition that also holds where a comparison of IN is NULL."""
        return conjunction([*self.ties, call("not", call("is false", conjunction(self._equal)))])

    @property
    def _equal(self) -> list[Expr]:
        """The comparisons of IN, one for each pair."""
        return [call("=", *pair) for pair in self.pairs]


@dataclass(frozen=True, slots=True)
class Members:
    """Finds the rows of one FROM clause, whose columns are in `scope`, that are members of queries.

    `aggregates`: whether the values before IN may be aggregates of the rows.
    """

    queries: Queries
    scope: Scope
    ctes: Ctes
    aggregates: bool = False

    def of(self, plan: Plan, member: Membership) -> Plan:
        """Returns the rows of a plan for which a membership holds.

        Raises DefinitionError: a condition that is none. Raises UnsupportedError: a query without a rule.
        """
        sides = self._sides(plan, member)
        self._record(member, sides)
        if member.anti and len(sides.pairs) == 1 and not sides.ties:
            return self._not_in(plan, sides.right, *sides.pairs[0])
        condition = sides.on
        if member.anti and sides.pairs:
            # NOT IN keeps a row only if every comparison is false; one that is NULL is enough to drop it.
            condition = sides.perhaps
        return SemiJoin(plan, sides.right, condition, member.anti)

    def _record(self, member: Membership, sides: Sides) -> None:
        """Records the branch of a membership, for coverage."""
        met = self.queries.names.branches.add
        if len(sides.pairs) > 1:
            met(Branch.NOT_IN_SEVERAL if member.anti else Branch.IN_SEVERAL)
        elif member.anti and sides.pairs:
            met(Branch.NOT_IN_TIED if sides.ties else Branch.NOT_IN_ONE)

    def mark(self, plan: Plan, member: Membership) -> MarkBeside:
        """Returns the mark that tells whether a membership holds for a row of a plan. Raises as `of`."""
        sides = self._sides(plan, member)
        perhaps = sides.perhaps if sides.pairs else None
        self.queries.names.branches.add(Branch.MARK if perhaps is None else Branch.MARK_PERHAPS)
        return MarkBeside(self.queries.names.fresh("mark"), sides.right, sides.on, perhaps)

    def _sides(self, plan: Plan, member: Membership) -> Sides:
        """Returns the rows and conditions of a membership. Raises UnsupportedError: it has no rule."""
        query = plain_query(member.query, "IN or EXISTS")
        doubled = isinstance(member.query, exp.Subquery) and isinstance(member.query.this, exp.Subquery)
        if doubled and isinstance(query, exp.Select):
            # Spark takes the inner parentheses for a scalar subquery.
            raise UnsupportedError("a query in doubled parentheses after IN", "write them once")
        values: tuple[Expr, ...]
        ties: tuple[Expr, ...]
        # A plain query is only FROM and WHERE: its correlated predicates become the condition of the join.
        # Any other one is computed first, for all outer rows.
        if isinstance(query, exp.Select) and not _grouped(query) and not is_cut(query):
            block = bind_block(query, self.queries, self.scope, self.ctes, "IN or EXISTS")
            right, ties = block.plan, block.ties
            values = self._values(query, block)
            values = values if member.values else ()
        else:
            right, values, ties = self._apart(plan, query)
        if any(isinstance(part, Agg) for value in values for part in walk(value)):
            raise UnsupportedError("IN or EXISTS over an aggregate of this form", "put it into a sub-select")
        pairs = self._pairs(member, values) if member.values else []
        sides = Sides(right, tuple(ties), tuple(pairs))
        self.queries.names.refuse_float_comparison(sides.on, "IN or EXISTS")
        return sides

    def _not_in(self, plan: Plan, right: Plan, value: Expr, other: Expr) -> Plan:
        """Returns the rows with `value` NOT IN the others, by three anti joins.

        A row is dropped if its value is among the others, if one of the others is NULL, or if its value is
        NULL and there is any other. As one condition (`perhaps`) this would be no equality, and the join
        would compare every pair of rows.
        """

        def any_of(rows: Plan) -> Plan:
            return Distinct(Project(rows, ((self.queries.names.fresh("any"), Lit(1, INT)),)))

        rest = SemiJoin(plan, right, call("=", value, other), anti=True)
        without = SemiJoin(rest, any_of(Filter(right, call("is null", other))), Lit(True, BOOLEAN), anti=True)
        return SemiJoin(without, any_of(right), call("is null", value), anti=True)

    def _apart(self, plan: Plan, query: exp.Expr) -> tuple[Plan, tuple[Expr, ...], tuple[Expr, ...]]:
        """Returns the plan, the outputs and the ties of a query with groups, windows or LIMIT."""
        query = query.copy()
        for item in query.expressions if isinstance(query, exp.Select) else ():
            if isinstance(item, exp.Null):
                # EXISTS (SELECT NULL ...): only the number of rows counts, and IN refuses it elsewhere.
                item.replace(exp.Literal.number(1))
        try:
            bound = self.queries.query(query, self.ctes)
            return bound.plan, tuple(column for _, column in bound.outputs), ()
        except DefinitionError as error:
            # An unknown name may be a column of the outer query.
            if not isinstance(query, exp.Select):
                raise UnsupportedError(f"IN or EXISTS over a set operation ({error})") from error
        try:
            found = dependent(query, plan, self.queries, self.scope, self.ctes, "IN or EXISTS")
        except DefinitionError as error:
            # An unknown name may be a column two levels up, for which there is no rule.
            raise UnsupportedError(f"IN or EXISTS over a query with groups ({error})") from error
        self.queries.names.branches.add(Branch.MEMBER_OF_GROUPS)
        return found.rows.plan, tuple(column for _, column in found.outputs), found.rows.ties

    def _values(self, query: exp.Select, block: Block) -> tuple[Expr, ...]:
        """Returns the select list. Whatever is no value of one row of FROM is refused, for EXISTS too."""
        values: list[Expr] = []
        for item in query.expressions:
            match item:
                case exp.Star():
                    values += [column for _, column in without_excepted(item, block.scope.star(None))]
                case exp.Column(this=exp.Star()):
                    outputs = without_excepted(item.this, block.scope.star(item.table))
                    values += [column for _, column in outputs]
                case exp.Null():
                    values.append(Lit(None, BOOLEAN))
                case _:
                    values.append(block.binder.bind(item.unalias()))
        if any(map(block.reads_outside, values)):
            raise UnsupportedError("IN (subquery) that selects a column from outside")
        return tuple(values)

    def _pairs(self, member: Membership, values: tuple[Expr, ...]) -> list[tuple[Expr, Expr]]:
        """Returns each value before IN with the column of the query that it is compared with."""
        type_of = self.queries.names.type_of
        binder = ExpressionBinder(self.scope.resolve, aggregates=self.aggregates, type_of=type_of)
        mine = [binder.bind(value) for value in member.values]
        if len(mine) != len(values):
            raise DefinitionError(
                f"IN compares {len(mine)} values with a query of {len(values)} columns; select as many"
            )
        for left, right in zip(mine, values, strict=True):
            if left.type != right.type and not {left.type.kind, right.type.kind} <= NUMERIC:
                raise UnsupportedError(f"IN (subquery) that compares {left.type} with {right.type}")
        return list(zip(mine, values, strict=True))


def _grouped(query: exp.Select) -> bool:
    """Tells whether a row of a block depends on several of its FROM clause: by groups or window functions."""
    return any(query.args.get(name) for name in ("group", "having", "qualify")) or any(
        item.find(*AGGREGATE_SYNTAX, exp.Window) for item in query.expressions
    )
