"""Rewrites windows of time and sessions in GROUP BY into what the rules know.

`window(ts, '10 minutes')` becomes columns of a LATERAL VIEW. Spark puts each row into the windows that its
timestamp lies in, `[start, end)`, which begin every `slide` from 1970 (plus an offset) on; a row without a
timestamp is in none. So the windows of a row are an array of structs, and `inline` makes rows of it. The
grouping is then one by `start` and `end`. Example: with windows of 10 minutes that slide by 5, the row of
12:07 is in those of 12:00 and 12:05.

`session_window(ts, '10 minutes')` becomes window functions in a sub-select. Rows of a key whose timestamps
lie no further apart than the gap are one session. So a row begins one if the gap before it has no other row
but those of its own time, and the start of a session is the newest beginning up to a row. The session ends a
gap after its last row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from sqlglot import exp

from dynamic_tables.errors import UnsupportedError
from dynamic_tables.reading.text.spark_text import SparkText

WINDOW, SESSION = "window", "session_window"
"""The functions that make windows; the columns that they make in GROUP BY have their names."""

START, END = "window start", "window end"
"""The columns of the LATERAL VIEW."""

TIME, BEFORE, BEGINS = "session time", "session before", "session start"
"""The columns of the sub-select with sessions."""

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

UNITS = ("day", "hour", "minute", "second")
"""The units of a frame over times, the largest first; a gap has to be a whole number of one of them."""

NUMBER = re.compile(r"[-+]?\d+")


def write_time_windows(tree: exp.Expr) -> None:
    """Rewrites each block that has one window of time. Other forms are left for the binder to refuse."""
    for block in list(tree.find_all(exp.Select)):
        calls = [node for node in _own(block) if _called(node)]
        if len({call.sql(SparkText) for call in calls}) != 1:
            continue
        called = _called(calls[0])
        time, *written = calls[0].expressions
        known = [size for each in written if (size := _microseconds(each)) is not None]
        group = block.args.get("group")
        plain = group is None or (
            all(name == "expressions" for name, value in group.args.items() if value)
            and group.find(exp.Cube, exp.Rollup, exp.GroupingSets) is None
        )
        if called == SESSION:
            keys = _partition(block)
            if plain and keys is not None and len(known) == len(written) == 1 and _is_gap(known[0]):
                _write_sessions(block, time, known[0], keys)
        elif plain and 1 <= len(written) <= 3 and len(known) == len(written):
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
            reason = (
                "windows of fixed lengths and sessions of one relation are maintained, in a plain GROUP BY"
            )
            raise UnsupportedError(f"function {name}", reason)


def _called(node: exp.Expr) -> str:
    """Returns the name of the function that makes windows, in lower case; empty for other nodes."""
    name = str(node.this).lower() if isinstance(node, exp.Anonymous) and node.expressions else ""
    return name if name in (WINDOW, SESSION) else ""


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
    _write_parts(block, WINDOW, start, end, keys=(start, end))
    block.where(exp.Not(this=exp.Is(this=time.copy(), expression=exp.null())), copy=False)
    if slide < length:
        block.append("laterals", _view(time, length, slide, first))
        block.where(exp.LT(this=time.copy(), expression=end.copy()), copy=False)


def _write_parts(
    block: exp.Select, called: str, start: exp.Expr, end: exp.Expr, *, keys: Sequence[exp.Expr]
) -> None:
    """Gives a block expressions in the place of the window and its parts. `keys`: what it is grouped by."""
    struct = _struct(start, end)
    group = block.args.get("group")
    if group is not None:
        found = [each for key in group.expressions for each in _keys(block, key, keys)]
        group.set("expressions", found)
    for item in block.expressions:
        if (name := _name(item, called)) is not None:
            item.replace(exp.alias_(item.copy(), name, quoted=True))
    for node in list(_own(block)):
        if (replacement := _replaced(node, called, start, end, struct)) is not None:
            node.replace(replacement.copy())


def _is_gap(microseconds: int) -> bool:
    return microseconds > 0 and microseconds % MICROSECONDS[UNITS[-1]] == 0


def _partition(block: exp.Select) -> list[exp.Expr] | None:
    """Returns by what a block groups beside its session; None where its rows cannot be those of a sub-select.

    A sub-select has one alias and its columns, so that a star would show more of them, and it must be clear
    without the columns of tables whether a key is one or the alias of an item.
    """
    stars = (each for each in _own(block) if isinstance(each, exp.Star))
    group = block.args.get("group")
    several = block.args.get("joins") or block.args.get("laterals")
    counted = all(isinstance(star.parent, exp.Count) for star in stars)
    if group is None or not counted or several or _relation(block) is None:
        return None
    aliases = {item.alias.lower(): item.unalias() for item in block.expressions if item.alias}
    keys: list[exp.Expr] = []
    for key in group.expressions:
        named = _named(block, key)
        if _called(named.unalias()):
            continue
        if isinstance(key, exp.Column) and not key.table and aliases.get(key.name.lower(), key) != key:
            return None
        keys.append(named.unalias())
    return keys if len(keys) < len(group.expressions) else None


def _relation(block: exp.Select) -> exp.Expr | None:
    """Returns what a block reads if that is one table or sub-select; None for anything else."""
    first = block.args.get("from_") or block.args.get("from")
    relation: exp.Expr | None = None if first is None else first.this
    if not isinstance(relation, exp.Table | exp.Subquery):
        return None
    return None if any(map(relation.args.get, ("joins", "laterals", "pivots", "sample"))) else relation


def _write_sessions(block: exp.Select, time: exp.Expr, gap: int, keys: Sequence[exp.Expr]) -> None:
    """Gives a block a sub-select that knows of each row in which session it is."""
    relation = _relation(block)
    assert relation is not None
    alias, at = relation.alias_or_name, exp.column(TIME, quoted=True)

    def around(inner: exp.Select, name: str, item: exp.Expr) -> exp.Select:
        """Returns the rows of a sub-select with a further column."""
        outer = exp.select("*", exp.alias_(item, name, quoted=True))
        return outer.from_(inner.subquery(alias, copy=False) if alias else inner.subquery(copy=False))

    def over(aggregate: exp.Expr, start: object, side: str | None) -> exp.Window:
        frame = {"kind": "RANGE", "start": start, "start_side": side, "end": "CURRENT ROW"}
        order = exp.Order(expressions=[exp.Ordered(this=at.copy())])
        partition = [key.copy() for key in keys]
        return exp.Window(this=aggregate, partition_by=partition, order=order, spec=exp.WindowSpec(**frame))

    first = exp.select("*", exp.alias_(_end(time, 0, 1, 0), TIME, quoted=True)).from_(relation.copy())
    if where := block.args.get("where"):
        first.set("where", where.copy())
        block.set("where", None)
    first.where(exp.Not(this=exp.Is(this=time.copy(), expression=exp.null())), copy=False)
    unit = next(unit for unit in UNITS if gap % MICROSECONDS[unit] == 0)
    number = exp.Literal.string(str(gap // MICROSECONDS[unit]))
    distance = exp.Interval(this=number, unit=exp.var(unit.upper()))
    near = over(exp.Count(this=exp.Star()), distance, "PRECEDING")
    alike = over(exp.Count(this=exp.Star()), "CURRENT ROW", None)
    known = around(first, BEFORE, exp.Sub(this=near, expression=alike))
    begins = exp.EQ(this=exp.column(BEFORE, quoted=True), expression=exp.Literal.number(0))
    own = exp.Case(ifs=[exp.If(this=begins, true=at.copy())])
    sessions = around(known, BEGINS, over(exp.Max(this=own), "UNBOUNDED", "PRECEDING"))
    start = exp.column(BEGINS, quoted=True)
    _write_parts(block, SESSION, start, _end(exp.Max(this=at.copy()), 0, 1, -gap), keys=(start,))
    block.from_(sessions.subquery(alias) if alias else sessions.subquery(), copy=False)


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
    return [each.copy() for each in columns] if _called(_named(block, key).unalias()) else [key]


def _named(block: exp.Select, key: exp.Expr) -> exp.Expr:
    """Returns the item that a key of GROUP BY names by its place or alias; the key itself for another one."""
    items: Sequence[exp.Expr] = block.expressions
    if isinstance(key, exp.Literal) and not key.is_string and 0 < int(key.this) <= len(items):
        return items[int(key.this) - 1]
    if isinstance(key, exp.Column) and not key.table:
        return next((each for each in items if each.alias.lower() == key.name.lower()), key)
    return key


def _name(item: exp.Expr, called: str) -> str | None:
    """Returns the name that Spark gives to an item that shows the window; None for other items."""
    if _called(item):
        return called
    return item.name if isinstance(item, exp.Column) and _shows(item, called) else None


def _shows(column: exp.Column, called: str) -> bool:
    """Tells whether a column is the window, or a part of it."""
    return (column.table or column.name).lower() == called


def _replaced(
    node: exp.Expr, called: str, start: exp.Expr, end: exp.Expr, struct: exp.Expr
) -> exp.Expr | None:
    """Returns what stands for the window or a part of it; None for other nodes."""
    parts = {"start": start, "end": end}
    match node:
        case exp.Dot(this=of, expression=exp.Identifier() as part) if _called(of):
            return parts.get(part.name.lower())
        case exp.Column() if _shows(node, called):
            return struct if not node.table else parts.get(node.name.lower())
        case _ if _called(node) and not isinstance(node.parent, exp.Dot):
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
