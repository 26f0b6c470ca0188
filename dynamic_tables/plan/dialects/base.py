"""The differences between SQL dialects below the level of operators: types, quoting, literals, functions."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import assert_never

from dynamic_tables.plan.expressions import Agg, Lit
from dynamic_tables.plan.functions import Function
from dynamic_tables.plan.types import Kind, Type


@dataclass(frozen=True, slots=True)
class Exploded:
    """The SQL that explodes arrays in one dialect: items of a SELECT, and the text behind its FROM item."""

    items: str
    view: str = ""

    def over(self, names: str, source: str) -> str:
        """Returns the SELECT over a FROM item, with its columns."""
        return f"SELECT {names}, {self.items} FROM {source}{self.view}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One dialect: type names that differ, quoting, string literals, and the texts of functions."""

    name: str
    type_names: Mapping[Kind, str]
    quote: str
    backslash_escapes: bool
    binary: Callable[[bytes], str]
    """Takes a value of BINARY; returns its literal."""
    function_text: Callable[[Function], str]
    aggregate_text: Callable[[Agg, str, Sequence[str], str], str]
    """Takes an aggregate, its plain text, those of its arguments, and what follows it, such as ` OVER (...)`;
    returns the text of Spark's result."""
    window_text: Callable[[str, str, str, bool, Type], str]
    """Takes a window function, its arguments, ` OVER (...)`, whether it ignores NULLs, and its type."""
    days: Callable[[Lit], str]
    """Takes a number of days; returns it as the distance of a frame over dates."""
    exploded: Callable[[str, bool, str, str], Exploded]
    """Takes an array, whether rows without elements stay, and the names of position and element."""
    number_and_parts: Callable[[str, str, str], str]
    """Takes an array, the name of an element in a text made of it, and this text; returns how many elements
    there are, a colon, and the text of each in turn; NULL for NULL."""
    ordered: Callable[[str, Type], str] = lambda value, _: value
    """Takes a value and its type; returns what this dialect orders as Spark orders the value."""
    other_type_name: Callable[[str], str] = str
    """Takes Spark's name of a type of kind OTHER; returns the name in this dialect."""
    widens_floats: bool = True
    """Whether a FLOAT beside another number becomes a DOUBLE, as in Spark."""
    struct_of_pairs: bool = False
    """Whether a STRUCT is written as {'name': value}; else it is named_struct('name', value)."""
    join_hint: str = ""
    """A hint after SELECT for the rows of a join; with a hint, every join is rendered as its own SELECT."""

    def struct_text(self, fields: Sequence[tuple[str, str]], type_: Type) -> str:
        """Returns a STRUCT of fields, each the text of its name and of its value."""
        if self.struct_of_pairs:
            pairs = ", ".join(f"{name}: {value}" for name, value in fields)
            return f"CAST({{{pairs}}} AS {self.type_name(type_)})"
        return f"named_struct({', '.join(each for field in fields for each in field)})"

    def type_name(self, type_: Type) -> str:
        """Returns the name of a type in this dialect."""
        if type_.kind is Kind.OTHER:
            return self.other_type_name(type_.name)
        return self.type_names.get(type_.kind, str(type_))

    def identifier(self, name: str) -> str:
        """Returns a name in quotes."""
        return f"{self.quote}{name.replace(self.quote, self.quote * 2)}{self.quote}"

    def string(self, value: str) -> str:
        """Returns a string literal with its special characters escaped."""
        if self.backslash_escapes:
            value = value.replace("\\", "\\\\")
        return "'" + value.replace("'", "''") + "'"

    def literal(self, literal: Lit) -> str:
        """Returns a literal whose type in this dialect is exactly the literal's type."""
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
                # Python writes nan and inf, which Spark and DuckDB write NaN and Infinity.
                number = repr(value).replace("nan", "NaN").replace("inf", "Infinity")
                return f"CAST('{number}' AS {name})"
            case Decimal() as value:
                return f"CAST({value:f} AS {name})"
            case str() as value:
                return self.string(value)
            case bytes() as value:
                return self.binary(value)
            case dt.datetime() as value:
                return f"{name} '{value.isoformat(sep=' ')}'"
            case dt.date() as value:
                return f"DATE '{value.isoformat()}'"
            case _:
                assert_never(literal.value)
