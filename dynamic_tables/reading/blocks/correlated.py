"""Subqueries: what they read themselves, and what ties them to a row of the outer query.

A name in a subquery is looked up among its own relations first, and then among those of the outer query. A
condition of WHERE that reads a column of the outer query is a tie (a correlated predicate); the others filter
the subquery's own rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.expressions import Col, Expr, conjunction, walk
from dynamic_tables.plan.nodes import Filter, Plan, columns
from dynamic_tables.plan.rewrites.comma_joins import connected
from dynamic_tables.reading.values.bind_expression import ExpressionBinder
from dynamic_tables.reading.values.refusals import refuse_clauses
from dynamic_tables.reading.values.scope import Bound, Cte, Names, Scope
from dynamic_tables.reading.values.typed import predicate

Ctes = Mapping[str, Cte]


class Queries(Protocol):
    """The part of the binder (`bind.QueryBinder`) that this folder needs; the binder imports this folder.

    `ctes`: the CTEs that are visible where a query stands.
    """

    names: Names

    def query(self, node: exp.Expr, ctes: Ctes) -> Bound:
        """Returns a bound query that may read no column from outside."""
        ...

    def from_clause(self, node: exp.Select, ctes: Ctes) -> tuple[Plan, Scope]:
        """Returns the plan and the scope of a FROM clause."""
        ...

    def restricted(self, plan: Plan, scope: Scope, where: Sequence[exp.Expr], ctes: Ctes) -> Plan:
        """Returns the rows of a FROM clause that meet conditions, with queries inside them too."""
        ...

    def visible(self, node: exp.Expr, ctes: Ctes) -> Ctes:
        """Returns the CTEs that are visible in a query: those of its WITH too."""
        ...


@dataclass(frozen=True, slots=True)
class Block:
    """FROM and WHERE of a query inside an expression.

    `ties`: the conditions that read columns outside. `binder`: reads its columns, and those outside.
    """

    plan: Plan
    scope: Scope
    ties: tuple[Expr, ...]
    binder: ExpressionBinder

    def reads_outside(self, expr: Expr) -> bool:
        """Tells whether an expression reads a column that the block does not have."""
        mine = {column.name for column in columns(self.plan)}
        return any(isinstance(part, Col) and part.name not in mine for part in walk(expr))


def conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    """Yields the conditions that AND joins, at any depth, left to right."""
    match condition:
        case exp.And():
            yield from conjuncts(condition.this)
            yield from conjuncts(condition.expression)
        case exp.Paren(this=exp.And() | exp.Paren() as inner):
            yield from conjuncts(inner)
        case _:
            yield condition


def bind_block(query: exp.Select, queries: Queries, outside: Scope, ctes: Ctes, what: str) -> Block:
    """Returns FROM and WHERE of a query inside `what`, say IN; a name is its own before one outside.

    Raises DefinitionError: an unknown name. Raises UnsupportedError: a clause or correlation without a rule.
    """
    refuse_clauses(query)
    if query.args.get("order") is not None:
        raise UnsupportedError(f"ORDER BY inside {what}", "it means nothing there; leave it out")
    ctes = queries.visible(query, ctes)
    try:
        plan, inner = queries.from_clause(query, ctes)
    except DefinitionError as error:
        # An unknown name may be a column of the outer query, in ON or in a sub-select.
        raise UnsupportedError(f"a correlated FROM inside {what} ({error})") from error
    binder = ExpressionBinder(
        lambda node: _first_known(node, inner, outside), type_of=queries.names.type_of, aggregates=True
    )
    block = Block(plan, inner, (), binder)
    own: list[Expr] = []
    ties: list[Expr] = []
    nested: list[exp.Expr] = []
    where = query.args.get("where")
    for part in conjuncts(where.this) if where is not None else ():
        if part.find(exp.Query) is not None:
            nested.append(part)
            continue
        # Another binder, without aggregates: WHERE has none, but the select list may.
        condition = predicate(ExpressionBinder(binder.resolve, type_of=binder.type_of).bind(part), "WHERE")
        (ties if block.reads_outside(condition) else own).append(condition)
    if own:
        queries.names.refuse_float_comparison(conjunction(own), "WHERE")
        plan, left = connected(plan, conjunction(own))
        plan = plan if left is None else Filter(plan, left)
    if nested:
        try:
            plan = queries.restricted(plan, inner, nested, ctes)
        except DefinitionError as error:
            # An unknown name may be a column two levels up.
            raise UnsupportedError(f"a query inside {what} ({error})") from error
    return Block(plan, inner, tuple(ties), binder)


def plain_query(node: exp.Expr, what: str) -> exp.Expr:
    """Returns the query in the parentheses of `what`. Raises UnsupportedError: a clause follows them."""
    while isinstance(node, exp.Subquery):
        if any(value for name, value in node.args.items() if name != "this"):
            raise UnsupportedError(f"a clause after the parentheses inside {what}")
        node = node.this
    return node


def _first_known(node: exp.Column, inner: Scope, outside: Scope) -> Expr:
    """Returns the column that a name stands for: one inside, else one of the outer query.

    A name that is ambiguous inside is an error, and not a column of the outer query.
    """
    table, name = node.table.lower(), node.name.lower()
    aliases = {alias for alias, _ in inner.relations}
    columns_inside = {output.lower() for _, outputs in inner.relations for output, _ in outputs}
    if table in aliases if table else name in columns_inside:
        return inner.resolve(node)
    try:
        return outside.resolve(node)
    except DefinitionError:
        return inner.resolve(node)
