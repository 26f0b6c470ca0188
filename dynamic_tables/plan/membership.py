"""EXISTS and IN with a query, as conditions of WHERE: semi and anti joins.

The conditions of WHERE that AND joins are taken one by one. A condition with a query inside another
expression (under OR or CASE, say) stays where it is, and is refused there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.bind_expression import ExpressionBinder
from dynamic_tables.plan.expressions import Col, Expr, Lit, conjunction, walk
from dynamic_tables.plan.nodes import Filter, Plan, SemiJoin, columns
from dynamic_tables.plan.refusals import refuse_clauses
from dynamic_tables.plan.scope import Bound, Cte, Names, Scope
from dynamic_tables.plan.typed import call, predicate
from dynamic_tables.plan.types import BOOLEAN, NUMERIC

Ctes = Mapping[str, Cte]


class Queries(Protocol):
    """What binds the queries inside conditions; `ctes` are the CTEs that are visible there."""

    names: Names

    def query(self, node: exp.Expr, ctes: Ctes) -> Bound:
        """Returns a bound query that reads nothing from outside."""
        ...

    def from_clause(self, node: exp.Select, ctes: Ctes) -> tuple[Plan, Scope]:
        """Returns the plan and the scope of a FROM clause."""
        ...

    def visible(self, node: exp.Expr, ctes: Ctes) -> Ctes:
        """Returns the CTEs that are visible in a query: those of its WITH too."""
        ...


@dataclass(frozen=True, slots=True)
class Membership:
    """EXISTS (query), or `values` IN (query). `anti`: with NOT before it."""

    query: exp.Expr
    values: tuple[exp.Expr, ...]
    anti: bool


def memberships(where: exp.Expr) -> tuple[list[exp.Expr], list[Membership]]:
    """Returns the conditions of WHERE without a query, and those that are EXISTS or IN with a query."""
    plain: list[exp.Expr] = []
    found: list[Membership] = []
    for condition in _conjuncts(where):
        membership = _membership(condition, anti=False)
        if membership is None:
            plain.append(condition)
        else:
            found.append(membership)
    return plain, found


def _conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    match condition:
        case exp.And():
            yield from _conjuncts(condition.this)
            yield from _conjuncts(condition.expression)
        case exp.Paren(this=exp.And() | exp.Paren() as inner):
            yield from _conjuncts(inner)
        case _:
            yield condition


def _membership(condition: exp.Expr, *, anti: bool) -> Membership | None:
    match condition:
        case exp.Paren():
            return _membership(condition.this, anti=anti)
        case exp.Not():
            return _membership(condition.this, anti=not anti)
        case exp.Exists():
            return Membership(condition.this, (), anti)
        case exp.In() if condition.args.get("query") is not None:
            value = condition.this.unnest()
            values = tuple(value.expressions) if isinstance(value, exp.Tuple) else (value,)
            return Membership(condition.args["query"], values, anti)
        case _:
            return None


@dataclass(frozen=True, slots=True)
class _Block:
    """The query of a membership: its rows, the conditions that tie them to a row outside, its outputs."""

    plan: Plan
    ties: tuple[Expr, ...]
    values: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Members:
    """Finds the rows of one FROM clause, whose columns are in `scope`, that are members of queries."""

    queries: Queries
    scope: Scope
    ctes: Ctes

    def of(self, plan: Plan, membership: Membership) -> Plan:
        """Returns the rows of a plan for which a membership holds.

        Raises DefinitionError: a condition that is none. Raises UnsupportedError: a query without a rule.
        """
        query = membership.query.unnest()
        if isinstance(query, exp.Select) and not _grouped(query):
            block = self._block(query, listed=bool(membership.values))
        else:
            block = self._apart(query)
        conditions = list(block.ties)
        if membership.values:
            conditions.append(self._equal(membership, block.values))
        condition = conjunction(conditions or [Lit(True, BOOLEAN)])
        self.queries.names.refuse_float_comparison(condition, "IN or EXISTS")
        return SemiJoin(plan, block.plan, condition, membership.anti)

    def _apart(self, query: exp.Expr) -> _Block:
        """Returns a query that is computed as a whole, before anything is compared with it."""
        try:
            bound = self.queries.query(query, self.ctes)
        except DefinitionError as error:
            # What it does not know may be a column outside.
            raise UnsupportedError(f"IN or EXISTS over a grouped query ({error})") from error
        return _Block(bound.plan, (), tuple(column for _, column in bound.outputs))

    def _block(self, query: exp.Select, *, listed: bool) -> _Block:
        refuse_clauses(query)
        ctes = self.queries.visible(query, self.ctes)
        plan, inner = self.queries.from_clause(query, ctes)
        binder = ExpressionBinder(
            lambda node: _first_known(node, inner, self.scope), type_of=self.queries.names.type_of
        )
        own: list[Expr] = []
        ties: list[Expr] = []
        plain, nested = memberships(query.args["where"].this) if query.args.get("where") else ([], [])
        mine = {column.name for column in columns(plan)}
        for part in plain:
            condition = predicate(binder.bind(part), "WHERE")
            reads = {each.name for each in walk(condition) if isinstance(each, Col)}
            (own if reads <= mine else ties).append(condition)
        if own:
            plan = Filter(plan, conjunction(own))
        for membership in nested:
            try:
                plan = Members(self.queries, inner, ctes).of(plan, membership)
            except DefinitionError as error:
                raise UnsupportedError(f"IN or EXISTS inside another one ({error})") from error
        values = self._values(query, binder, inner) if listed else ()
        if any(isinstance(each, Col) and each.name not in mine for value in values for each in walk(value)):
            raise UnsupportedError("IN (subquery) that selects a column from outside")
        return _Block(plan, tuple(ties), values)

    def _values(self, query: exp.Select, binder: ExpressionBinder, inner: Scope) -> tuple[Expr, ...]:
        values: list[Expr] = []
        for item in query.expressions:
            if item.is_star:
                table = item.table if isinstance(item, exp.Column) else None
                values += [column for _, column in inner.star(table or None)]
            else:
                values.append(binder.bind(item.unalias()))
        return tuple(values)

    def _equal(self, membership: Membership, values: tuple[Expr, ...]) -> Expr:
        """Returns the condition that IN puts on a row and a row of the query; of NOT IN, that it may hold.

        `x NOT IN (...)` keeps x only if `x = y` is false for every y: where it is NULL, x is no member of
        the result either.
        """
        binder = ExpressionBinder(self.scope.resolve, type_of=self.queries.names.type_of)
        mine = [binder.bind(value) for value in membership.values]
        if len(mine) != len(values):
            raise DefinitionError(
                f"IN compares {len(mine)} values with a query of {len(values)} columns; select as many"
            )
        for left, right in zip(mine, values, strict=True):
            if left.type != right.type and not {left.type.kind, right.type.kind} <= NUMERIC:
                raise UnsupportedError(f"IN (subquery) that compares {left.type} with {right.type}")
        equal = conjunction(call("=", *pair) for pair in zip(mine, values, strict=True))
        return call("not", call("is false", equal)) if membership.anti else equal


def _grouped(query: exp.Select) -> bool:
    """Tells whether a block has one row for several of its FROM clause."""
    return any(query.args.get(name) for name in ("group", "having")) or any(
        item.find(exp.AggFunc) for item in query.expressions
    )


def _first_known(node: exp.Column, inner: Scope, outer: Scope) -> Expr:
    """Returns what a name stands for in a query inside a condition: a column of its own, or one outside."""
    try:
        return inner.resolve(node)
    except DefinitionError as unknown:
        try:
            return outer.resolve(node)
        except DefinitionError:
            raise unknown from None
