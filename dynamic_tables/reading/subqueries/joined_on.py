"""Queries in ON of an outer join: their marks and values are columns of the side that they read.

`r LEFT JOIN s ON r.k = s.k AND EXISTS (SELECT 1 FROM t WHERE t.k = s.k)` joins r with s and a mark of each of
its rows, and the mark is a part of the condition. So no row of either side is lost.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dynamic_tables.errors import UnsupportedError
from dynamic_tables.plan.expressions import Col, walk
from dynamic_tables.plan.nodes import Plan, columns
from dynamic_tables.reading.blocks.correlated import Ctes, Queries
from dynamic_tables.reading.subqueries.membership import Members, membership
from dynamic_tables.reading.subqueries.scalar import Scalars, marks, scalars
from dynamic_tables.reading.values.scope import Scope


def with_queries_in_on(
    queries: Queries, left: Plan, right: Plan, both: Scope, on: exp.Expr, ctes: Ctes
) -> tuple[Plan, Plan, Scope, exp.Expr]:
    """Returns the sides with the marks and values of the queries in ON, their scope, and ON that names them.

    `both`: the columns of both sides. Raises UnsupportedError: a query that reads columns of both sides, or
    that has no rule. Raises DefinitionError: it names a column that is not there, or that both sides have.
    """
    # A syntax node is replaced in its parent: in parentheses a subquery that is the whole condition has one.
    condition = exp.paren(on.copy(), copy=False)
    values = Scalars(queries, both, ctes)
    sides = [right, left]
    for node in list(marks(condition)):
        place = _place(sides, node, queries, values.scope, ctes)
        sides[place] = values.marked(sides[place], [node], joins=True)
    for node in list(scalars(condition)):
        # Spark refuses one that reads a column of either side.
        sides[0] = values.joined(sides[0], [node], correlated=False)
    return sides[1], sides[0], values.scope, condition


def _place(sides: Sequence[Plan], node: exp.Expr, queries: Queries, scope: Scope, ctes: Ctes) -> int:
    """Returns the place of the first side that has all columns that a query reads."""
    member = membership(node)
    assert member is not None, "marks are memberships"
    tried = Members(queries, scope, ctes).mark(sides[0], member)
    conditions = [tried.on, *([] if tried.perhaps is None else [tried.perhaps])]
    read = {part for each in conditions for part in walk(each) if isinstance(part, Col)}
    outside = read - {*columns(tried.rows)}
    for place, side in enumerate(sides):
        if outside <= {*columns(side)}:
            return place
    raise UnsupportedError(
        "a query in ON of an outer join that reads both sides", "compute it in a sub-select"
    )
