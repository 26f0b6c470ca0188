"""The registry of window functions: their types, and how far their values follow from the rows alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Frame, FrameEnd, SortKey, Win, walk
from dynamic_tables.plan.types import DOUBLE, FLOATING, INT, Kind, Type


@dataclass(frozen=True, slots=True)
class WindowFunction:
    """A function that only stands before OVER.

    `result`: its type over that of its first argument, None for none. `arguments`: how many it takes at
    least and at most. `framed`: whether a frame may follow its order.
    """

    result: Callable[[Type | None], Type | None]
    arguments: tuple[int, int]
    framed: bool = False


def _fixed(type_: Type) -> Callable[[Type | None], Type | None]:
    """Returns a typing rule: the result has one type, whatever the argument has."""
    return lambda _: type_


def _same(type_: Type | None) -> Type | None:
    """Returns the type of the argument: the result has it too."""
    return type_


WINDOW_FUNCTIONS: Mapping[str, WindowFunction] = {
    "row_number": WindowFunction(_fixed(INT), (0, 0)),
    "rank": WindowFunction(_fixed(INT), (0, 0)),
    "dense_rank": WindowFunction(_fixed(INT), (0, 0)),
    "percent_rank": WindowFunction(_fixed(DOUBLE), (0, 0)),
    "cume_dist": WindowFunction(_fixed(DOUBLE), (0, 0)),
    "ntile": WindowFunction(_fixed(INT), (1, 1)),
    "lag": WindowFunction(_same, (1, 3)),
    "lead": WindowFunction(_same, (1, 3)),
    "first_value": WindowFunction(_same, (1, 1), framed=True),
    "last_value": WindowFunction(_same, (1, 1), framed=True),
    "nth_value": WindowFunction(_same, (2, 2), framed=True),
}
"""The window functions that are no aggregates, by Spark's names."""

PLACES = frozenset({"row_number", "ntile", "lag", "lead"})
"""Functions of the place of a row in the order of its partition."""

VALUES = frozenset({"first_value", "last_value", "nth_value"})
"""Functions of one row of the frame."""

WHOLE = Frame("ROWS", FrameEnd("UNBOUNDED PRECEDING"), FrameEnd("UNBOUNDED FOLLOWING"))
"""The frame of all rows of a partition."""


def depends_on_places(call: Win) -> bool:
    """Tells whether a value depends on which of the rows that are equal in the order come first."""
    match call.function:
        case Fn(name, args, _) if name in VALUES:
            by_rows = call.frame is not None and call.frame.unit == "ROWS" and not _is_whole(call)
            return by_rows or not _follows_from_order(args[0], call)
        case Fn(name, _, _):
            return name in PLACES
        case Agg():
            return call.frame is not None and call.frame.unit == "ROWS" and not _is_whole(call)


def _follows_from_order(value: Expr, call: Win) -> bool:
    """Tells whether a value is the same in all rows that are equal in the order, as 0.0 and -0.0 are."""
    keys = {*call.partition, *(key.expr for key in call.order)}
    sure = {key for key in keys if key.type.kind not in (*FLOATING, Kind.OTHER)}
    return value in sure or all(part in sure for part in walk(value) if isinstance(part, Col))


def ties_can_be_broken(call: Win) -> bool:
    """Tells whether a further key of the order gives one of the right answers where rows are equal in it.

    Not so for the last of the rows up to the current one and those equal to it: with a further key, no row is
    equal to another.
    """
    if not isinstance(call.function, Fn) or call.function.name in PLACES:
        return True
    if _is_whole(call) or (call.frame is not None and call.frame.unit == "ROWS"):
        return True
    from_start = call.frame is None or (call.frame.start.is_unbounded and call.frame.end.offset is None)
    # Of the rows that are equal to the current one, the first may be NULL and another not.
    return call.function.name == "first_value" and from_start and not call.ignores_nulls


def ordered_also_by(call: Win, key: SortKey) -> Win:
    """Returns a window function with one more key of its order, over the frame that it has without it."""
    frame = WHOLE if call.frame is None and not call.order else call.frame
    return replace(call, order=(*call.order, key), frame=frame)


def _is_whole(call: Win) -> bool:
    """Tells whether a function reads all rows of its partition."""
    if call.frame is None:
        return not call.order
    return call.frame.start.is_unbounded and call.frame.end.is_unbounded
