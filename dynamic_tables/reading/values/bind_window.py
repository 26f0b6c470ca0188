"""Window functions as they are written: OVER with its partition, order and frame, and named windows.

It refuses what Spark refuses (a rank without an order, a frame that ends before it begins), because a query
that Spark would not run must not become a table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.expressions import Agg, Expr, Fn, Frame, FrameEnd, Lit, SortKey, Win
from dynamic_tables.plan.types import INT, INTEGRAL, NUMERIC, TEMPORAL, Kind
from dynamic_tables.plan.window_functions import WINDOW_FUNCTIONS
from dynamic_tables.reading.text.parse import function_name, parts
from dynamic_tables.reading.values.aggregate_forms import is_form
from dynamic_tables.reading.values.aggregates import aggregate_of
from dynamic_tables.reading.values.typed import cast

Bind = Callable[[exp.Expr], Expr]
"""Binds a part of a window function. Raises DefinitionError or UnsupportedError."""

UNDER_NAMES: Mapping[type[exp.Expr], tuple[str, ...]] = {
    exp.Lag: ("this", "offset", "default"),
    exp.Lead: ("this", "offset", "default"),
    exp.NthValue: ("this", "offset"),
    exp.Ntile: ("this",),
    exp.FirstValue: ("this",),
    exp.LastValue: ("this",),
}
"""sqlglot's names of the arguments of window functions; functions that are not listed take none."""


BEFORE_OVER = frozenset(
    {"COUNT", "SUM", "AVG", "MIN", "MAX", "STDDEV_SAMP", "STDDEV_POP", "VAR_SAMP", "VAR_POP"}
)
"""The aggregates that are maintained before OVER; COUNT_IF, BOOL_AND and BOOL_OR are among them."""


SECONDS: Mapping[str, int] = {
    "SECOND": 1,
    "MINUTE": 60,
    "HOUR": 3600,
    "DAY": 86_400,
    "WEEK": 7 * 86_400,
    "MONTH": 30 * 86_400,
    "YEAR": 365 * 86_400,
}
"""Seconds in the units of INTERVAL. A month of 30 days is exact enough: the numbers only tell whether a frame
ends before it begins, and both ends have the same unit."""

MOST_DIGITS = 6
"""Most digits of the number of an INTERVAL: with more, times beyond those of Spark or DuckDB are reached."""


def bind_window(node: exp.Window, bind: Bind, bind_aggregate: Bind) -> Win:
    """Returns a window function. `bind_aggregate`: binds the aggregate before OVER.

    Raises DefinitionError: what Spark refuses, such as a rank without an order.
    Raises UnsupportedError: what is right, and not maintained.
    """
    partition, ordered, spec = _window(node)
    order = tuple(_key(each, bind) for each in ordered)
    function, ignores_nulls = _function(node.this, bind, bind_aggregate)
    name = function.name
    frame = None if spec is None else _frame(spec, bind, order)
    description = WINDOW_FUNCTIONS.get(name) if isinstance(function, Fn) else None
    if description is not None and not description.framed:
        if not order:
            raise DefinitionError(f"{name} needs an order; write {name}() OVER (... ORDER BY ...)")
        if frame is not None:
            raise UnsupportedError(f"a frame of {name}", "leave the frame out: it changes nothing")
    return Win(function, tuple(map(bind, partition)), order, frame, ignores_nulls, function.type)


def _window(node: exp.Window) -> tuple[Sequence[exp.Expr], Sequence[exp.Expr], exp.Expr | None]:
    """Returns partition, order and frame of an OVER, with those of the named window that it starts from."""
    for name in parts(node):
        if name not in ("this", "partition_by", "order", "spec", "alias", "over"):
            raise UnsupportedError(f"OVER with {name.replace('_', ' ').upper()}")
    partition = node.args.get("partition_by") or ()
    order = node.args.get("order")
    spec = node.args.get("spec")
    if node.alias:
        if partition or order is not None or spec is not None:
            raise UnsupportedError("OVER (name ...)", "write the whole window, or its name alone")
        return _window(_named(node))
    return partition, () if order is None else order.expressions, spec


def _named(node: exp.Window) -> exp.Window:
    """Returns the window of the WINDOW clause that an OVER names. Raises DefinitionError: there is none."""
    select = node.find_ancestor(exp.Select)
    windows = [] if select is None else select.args.get("windows") or []
    found = [window for window in windows if window.name.lower() == node.alias.lower()]
    if len(found) != 1:
        raise DefinitionError(f"window {node.alias} is not defined; add WINDOW {node.alias} AS (...)")
    window = found[0].copy()
    window.set("this", None)
    assert isinstance(window, exp.Window)
    return window


def _function(node: exp.Expr, bind: Bind, bind_aggregate: Bind) -> tuple[Fn | Agg, bool]:
    """Returns what stands before OVER, a window function or an aggregate, and whether it ignores NULLs."""
    ignores_nulls = isinstance(node, exp.IgnoreNulls)
    while isinstance(node, exp.IgnoreNulls | exp.RespectNulls):
        node = node.this
    name = function_name(node)
    description = WINDOW_FUNCTIONS.get(name)
    if description is None:
        if ignores_nulls or (not is_form(node) and aggregate_of(node) is None):
            raise UnsupportedError(f"window function {name}")
        aggregate = bind_aggregate(node)
        if not isinstance(aggregate, Agg) or aggregate.name not in BEFORE_OVER or aggregate.extra:
            raise UnsupportedError(f"{name} before OVER")
        if aggregate.distinct:
            raise DefinitionError(
                f"{name}(DISTINCT ...) OVER is refused, as Spark does; group by the rows first"
            )
        return aggregate, False
    if ignores_nulls and name not in ("lag", "lead", "first_value", "last_value", "nth_value"):
        raise DefinitionError(f"{name} takes no IGNORE NULLS")
    args = _arguments(name, node, bind)
    fewest, most = description.arguments
    type_ = description.result(args[0].type if args else None)
    if not fewest <= len(args) <= most or type_ is None:
        raise DefinitionError(f"{name} takes {fewest} to {most} arguments, not {len(args)}")
    return Fn(name, args, type_), ignores_nulls


def _arguments(name: str, node: exp.Expr, bind: Bind) -> tuple[Expr, ...]:
    """Returns the arguments of a window function, the constant ones checked."""
    listed = UNDER_NAMES.get(type(node), ())
    for part in parts(node):
        if part not in listed:
            raise UnsupportedError(f"{name} with {part.replace('_', ' ')}")
    given = [node.args[each] for each in listed if node.args.get(each) is not None]
    # The arguments, by place, that must be a number: in how many parts, how many rows away, which row.
    numbers = {"ntile": 0, "lag": 1, "lead": 1, "nth_value": 1}
    args: list[Expr] = []
    for place, argument in enumerate(given):
        if place == numbers.get(name):
            args.append(_number(name, argument))
        elif place == 2:
            # The default of LAG and LEAD, which takes the type of the value.
            none = isinstance(argument, exp.Null)
            args.append(Lit(None, args[0].type) if none else cast(bind(argument), args[0].type))
        else:
            args.append(bind(argument))
    return tuple(args)


def _number(name: str, node: exp.Expr) -> Lit:
    """Returns an argument that must be a constant number, such as the 2 of LAG(x, 2)."""
    negative = isinstance(node, exp.Neg)
    digits = node.this if negative else node
    least = 1 if name in ("ntile", "nth_value") else None
    if not isinstance(digits, exp.Literal) or not digits.is_int:
        raise UnsupportedError(f"{name} by a computed number", "write the number itself")
    number = -int(str(digits.this)) if negative else int(str(digits.this))
    if (least is not None and number < least) or abs(number) >= 2**31:
        raise DefinitionError(
            f"{name} by {number}: the number must be an INT of at least {least or -(2**31)}"
        )
    return Lit(number, INT)


def _key(node: exp.Expr, bind: Bind) -> SortKey:
    """Returns one key of the ORDER BY in OVER."""
    if not isinstance(node, exp.Ordered) or node.args.get("with_fill") is not None:
        raise UnsupportedError("this ORDER BY in OVER")
    # Where the text does not say NULLS FIRST or LAST, sqlglot sets it as Spark does: first if ascending.
    return SortKey(bind(node.this), bool(node.args.get("desc")), bool(node.args.get("nulls_first")))


def _frame(spec: exp.Expr, bind: Bind, order: Sequence[SortKey]) -> Frame:
    """Returns the frame of an OVER. Raises DefinitionError: one that Spark refuses."""
    for name in parts(spec):
        if name not in ("kind", "start", "start_side", "end", "end_side"):
            raise UnsupportedError(f"a frame with {name.upper()}")
    unit = str(spec.args["kind"]).upper()
    if unit not in ("ROWS", "RANGE"):
        raise DefinitionError(f"a frame of {unit}; write ROWS or RANGE")
    ends = []
    # `ROWS 2 PRECEDING` has no end: it is the current row.
    for end in ("start", "end"):
        value = spec.args.get(end, "CURRENT ROW" if end == "end" else None)
        side = str(spec.args.get(f"{end}_side") or "").upper()
        ends.append(_end(value, side, unit, bind, order))
    if unit == "RANGE" and not order and not all(end.is_unbounded for end in ends):
        raise DefinitionError("a RANGE frame needs an order; write ORDER BY in OVER")
    first, last = map(_place_of, ends)
    if first > last or first == math.inf or last == -math.inf:
        raise DefinitionError(f"a frame that begins {ends[0].side} and ends {ends[1].side} has no rows")
    if unit == "RANGE" and any(end.offset is not None for end in ends) and len(order) != 1:
        raise DefinitionError(f"a RANGE frame with a distance needs one key in ORDER BY, not {len(order)}")
    if len({end.unit for end in ends if end.offset is not None}) > 1:
        raise DefinitionError("the ends of a frame have two units; write both in one, say MINUTE")
    return Frame(unit, *ends)


def _place_of(end: FrameEnd) -> float:
    """Returns the place of a frame's end relative to the current row: 0, negative before it, or infinite."""
    distance = math.inf if end.is_unbounded else 0.0
    if end.offset is not None:
        assert isinstance(end.offset.value, int | float | Decimal)
        distance = float(end.offset.value) * SECONDS.get(end.unit, 1)
    return -distance if end.side.endswith("PRECEDING") else distance


def _end(value: object, side: str, unit: str, bind: Bind, order: Sequence[SortKey]) -> FrameEnd:
    """Returns one end of a frame."""
    match value:
        case "UNBOUNDED":
            return FrameEnd(f"UNBOUNDED {side}")
        case "CURRENT ROW" | None:
            return FrameEnd("CURRENT ROW")
        case exp.Literal():
            distance = bind(value)
            assert isinstance(distance, Lit)
            _ensure_a_distance(distance, unit, order)
            return FrameEnd(side, distance)
        case exp.Interval():
            return _interval(value, side, unit, order)
        case _:
            raise UnsupportedError("a frame with a computed distance", "write a plain number or INTERVAL")


def _interval(node: exp.Interval, side: str, unit: str, order: Sequence[SortKey]) -> FrameEnd:
    """Returns an end of a RANGE frame that is an INTERVAL of one unit before or after a date or time."""
    number, span = node.this, node.args.get("unit")
    name = span.name.upper().removesuffix("S") if isinstance(span, exp.Var) else ""
    digits = number.name if isinstance(number, exp.Literal) else ""
    if name not in SECONDS or not digits.isdecimal() or len(digits) > MOST_DIGITS:
        raise UnsupportedError("this INTERVAL in a frame", "write one whole number and one unit, say DAY")
    key = order[0].expr.type if order else None
    if unit != "RANGE" or key is None or key.kind not in TEMPORAL:
        raise DefinitionError("INTERVAL in a frame needs RANGE, and a date or timestamp in ORDER BY")
    if key.kind is Kind.DATE and SECONDS[name] < SECONDS["DAY"]:
        raise DefinitionError(f"INTERVAL of a {name} in a frame over a DATE; write days, months or years")
    weeks = name == "WEEK"
    return FrameEnd(side, Lit(int(digits) * (7 if weeks else 1), INT), "DAY" if weeks else name)


def _ensure_a_distance(distance: Lit, unit: str, order: Sequence[SortKey]) -> None:
    """Raises DefinitionError or UnsupportedError for a distance that does not suit the key of the order."""
    if unit == "ROWS":
        if distance.type.kind not in INTEGRAL:
            raise DefinitionError(f"a ROWS frame of {distance.value!s} rows; write a whole number")
        return
    key = order[0].expr.type if order else None
    if key is None or distance.type.kind not in NUMERIC:
        raise DefinitionError("a RANGE frame with a distance needs a number, and a key in ORDER BY")
    # Over dates `3 PRECEDING` is three days. Over whole numbers the distance must be whole, too.
    days = key.kind is Kind.DATE and distance.type.kind in INTEGRAL
    whole = key.kind in NUMERIC and (distance.type.kind in INTEGRAL or key.kind not in INTEGRAL)
    if not (days or whole):
        raise UnsupportedError(f"a RANGE frame of {distance.type} over {key}", "no rule for this distance")
