"""Removes a LIMIT that changes nothing, with its ORDER BY, and computes numbers of rows written as a sum.

The rest, an aggregate or EXISTS, has a rule without an order: `EXISTS (SELECT .. LIMIT 1)` is a semi join.
"""

from __future__ import annotations

from sqlglot import exp

GENERATORS = (exp.UDTF, exp.Anonymous)
"""Functions that may make several rows of one; a function that sqlglot does not know counts as one."""

CONSTANTS = (exp.Null, exp.Boolean)
"""Keys of ORDER BY that are no columns; a number is a place in the select list, and no constant."""


def drop_idle_limits(tree: exp.Expr) -> None:
    """Writes numbers of rows as one number, and removes each LIMIT that changes nothing, with its ORDER BY.

    It is LIMIT ALL, any LIMIT of a query that yields at most one row, and any inside EXISTS.
    """
    for bound in tree.find_all(exp.Limit, exp.Offset):
        number = _number(bound.expression)
        if number is not None and number >= 0:
            bound.set("expression", exp.Literal.number(number))
    for each in list(tree.find_all(exp.Limit)):
        if isinstance(each.expression, exp.Var) and each.expression.name.upper() == "ALL":
            each.pop()
    for ordering in tree.find_all(exp.Order):
        # A key that is the same for all rows orders nothing.
        keys = [each for each in ordering.expressions if not isinstance(each.this.unnest(), CONSTANTS)]
        keys = [each for each in keys if not each.this.unnest().is_string]
        if keys and isinstance(ordering.parent, exp.Query):
            ordering.set("expressions", keys)
    for query in tree.find_all(exp.Query):
        limit, order = query.args.get("limit"), query.args.get("order")
        count = limit.expression if isinstance(limit, exp.Limit) else None
        keeps = isinstance(count, exp.Literal) and count.is_int and int(str(count.this)) > 0
        # A query in ORDER BY reads tables, which must stay among the sources.
        reads = order is not None and order.find(exp.Query) is not None
        # Where Spark casts the column that ties EXISTS to the row, it cuts before it ties (seen in 4.2). The
        # comparison of the readings at creation sees that, and the table is FULL.
        idle = isinstance(query.parent, exp.Exists) or _has_one_row(query)
        if keeps and not reads and query.args.get("offset") is None and idle:
            query.set("limit", None)
            query.set("order", None)


def _number(node: exp.Expr | None) -> int | None:
    """Returns the value of a sum, difference or product of whole numbers; None for anything else."""
    match node:
        case exp.Literal() if node.is_int:
            return int(str(node.this))
        case exp.Paren():
            return _number(node.this)
        case exp.Add() | exp.Sub() | exp.Mul():
            left, right = _number(node.this), _number(node.expression)
            if left is None or right is None:
                return None
            value = {exp.Add: left + right, exp.Sub: left - right, exp.Mul: left * right}[type(node)]
            # Beyond INT the sum fails in Spark.
            return value if abs(value) < 2**31 else None
        case _:
            return None


def _has_one_row(query: exp.Query) -> bool:
    """Tells whether a query is surely an aggregate of all its rows."""
    if not isinstance(query, exp.Select):
        return False
    if query.args.get("group") is not None or any(item.find(*GENERATORS) for item in query.expressions):
        return False
    return any(
        call.parent_select is query and not _is_before_over(call)
        for item in query.expressions
        for call in item.find_all(exp.AggFunc)
    )


def _is_before_over(call: exp.Expr) -> bool:
    """Tells whether an aggregate stands before OVER, with or without FILTER."""
    above = call.parent
    while isinstance(above, exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup):
        above = above.parent
    return isinstance(above, exp.Window)
