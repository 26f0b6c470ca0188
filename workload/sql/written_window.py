"""Window functions in Spark's SQL as people write them."""

from __future__ import annotations

from typing import Protocol

from workload import query as ir
from workload.sql.written_style import Style


class Writes(Protocol):
    """What writes the expressions of one clause."""

    @property
    def style(self) -> Style:
        """The style in which it writes."""
        ...

    def text(self, expr: ir.Expr) -> str:
        """Returns the text of an expression."""
        ...


def written_window(clause: Writes, window: ir.Window) -> str:
    """Returns a window function with its OVER: frames that say nothing are left out, orders are shortened."""
    words = clause.style.words
    parts = []
    if window.partition:
        parts.append(f"{words('PARTITION BY')} {', '.join(map(clause.text, window.partition))}")
    if window.order:
        parts.append(f"{words('ORDER BY')} {', '.join(_key(clause, key) for key in window.order)}")
    frame = window.frame or _implied(clause, window)
    if frame is not None:
        parts.append(_frame(clause, frame))
    name = window.function.value
    counted = window.function is ir.AggregateFunction.COUNT_STAR
    inside = name if counted else f"{words(name)}({', '.join(map(clause.text, window.args))})"
    nulls = f" {words('IGNORE NULLS')}" if window.ignores_nulls else ""
    if (
        window.args
        and not nulls
        and isinstance(window.function, ir.WindowFunction)
        and _skips(window, clause)
    ):
        nulls = f" {words('RESPECT NULLS')}"
    return f"{inside}{nulls} {words('OVER')} ({' '.join(parts)})"


def _skips(window: ir.Window, clause: Writes) -> bool:
    return window.function is not ir.WindowFunction.NTILE and clause.style.chance(10)


def _key(clause: Writes, key: ir.OrderKey) -> str:
    directions = (" DESC", " DESC NULLS LAST") if key.descending else ("", " ASC", " NULLS FIRST")
    return clause.text(key.expr) + clause.style.words(clause.style.choices.choice(directions))


def _implied(clause: Writes, window: ir.Window) -> ir.Frame | None:
    """Returns the default frame, which may be written where a frame is allowed."""
    value = ir.WindowFunction.FIRST_VALUE, ir.WindowFunction.LAST_VALUE, ir.WindowFunction.NTH_VALUE
    framed = isinstance(window.function, ir.AggregateFunction) or window.function in value
    if not framed or not clause.style.chance(15):
        return None
    return ir.Frame(ir.FrameUnit.RANGE, None, 0 if window.order else None)


def _frame(clause: Writes, frame: ir.Frame) -> str:
    words = clause.style.words
    unit = words(frame.unit.value)
    if frame.end == 0 and (frame.start is None or frame.start <= 0) and clause.style.chance(40):
        # The end is the current row where none is written.
        return f"{unit} {words(_end(frame.start, 'PRECEDING'))}"
    ends = _end(frame.start, "PRECEDING"), _end(frame.end, "FOLLOWING")
    return f"{unit} {words('BETWEEN')} {words(ends[0])} {words('AND')} {words(ends[1])}"


def _end(distance: int | None, unbounded: str) -> str:
    if distance is None:
        return f"UNBOUNDED {unbounded}"
    if distance == 0:
        return "CURRENT ROW"
    return f"{abs(distance)} {'PRECEDING' if distance < 0 else 'FOLLOWING'}"
