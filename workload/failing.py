"""The test whether a query may fail on its data: by a division by zero, an overflow, or a cast of a text."""

from __future__ import annotations

from workload.query import Call, Literal, Node, walk
from workload.types import Kind

LARGE_CONSTANT = 2**30
"""Beside a constant of this size the sum of small integers may overflow INT."""


def may_fail(node: Node) -> bool:
    """Tells whether some expression in a query, or in a part of one, is undefined for some values of columns.

    All other expressions that are generated are defined for all values of their columns' domains.
    """
    return any(isinstance(part, Call) and _undefined_somewhere(part) for part in walk(node))


def _undefined_somewhere(call: Call) -> bool:
    match call.function:
        case "div":
            return True
        case "cast":
            return call.args[0].type.kind is Kind.STRING and call.type.kind is not Kind.STRING
        case "add":
            return any(
                isinstance(arg, Literal) and type(arg.value) is int and abs(arg.value) > LARGE_CONSTANT
                for arg in call.args
            )
        case _:
            return False
