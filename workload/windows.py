"""The check that window functions and grouping sets have one result, however rows are stored."""

from __future__ import annotations

from collections.abc import Iterator

from workload import query as ir
from workload.errors import WorkloadError
from workload.query import FrameUnit, WindowFunction, subexpressions, windows_of
from workload.types import BOOLEAN, Kind

ARGUMENTS = {
    WindowFunction.NTILE: (1, 1),
    WindowFunction.LAG: (1, 3),
    WindowFunction.LEAD: (1, 3),
    WindowFunction.FIRST_VALUE: (1, 1),
    WindowFunction.LAST_VALUE: (1, 1),
    WindowFunction.NTH_VALUE: (2, 2),
}
"""How many arguments a window function takes, at least and at most; those that are not listed take none."""

FRAMED = (WindowFunction.FIRST_VALUE, WindowFunction.LAST_VALUE, WindowFunction.NTH_VALUE)
"""The window functions, beside aggregates, that read a frame."""


def check_windows(select: ir.Select) -> None:
    """Raises WorkloadError for a window function that Spark refuses, or that has several right answers.

    What depends on the places of rows needs an order, with its partition, over all that the block reads: then
    rows that are equal in it are alike. Two such orders in one block could break their ties in two ways.
    """
    if select.qualify is not None:
        if select.qualify.type != BOOLEAN:
            raise WorkloadError("QUALIFY is not a BOOLEAN")
        if not any(True for _ in windows_of(select)):
            raise WorkloadError("QUALIFY without a window function")
    orders = set()
    for window in windows_of(select):
        _check_one(window)
        if window.depends_on_places:
            if select.sets is not None:
                raise WorkloadError(
                    "a function of the places of rows over grouping sets, whose keys may be equal"
                )
            orders.add(repr((window.partition, window.order)))
            _check_total(window, select)
    if len(orders) > 1:
        raise WorkloadError("functions of the places of rows in two orders of one block")


def _check_total(window: ir.Window, select: ir.Select) -> None:
    """Raises WorkloadError where rows that are equal in the order may differ in what the block reads of them.

    That is its columns above FROM and WHERE; in a grouped block its keys.
    """
    keys = {repr(key) for key in (*window.partition, *(key.expr for key in window.order))}
    exprs = [item.expr for item in select.items]
    if select.qualify is not None:
        exprs.append(select.qualify)
    if select.group_by is not None:
        read = {repr(key) for key in select.group_by}
    else:
        read = {column for expr in exprs for column in _read_beside(expr, keys)}
    if not read <= keys:
        raise WorkloadError(f"{window.function.value} over an order that leaves rows equal")


def _read_beside(expr: ir.Expr, keys: set[str]) -> Iterator[str]:
    """Yields the columns that an expression reads, but for those inside keys."""
    if repr(expr) in keys:
        return
    if isinstance(expr, ir.ColumnRef):
        yield repr(expr)
    for part in ir.children(expr):
        if isinstance(part, ir.Expr):
            yield from _read_beside(part, keys)


def _check_one(window: ir.Window) -> None:
    parts = [
        part for child in ir.children(window) if isinstance(child, ir.Expr) for part in subexpressions(child)
    ]
    if any(isinstance(part, ir.Window) for part in parts):
        raise WorkloadError("a window function inside another")
    match window.function:
        case WindowFunction() as function:
            fewest, most = ARGUMENTS.get(function, (0, 0))
            if not fewest <= len(window.args) <= most:
                raise WorkloadError(f"{function.value} of {len(window.args)} arguments")
            if function not in FRAMED and (not window.order or window.frame is not None):
                raise WorkloadError(f"{function.value} without an order, or with a frame")
        case ir.AggregateFunction() as function:
            if len(window.args) != (function is not ir.AggregateFunction.COUNT_STAR):
                raise WorkloadError(f"{function.value} of {len(window.args)} arguments")
    if window.frame is not None:
        _check_frame(window, window.frame)


def _check_frame(window: ir.Window, frame: ir.Frame) -> None:
    if frame.start is not None and frame.end is not None and frame.start > frame.end:
        raise WorkloadError("a frame that ends before it begins")
    distances = any(end not in (None, 0) for end in (frame.start, frame.end))
    if frame.unit is FrameUnit.RANGE and distances:
        kinds = [key.expr.type.kind for key in window.order]
        if len(kinds) != 1 or kinds[0] not in (Kind.INT, Kind.BIGINT, Kind.DATE):
            raise WorkloadError("a RANGE frame with a distance over another order than one number or date")


def check_sets(select: ir.Select) -> None:
    """Raises WorkloadError for grouping sets that name no key, or are one set of none."""
    keys = select.group_by or ()
    exprs = [item.expr for item in select.items] + [
        e for e in (select.having, select.qualify) if e is not None
    ]
    groupings = [p for expr in exprs for p in subexpressions(expr) if isinstance(p, ir.Grouping)]
    if select.sets is None:
        if groupings:
            raise WorkloadError("GROUPING without grouping sets")
        return
    if not keys or {place for places in select.sets for place in places} != set(range(len(keys))):
        raise WorkloadError("the grouping sets do not name all keys, and no others")
    if any(len(set(places)) != len(places) for places in select.sets):
        raise WorkloadError("a grouping set with one key twice")
    if any(grouping.key not in keys for grouping in groupings):
        raise WorkloadError("GROUPING of what is no key")
