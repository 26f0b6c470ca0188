"""LIMIT that keeps all there is, and is left out: LIMIT ALL, and any over the one row of an aggregate."""

from __future__ import annotations

from sqlglot import exp

GENERATORS = (exp.UDTF, exp.Anonymous)
"""What may make several rows of one; a function that sqlglot does not know is taken for one of them."""


def drop_idle_limits(tree: exp.Expr) -> None:
    """Removes LIMIT ALL, and from each query of a tree that yields at most one row LIMIT and ORDER BY."""
    for each in list(tree.find_all(exp.Limit)):
        if isinstance(each.expression, exp.Var) and each.expression.name.upper() == "ALL":
            each.pop()
    for query in tree.find_all(exp.Select):
        limit, order = query.args.get("limit"), query.args.get("order")
        count = limit.expression if isinstance(limit, exp.Limit) else None
        keeps = isinstance(count, exp.Literal) and count.is_int and int(str(count.this)) > 0
        # A query in ORDER BY reads tables, which must stay among the sources.
        reads = order is not None and order.find(exp.Query) is not None
        if keeps and not reads and query.args.get("offset") is None and _has_one_row(query):
            query.set("limit", None)
            query.set("order", None)


def _has_one_row(query: exp.Select) -> bool:
    """Tells whether a query is surely an aggregate of all its rows."""
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
