"""Orders of a query with LIMIT that leave rows equal, so that its result is one of several right ones."""

from __future__ import annotations

from collections.abc import Iterable

from workload import query as ir


def leaves_ties(limited: ir.Limited) -> bool:
    """Tells whether rows that are equal in the order may differ, so that any of them may be among the first.

    They do not where the order names all outputs, all keys of the groups, or all that the other outputs are
    computed of.
    """
    ordered = {key.column for key in limited.order}
    match limited.query:
        case ir.Select(items, group_by=keys, sets=None) as block:
            ordered_exprs = [item.expr for item in items if item.name in ordered]
            rest = [item.expr for item in items if item.name not in ordered]
            windows = any(True for _ in ir.windows_of(block))
            if keys is not None and all(key in ordered_exprs for key in keys) and not windows:
                return False
            return any(not _follows(expr, ordered_exprs) for expr in rest)
        case ir.Select(items):
            return any(item.name not in ordered for item in items)
        case _:
            # A set operation or CTEs: nothing is known of the expressions, only the names of the outputs.
            return not set(ir.output_names(limited.query)) <= ordered


def tied_order(query: ir.Query) -> ir.Limited | None:
    """Returns the query itself where it is one with LIMIT whose order leaves ties; None for another one."""
    return query if isinstance(query, ir.Limited) and leaves_ties(query) else None


def _follows(expr: ir.Expr, given: Iterable[ir.Expr]) -> bool:
    """Tells whether the value of an expression follows from those of the given ones, by calls alone."""
    if expr in given or isinstance(expr, ir.Literal):
        return True
    parts = [part for part in ir.children(expr) if isinstance(part, ir.Expr)]
    return isinstance(expr, ir.Call) and all(_follows(part, given) for part in parts)
