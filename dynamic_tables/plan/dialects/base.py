"""What a dialect must say below the level of operators."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import assert_never

from dynamic_tables.plan.expressions import Agg, Lit
from dynamic_tables.plan.functions import Function
from dynamic_tables.plan.types import Kind, Type


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One dialect: type names that differ, quoting, strings, and which text of a function it takes."""

    name: str
    type_names: Mapping[Kind, str]
    quote: str
    backslash_escapes: bool
    timestamp_keyword: str
    function_text: Callable[[Function], str]
    aggregate_text: Callable[[Agg, str], str]
    """From an aggregate and its plain text to the text with the type that Spark gives it."""
    join_hint: str = ""
    """A hint for the rows of a join; where there is one, a join is a SELECT of its own."""

    def type_name(self, type_: Type) -> str:
        """The type's name."""
        return self.type_names.get(type_.kind, str(type_))

    def identifier(self, name: str) -> str:
        """A quoted name."""
        return f"{self.quote}{name.replace(self.quote, self.quote * 2)}{self.quote}"

    def string(self, value: str) -> str:
        """A string literal."""
        if self.backslash_escapes:
            value = value.replace("\\", "\\\\")
        return "'" + value.replace("'", "''") + "'"

    def literal(self, literal: Lit) -> str:
        """A literal of exactly its type."""
        name = self.type_name(literal.type)
        match literal.value:
            case None:
                return f"CAST(NULL AS {name})"
            case bool() as value:
                return "TRUE" if value else "FALSE"
            case int() as value if literal.type.kind is Kind.INT and 0 <= value < 2**31:
                return str(value)
            case int() as value:
                return f"CAST('{value}' AS {name})"
            case float() as value:
                return f"CAST('{_double(value)}' AS DOUBLE)"
            case Decimal() as value:
                return f"CAST({value:f} AS {name})"
            case str() as value:
                return self.string(value)
            case dt.datetime() as value:
                return f"{self.timestamp_keyword} '{value.isoformat(sep=' ')}'"
            case dt.date() as value:
                return f"DATE '{value.isoformat()}'"
            case _:
                assert_never(literal.value)


def _double(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)
