"""The expressions of the query IR, typed: columns, constants, calls, aggregates and window functions.

`expression_parts` and `expression_with` are the only places that know which parts an expression has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from itertools import islice
from typing import Any, assert_never

from workload.types import SqlType, Value


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """A column of a relation in scope, named by the relation's alias."""

    relation: str
    name: str
    type: SqlType


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; always rendered with its type."""

    value: Value
    type: SqlType


@dataclass(frozen=True, slots=True)
class Call:
    """A scalar function or operator of `workload.sql.functions`, with the type of its result in Spark."""

    function: str
    args: tuple[Expr, ...]
    type: SqlType


class AggregateFunction(Enum):
    """The aggregates; COUNT_STAR is the only one without an argument."""

    COUNT_STAR = "COUNT(*)"
    COUNT = "COUNT"
    SUM = "SUM"
    AVG = "AVG"
    MIN = "MIN"
    MAX = "MAX"
    STDDEV_SAMP = "STDDEV_SAMP"
    STDDEV_POP = "STDDEV_POP"
    VAR_SAMP = "VAR_SAMP"
    VAR_POP = "VAR_POP"
    COVAR_SAMP = "COVAR_SAMP"
    COVAR_POP = "COVAR_POP"
    CORR = "CORR"
    MIN_BY = "MIN_BY"
    MAX_BY = "MAX_BY"
    COLLECT_LIST = "COLLECT_LIST"
    """The sorted list of the values; the set has each value once."""
    COLLECT_SET = "COLLECT_SET"
    LISTAGG = "LISTAGG"
    PERCENTILE = "PERCENTILE"
    BIT_AND = "BIT_AND"
    BIT_OR = "BIT_OR"
    BIT_XOR = "BIT_XOR"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate over the rows of a group; stands only in the items and HAVING of a grouped Select.

    `extra`: its further arguments, as `workload.aggregates` describes them.
    """

    function: AggregateFunction
    arg: Expr | None
    distinct: bool
    type: SqlType
    extra: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Grouping:
    """The function GROUPING: 1 if a key is left out of the grouping set of a row, else 0."""

    key: Expr
    type: SqlType


class WindowFunction(Enum):
    """The window functions that are no aggregates."""

    ROW_NUMBER = "row_number"
    RANK = "rank"
    DENSE_RANK = "dense_rank"
    PERCENT_RANK = "percent_rank"
    CUME_DIST = "cume_dist"
    NTILE = "ntile"
    LAG = "lag"
    LEAD = "lead"
    FIRST_VALUE = "first_value"
    LAST_VALUE = "last_value"
    NTH_VALUE = "nth_value"


@dataclass(frozen=True, slots=True)
class OrderKey:
    """One key of an order in a window. NULL is the least value, as in Spark: last if descending."""

    expr: Expr
    descending: bool = False


class FrameUnit(Enum):
    """What a frame counts: rows, or the distance of values of the only key of the order."""

    ROWS = "ROWS"
    RANGE = "RANGE"


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows from `start` to `end`: distances from the current row, negative before it; None: to the end.

    A distance of 0 in a RANGE frame is the rows equal to the current one in the order.
    """

    unit: FrameUnit
    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True)
class Window:
    """A function over rows around each row; stands only in the items and QUALIFY of a Select.

    `frame` None: SQL's default, which is all rows up to those equal to the current one; all if unordered.
    """

    function: WindowFunction | AggregateFunction
    args: tuple[Expr, ...]
    partition: tuple[Expr, ...]
    order: tuple[OrderKey, ...]
    frame: Frame | None
    type: SqlType
    ignores_nulls: bool = False

    @property
    def depends_on_places(self) -> bool:
        """Whether a value depends on which of the rows that are equal in the order come first."""
        match self.function:
            case WindowFunction.RANK | WindowFunction.DENSE_RANK:
                return False
            case WindowFunction.PERCENT_RANK | WindowFunction.CUME_DIST:
                return False
            case WindowFunction():
                return True
            case AggregateFunction():
                whole = self.frame is None or (self.frame.start is None and self.frame.end is None)
                return not whole and self.frame is not None and self.frame.unit is FrameUnit.ROWS


Expr = ColumnRef | Literal | Call | Aggregate | Grouping | Window


def expression_parts(expr: Expr) -> tuple[Expr, ...]:
    """Returns the expressions right inside an expression, in the order in which every walker visits them."""
    match expr:
        case ColumnRef() | Literal():
            return ()
        case Call(_, args, _):
            return args
        case Aggregate(_, arg, _, _, extra):
            return extra if arg is None else (arg, *extra)
        case Grouping(key, _):
            return (key,)
        case Window(_, args, partition, order):
            return (*args, *partition, *(key.expr for key in order))
        case _:
            assert_never(expr)


def expression_with(expr: Expr, parts: Iterator[Any]) -> Expr:
    """Returns the expression with other parts: as many as `expression_parts` gives, in the same order."""
    match expr:
        case ColumnRef() | Literal():
            return expr
        case Call():
            return replace(expr, args=tuple(parts))
        case Aggregate():
            return replace(expr, arg=next(parts, None), extra=tuple(parts))
        case Grouping():
            return replace(expr, key=next(parts))
        case Window(_, args, partition, order):
            return replace(
                expr,
                args=tuple(islice(parts, len(args))),
                partition=tuple(islice(parts, len(partition))),
                order=tuple(replace(key, expr=next(parts)) for key in order),
            )
        case _:
            assert_never(expr)
