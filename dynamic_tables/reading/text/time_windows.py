"""Rewrites windows of time, `GROUP BY window(ts, '10 minutes')`, into columns of a LATERAL VIEW.

Spark puts each row into the windows that its timestamp lies in, `[start, end)`, which begin every `slide`
from 1970 (plus an offset) on; a row without a timestamp is in none. So the windows of a row are an array of
structs, and `inline` makes rows of it. The grouping is then one by `start` and `end`. Example: with windows
of 10 minutes that slide by 5, the row of 12:07 is in those of 12:00 and 12:05.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from sqlglot import exp

from dynamic_tables.errors import UnsupportedError
from dynamic_tables.reading.text.spark_text import SparkText

START, END = "window start", "window end"
"""The columns of the LATERAL VIEW."""

MOST_WINDOWS = 60
"""Most windows that one row may be in; with more the expression would be too long, and the table is FULL."""

MICROSECONDS: Mapping[str, int] = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
"""The microseconds of the units of a duration; a month has no such number, and Spark refuses it."""

NUMBER = re.compile(r"[-+]?\d+")


def write_time_windows(tree: exp.Expr) -> None:
    """Rewrites each block that has one window of time. Other forms are left for the binder to refuse."""
    for block in list(tree.find_all(exp.Select)):
        calls = [node for node in _own(block) if _is_window(node)]
        if len({call.sql(SparkText) for call in calls}) != 1:
            continue
        time, *written = calls[0].expressions
        known = [size for each in written if (size := _microseconds(each)) is not None]
        group = block.args.get("group")
        plain = group is None or (
            all(name == "expressions" for name, value in group.args.items() if value)
            and group.find(exp.Cube, exp.Rollup, exp.GroupingSets) is None
        )
        if plain and 1 <= len(written) <= 3 and len(known) == len(written):
            length, slide, first = (*known, *(known[0], 0)[len(known) - 1 :])
            if 0 < slide <= length <= slide * MOST_WINDOWS:
                _rewrite(block, time, length, slide, first)


def refuse_time_windows(tree: exp.Expr) -> None:
    """Raises UnsupportedError for a window of time in a form that `write_time_windows` has left.

    Not later, where `window.start` would be an unknown column: then the reason would name that.
    """
    for node in tree.find_all(exp.Anonymous):
        name = str(node.this).lower()
        if name in ("window", "session_window", "window_time"):
            reason = "windows of fixed lengths are maintained, in a plain GROUP BY"
            raise UnsupportedError(f"function {name}", reason)


def _is_window(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and str(node.this).lower() == "window" and bool(node.expressions)


def _own(block: exp.Select) -> Iterator[exp.Expr]:
    """Yields the nodes of a block without those of the queries in it."""
    for node in block.walk(prune=lambda node: isinstance(node, exp.Query) and node is not block):
        if node is block or not isinstance(node, exp.Query):
            yield node


def _microseconds(duration: exp.Expr) -> int | None:
    """Returns the microseconds of a duration: their number, or `1 hour 30 minutes`; None for what is none."""
    if not isinstance(duration, exp.Literal):
        return None
    text = str(duration.this)
    if not duration.is_string:
        return int(text) if NUMBER.fullmatch(text) else None
    words = text.lower().removeprefix("interval ").split()
    numbers, units = words[::2], words[1::2]
    sizes = [size for unit in units if (size := MICROSECONDS.get(unit.removesuffix("s"))) is not None]
    if not (numbers and len(numbers) == len(units) == len(sizes) and all(map(NUMBER.fullmatch, numbers))):
        return None
    return sum(int(number) * size for number, size in zip(numbers, sizes, strict=True))


def _rewrite(block: exp.Select, time: exp.Expr, length: int, slide: int, first: int) -> None:
    """Gives a block the LATERAL VIEW, and its columns in the place of the window.

    A window that does not slide is two expressions over the time, by which few rows of the table are found.
    """
    start: exp.Expr = exp.column(START, quoted=True)
    end: exp.Expr = exp.column(END, quoted=True)
    if slide == length:
        start, end = (_end(time, first, slide, ago) for ago in (0, -length))
    struct = _struct(start, end)
    group = block.args.get("group")
    if group is not None:
        keys = [each for key in group.expressions for each in _keys(block, key, (start, end))]
        group.set("expressions", keys)
    for item in block.expressions:
        if (name := _name(item)) is not None:
            item.replace(exp.alias_(item.copy(), name, quoted=True))
    for node in list(_own(block)):
        if (found := _replaced(node, start, end, struct)) is not None:
            node.replace(found.copy())
    block.where(exp.Not(this=exp.Is(this=time.copy(), expression=exp.null())), copy=False)
    if slide < length:
        block.append("laterals", _view(time, length, slide, first))
        block.where(exp.LT(this=time.copy(), expression=end.copy()), copy=False)


def _struct(start: exp.Expr, end: exp.Expr) -> exp.Struct:
    """Returns the struct that Spark makes of a window."""
    ends = {"start": start, "end": end}
    return exp.Struct(
        expressions=[
            exp.PropertyEQ(this=exp.to_identifier(name), expression=value.copy())
            for name, value in ends.items()
        ]
    )


def _keys(block: exp.Select, key: exp.Expr, columns: Sequence[exp.Expr]) -> Sequence[exp.Expr]:
    """Returns what a key of GROUP BY becomes: the columns if it is the window, also by its place or alias."""
    named = key
    if isinstance(key, exp.Literal) and not key.is_string and 0 < int(key.this) <= len(block.expressions):
        named = block.expressions[int(key.this) - 1]
    elif isinstance(key, exp.Column) and not key.table:
        named = next((each for each in block.expressions if each.alias.lower() == key.name.lower()), key)
    return [each.copy() for each in columns] if _is_window(named.unalias()) else [key]


def _name(item: exp.Expr) -> str | None:
    """Returns the name that Spark gives to an item that shows the window; None for other items."""
    if _is_window(item):
        return "window"
    return item.name if isinstance(item, exp.Column) and _shows(item) else None


def _shows(column: exp.Column) -> bool:
    """Tells whether a column is the window, or a part of it."""
    return (column.table or column.name).lower() == "window"


def _replaced(node: exp.Expr, start: exp.Expr, end: exp.Expr, struct: exp.Expr) -> exp.Expr | None:
    """Returns what stands for the window or a part of it; None for other nodes."""
    parts = {"start": start, "end": end}
    match node:
        case exp.Dot(this=of, expression=exp.Identifier() as part) if _is_window(of):
            return parts.get(part.name.lower())
        case exp.Column() if _shows(node):
            return parts.get(node.name.lower()) if node.table else struct
        case _ if _is_window(node) and not isinstance(node.parent, exp.Dot):
            return struct
        case _:
            return None


class WindowEnd(exp.Expression, exp.Func):
    """An end of a window of `this`: numbers of microseconds, as `plan.functions.WINDOW_END` has them."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expressions": True}
    _sql_names: ClassVar[list[str]] = ["WINDOW_END"]


def _end(time: exp.Expr, first: int, slide: int, ago: int) -> WindowEnd:
    """Returns the last beginning of a window before a time, less some microseconds."""
    numbers = [exp.Literal(this=str(each), is_string=False) for each in (first, slide, ago)]
    return WindowEnd(this=time.copy(), expressions=numbers)


def _view(time: exp.Expr, length: int, slide: int, first: int) -> exp.Expr:
    """Returns the LATERAL VIEW with the windows of a row."""
    structs = [
        _struct(_end(time, first, slide, back), _end(time, first, slide, back - length))
        for back in range(0, length, slide)
    ]
    names = [exp.to_identifier(name, quoted=True) for name in (START, END)]
    alias = exp.TableAlias(this=exp.to_identifier("$window", quoted=True), columns=names)
    return exp.Lateral(this=exp.Inline(this=exp.Array(expressions=structs)), view=True, alias=alias)
