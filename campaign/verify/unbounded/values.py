"""The simplification of terms where more is known: that a condition holds, or the value of every variable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from campaign.verify.unbounded import terms


def given(condition: terms.Truth, term: Any) -> Any:
    """Returns a term as it is where a condition holds: with the parts of the condition in it made True."""
    if not isinstance(condition, terms.Term) or not isinstance(term, terms.Term):
        return term
    done: dict[int, Any] = {}
    for fact in condition.args if condition.op == "and" else (condition,):
        done[fact.number] = True
        done[terms.negated(fact).number] = False

    def of(one: Any) -> Any:
        if not isinstance(one, terms.Term):
            return one
        if one.number not in done:
            done[one.number] = _rebuilt(one, of)
        return done[one.number]

    return of(term)


def _rebuilt(term: terms.Term, of: Callable[[Any], Any]) -> Any:
    args = term.args
    match term.op:
        case "sum":
            return terms.total((args[0], *(terms.scaled(of(part), times) for part, times in args[1])))
        case "product":
            result = of(args[0])
            for factor in args[1:]:
                result = terms.product(result, of(factor))
            return result
        case "quotient":
            return terms.quotient(of(args[0]), of(args[1]))
        case "if":
            return terms.if_(of(args[0]), of(args[1]), of(args[2]))
        case "and":
            return terms.both(*map(of, args))
        case "or":
            return terms.either(map(of, args))
        case "not":
            return terms.negated(of(args[0]))
        case "at least 0":
            return of(args[0]) >= 0
        case "is 0":
            return terms.equal(of(args[0]), 0)
        case _:
            return term


QUOTIENTS = 1_000_003
"""Makes quotients of different small numbers different values: nothing else is known of a quotient."""


def value_of(term: Any, values: Mapping[str, int]) -> Any:
    """Returns the value of a term where its variables have values, by name; a variable without one is 0."""
    done: dict[int, Any] = {}

    def of(one: Any) -> Any:
        if not isinstance(one, terms.Term):
            return one
        if one.number not in done:
            done[one.number] = _value(one, values, of)
        return done[one.number]

    return of(term)


def _value(term: terms.Term, values: Mapping[str, int], of: Callable[[Any], Any]) -> Any:
    args = term.args
    match term.op:
        case "variable":
            return values.get(args[0], 0)
        case "sum":
            return args[0] + sum(times * of(part) for part, times in args[1])
        case "product":
            result = 1
            for factor in args:
                result *= of(factor)
            return result
        case "quotient":
            return of(args[0]) * QUOTIENTS + of(args[1])
        case "if":
            return of(args[1]) if of(args[0]) else of(args[2])
        case "and":
            return all(of(part) for part in args)
        case "or":
            return any(of(part) for part in args)
        case "not":
            return not of(args[0])
        case "at least 0":
            return of(args[0]) >= 0
        case _:
            return of(args[0]) == 0
