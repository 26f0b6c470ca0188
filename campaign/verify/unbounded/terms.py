"""Formulas over variables that are whole numbers of at least 0: mostly the numbers of rows of each kind.

A term is made by the functions below, which simplify at once: plain ints and bools stay plain, n + n becomes
2 * n, and a condition is one term in whatever way it was written. Equal terms are one object, so `is`
compares them. Most of a proof is decided by that; `solve` gives the rest to z3.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Truth = Any
"""A bool, or a term that is true or false."""

Number = Any
"""An int, or a term that is a number."""


class Term:
    """A formula: an operation `op` on `args`. `number`: its own; `least`: 0 if it is never below 0."""

    __slots__ = ("args", "least", "number", "op")

    def __init__(self, op: str, args: tuple[Any, ...], number: int, least: int | None) -> None:
        self.op, self.args, self.number, self.least = op, args, number, least

    def __add__(self, other: Number) -> Number:
        return total((self, other))

    __radd__ = __add__

    def __sub__(self, other: Number) -> Number:
        return total((self, scaled(other, -1)))

    def __rsub__(self, other: Number) -> Number:
        return total((other, scaled(self, -1)))

    def __neg__(self) -> Number:
        return scaled(self, -1)

    def __mul__(self, other: Number) -> Number:
        return product(self, other)

    __rmul__ = __mul__

    def __le__(self, other: Number) -> Truth:
        return _at_least_0(other - self)

    def __lt__(self, other: Number) -> Truth:
        return _at_least_0(other - self - 1)

    def __ge__(self, other: Number) -> Truth:
        return _at_least_0(self - other)

    def __gt__(self, other: Number) -> Truth:
        return _at_least_0(self - other - 1)


_TERMS: dict[tuple[Any, ...], Term] = {}


def forget() -> None:
    """Drops every term, so that the next proof starts with none."""
    _TERMS.clear()


def _term(op: str, *args: Any, least: int | None = None) -> Term:
    key = (op, *args)
    found = _TERMS.get(key)
    if found is None:
        found = _TERMS[key] = Term(op, args, len(_TERMS), least)
    return found


def variable(name: str) -> Number:
    """Returns the variable of a name: a whole number of at least 0 of which nothing else is known."""
    return _term("variable", name, least=0)


def quotient(left: Number, right: Number) -> Number:
    """Returns a quotient, of which nothing is known but that equal numbers have equal quotients."""
    return _term("quotient", left, right)


def known(value: Any) -> bool:
    """Returns whether a value is a plain one of Python, and no term."""
    return not isinstance(value, Term)


def both(*conditions: Truth) -> Truth:
    """Returns the conjunction of some conditions."""
    return _joined("and", conditions, False)


def either(conditions: Iterable[Truth]) -> Truth:
    """Returns the disjunction of some conditions."""
    return _joined("or", conditions, True)


def _joined(op: str, conditions: Iterable[Truth], decides: bool) -> Truth:
    """Returns a conjunction or disjunction; `decides`: the truth that decides it, if one condition has it."""
    parts: dict[int, Term] = {}
    for condition in conditions:
        if condition is decides:
            return decides
        if isinstance(condition, Term):
            for part in condition.args if condition.op == op else (condition,):
                parts[part.number] = part
    if not parts:
        return not decides
    if len(parts) == 1:
        return next(iter(parts.values()))
    if any(negated(part).number in parts for part in parts.values()):
        return decides
    return _term(op, *(parts[number] for number in sorted(parts)))


def negated(condition: Truth) -> Truth:
    """Returns the negation of a condition."""
    if isinstance(condition, bool):
        return not condition
    if condition.op == "not":
        return condition.args[0]
    if condition.op == "at least 0":
        return _at_least_0(-1 - condition.args[0])
    return _term("not", condition)


def if_(condition: Truth, then: Any, other: Any) -> Any:
    """Returns `then` where the condition holds, else `other`: both numbers, or both truths."""
    if isinstance(condition, bool):
        return then if condition else other
    if then is other or (known(then) and known(other) and then == other):
        return then
    if _is_truth(then) or _is_truth(other):
        return either((both(condition, then), both(negated(condition), other)))
    if condition.op == "not":
        return if_(condition.args[0], other, then)
    if isinstance(then, Term) and then.op == "if" and then.args[0] is condition:
        then = then.args[1]
    if isinstance(other, Term) and other.op == "if" and other.args[0] is condition:
        other = other.args[2]
    least = 0 if _never_below_0(then) and _never_below_0(other) else None
    return _term("if", condition, then, other, least=least)


TRUTHS = frozenset({"and", "or", "not", "at least 0", "is 0"})
"""The operations whose terms are true or false."""


def _is_truth(value: Any) -> bool:
    return value.op in TRUTHS if isinstance(value, Term) else isinstance(value, bool)


def _never_below_0(value: Number) -> bool:
    return value.least == 0 if isinstance(value, Term) else value >= 0


def total(numbers: Iterable[Number]) -> Number:
    """Returns the sum of some numbers."""
    plain = 0
    parts: dict[int, tuple[Term, int]] = {}
    for number in numbers:
        if not isinstance(number, Term):
            plain += number
            continue
        more, terms = _linear(number)
        plain += more
        for term, times in terms:
            so_far = parts.get(term.number)
            parts[term.number] = (term, times if so_far is None else so_far[1] + times)
    return _sum(plain, tuple(parts[number] for number in sorted(parts) if parts[number][1]))


Linear = tuple[int, tuple[tuple[Term, int], ...]]
"""A sum as a plain number, and terms with how often each is added."""


def _linear(number: Term) -> Linear:
    if number.op == "sum":
        plain, terms = number.args
        return plain, terms
    return 0, ((number, 1),)


def _sum(plain: int, terms: tuple[tuple[Term, int], ...]) -> Number:
    if not terms:
        return plain
    if plain == 0 and len(terms) == 1 and terms[0][1] == 1:
        return terms[0][0]
    never = plain >= 0 and all(times > 0 and term.least == 0 for term, times in terms)
    return _term("sum", plain, terms, least=0 if never else None)


def scaled(number: Number, by: int) -> Number:
    """Returns a number times a plain one."""
    if not isinstance(number, Term):
        return number * by
    plain, terms = _linear(number)
    return _sum(plain * by, tuple((term, times * by) for term, times in terms)) if by else 0


def product(left: Number, right: Number) -> Number:
    """Returns the product of two numbers."""
    if not isinstance(left, Term):
        return right * left if not isinstance(right, Term) else scaled(right, left)
    if not isinstance(right, Term):
        return scaled(left, right)
    factors = [f for side in (left, right) for f in (side.args if side.op == "product" else (side,))]
    factors.sort(key=lambda factor: factor.number)
    least = 0 if all(factor.least == 0 for factor in factors) else None
    return _term("product", *factors, least=least)


def _at_least_0(number: Number) -> Truth:
    if not isinstance(number, Term):
        return number >= 0
    if number.least == 0:
        return True
    plain, terms = _linear(number)
    if plain < 0 and all(times < 0 and term.least == 0 for term, times in terms):
        return False
    return _term("at least 0", number)


def equal(left: Any, right: Any) -> Truth:
    """Returns whether two numbers, or two truths, are equal."""
    if left is right:
        return True
    if not isinstance(left, Term) and not isinstance(right, Term):
        return left == right
    if _is_truth(left) or _is_truth(right):
        return if_(left, right, negated(right))
    # One of x - y = 0 and y - x = 0 is written for both, so that the condition is one term.
    difference = left - right
    if not isinstance(difference, Term):
        return difference == 0
    plain, terms = _linear(difference)
    if terms[0][1] < 0:
        difference, plain = -difference, -plain
        terms = tuple((term, -times) for term, times in terms)
    if plain > 0 and all(times > 0 and term.least == 0 for term, times in terms):
        return False
    return _term("is 0", difference)


def less(left: Number, right: Number) -> Number:
    """Returns the lesser one of two numbers."""
    return if_(left <= right, left, right)


def greater(left: Number, right: Number) -> Number:
    """Returns the greater one of two numbers."""
    return if_(left >= right, left, right)


def variables(terms: Iterable[Any]) -> set[str]:
    """Returns the names of the variables of some terms."""
    seen: set[int] = set()
    names: set[str] = set()
    stack = [term for term in terms if isinstance(term, Term)]
    while stack:
        term = stack.pop()
        if term.number in seen:
            continue
        seen.add(term.number)
        if term.op == "variable":
            names.add(term.args[0])
        stack.extend(below(term))
    return names


def below(term: Term) -> list[Term]:
    """Returns the terms that are the arguments of a term."""
    args = [part for part, _ in term.args[1]] if term.op == "sum" else term.args
    return [arg for arg in args if isinstance(arg, Term)]
