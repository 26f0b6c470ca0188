"""Expressions to SQL text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from dynamic_tables.plan import functions
from dynamic_tables.plan.dialects import Dialect
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, FrameEnd, Lit, SortKey, Win
from dynamic_tables.plan.nested_types import element_of, fields_of
from dynamic_tables.plan.types import FLOATING, INTEGRAL, NUMERIC, Kind, Type

FRAME_TAGS = {
    **dict.fromkeys(INTEGRAL, "i"),
    Kind.DECIMAL: "d",
    **dict.fromkeys(FLOATING, "f"),
    Kind.BOOLEAN: "b",
    Kind.STRING: "s",
    Kind.BINARY: "x",
    Kind.DATE: "t",
    Kind.TIMESTAMP_NTZ: "m",
    Kind.TIMESTAMP: "m",
    Kind.OTHER: "o",
}
"""The letter before a component of a row id, by the kind of its type: the ids of 1 and of '1' differ."""


def render_expression(expr: Expr, dialect: Dialect) -> str:
    """Returns the text of an expression, in parentheses where an operator may stand beside it."""
    return ExpressionRenderer(dialect).expr(expr)


@dataclass(frozen=True, slots=True)
class ExpressionRenderer:
    """Renders expressions in one dialect."""

    dialect: Dialect

    def item(self, expr: Expr, name: str) -> str:
        """Returns an expression as an item of a SELECT list under the given name."""
        quoted = self.dialect.identifier(name)
        text = self.expr(expr)
        return text if text == quoted else f"{text} AS {quoted}"

    def expr(self, expr: Expr) -> str:
        """Returns the text of an expression, in parentheses where an operator may stand beside it."""
        match expr:
            case Col(name, _):
                return self.dialect.identifier(name)
            case Lit():
                return self.dialect.literal(expr)
            case Agg():
                return self._aggregate(expr, "")
            case Win():
                return self._window(expr)
            case Fn():
                return self._function(expr, self._arguments(expr))
            case _:
                assert_never(expr)

    def sort_key(self, key: SortKey) -> str:
        """Returns one key of an ORDER BY; where NULLs stand is always written, as dialects differ there."""
        direction, nulls = ("DESC" if key.descending else "ASC"), ("FIRST" if key.nulls_first else "LAST")
        return f"{self.dialect.ordered(self.expr(key.expr), key.expr.type)} {direction} NULLS {nulls}"

    def _aggregate(self, agg: Agg, over: str) -> str:
        """Returns the SQL of an aggregate. `over`: the text of its window; empty in GROUP BY."""
        if agg.arg is None:
            return f"COUNT(*){over}"
        arguments = [self.expr(each) for each in agg.args]
        called = f"{agg.name}({'DISTINCT ' if agg.distinct else ''}{', '.join(arguments)})"
        return self.dialect.aggregate_text(agg, called, arguments, over)

    def _window(self, window: Win) -> str:
        """Returns the SQL of a window function with its OVER clause."""
        clauses = []
        if window.partition:
            clauses.append(f"PARTITION BY {', '.join(map(self.expr, window.partition))}")
        if window.order:
            clauses.append(f"ORDER BY {', '.join(map(self.sort_key, window.order))}")
        if window.frame is not None:
            start, end = (self._frame_end(each, window) for each in (window.frame.start, window.frame.end))
            clauses.append(f"{window.frame.unit} BETWEEN {start} AND {end}")
        over = f" OVER ({' '.join(clauses)})"
        match window.function:
            case Agg() as aggregate:
                return self._aggregate(aggregate, over)
            case Fn(name, args, type_):
                listed = ", ".join(map(self.expr, args))
                return self.dialect.window_text(name, listed, over, window.ignores_nulls, type_)

    def _frame_end(self, end: FrameEnd, window: Win) -> str:
        """Returns the SQL of one end of a frame, such as `3 PRECEDING`."""
        if end.offset is None:
            return end.side
        if end.unit:
            return f"INTERVAL '{end.offset.value!s}' {end.unit} {end.side}"
        by_days = window.frame is not None and window.frame.unit == "RANGE" and window.order
        if by_days and window.order[0].expr.type.kind is Kind.DATE:
            return f"{self.dialect.days(end.offset)} {end.side}"
        return f"{self.dialect.literal(end.offset)} {end.side}"

    def _arguments(self, fn: Fn) -> list[str]:
        """Returns the texts of the arguments.

        Spark calculates with a FLOAT as a DOUBLE in `/` and beside other types; a dialect that does not is
        told to, by casts.
        """
        texts = [self.expr(arg) for arg in fn.args]
        kinds = {arg.type.kind for arg in fn.args} & NUMERIC
        alone = len(kinds) == 1 and fn.name != "/"
        if self.dialect.widens_floats or Kind.FLOAT not in kinds or alone:
            return texts
        pairs = zip(fn.args, texts, strict=True)
        return [f"CAST({text} AS DOUBLE)" if arg.type.kind is Kind.FLOAT else text for arg, text in pairs]

    def _function(self, fn: Fn, args: list[str]) -> str:
        """Returns the SQL of a function or operator whose arguments are SQL already."""
        match fn.name:
            case functions.CASE:
                branches = "".join(f" WHEN {args[i]} THEN {args[i + 1]}" for i in range(0, len(args) - 1, 2))
                return f"(CASE{branches} ELSE {args[-1]} END)"
            case functions.IN:
                return f"({args[0]} IN ({', '.join(args[1:])}))"
            case functions.CAST:
                return f"CAST({args[0]} AS {self.dialect.type_name(fn.type)})"
            case functions.PASSED:
                template = fn.args[0]
                assert isinstance(template, Lit)
                return f"({str(template.value).format('', *args[1:])})"
            case functions.SHIFTED:
                sign, count, unit = (str(arg.value) for arg in fn.args[1:] if isinstance(arg, Lit))
                # With the unit outside the quotes DuckDB reads the number as a DOUBLE.
                moved = f"({args[0]} {sign} INTERVAL '{count} {unit}')"
                # DuckDB moves a DATE to a TIMESTAMP.
                return f"CAST({moved} AS {self.dialect.type_name(fn.type)})"
            case functions.STRUCT:
                return self.dialect.struct_text(list(zip(args[::2], args[1::2], strict=True)), fn.type)
            case functions.FRAME:
                return self._frame(fn.args[0].type, args[0])
            case _:
                return self._template(fn, args)

    def _template(self, fn: Fn, args: list[str]) -> str:
        """Returns a call by the text that the registry has for its function."""
        fields = {"type": self.dialect.type_name(fn.type), "args": ", ".join(args)}
        text = self.dialect.function_text(functions.INTERNAL.get(fn.name) or functions.FUNCTIONS[fn.name])
        if "{wide0}" in text:
            wide = functions.wide_left(fn.args[0].type, fn.type)
            fields["wide0"] = (
                args[0] if wide is None else f"CAST({args[0]} AS {self.dialect.type_name(wide)})"
            )
        return text.format(*args, **fields)

    def _frame(self, type_: Type, value: str, depth: int = 0) -> str:
        """Returns a row-id component: tag, length of the text, text; NULL is a tag without a text.

        A STRUCT is the components of its fields, an ARRAY those of its elements behind their number. `depth`:
        of the arrays around it.
        """
        string = self.dialect.type_names.get(Kind.STRING, "STRING")
        fields, element = fields_of(type_), element_of(type_)
        if fields is not None:
            # The fields are as many in every value, and each ends by itself: no length is needed.
            names = (self.dialect.string(name) for name, _ in fields)
            pairs = zip(names, fields, strict=True)
            parts = ["'r'", *(self._frame(part, f"{value}[{name}]", depth) for name, (_, part) in pairs)]
            return f"CASE WHEN {value} IS NOT NULL THEN {' || '.join(parts)} ELSE 'n' END"
        if element is not None:
            variable = self.dialect.identifier(f"$ELEMENT{depth}")
            part = self._frame(element, variable, depth + 1)
            return f"coalesce('a' || {self.dialect.number_and_parts(value, variable, part)}, 'n')"
        if type_.kind in FLOATING:
            # Adding zero turns -0.0 into 0.0: they are one group in SQL, so they must give one id.
            value = f"({value} + CAST('0.0' AS {type_}))"
        if type_.kind is Kind.BINARY:
            value = f"hex({value})"
        elif type_.kind is not Kind.STRING:
            value = f"CAST({value} AS {string})"
        # The length makes ids self-delimiting: without it ('a|b', 'c') and ('a', 'b|c') could share one.
        length = f"CAST(length({value}) AS {string})"
        return f"coalesce('{FRAME_TAGS[type_.kind]}' || {length} || ':' || {value}, 'n')"
