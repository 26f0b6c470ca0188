"""Scalar expressions of a plan. Every one carries its Spark type."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from dynamic_tables.plan.types import STRING, Type

Scalar = None | bool | int | float | Decimal | str | dt.date | dt.datetime


@dataclass(frozen=True, slots=True)
class Col:
    """A column of the node below, by its name, which is unique in the whole plan."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True, eq=False)
class Lit:
    """A constant. Two are equal if they are written alike: NaN is NaN, and 0.0 is not -0.0.

    A select item is a group key, and a plan another one, by equality of expressions; with Python's own
    equality of floats one NaN would not be the other, and `greatest(0.0, x)` would be `greatest(-0.0, x)`.
    """

    value: Scalar
    type: Type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lit) and self._written == other._written

    def __hash__(self) -> int:
        return hash(self._written)

    @property
    def _written(self) -> tuple[object, Type]:
        return (repr(self.value) if isinstance(self.value, float) else self.value, self.type)


@dataclass(frozen=True, slots=True)
class Fn:
    """A function of `plan.functions`, by its name there."""

    name: str
    args: tuple[Expr, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class Agg:
    """An aggregate; `arg` None is COUNT(*). Stands only in an Aggregate node."""

    name: str
    arg: Expr | None
    distinct: bool
    type: Type


Expr = Col | Lit | Fn | Agg


def text(value: str) -> Lit:
    """A string constant."""
    return Lit(value, STRING)


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and everything inside it."""
    yield expr
    match expr:
        case Fn(_, args, _):
            for arg in args:
                yield from walk(arg)
        case Agg(_, arg, _, _) if arg is not None:
            yield from walk(arg)
        case _:
            pass


def replace_columns(expr: Expr, replacement: Callable[[Col], Expr]) -> Expr:
    """The expression with every column replaced."""
    match expr:
        case Col():
            return replacement(expr)
        case Fn(name, args, type_):
            return Fn(name, tuple(replace_columns(arg, replacement) for arg in args), type_)
        case Agg(name, arg, distinct, type_):
            return Agg(name, None if arg is None else replace_columns(arg, replacement), distinct, type_)
        case Lit():
            return expr
