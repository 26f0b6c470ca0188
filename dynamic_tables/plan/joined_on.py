"""Queries in ON of an outer join: their marks and values are columns of the side that they read.

`r LEFT JOIN s ON r.k = s.k AND EXISTS (SELECT 1 FROM t WHERE t.k = s.k)` joins r with s and a mark of each of
its rows, and the mark is a part of the condition. So no row of either side is lost.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.correlated import Ctes, Queries
from dynamic_tables.plan.nodes import Plan
from dynamic_tables.plan.scalar import SCALARS, Scalars, marks, scalars
from dynamic_tables.plan.scope import Scope

Side = tuple[Plan, Scope]


def with_queries_in_on(
    queries: Queries, left: Side, right: Side, both: Scope, on: exp.Expr, ctes: Ctes
) -> tuple[Plan, Plan, Scope, exp.Expr]:
    """Returns the sides with the marks and values of the queries in ON, their scope, and ON that names them.

    `both`: the columns of both sides. Raises UnsupportedError: a query that reads columns of both sides, or
    that has no rule.
    """
    # In parentheses, so that a query that is the whole condition can be replaced in them.
    condition = exp.paren(on.copy(), copy=False)
    sides = [(side[0], Scalars(queries, side[1], ctes)) for side in (right, left)]
    for node in (*marks(condition), *scalars(condition)):
        sides = _beside_one(sides, node)
    seen = [relation for _, values in sides for relation in values.scope.relations if relation[0] == SCALARS]
    outputs = tuple(output for _, of_side in seen for output in of_side)
    hidden = both.hidden.union(*(values.scope.hidden for _, values in sides))
    scope = replace(both, relations=(*both.relations, (SCALARS, outputs)), hidden=hidden)
    return sides[1][0], sides[0][0], scope, condition


def _beside_one(sides: list[tuple[Plan, Scalars]], node: exp.Expr) -> list[tuple[Plan, Scalars]]:
    """Returns the sides, of which the first that a query can be bound beside has its mark or value."""
    reason = "it reads both sides"
    for place, (plan, values) in enumerate(sides):
        try:
            if isinstance(node, exp.Subquery):
                plan, _ = values.joined(plan, [node], correlated=True)
            else:
                plan, _ = values.marked(plan, [node], joins=True)
        except DefinitionError:
            # What it does not know may be a column of the other side.
            continue
        except UnsupportedError as error:
            reason = f"{error.operator}: {error.reason}"
        else:
            return [*sides[:place], (plan, values), *sides[place + 1 :]]
    what = f"a query in ON of an outer join ({reason})"
    raise UnsupportedError(what, "compute it in a sub-select of one side")
