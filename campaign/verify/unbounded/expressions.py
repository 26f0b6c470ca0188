"""The values of a plan's expressions in one symbolic row, with SQL's three truths: true, false, NULL."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence

from campaign.verify.unbounded import clock
from campaign.verify.unbounded.bags import Alike, Bag, atoms
from campaign.verify.unbounded.cells import (
    NULL,
    Cell,
    Choice,
    Frame,
    NotExpressibleError,
    Text,
    merged,
    of,
    same_cells,
)
from campaign.verify.unbounded.keys import key_of
from campaign.verify.unbounded.terms import Truth, both, either, equal, if_, negated, quotient, scaled
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit, Win
from dynamic_tables.plan.functions import CASE, CAST, FRAME, IN, SHIFTED
from dynamic_tables.plan.types import Kind


def evaluate(expr: Expr, bag: Bag, entry: Alike) -> Cell:
    """Returns the value of an expression in the rows of an entry. Raises NotExpressibleError."""
    match expr:
        case Col(name, _):
            return entry.cells[bag.at(name)]
        case Lit():
            return _constant(expr)
        case Fn(name, (), _) if name in clock.ENDS:
            return Cell(False, clock.time_at(clock.ENDS[name]))
        case Fn(name, args, type_):
            cells = [evaluate(arg, bag, entry) for arg in args]
            if name == FRAME:
                return Cell(False, Text((Frame(args[0].type.kind.value, cells[0]),)))
            if name == CAST:
                return cast(cells[0], args[0].type.kind, type_.kind)
            if name in ("=", "<>", "is distinct from", "is not distinct from"):
                return compared(name, cells[0], cells[1], entry)
            if name == SHIFTED:
                return shifted(cells[0], args, type_.kind)
            function = FUNCTIONS.get(name)
            if function is None:
                raise NotExpressibleError(f"the function {name}, which computes with values")
            return function(cells)
        case Agg() | Win():
            raise NotExpressibleError("an aggregate inside of an expression")


def _constant(constant: Lit) -> Cell:
    value = constant.value
    if isinstance(value, dt.date):
        return of(clock.of_value(value))
    if value is not None and not isinstance(value, bool | int | str):
        raise NotExpressibleError(f"a constant of type {constant.type}")
    return of(value)


def holds(expr: Expr, bag: Bag, entry: Alike) -> Truth:
    """Returns whether a condition is true: neither false nor NULL."""
    return is_true(evaluate(expr, bag, entry))


def is_true(cell: Cell) -> Truth:
    """Returns whether a BOOLEAN is true."""
    return False if cell.null is True else both(negated(cell.null), cell.value)


def compared(name: str, left: Cell, right: Cell, entry: Alike) -> Cell:
    """Returns the result of an equality, or of its negation, by its `name` in SQL, for cells of an entry."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one.value, Choice) and one.null is not True:
            found = [(guard, compared(name, option, other, entry)) for guard, option in one.value.options]
            result = found[-1][1]
            for guard, cell in reversed(found[:-1]):
                result = merged(guard, cell, result)
            return result
    (form, cells), (other_form, other_cells) = key_of(entry, (left,)), key_of(entry, (right,))
    if form == other_form:
        if [*atoms(left)] != [*atoms(right)]:
            raise NotExpressibleError("ids of two rows are compared inside of a condition")
        # Inside of texts and arrays NULL equals NULL; scalar values are compared by their own truth below.
        plain = form == ("value",)
        values = (
            equal(left.value, right.value)
            if plain and left.null is not True and right.null is not True
            else (True if plain else same_cells(cells, other_cells))
        )
    else:
        values = False
    some = both(negated(left.null), negated(right.null))
    if name in ("is not distinct from", "is distinct from"):
        nulls = both(left.null, right.null)
        result = either((nulls, both(some, values)))
        return Cell(False, negated(result) if name == "is distinct from" else result)
    return Cell(negated(some), negated(values) if name == "<>" else values)


def cast(cell: Cell, source: Kind, target: Kind) -> Cell:
    """Returns a value cast from one type to another; numbers are exact, so a cast changes none."""
    numbers = (Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.DECIMAL)
    if source in numbers and (target in numbers or target is Kind.DOUBLE):
        return cell
    if source is target or {source, target} == {Kind.DOUBLE, Kind.STRING}:
        # A double and its text are one thing here: each is only compared with others of its kind.
        return cell
    if source in TIMES and target in TIMES:
        return cell
    if source is Kind.DATE and target in TIMES:
        return Cell(cell.null, scaled(cell.value, clock.DAY))
    if source in TIMES and target is Kind.DATE:
        return Cell(cell.null, clock.day_of(cell.value))
    if source is Kind.BOOLEAN and target in numbers:
        return cell if cell.null is True else Cell(cell.null, if_(cell.value, 1, 0))
    if cell.null is True:
        return NULL
    raise NotExpressibleError(f"a cast from {source.value} to {target.value}")


TIMES = (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ)


def shifted(time: Cell, args: Sequence[Expr], kind: Kind) -> Cell:
    """Returns a time moved by an interval: a sign, a number and a unit, which are all constants."""
    sign, count, unit = (str(arg.value) for arg in args[1:] if isinstance(arg, Lit))
    by = int(count) * int(f"{sign}1")
    return Cell(time.null, time.value + (by if kind is Kind.DATE else by * clock.UNITS[unit]))


def ordered(sign: Callable[[object, object], Truth]) -> Callable[[Sequence[Cell]], Cell]:
    """Returns the function of a comparison by order."""

    def function(cells: Sequence[Cell]) -> Cell:
        left, right = cells
        if left.null is True or right.null is True:
            return NULL
        if isinstance(left.value, Text | Choice | tuple) or isinstance(right.value, Text | Choice | tuple):
            raise NotExpressibleError("texts or arrays compared by their order")
        return Cell(either((left.null, right.null)), sign(left.value, right.value))

    return function


def arithmetic(operation: Callable[..., object]) -> Callable[[Sequence[Cell]], Cell]:
    """Returns the function of an operation on numbers: NULL if one is NULL."""

    def function(cells: Sequence[Cell]) -> Cell:
        if any(cell.null is True for cell in cells):
            return NULL
        return Cell(either(cell.null for cell in cells), operation(*(cell.value for cell in cells)))

    return function


def _and(cells: Sequence[Cell]) -> Cell:
    """Returns FALSE if any cell is false, else NULL if any is NULL, else TRUE."""
    false = either(both(negated(c.null), negated(c.value)) for c in cells if c.null is not True)
    nulls = either(c.null for c in cells)
    return Cell(both(nulls, negated(false)), negated(false))


def _not(cells: Sequence[Cell]) -> Cell:
    return NULL if cells[0].null is True else Cell(cells[0].null, negated(cells[0].value))


def _or(cells: Sequence[Cell]) -> Cell:
    return _not([_and([_not([cell]) for cell in cells])])


def _case(cells: Sequence[Cell]) -> Cell:
    result = cells[-1]
    for number in range(len(cells) - 3, -1, -2):
        result = merged(is_true(cells[number]), cells[number + 1], result)
    return result


def _coalesce(cells: Sequence[Cell]) -> Cell:
    result = cells[-1]
    for cell in reversed(cells[:-1]):
        result = merged(negated(cell.null), cell, result)
    return result


def _in(cells: Sequence[Cell]) -> Cell:
    if any(isinstance(cell.value, Text) for cell in cells):
        raise NotExpressibleError("IN over texts")
    return _or([ordered(equal)([cells[0], cell]) for cell in cells[1:]])


def _concat(cells: Sequence[Cell]) -> Cell:
    left, right = cells
    for one in cells:
        if one.null is not False:
            if one.null is True:
                return NULL
            raise NotExpressibleError("a text that is NULL for some numbers of rows")
        if isinstance(one.value, Choice):
            break
    if isinstance(left.value, Choice):
        return Cell(False, Choice(tuple((g, _concat((o, right))) for g, o in left.value.options)))
    if isinstance(right.value, Choice):
        return Cell(False, Choice(tuple((g, _concat((left, o))) for g, o in right.value.options)))
    return Cell(False, left.value.joined(right.value))


def _best(cells: Sequence[Cell], better: Callable[[object, object], Truth]) -> Cell:
    """Returns the least or the greatest cell, without NULLs; NULL if all are."""
    result = cells[0]
    for cell in cells[1:]:
        wins = is_true(ordered(better)([cell, result]))
        result = merged(either((result.null, both(negated(cell.null), wins))), cell, result)
    return result


def _nullif(cells: Sequence[Cell]) -> Cell:
    return merged(is_true(ordered(equal)(cells)), NULL, cells[0])


def _between(cells: Sequence[Cell]) -> Cell:
    value, low, high = cells
    at_least, at_most = FUNCTIONS[">="], FUNCTIONS["<="]
    return _and([at_least([value, low]), at_most([value, high])])


FUNCTIONS: Mapping[str, Callable[[Sequence[Cell]], Cell]] = {
    "and": _and,
    "or": _or,
    "not": _not,
    "is null": lambda cells: Cell(False, cells[0].null),
    "is true": lambda cells: Cell(False, is_true(cells[0])),
    "is false": lambda cells: Cell(False, is_true(_not(cells))),
    "<": ordered(lambda a, b: a < b),  # type: ignore[operator]
    "<=": ordered(lambda a, b: a <= b),  # type: ignore[operator]
    ">": ordered(lambda a, b: a > b),  # type: ignore[operator]
    ">=": ordered(lambda a, b: a >= b),  # type: ignore[operator]
    "between": _between,
    "+": arithmetic(lambda a, b: a + b),
    "-": arithmetic(lambda a, b: a - b),
    "*": arithmetic(lambda a, b: a * b),
    "/": arithmetic(quotient),
    "date_add": arithmetic(lambda a, b: a + b),
    "negate": arithmetic(lambda a: -a),
    "abs": arithmetic(lambda a: if_(a >= 0, a, -a)),
    "coalesce": _coalesce,
    "nullif": _nullif,
    "least": lambda cells: _best(cells, lambda a, b: a < b),  # type: ignore[operator]
    "greatest": lambda cells: _best(cells, lambda a, b: a > b),  # type: ignore[operator]
    "concat": _concat,
    "array": lambda cells: Cell(False, tuple(cells)),
    CASE: _case,
    IN: _in,
}
"""The functions of plans that have a meaning for symbolic rows. See `terms.quotient`."""
