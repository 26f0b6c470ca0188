"""Window functions in Spark's SQL as people write them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from workload import query as ir
from workload.types import Kind
from workload.writing.style import Style

Names = Mapping[str, str]
"""What OVER says -> the name that WINDOW gives it."""


class Writes(Protocol):
    """A writer of the expressions of one clause."""

    @property
    def style(self) -> Style:
        """The style in which it writes."""
        ...

    def text(self, expr: ir.Expr) -> str:
        """Returns the text of an expression."""
        ...

    @property
    def windows(self) -> Names:
        """The names of windows, by what `window_key` makes of them."""
        ...


def window_key(window: ir.Window) -> str:
    """Returns what two windows with one name have in common: the rows, their order, and the frame."""
    return repr((window.partition, window.order, window.frame))


def names_of_windows(style: Style, windows: Iterable[ir.Window]) -> Names:
    """Returns names for some of the windows of a block; in most blocks for none."""
    if not style.chance(20):
        return {}
    keys = dict.fromkeys(map(window_key, windows))
    return {key: f"w{number}" for number, key in enumerate(keys) if style.chance(80)}


def window_clause(clause: Writes, names: Names, windows: Iterable[ir.Window]) -> str:
    """Returns the WINDOW clause that gives the names, or nothing for no names."""
    first = {window_key(window): window for window in reversed([*windows])}
    as_ = clause.style.words("AS")
    texts = [f"{name} {as_} ({_rows(clause, first[key], first[key].frame)})" for key, name in names.items()]
    return f"{clause.style.words('WINDOW')} {', '.join(texts)}" if texts else ""


def written_window(clause: Writes, window: ir.Window) -> str:
    """Returns a window function with its OVER: frames that say nothing are left out, orders are shortened."""
    words = clause.style.words
    name = window.function.value
    counted = window.function is ir.AggregateFunction.COUNT_STAR
    inside = name if counted else f"{words(name)}({', '.join(map(clause.text, window.args))})"
    nulls = f" {words('IGNORE NULLS')}" if window.ignores_nulls else ""
    if (
        window.args
        and not nulls
        and isinstance(window.function, ir.WindowFunction)
        and _says_respect_nulls(window, clause)
    ):
        nulls = f" {words('RESPECT NULLS')}"
    named = clause.windows.get(window_key(window))
    if named is None:
        over = f"({_rows(clause, window, window.frame or _implied(clause, window))})"
    else:
        over = f"({named})" if clause.style.chance(30) else named
    return f"{inside}{nulls} {words('OVER')} {over}"


def _rows(clause: Writes, window: ir.Window, frame: ir.Frame | None) -> str:
    """Returns the partition, the order and the frame of a window."""
    words, parts = clause.style.words, []
    if window.partition:
        parts.append(f"{words('PARTITION BY')} {', '.join(map(clause.text, window.partition))}")
    if window.order:
        parts.append(f"{words('ORDER BY')} {', '.join(written_key(clause, key) for key in window.order)}")
    if frame is not None:
        of_days = any(key.expr.type.kind is Kind.DATE for key in window.order)
        parts.append(_frame(clause, frame, of_days=of_days))
    return " ".join(parts)


def _says_respect_nulls(window: ir.Window, clause: Writes) -> bool:
    """Tells whether RESPECT NULLS, the default, is written: sometimes, and never for NTILE."""
    return window.function is not ir.WindowFunction.NTILE and clause.style.chance(10)


def written_key(clause: Writes, key: ir.OrderKey) -> str:
    """Returns one key of an order."""
    directions = (" DESC", " DESC NULLS LAST") if key.descending else ("", " ASC", " NULLS FIRST")
    return clause.text(key.expr) + clause.style.words(clause.style.choices.choice(directions))


def _implied(clause: Writes, window: ir.Window) -> ir.Frame | None:
    """Returns the default frame, which may be written where a frame is allowed."""
    value = ir.WindowFunction.FIRST_VALUE, ir.WindowFunction.LAST_VALUE, ir.WindowFunction.NTH_VALUE
    framed = isinstance(window.function, ir.AggregateFunction) or window.function in value
    if not framed or not clause.style.chance(15):
        return None
    return ir.Frame(ir.FrameUnit.RANGE, None, 0 if window.order else None)


def _frame(clause: Writes, frame: ir.Frame, *, of_days: bool) -> str:
    """Returns a frame. `of_days`: the order is by a date, from which an interval may be counted."""
    words = clause.style.words
    unit = words(frame.unit.value)
    intervals = of_days and frame.unit is ir.FrameUnit.RANGE and clause.style.chance(50)

    def end(distance: int | None, unbounded: str) -> str:
        if distance is None:
            return f"UNBOUNDED {unbounded}"
        if distance == 0:
            return "CURRENT ROW"
        count = str(abs(distance))
        if intervals:
            count = clause.style.choices.choice((f"INTERVAL {count} DAYS", f"INTERVAL '{count}' DAY"))
        return f"{count} {'PRECEDING' if distance < 0 else 'FOLLOWING'}"

    if frame.end == 0 and (frame.start is None or frame.start <= 0) and clause.style.chance(40):
        # The end is the current row where none is written.
        return f"{unit} {words(end(frame.start, 'PRECEDING'))}"
    ends = end(frame.start, "PRECEDING"), end(frame.end, "FOLLOWING")
    return f"{unit} {words('BETWEEN')} {words(ends[0])} {words('AND')} {words(ends[1])}"
