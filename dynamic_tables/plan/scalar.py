"""Scalar subqueries over an aggregate: a join with the one row, or the one row per group, that they give.

`(SELECT MAX(s.x) FROM s WHERE s.k = r.k)` is the MAX of the group of r.k, NULL where there is no such group:
a LEFT JOIN with the groups of s by k. Without a condition that reads r, there is one row: a CROSS JOIN.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.aggregate_forms import AGGREGATE_SYNTAX
from dynamic_tables.plan.correlated import Block, Ctes, Queries, bind_block, plain_query
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit, conjunction, replace_columns, walk
from dynamic_tables.plan.grouping import Grouping
from dynamic_tables.plan.membership import Members, is_exists, membership
from dynamic_tables.plan.nodes import Aggregate, Join, JoinKind, Plan, Project, columns
from dynamic_tables.plan.scope import Outputs, Scope
from dynamic_tables.plan.typed import call
from dynamic_tables.plan.types import INTEGRAL, Kind, Type

SCALARS = "$scalars"
"""The relation in whose name the values of scalar subqueries are in scope."""

EQUALITIES = ("=", "is not distinct from")


def scalars(node: exp.Expr) -> Iterator[exp.Subquery]:
    """Yields the scalar subqueries of an expression, but not those inside other queries."""
    if isinstance(node, exp.Subquery):
        yield node
    elif isinstance(node, exp.In) and node.args.get("query") is not None:
        yield from scalars(node.this)
    elif not isinstance(node, exp.Query | exp.Any | exp.All) and not is_exists(node):
        for child in node.iter_expressions():
            yield from scalars(child)


def marks(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yields EXISTS and IN with a query in an expression, but not those inside other queries."""
    if is_exists(node) or (isinstance(node, exp.In) and node.args.get("query") is not None):
        yield node
    elif not isinstance(node, exp.Query | exp.Any | exp.All):
        for child in node.iter_expressions():
            yield from marks(child)


@dataclass(slots=True)
class Scalars:
    """Joins the values of scalar subqueries, and of EXISTS and IN, with the rows of one FROM clause.

    `scope`: the columns of that clause, and the values so far.
    """

    queries: Queries
    scope: Scope
    ctes: Ctes

    def joined(self, plan: Plan, parts: list[exp.Expr], *, correlated: bool) -> tuple[Plan, list[exp.Column]]:
        """Returns a plan with the values of the subqueries in `parts`, whose syntax then names the values.

        `correlated`: whether they may read columns of the plan.
        """
        names = []
        for subquery in [found for part in parts for found in scalars(part)]:
            if subquery.parent is None:
                raise UnsupportedError("scalar subquery as a condition", "compare it with TRUE")
            plan, name = self._value(plan, plain_query(subquery, "an expression"), correlated=correlated)
            names.append(name)
            # In parentheses: a plain column would give the output its name.
            subquery.replace(exp.paren(name.copy(), copy=False))
        return plan, names

    def marked(
        self, plan: Plan, parts: list[exp.Expr], *, grouped: bool = False, filters: bool = False
    ) -> Plan:
        """Returns a plan with a mark for each EXISTS and IN in `parts`, whose syntax then names the marks.

        `grouped`: the parts are computed over groups, but for the arguments of aggregates. `filters`: each
        part is a condition of WHERE.
        """
        for node in [found for part in parts for found in marks(part)]:
            if grouped and node.find_ancestor(*AGGREGATE_SYNTAX) is None:
                raise UnsupportedError("EXISTS or IN (subquery) beside aggregates")
            if isinstance(node, exp.In) and not (filters and _only_filters(node)):
                # Spark's IN is FALSE here where SQL's is NULL, or not, as its optimizer decides.
                raise UnsupportedError("IN (subquery) as a value", "write EXISTS, which is never NULL")
            member = membership(node)
            assert member is not None, "marks are memberships"
            if node.parent is None:
                raise UnsupportedError("EXISTS or IN (subquery) as a condition by itself")
            plan, column = Members(self.queries, self.scope, self.ctes).mark(plan, member)
            self._see(column)
            node.replace(exp.paren(exp.column(column.name, table=SCALARS, quoted=True), copy=False))
        return plan

    def _value(self, plan: Plan, query: exp.Expr, *, correlated: bool) -> tuple[Plan, exp.Column]:
        if not isinstance(query, exp.Select) or any(
            query.args.get(name) for name in ("group", "having", "qualify", "distinct")
        ):
            raise UnsupportedError("scalar subquery that is not one aggregate", "it may have several rows")
        if len(query.expressions) != 1:
            raise DefinitionError(f"a scalar subquery of {len(query.expressions)} columns; select one")
        block = bind_block(query, self.queries, self.scope, self.ctes, "a scalar subquery")
        if block.ties and not correlated:
            raise UnsupportedError("scalar subquery that reads a column of a grouped query")
        item = block.binder.bind(query.expressions[0].unalias())
        aggregates = [part for part in walk(item) if isinstance(part, Agg)]
        if not aggregates:
            raise UnsupportedError("scalar subquery that is not one aggregate", "it may have several rows")
        if block.reads_outside(item):
            raise UnsupportedError("scalar subquery that computes with a column from outside")
        return self._with(plan, block, item)

    def _with(self, plan: Plan, block: Block, item: Expr) -> tuple[Plan, exp.Column]:
        names = self.queries.names
        pairs = [_pair(tie, block) for tie in block.ties]
        names.refuse_keys((inner for _, inner, _ in pairs), "a scalar subquery")
        grouping = Grouping(names, [("key", inner) for _, inner, _ in pairs], block.scope)
        value = grouping.over_groups(item)
        groups = Aggregate(block.plan, tuple(grouping.keys), tuple(grouping.aggregates))
        if pairs:
            on = conjunction(
                call(sign, outer, Col(key, inner.type))
                for (outer, inner, sign), (key, _) in zip(pairs, grouping.keys, strict=True)
            )
            names.refuse_float_comparison(on, "a scalar subquery")
            value = _of_nothing_too(value, grouping)
            rows: Plan = Join(JoinKind.LEFT, plan, groups, on)
        else:
            rows = Join(JoinKind.CROSS, plan, groups, None)
        column = Col(names.fresh("scalar"), value.type)
        if names.is_float_aggregate(value):
            names.float_aggregates.add(column.name)
        self._see(column)
        kept = tuple((each.name, each) for each in columns(plan))
        return Project(rows, (*kept, (column.name, value))), exp.column(
            column.name, table=SCALARS, quoted=True
        )

    def _see(self, column: Col) -> None:
        known = dict(self.scope.relations)
        values: Outputs = (*known.pop(SCALARS, ()), (column.name, column))
        relations = (*known.items(), (SCALARS, values))
        self.scope = replace(self.scope, relations=relations, hidden=self.scope.hidden | {column.name})


def _only_filters(node: exp.Expr) -> bool:
    """Tells whether a part of a condition only decides which rows are kept: NULL is like FALSE then."""
    above = node.parent
    while isinstance(above, exp.And | exp.Or | exp.Not | exp.Paren):
        above = above.parent
    return above is None


def _pair(tie: Expr, block: Block) -> tuple[Expr, Expr, str]:
    """Returns the sides of an equality, the one outside first, and its sign."""
    match tie:
        case Fn(sign, (left, right), _) if sign in EQUALITIES:
            outside = [block.reads_outside(left), block.reads_outside(right)]
            inside = [_reads_inside(left, block), _reads_inside(right, block)]
            if outside == [not each for each in inside]:
                outer, inner = (left, right) if outside[0] else (right, left)
                _ensure_one_group(outer.type, inner.type)
                return outer, inner, sign
        case _:
            pass
    raise UnsupportedError("scalar subquery with another correlation than an equality")


def _ensure_one_group(outer: Type, inner: Type) -> None:
    """Raises UnsupportedError where several groups could equal one value, as decimals do a double."""
    kinds = {outer.kind, inner.kind}
    if outer != inner and not kinds <= {*INTEGRAL} and kinds != {Kind.DECIMAL}:
        raise UnsupportedError(f"scalar subquery that equates {outer} with {inner}", "cast one of them")


def _reads_inside(expr: Expr, block: Block) -> bool:
    mine = {column.name for column in columns(block.plan)}
    return any(isinstance(part, Col) and part.name in mine for part in walk(expr))


def _of_nothing_too(value: Expr, grouping: Grouping) -> Expr:
    """Returns a value over groups that is right where there is no group: a COUNT of nothing is 0."""
    if any(agg.name.startswith("COLLECT_") for _, agg in grouping.aggregates):
        raise UnsupportedError("correlated scalar subquery over a list", "of no rows it is an empty list")
    counts = {name: agg for name, agg in grouping.aggregates if agg.name == "COUNT"}
    return replace_columns(
        value, lambda col: call("coalesce", col, Lit(0, col.type)) if col.name in counts else col
    )
