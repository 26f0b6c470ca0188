"""Random typed expressions, built so that both engines agree on every bit.

No overflow, no inexact sum, no division by zero, no cast that rounds: a generated expression tracks how
many binary digits its values need and whether it may be a key, and is used only where that is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from generators.choices import Choices
from generators.domains import DECIMAL, DOMAINS, NO_ARITHMETIC
from workload.query import Call, ColumnRef, Expr, Literal
from workload.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, Kind, SqlType, Value, decimal

WIDTH: Mapping[Kind, int] = {Kind.INT: 30, Kind.BIGINT: 50, Kind.DOUBLE: 40}
"""Binary digits up to which a type calculates exactly, with room for sums."""


@dataclass(frozen=True, slots=True)
class Term:
    """An expression with what the generator must know. `key`: rows may be matched or grouped by it."""

    expr: Expr
    digits: int = NO_ARITHMETIC
    key: bool = True

    @property
    def type(self) -> SqlType:
        """The expression's type."""
        return self.expr.type


Scope = Sequence[Term]
"""The columns an expression may read."""


def of_type(scope: Scope, type_: SqlType, *, key: bool = False) -> list[Term]:
    """The columns of a type; only those fit to be keys if asked."""
    return [term for term in scope if term.type == type_ and (term.key or not key)]


def literal(choices: Choices, type_: SqlType, *, null: bool = False) -> Term:
    """A constant from the type's first domain, whose values are small."""
    domain = DOMAINS[type_.kind][0][1]
    values: Sequence[Value] = domain.values
    chosen = None if null and choices.chance(10) else choices.pick(values)
    return Term(Literal(chosen, type_), 3 if type_.kind in WIDTH else NO_ARITHMETIC)


def expression(choices: Choices, scope: Scope, type_: SqlType, depth: int) -> Term:
    """A random expression of a type; columns are likelier than constants."""
    columns = of_type(scope, type_)
    compound = None if type_.kind is Kind.DECIMAL and type_ != DECIMAL else COMPOUND.get(type_.kind)
    options: list[tuple[int, Callable[[], Term]]] = []
    if columns:
        options.append((6, lambda: choices.pick(columns)))
    if depth > 0:
        if compound is not None:
            options.append((4, lambda: compound(choices, scope, depth)))
        options.append((2, lambda: conditional(choices, scope, type_, depth)))
    options.append((1, lambda: literal(choices, type_, null=True)))
    return choices.weighted(options)()


def conditional(choices: Choices, scope: Scope, type_: SqlType, depth: int) -> Term:
    """CASE, COALESCE, NULLIF or GREATEST over expressions of one type."""
    first = expression(choices, scope, type_, depth - 1)
    second = expression(choices, scope, type_, depth - 1)
    digits, key = max(first.digits, second.digits), first.key and second.key
    match choices.integer(0, 3):
        case 0:
            when = predicate(choices, scope, depth - 1)
            return Term(Call("case", (when.expr, first.expr, second.expr), type_), digits, key and when.key)
        case 1:
            return Term(Call("coalesce", (first.expr, second.expr), type_), digits, key)
        case 2:
            return Term(Call("nullif", (first.expr, second.expr), type_), digits, key)
        case _:
            name = choices.pick(("greatest", "least"))
            return Term(Call(name, (first.expr, second.expr), type_), digits, key)


def arithmetic(type_: SqlType) -> Callable[[Choices, Scope, int], Term]:
    """+, -, *, unary minus, abs, % over one numeric type, as long as the digits suffice."""

    def build(choices: Choices, scope: Scope, depth: int) -> Term:
        first = expression(choices, scope, type_, depth - 1)
        second = expression(choices, scope, type_, depth - 1)
        key = first.key and second.key
        name = choices.weighted(((3, "add"), (2, "sub"), (1, "mul"), (1, "neg"), (1, "abs"), (1, "mod")))
        width = WIDTH[type_.kind]
        if name in ("neg", "abs"):
            return (
                first
                if first.digits > width
                else Term(Call(name, (first.expr,), type_), first.digits, first.key)
            )
        if name == "mod":
            # A positive constant divisor: no division by zero, no MIN % -1. Not on doubles.
            if type_ == DOUBLE:
                return first
            divisor = Literal(choices.pick((2, 3)), type_)
            return Term(Call("mod", (first.expr, divisor), type_), 2, first.key)
        digits = first.digits + second.digits if name == "mul" else max(first.digits, second.digits) + 1
        if digits > width:
            return first
        return Term(Call(name, (first.expr, second.expr), type_), digits, key)

    return build


def double(choices: Choices, scope: Scope, depth: int) -> Term:
    """A DOUBLE: arithmetic, or a guarded quotient, which is no multiple of a power of two any more."""
    if choices.chance(25):
        over, under = expression(choices, scope, INT, depth - 1), expression(choices, scope, INT, depth - 1)
        return Term(
            Call("div_guarded", (over.expr, under.expr), DOUBLE), NO_ARITHMETIC, over.key and under.key
        )
    return arithmetic(DOUBLE)(choices, scope, depth)


def big_integer(choices: Choices, scope: Scope, depth: int) -> Term:
    """A BIGINT: arithmetic, or a widened INT."""
    if choices.chance(30):
        narrow = expression(choices, scope, INT, depth - 1)
        return Term(Call("cast", (narrow.expr,), BIGINT), narrow.digits, narrow.key)
    return arithmetic(BIGINT)(choices, scope, depth)


def integer(choices: Choices, scope: Scope, depth: int) -> Term:
    """An INT: arithmetic, the length of a string, a part of a date, the distance of two dates."""
    match choices.weighted(((6, "arithmetic"), (1, "length"), (1, "date"), (1, "datediff"))):
        case "length":
            inner = expression(choices, scope, STRING, depth - 1)
            return Term(Call("length", (inner.expr,), INT), 10, inner.key)
        case "date":
            inner = expression(choices, scope, DATE, 0)
            return Term(Call(choices.pick(("year", "month", "day")), (inner.expr,), INT), 14, inner.key)
        case "datediff":
            late, early = expression(choices, scope, DATE, 0), expression(choices, scope, DATE, 0)
            return Term(Call("datediff", (late.expr, early.expr), INT), 22, late.key and early.key)
        case _:
            return arithmetic(INT)(choices, scope, depth)


def exact_decimal(choices: Choices, scope: Scope, depth: int) -> Term:
    """A DECIMAL of the same width: a sum would be wider, so it is cast back where it surely fits."""
    type_ = DECIMAL
    first = expression(choices, scope, type_, 0)
    second = expression(choices, scope, type_, 0)
    wide = decimal(type_.precision + 1, type_.scale)
    name = choices.pick(("add", "sub"))
    summed = Call(name, (first.expr, second.expr), wide)
    return Term(Call("cast", (summed,), type_), NO_ARITHMETIC, first.key and second.key)


def string(choices: Choices, scope: Scope, depth: int) -> Term:
    """A STRING function."""
    inner = expression(choices, scope, STRING, depth - 1)
    match choices.integer(0, 4):
        case 0:
            other = expression(choices, scope, STRING, 0)
            return Term(
                Call("concat", (inner.expr, other.expr), STRING), NO_ARITHMETIC, inner.key and other.key
            )
        case 1:
            name = choices.pick(("upper", "lower", "trim"))
            return Term(Call(name, (inner.expr,), STRING), NO_ARITHMETIC, inner.key)
        case 2:
            start = Literal(choices.pick((1, 2, -1)), INT)
            return Term(
                Call("substring", (inner.expr, start, Literal(1, INT)), STRING), NO_ARITHMETIC, inner.key
            )
        case 3:
            pair = (Literal("a", STRING), Literal(choices.pick(("b", "", "aa")), STRING))
            return Term(Call("replace", (inner.expr, *pair), STRING), NO_ARITHMETIC, inner.key)
        case _:
            number = expression(choices, scope, INT, 0)
            return Term(Call("cast", (number.expr,), STRING), NO_ARITHMETIC, number.key)


def date(choices: Choices, scope: Scope, depth: int) -> Term:
    """A DATE some days away; the domain leaves room at both ends of the calendar."""
    columns = of_type(scope, DATE)
    start = (
        choices.pick(columns)
        if columns and all(isinstance(c.expr, ColumnRef) for c in columns)
        else literal(choices, DATE)
    )
    if start.digits == 0:
        return start
    return Term(Call("date_add", (start.expr, Literal(choices.integer(-1, 3), INT)), DATE), 0, start.key)


def boolean(choices: Choices, scope: Scope, depth: int) -> Term:
    """A BOOLEAN value."""
    return predicate(choices, scope, depth)


COMPOUND: Mapping[Kind, Callable[[Choices, Scope, int], Term]] = {
    Kind.INT: integer,
    Kind.BIGINT: big_integer,
    Kind.DOUBLE: double,
    Kind.DECIMAL: exact_decimal,
    Kind.STRING: string,
    Kind.DATE: date,
    Kind.BOOLEAN: boolean,
}

COMPARISONS: Sequence[tuple[int, str]] = (
    (4, "eq"),
    (2, "lt"),
    (2, "le"),
    (2, "gt"),
    (1, "ge"),
    (1, "ne"),
    (1, "same"),
    (1, "differs"),
)


def predicate(choices: Choices, scope: Scope, depth: int) -> Term:
    """A random condition."""
    kinds = [(5, "compare"), (1, "null"), (1, "in"), (1, "between")]
    if depth > 0:
        kinds += [(2, "connective"), (1, "not")]
    if of_type(scope, STRING):
        kinds.append((1, "like"))
    if of_type(scope, BOOLEAN):
        kinds.append((1, "boolean"))
    return PREDICATES[choices.weighted(kinds)](choices, scope, depth)


def _operand(choices: Choices, scope: Scope, depth: int) -> Term:
    if scope and choices.chance(70):
        return choices.pick(scope)
    return expression(choices, scope, choices.pick(scope).type if scope else INT, max(0, depth - 1))


def _compare(choices: Choices, scope: Scope, depth: int) -> Term:
    left = _operand(choices, scope, depth)
    right = (
        literal(choices, left.type)
        if choices.chance(50)
        else expression(choices, scope, left.type, max(0, depth - 1))
    )
    return Term(
        Call(choices.weighted(COMPARISONS), (left.expr, right.expr), BOOLEAN), key=left.key and right.key
    )


def _null(choices: Choices, scope: Scope, depth: int) -> Term:
    operand = _operand(choices, scope, depth)
    return Term(Call(choices.pick(("is_null", "is_not_null")), (operand.expr,), BOOLEAN), key=operand.key)


def _in(choices: Choices, scope: Scope, depth: int) -> Term:
    operand = _operand(choices, scope, depth)
    values = tuple(literal(choices, operand.type, null=True).expr for _ in range(choices.integer(1, 3)))
    return Term(Call("in", (operand.expr, *values), BOOLEAN), key=operand.key)


def _between(choices: Choices, scope: Scope, depth: int) -> Term:
    operand = _operand(choices, scope, depth)
    low, high = literal(choices, operand.type), literal(choices, operand.type)
    return Term(Call("between", (operand.expr, low.expr, high.expr), BOOLEAN), key=operand.key)


def _connective(choices: Choices, scope: Scope, depth: int) -> Term:
    left, right = predicate(choices, scope, depth - 1), predicate(choices, scope, depth - 1)
    return Term(
        Call(choices.pick(("and", "or")), (left.expr, right.expr), BOOLEAN), key=left.key and right.key
    )


def _not(choices: Choices, scope: Scope, depth: int) -> Term:
    inner = predicate(choices, scope, depth - 1)
    return Term(Call("not", (inner.expr,), BOOLEAN), key=inner.key)


def _like(choices: Choices, scope: Scope, depth: int) -> Term:
    operand = choices.pick(of_type(scope, STRING))
    pattern = Literal(choices.pick(("a%", "%b", "_", "%", "$%%")), STRING)
    return Term(Call("like", (operand.expr, pattern), BOOLEAN), key=operand.key)


def _boolean(choices: Choices, scope: Scope, depth: int) -> Term:
    operand = choices.pick(of_type(scope, BOOLEAN))
    if choices.chance(50):
        return operand
    return Term(Call(choices.pick(("is_true", "is_false")), (operand.expr,), BOOLEAN), key=operand.key)


PREDICATES: Mapping[str, Callable[[Choices, Scope, int], Term]] = {
    "compare": _compare,
    "null": _null,
    "in": _in,
    "between": _between,
    "connective": _connective,
    "not": _not,
    "like": _like,
    "boolean": _boolean,
}
