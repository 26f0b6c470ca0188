"""Random window functions, over rows or over groups, each with one right answer.

A *place* is the position of a row in the order of its partition. What depends on places, such as ROW_NUMBER,
is ordered by all that the block reads, so that only equal rows tie; a block has one such order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from generators.choices import Choices
from generators.domains import NO_ARITHMETIC
from generators.queries import expressions
from generators.queries.aggregates import beside_texts
from generators.queries.expressions import Term, call, matchable
from generators.queries.relations import COUNT_STAR, FromClause, Generated, select
from workload.aggregates import STATISTICS
from workload.query import (
    Aggregate,
    AggregateFunction,
    Expr,
    Frame,
    FrameUnit,
    Literal,
    OrderKey,
    Select,
    Window,
    WindowFunction,
)
from workload.types import BITS, BOOLEAN, DOUBLE, INT, NESTED, Kind

UNORDERED = frozenset({*NESTED, Kind.FLOAT, Kind.DOUBLE})
"""The kinds without a total order: -0.0 and 0.0 are equal, and yet two values."""

RANKS = (
    (3, WindowFunction.RANK),
    (2, WindowFunction.DENSE_RANK),
    (1, WindowFunction.PERCENT_RANK),
    (1, WindowFunction.CUME_DIST),
)
"""The functions of ranks, with weights: rows that tie have the same rank."""
PLACES = (
    (4, WindowFunction.ROW_NUMBER),
    (1, WindowFunction.NTILE),
    (3, WindowFunction.LAG),
    (2, WindowFunction.LEAD),
    (2, WindowFunction.FIRST_VALUE),
    (2, WindowFunction.LAST_VALUE),
    (1, WindowFunction.NTH_VALUE),
)
"""The functions of places, with weights."""
FRAMES: Sequence[tuple[int | None, int | None]] = (
    (-1, 0),
    (-1, 1),
    (0, 1),
    (None, 0),
    (-2, -1),
    (1, None),
    (0, None),
)
"""The ends of frames: distances from the current row, None for the end of the partition."""


class DrawsAggregates(Protocol):
    """The part of `queries.QueryGenerator` that draws aggregates over a FROM clause."""

    choices: Choices

    def aggregate(self, source: FromClause) -> Term:
        """Returns a random aggregate over a FROM clause."""
        ...


@dataclass(frozen=True, slots=True)
class Order:
    """The order that makes the places of rows certain: the keys of the partition, and those of the order."""

    partition: tuple[Expr, ...]
    order: tuple[OrderKey, ...]


@dataclass(frozen=True, slots=True)
class Windows:
    """The source of window functions over some terms. `total`: the order for places, if there is one."""

    draw: DrawsAggregates
    source: FromClause
    terms: Sequence[Term]
    total: Order | None

    def drawn(self, count: int) -> list[Term]:
        """Returns `count` random window functions."""
        kinds = ((4, "rank"), (5, "aggregate"), (6, "place") if self.total is not None else (0, "rank"))
        return [self.window(self.draw.choices.weighted(kinds)) for _ in range(count)]

    def window(self, kind: str) -> Term:
        """Returns a rank, an aggregate, or a function of places."""
        match kind:
            case "rank":
                return self.rank()
            case "aggregate":
                return self.aggregate()
            case _:
                assert self.total is not None
                return self.place(self.total)

    def rank(self) -> Term:
        """Returns a function of the ranks of rows, among those with an order of one or two keys."""
        function = self.draw.choices.weighted(RANKS)
        order = self.order(1, 2)
        if not order:
            return self.aggregate()
        share = function in (WindowFunction.PERCENT_RANK, WindowFunction.CUME_DIST)
        type_ = DOUBLE if share else INT
        window = Window(function, (), self.partition(), order, None, type_)
        digits = NO_ARITHMETIC if share else self.growth
        return Term(window, digits)

    def aggregate(self) -> Term:
        """Returns an aggregate over a partition, up to the current row, or over a frame of near values."""
        choices, term = self.draw.choices, self.simple_aggregate()
        order = self.order(1, 1) if choices.chance(50) else ()
        frame = self.near(order) if order and choices.chance(40) else None
        return self.over(term, self.partition(), order, frame)

    def place(self, total: Order) -> Term:
        """Returns a function of the places of rows, or an aggregate over a frame of rows."""
        choices = self.draw.choices
        if not total.order:
            return self.aggregate()
        if choices.chance(25):
            start, end = choices.pick(FRAMES)
            return self.over(
                self.simple_aggregate(), total.partition, total.order, Frame(FrameUnit.ROWS, start, end)
            )
        function = choices.weighted(PLACES)
        plain = [term for term in self.terms if term.type.kind not in NESTED]
        arg = choices.pick(plain)
        args: tuple[Expr, ...]
        match function:
            case WindowFunction.ROW_NUMBER:
                args, term = (), Term(Literal(0, INT), self.growth)
            case WindowFunction.NTILE:
                args, term = (_number(choices.integer(1, 4)),), Term(Literal(0, INT), self.growth)
            case WindowFunction.LAG | WindowFunction.LEAD:
                args, term = self.shifted(arg)
            case WindowFunction.NTH_VALUE:
                args, term = (arg.expr, _number(choices.integer(1, 3))), arg
            case _:
                args, term = (arg.expr,), arg
        framed = function in (WindowFunction.FIRST_VALUE, WindowFunction.LAST_VALUE, WindowFunction.NTH_VALUE)
        frame = None
        if framed and choices.chance(60):
            start, end = choices.pick(FRAMES)
            frame = (
                Frame(FrameUnit.ROWS, start, end)
                if choices.chance(70)
                else Frame(FrameUnit.RANGE, None, None)
            )
        skips = bool(args) and function is not WindowFunction.NTILE and choices.chance(20)
        window = Window(function, args, total.partition, total.order, frame, term.type, skips)
        return replace(term, expr=window)

    def shifted(self, arg: Term) -> tuple[tuple[Expr, ...], Term]:
        """Returns the arguments of LAG or LEAD, and a term with the type and the digits of the result."""
        choices = self.draw.choices
        if choices.chance(50):
            return (arg.expr,), arg
        offset = _number(choices.integer(0, 2))
        if choices.chance(50):
            return (arg.expr, offset), arg
        default = expressions.literal(choices, arg.type)
        return (arg.expr, offset, default.expr), replace(arg, digits=max(arg.digits, default.digits))

    def simple_aggregate(self) -> Term:
        """Returns an aggregate of one argument without DISTINCT, of those that every engine has."""
        term = self.draw.aggregate(replace(self.source, scope=list(self.terms)))
        simple = isinstance(term.expr, Aggregate) and term.expr.function in AGGREGATES
        return term if simple else Term(COUNT_STAR, self.growth)

    def over(
        self, term: Term, partition: tuple[Expr, ...], order: tuple[OrderKey, ...], frame: Frame | None
    ) -> Term:
        """Returns an aggregate as a window function."""
        assert isinstance(term.expr, Aggregate)
        args = () if term.expr.arg is None else (term.expr.arg,)
        return replace(term, expr=Window(term.expr.function, args, partition, order, frame, term.type))

    def partition(self) -> tuple[Expr, ...]:
        """Returns the keys of a partition: one in most cases, else two or none."""
        keys = [term for term in self.terms if term.key and term.type.kind not in NESTED]
        count = self.draw.choices.weighted(((3, 0), (6, 1), (2, 2)))
        return (
            tuple(term.expr for term in self.draw.choices.subset(keys, count, count))
            if keys and count
            else ()
        )

    def order(self, least: int, most: int) -> tuple[OrderKey, ...]:
        """Returns an order of some terms, which may leave rows equal."""
        keys = [term for term in self.terms if term.key and term.type.kind not in NESTED]
        picked = self.draw.choices.subset(keys, least, most) if keys else []
        return tuple(OrderKey(term.expr, self.draw.choices.chance(40)) for term in picked)

    def near(self, order: tuple[OrderKey, ...]) -> Frame | None:
        """Returns a RANGE frame: by distances where the only key is a small number or a date."""
        choices = self.draw.choices
        (key,) = order
        known = next(term for term in self.terms if term.expr == key.expr)
        small = known.type.kind is Kind.INT and known.digits <= SMALL_DIGITS
        if not small and known.type.kind is not Kind.DATE:
            return choices.pick((Frame(FrameUnit.RANGE, None, 0), Frame(FrameUnit.RANGE, 0, None)))
        start, end = choices.pick(FRAMES)
        return Frame(FrameUnit.RANGE, start, end)

    @property
    def growth(self) -> int:
        """The binary digits of a number of rows."""
        return max(self.source.rows, 2).bit_length()


SMALL_DIGITS = 24
"""Binary digits of a number beside which a frame by distance surely has ends."""

AGGREGATES = frozenset(
    {
        AggregateFunction.COUNT_STAR,
        AggregateFunction.COUNT,
        AggregateFunction.SUM,
        AggregateFunction.AVG,
        AggregateFunction.MIN,
        AggregateFunction.MAX,
        *STATISTICS,
    }
)
"""The aggregates that are drawn before OVER."""


def windowed_rows(draw: DrawsAggregates, source: FromClause, where: Expr | None) -> Generated:
    """Returns a block of one to three columns with window functions over its rows, sometimes with QUALIFY."""
    choices = draw.choices
    flat = [term for term in source.matchable if term.type.kind not in NESTED]
    if not flat:
        return select(source, choices.subset(source.scope, 1, 2), where)
    shown = choices.subset(flat, 1, 3)
    total, readable = None, flat
    if choices.chance(60) and all(term.type.kind not in UNORDERED for term in shown):
        # All that is read is in the order, so nothing else may be read.
        total, readable = total_order(choices, shown), shown
    windows = Windows(draw, source, readable, total).drawn(choices.integer(1, 2))
    return _finished(choices, select(source, [*shown, *_computed(choices, windows)], where), windows)


def windowed_groups(
    draw: DrawsAggregates, source: FromClause, where: Expr | None, keys: Sequence[Term]
) -> Generated:
    """Returns a grouped block with window functions over its groups."""
    choices = draw.choices
    aggregates = beside_texts([draw.aggregate(source) for _ in range(choices.integer(1, 2))])
    total = None
    if all(key.type.kind not in UNORDERED for key in keys):
        total = total_order(choices, keys)
    windows = Windows(draw, source, [*keys, *aggregates], total).drawn(choices.integer(1, 2))
    shown = [*(keys if choices.chance(85) else keys[1:]), *aggregates[: choices.integer(0, 2)]]
    return _finished(choices, select(source, [*shown, *windows], where, group_by=keys), windows)


def total_order(choices: Choices, terms: Sequence[Term]) -> Order:
    """Returns an order over all terms, some of which make the partition."""
    rest, order = list(terms), []
    partition = (
        [rest.pop(choices.integer(0, len(rest) - 1)).expr] if len(rest) > 1 and choices.chance(65) else []
    )
    while rest:
        key = rest.pop(choices.integer(0, len(rest) - 1))
        order.append(OrderKey(key.expr, choices.chance(40)))
    return Order(tuple(partition), tuple(order))


def _computed(choices: Choices, windows: Sequence[Term]) -> list[Term]:
    """Returns the window functions as outputs, sometimes with a number added."""
    result = []
    for term in windows:
        if term.type.kind in BITS and term.digits < 20 and choices.chance(15):
            one = expressions.literal(choices, term.type)
            term = call("add", term.type, term, one, digits=term.digits + 1)
        result.append(term)
    return result


def _finished(choices: Choices, block: Generated, windows: Sequence[Term]) -> Generated:
    """Returns the block with QUALIFY over one of its window functions in a third of the cases."""
    flat = [term for term in matchable(windows) if term.type.kind not in NESTED]
    if not flat or not choices.chance(35):
        return block
    assert isinstance(block.query, Select)
    tested = choices.pick(flat)
    bound = expressions.literal(choices, tested.type)
    condition = call(choices.pick(("le", "eq", "ne", "ge")), BOOLEAN, tested, bound).expr
    return replace(block, query=replace(block.query, qualify=condition))


def _number(value: int) -> Literal:
    return Literal(value, INT)
