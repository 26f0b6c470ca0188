"""Random typed expressions, built so that all engines agree on every bit of the result.

No overflow, no inexact sum, no division by zero, no cast that rounds: a term records how many binary digits
its values need and whether rows may be grouped by it, and is used only where that is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from generators.choices import Choices
from generators.domains import DECIMAL, DOMAINS, NO_ARITHMETIC
from workload.coercion import common_type
from workload.query import Call, ColumnRef, Expr, Literal
from workload.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    ESTIMATE,
    FLOAT,
    INT,
    NESTED,
    SMALLINT,
    STRING,
    TINYINT,
    Kind,
    SqlType,
    Value,
    decimal,
)

WIDTH: Mapping[Kind, int] = {
    Kind.TINYINT: 6,
    Kind.SMALLINT: 14,
    Kind.INT: 30,
    Kind.BIGINT: 50,
    Kind.FLOAT: 20,
    Kind.DOUBLE: 40,
}
"""Binary digits up to which a type calculates exactly, with room for sums.

Doubles are dyadic (multiples of a power of two), so that up to here their sums are exact in any order.
"""


@dataclass(frozen=True, slots=True)
class Term:
    """An expression with what the generator must know to use it.

    `digits`: the binary digits that its values need, `NO_ARITHMETIC` if nothing may be calculated from it.
    `key`: whether rows may be matched, grouped or compared for DISTINCT by it. A sum of floats is no key: its
    last bits depend on the order of the rows.
    """

    expr: Expr
    digits: int = NO_ARITHMETIC
    key: bool = True

    @property
    def type(self) -> SqlType:
        """The SQL type of the expression."""
        return self.expr.type


Scope = Sequence[Term]
"""The columns that an expression may read."""


def of_type(scope: Scope, type_: SqlType) -> list[Term]:
    """Returns the columns of the scope that have exactly the given type."""
    return [term for term in scope if term.type == type_]


def matchable(scope: Scope) -> list[Term]:
    """Returns the columns of the scope by which rows may be matched and grouped: see `Term.key`."""
    return [term for term in scope if term.key]


def comparable(scope: Scope) -> list[Term]:
    """Returns the columns of the scope that can be compared: not those of nested types, and no estimates."""
    return [term for term in scope if term.type.kind not in NESTED and term.type != ESTIMATE]


def call(function: str, type_: SqlType, *args: Term, digits: int = NO_ARITHMETIC) -> Term:
    """Returns the call of a function; it may serve as a key if all its arguments may."""
    return Term(Call(function, tuple(arg.expr for arg in args), type_), digits, all(arg.key for arg in args))


def constant(value: Value, type_: SqlType) -> Term:
    """Returns a given value as a literal of the type."""
    return Term(Literal(value, type_))


def met(left: Term, right: Term) -> tuple[Term, Term] | None:
    """Returns two terms of different types, cast to their common type; None where they have none."""
    type_ = common_type(left.type, right.type)
    if type_ is None:
        return None
    first, second = (term if term.type == type_ else call("cast", type_, term) for term in (left, right))
    return first, second


def literal(choices: Choices, type_: SqlType, *, null: bool = False) -> Term:
    """Returns a random constant of the type's first domain, with small values; NULL only if `null` is set."""
    values = DOMAINS[type_.kind][0][1].values
    value = None if null and choices.chance(10) else choices.pick(values)
    return Term(Literal(value, type_), 3 if type_.kind in WIDTH else NO_ARITHMETIC)


def expression(choices: Choices, scope: Scope, type_: SqlType, depth: int) -> Term:
    """Returns a random expression of a type, at most `depth` deep; columns are likelier than constants."""
    columns = of_type(scope, type_)
    if type_ == ESTIMATE:
        return choices.pick(columns) if columns else literal(choices, type_)
    if type_.kind in NESTED:
        return nested(choices, scope, columns, depth)
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


def nested(choices: Choices, scope: Scope, columns: Sequence[Term], depth: int) -> Term:
    """Returns one of the columns of a nested type, or CASE or COALESCE over two of them."""
    first, second = choices.pick(columns), choices.pick(columns)
    if depth == 0 or choices.chance(60):
        return first
    if choices.chance(50):
        return call("coalesce", first.type, first, second)
    return call("case", first.type, predicate(choices, scope, depth - 1), first, second)


def conditional(choices: Choices, scope: Scope, type_: SqlType, depth: int) -> Term:
    """Returns CASE, COALESCE, NULLIF, GREATEST or LEAST over expressions of one type."""
    first = expression(choices, scope, type_, depth - 1)
    second = expression(choices, scope, type_, depth - 1)
    narrower = [term for term in scope if term.type != type_ and common_type(term.type, type_) == type_]
    if narrower and choices.chance(25):
        second = call("cast", type_, choices.pick(narrower))
    digits = max(first.digits, second.digits)
    match choices.integer(0, 3):
        case 0 if comparable(scope) and choices.chance(30):
            return selected(choices, scope, first, second)
        case 0:
            return call("case", type_, predicate(choices, scope, depth - 1), first, second, digits=digits)
        case 1:
            return call("coalesce", type_, first, second, digits=digits)
        case 2:
            return call("nullif", type_, first, second, digits=digits)
        case _:
            return call(choices.pick(("greatest", "least")), type_, first, second, digits=digits)


def selected(choices: Choices, scope: Scope, first: Term, second: Term) -> Term:
    """Returns one of two values, or a constant, by what one column holds: CASE with an operand, or DECODE."""
    tested, compare = choices.pick(comparable(scope)), choices.pick(("eq", "same"))
    otherwise = literal(choices, first.type, null=True)
    branches: list[Term] = []
    for value in (first, second)[: choices.integer(1, 2)]:
        branches += [call(compare, BOOLEAN, tested, literal(choices, tested.type, null=True)), value]
    return call("case", first.type, *branches, otherwise, digits=max(3, first.digits, second.digits))


def arithmetic(choices: Choices, scope: Scope, type_: SqlType, depth: int) -> Term:
    """Returns +, -, *, unary minus, abs or % over one numeric type, as long as the digits suffice."""
    first = expression(choices, scope, type_, depth - 1)
    second = expression(choices, scope, type_, depth - 1)
    name = choices.weighted(((3, "add"), (2, "sub"), (1, "mul"), (1, "neg"), (1, "abs"), (1, "mod")))
    match name:
        case "mod" if type_ in (FLOAT, DOUBLE):
            return first
        case "mod":
            # A positive constant divisor: no division by zero, no MIN % -1.
            return call("mod", type_, first, constant(choices.pick((2, 3)), type_), digits=2)
        case "neg" | "abs":
            result = call(name, type_, first, digits=first.digits)
        case "mul":
            result = call(name, type_, first, second, digits=first.digits + second.digits)
        case _:
            result = call(name, type_, first, second, digits=max(first.digits, second.digits) + 1)
    return first if result.digits > WIDTH[type_.kind] else result


def double(choices: Choices, scope: Scope, depth: int) -> Term:
    """Returns a DOUBLE: arithmetic, or a guarded quotient."""
    if choices.chance(25):
        over, under = expression(choices, scope, INT, depth - 1), expression(choices, scope, INT, depth - 1)
        # A quotient is no multiple of a power of two any more: a sum of quotients depends on their order.
        return call("div_guarded", DOUBLE, over, under)
    return arithmetic(choices, scope, DOUBLE, depth)


def big_integer(choices: Choices, scope: Scope, depth: int) -> Term:
    """Returns a BIGINT: arithmetic, or a widened INT."""
    if choices.chance(30):
        narrow = expression(choices, scope, INT, depth - 1)
        return call("cast", BIGINT, narrow, digits=narrow.digits)
    return arithmetic(choices, scope, BIGINT, depth)


def small_integer(choices: Choices, scope: Scope, depth: int) -> Term:
    """Returns a SMALLINT: arithmetic, or a widened TINYINT."""
    if choices.chance(30):
        narrow = expression(choices, scope, TINYINT, depth - 1)
        return call("cast", SMALLINT, narrow, digits=narrow.digits)
    return arithmetic(choices, scope, SMALLINT, depth)


def integer(choices: Choices, scope: Scope, depth: int) -> Term:
    """Returns an INT: arithmetic, the length of a string, a part of a date, or the days between two dates."""
    match choices.weighted(((6, "arithmetic"), (1, "length"), (1, "date"), (1, "datediff"))):
        case "length":
            return call("length", INT, expression(choices, scope, STRING, depth - 1), digits=10)
        case "date":
            inner = expression(choices, scope, DATE, 0)
            return call(choices.pick(("year", "month", "day")), INT, inner, digits=14)
        case "datediff":
            late, early = expression(choices, scope, DATE, 0), expression(choices, scope, DATE, 0)
            return call("datediff", INT, late, early, digits=22)
        case _:
            return arithmetic(choices, scope, INT, depth)


def exact_decimal(choices: Choices, scope: Scope, depth: int) -> Term:
    """Returns a DECIMAL: a sum or difference, of the width of the domain."""
    scope = [term for term in scope if term.type != DECIMAL or term.digits != NO_ARITHMETIC]
    first = expression(choices, scope, DECIMAL, 0)
    second = expression(choices, scope, DECIMAL, 0)
    # SQL makes a sum one digit wider; the values are small enough for the cast back to be exact.
    wide = decimal(DECIMAL.precision + 1, DECIMAL.scale)
    return call("cast", DECIMAL, call(choices.pick(("add", "sub")), wide, first, second), digits=1)


def string(choices: Choices, scope: Scope, depth: int) -> Term:
    """Returns a STRING: concatenation, case change, substring, replacement, or a number as text."""
    inner = expression(choices, scope, STRING, depth - 1)
    match choices.integer(0, 4):
        case 0:
            return call("concat", STRING, inner, expression(choices, scope, STRING, 0))
        case 1:
            return call(choices.pick(("upper", "lower", "trim")), STRING, inner)
        case 2:
            # Never from position 0, where the engines differ.
            start = constant(choices.pick((1, 2, -1)), INT)
            return call("substring", STRING, inner, start, constant(1, INT))
        case 3:
            new = constant(choices.pick(("b", "", "aa")), STRING)
            return call("replace", STRING, inner, constant("a", STRING), new)
        case _:
            return call("cast", STRING, expression(choices, scope, INT, 0))


def date(choices: Choices, scope: Scope, depth: int) -> Term:
    """Returns a DATE some days from a column or constant; domains leave room at the calendar's ends."""
    columns = of_type(scope, DATE)
    # Only from plain columns, and not from a column that was moved already (0 digits): moved again and
    # again, a date could leave the calendar.
    if columns and all(isinstance(column.expr, ColumnRef) for column in columns):
        start = choices.pick(columns)
    else:
        start = literal(choices, DATE)
    if start.digits == 0:
        return start
    return call("date_add", DATE, start, constant(choices.integer(-1, 3), INT), digits=0)


TRUE = call("is_not_null", BOOLEAN, constant(1, INT)).expr
"""A condition that is always true."""

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
    """Returns a random condition over the scope, nested at most `depth` deep."""
    kinds = [(5, "compare"), (1, "null"), (1, "in"), (1, "between")]
    if depth > 0:
        kinds += [(2, "connective"), (1, "not"), (1, "chain")]
    if of_type(scope, STRING):
        kinds.append((1, "like"))
    if of_type(scope, BOOLEAN):
        kinds.append((1, "boolean"))
    return PREDICATES[choices.weighted(kinds)](choices, scope, depth)


def _operand(choices: Choices, scope: Scope, depth: int) -> Term:
    """Returns one side of a comparison: mostly a column, else an expression."""
    simple = comparable(scope)
    if simple and choices.chance(70):
        return choices.pick(simple)
    return expression(choices, simple, choices.pick(simple).type if simple else INT, max(0, depth - 1))


def _compare(choices: Choices, scope: Scope, depth: int) -> Term:
    left = _operand(choices, scope, depth)
    if choices.chance(25) and comparable(scope):
        mixed = met(left, choices.pick(comparable(scope)))
        if mixed is not None:
            return call(choices.weighted(COMPARISONS), BOOLEAN, *mixed)
    if choices.chance(50):
        right = literal(choices, left.type)
    else:
        right = expression(choices, scope, left.type, max(0, depth - 1))
    return call(choices.weighted(COMPARISONS), BOOLEAN, left, right)


def _null(choices: Choices, scope: Scope, depth: int) -> Term:
    operand = choices.pick(scope) if scope and choices.chance(30) else _operand(choices, scope, depth)
    return call(choices.pick(("is_null", "is_not_null")), BOOLEAN, operand)


def _in(choices: Choices, scope: Scope, depth: int) -> Term:
    operand = _operand(choices, scope, depth)
    values = [literal(choices, operand.type, null=True) for _ in range(choices.integer(1, 3))]
    return call("in", BOOLEAN, operand, *values)


def _between(choices: Choices, scope: Scope, depth: int) -> Term:
    operand = _operand(choices, scope, depth)
    return call("between", BOOLEAN, operand, literal(choices, operand.type), literal(choices, operand.type))


def _connective(choices: Choices, scope: Scope, depth: int) -> Term:
    left, right = predicate(choices, scope, depth - 1), predicate(choices, scope, depth - 1)
    return call(choices.pick(("and", "or")), BOOLEAN, left, right)


def _not(choices: Choices, scope: Scope, depth: int) -> Term:
    return call("not", BOOLEAN, predicate(choices, scope, depth - 1))


def _chain(choices: Choices, scope: Scope, depth: int) -> Term:
    """Returns a condition over conditions: `(a < b) = c`, `(a = b) IS NULL`, `(a = b) BETWEEN c AND d`."""
    first = predicate(choices, scope, depth - 1)
    match choices.integer(0, 4):
        case 0:
            return call(choices.pick(("is_null", "is_not_null", "is_true", "is_false")), BOOLEAN, first)
        case 1:
            return call("in", BOOLEAN, first, literal(choices, BOOLEAN, null=True), literal(choices, BOOLEAN))
        case 2:
            bounds = (predicate(choices, scope, 0) for _ in range(2))
            return call("between", BOOLEAN, first, *bounds)
        case _:
            second = predicate(choices, scope, depth - 1)
            return call(choices.weighted(COMPARISONS), BOOLEAN, first, second)


PATTERNS = ("a", "^a", "^b+", "a|b", "^(a|b)[ab]", "[^a]", "b*", "^[0-9]+-*")
"""Regular expressions that Java, RE2 and PostgreSQL read alike."""


def _like(choices: Choices, scope: Scope, depth: int) -> Term:
    operand = choices.pick(of_type(scope, STRING))
    if choices.chance(30):
        return call("rlike", BOOLEAN, operand, constant(choices.pick(PATTERNS), STRING))
    # `$` is the escape character of every LIKE text: `$%%` is what starts with a percent sign.
    return call("like", BOOLEAN, operand, constant(choices.pick(("a%", "%b", "_", "%", "$%%")), STRING))


def _boolean(choices: Choices, scope: Scope, depth: int) -> Term:
    operand = choices.pick(of_type(scope, BOOLEAN))
    if choices.chance(50):
        return operand
    return call(choices.pick(("is_true", "is_false")), BOOLEAN, operand)


PREDICATES: Mapping[str, Callable[[Choices, Scope, int], Term]] = {
    "compare": _compare,
    "null": _null,
    "in": _in,
    "between": _between,
    "connective": _connective,
    "not": _not,
    "chain": _chain,
    "like": _like,
    "boolean": _boolean,
}
"""The function that draws each kind of condition."""

COMPOUND: Mapping[Kind, Callable[[Choices, Scope, int], Term]] = {
    Kind.TINYINT: lambda choices, scope, depth: arithmetic(choices, scope, TINYINT, depth),
    Kind.SMALLINT: small_integer,
    Kind.INT: integer,
    Kind.BIGINT: big_integer,
    Kind.FLOAT: lambda choices, scope, depth: arithmetic(choices, scope, FLOAT, depth),
    Kind.DOUBLE: double,
    Kind.DECIMAL: exact_decimal,
    Kind.STRING: string,
    Kind.DATE: date,
    Kind.BOOLEAN: predicate,
}
"""The function that builds an expression of a kind from smaller ones; others are columns or constants."""
