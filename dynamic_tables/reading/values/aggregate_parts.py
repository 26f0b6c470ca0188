"""The arguments of the aggregates in `aggregate_forms`: taken from the syntax, bound and checked."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.expressions import Agg, Expr
from dynamic_tables.plan.types import NUMERIC, STRING
from dynamic_tables.reading.text.parse import function_name, parts

Bind = Callable[[exp.Expr], Expr]
"""Binds an argument of an aggregate. Raises DefinitionError or UnsupportedError."""

Form = Callable[[exp.Expr, Bind], Agg]
"""Binds an aggregate. Raises DefinitionError or UnsupportedError."""

SYNTAX_ONLY = frozenset({"nulls_excluded", "nulls_first", "big_int", "null_on_zero_variance"})
"""Arguments that sqlglot sets by itself."""


def value_of(node: exp.Expr, bind: Bind) -> tuple[Expr, bool]:
    """Returns the first argument of an aggregate, and whether only its different values count."""
    inner = node.this
    distinct = isinstance(inner, exp.Distinct)
    values = listed(inner)
    if len(values) != 1 or values[0].is_star:
        raise UnsupportedError(f"{function_name(node)} of several columns")
    return bind(values[0]), distinct


def listed(node: exp.Expr) -> list[exp.Expr]:
    """Returns the values that DISTINCT lists, or the one value."""
    return list(node.expressions) if isinstance(node, exp.Distinct) else [node]


def number(name: str, value: Expr) -> Expr:
    """Returns a value of a numeric type. Raises DefinitionError where Spark casts it to none."""
    if value.type == STRING:
        raise UnsupportedError(f"{name} of STRING", "cast it to a number")
    if value.type.kind not in NUMERIC:
        raise DefinitionError(f"{name} is not defined for {value.type}; cast it to a number")
    return value


def only(node: exp.Expr, *names: str) -> None:
    """Raises UnsupportedError for an aggregate with parts that the caller would silently drop."""
    for name in parts(node):
        if name not in names and name not in SYNTAX_ONLY:
            raise UnsupportedError(
                f"{function_name(node)} with {name.replace('_', ' ')}", "no rule for this form"
            )
