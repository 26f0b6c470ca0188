"""Expressions in Spark's SQL as people write them, with the parentheses that Spark's grammar needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import assert_never

from workload import query as ir
from workload.aggregates import EXTREMES_BY, FORMS
from workload.keywords import KEYWORDS
from workload.sql.dialect import Dialect, type_name
from workload.sql.functions import CASE, FUNCTIONS, IN, NOW
from workload.sql.render import current_time
from workload.types import BOOLEAN
from workload.writing.aggregates import written_form
from workload.writing.implied import with_implied
from workload.writing.literal import written_literal
from workload.writing.style import Style
from workload.writing.window import Names, written_window


class Level(IntEnum):
    """How tightly the topmost operator of a text binds in Spark's grammar."""

    OR = 1
    AND = 2
    NOT = 3
    PREDICATE = 4
    COMPARISON = 5
    SUM = 6
    PRODUCT = 7
    SIGN = 8
    PRIMARY = 9


Written = tuple[str, Level]
"""A text, and how tightly its topmost operator binds."""

INFIX: Mapping[str, tuple[Level, tuple[str, ...]]] = {
    "or": (Level.OR, ("OR",)),
    "and": (Level.AND, ("AND",)),
    "eq": (Level.COMPARISON, ("=", "=", "==")),
    "ne": (Level.COMPARISON, ("<>", "!=")),
    "lt": (Level.COMPARISON, ("<",)),
    "le": (Level.COMPARISON, ("<=",)),
    "gt": (Level.COMPARISON, (">",)),
    "ge": (Level.COMPARISON, (">=",)),
    "add": (Level.SUM, ("+",)),
    "sub": (Level.SUM, ("-",)),
    "concat": (Level.SUM, ("||",)),
    "mul": (Level.PRODUCT, ("*",)),
    "mul_decimal": (Level.PRODUCT, ("*",)),
    "div": (Level.PRODUCT, ("/",)),
    "mod": (Level.PRODUCT, ("%",)),
}
"""Operators that bind from left to right: how tightly, and their signs."""

SUFFIX: Mapping[str, str] = {
    "is_null": "IS NULL",
    "is_not_null": "IS NOT NULL",
    "is_true": "IS TRUE",
    "is_false": "IS FALSE",
}

PREDICATES: Mapping[str, str] = {
    "between": "{0} {not}BETWEEN {1} AND {2}",
    "like": "{0} {not}LIKE {1} ESCAPE '$'",
    "rlike": "{0} {not}RLIKE {1}",
    "differs": "{0} IS DISTINCT FROM {1}",
}
"""Predicates whose operands are values: comparisons, or what binds tighter."""


@dataclass(frozen=True, slots=True)
class Clause:
    """Writes the expressions of one clause. `bare`: columns without the name of their relation.

    `known`: texts of expressions that are written already, such as those of subqueries. `windows`: the names
    that WINDOW gives. What is drawn never changes the meaning.
    """

    style: Style
    bare: bool
    known: Mapping[ir.Expr, Written] = field(default_factory=dict)
    windows: Names = field(default_factory=dict)

    def item(self, item: ir.Item) -> str:
        """Returns the text of an output: its expression, and the alias where one is needed or drawn."""
        expr = item.expr
        plain = isinstance(expr, ir.ColumnRef) and expr not in self.known
        if isinstance(expr, ir.ColumnRef) and plain and expr.name == item.name and self.style.chance(40):
            # The output has the name as it is written here, capitals included.
            return item.name if self.bare else f"{self.style.alias(expr.relation)}.{item.name}"
        text = self.text(expr)
        as_ = self.style.words("AS ") if self.style.chance(70) or item.name in KEYWORDS else ""
        return f"{text} {as_}{item.name}"

    def text(self, expr: ir.Expr) -> str:
        """Returns the text of an expression."""
        return self.written(expr)[0]

    def operand(self, expr: ir.Expr, least: Level) -> str:
        """Returns the text of an operand, in parentheses if it binds less tightly than `least`."""
        text, level = self.written(expr)
        # Two signs in a row would begin a comment.
        signed = text.startswith("-") and least > Level.COMPARISON
        needed = level < least or signed
        extra = level < Level.PRIMARY and self.style.chance(self.style.parens)
        return f"({text})" if needed or extra else text

    def written(self, expr: ir.Expr) -> Written:
        """Returns the text of an expression, and how tightly its topmost operator binds."""
        if expr in self.known:
            return self.known[expr]
        match expr:
            case ir.ColumnRef(relation, name, _):
                shown = self.style.name(name)
                return (shown if self.bare else f"{self.style.alias(relation)}.{shown}"), Level.PRIMARY
            case ir.Literal(value, type_):
                text = written_literal(value, type_, self.style.chance, self.style.words)
                return text, Level.SIGN if text.startswith("-") else Level.PRIMARY
            case ir.Call():
                return self.call(expr)
            case ir.Aggregate(function, arg, _, _):
                if function is ir.AggregateFunction.COUNT_STAR or arg is None:
                    return self.style.words("COUNT(*)"), Level.PRIMARY
                return self.aggregate(expr, arg), Level.PRIMARY
            case ir.Grouping(key, _):
                return f"{self.style.words('GROUPING')}({self.text(key)})", Level.PRIMARY
            case ir.Window():
                return written_window(self, expr), Level.PRIMARY
            case _:
                assert_never(expr)

    def aggregate(self, aggregate: ir.Aggregate, arg: ir.Expr) -> str:
        """Returns an aggregate over a value: with FILTER, COUNT_IF or BOOL_AND where these say the same."""
        words, name, each = self.style.words, aggregate.function.value, "DISTINCT " * aggregate.distinct
        if aggregate.function in FORMS or aggregate.extra:
            return self.form(aggregate, arg)
        match arg:
            case ir.Call("case", (condition, value, ir.Literal(None, _)), _) if self.style.chance(70):
                where = f" {words('FILTER')} ({words('WHERE')} {self.text(condition)})"
                some = isinstance(value, ir.Literal) and value.value is not None
                if name != "COUNT" or each or not some:
                    return self.named(aggregate, f"{each}{self.text(value)}") + where
                if self.style.chance(50):
                    return f"{words('COUNT_IF')}({self.text(condition)})"
                return words("COUNT(*)") + where
            case _:
                return self.named(aggregate, f"{words(each)}{self.text(arg)}")

    def form(self, aggregate: ir.Aggregate, arg: ir.Expr) -> str:
        """Returns an aggregate with further arguments; one value is written once, and alike everywhere."""
        where = ""
        match arg:
            case ir.Call("case", (condition, value, ir.Literal(None, _)), _) if (
                aggregate.function not in EXTREMES_BY and self.style.chance(70)
            ):
                where = f" {self.style.words('FILTER')} ({self.style.words('WHERE')} {self.text(condition)})"
                arg = value
            case _:
                pass
        texts: dict[str, str] = {}
        for part in (arg, *aggregate.extra):
            texts.setdefault(repr(part), self.text(part))
        args = [texts[repr(part)] for part in (arg, *aggregate.extra)]
        return written_form(aggregate, args, self.style, where)

    def named(self, aggregate: ir.Aggregate, inside: str) -> str:
        """Returns an aggregate over a text, under one of its names."""
        name = aggregate.function.value
        if aggregate.type == BOOLEAN and self.style.chance(50):
            names = {"MIN": ("bool_and", "every"), "MAX": ("bool_or", "some", "any")}.get(name, (name,))
            name = self.style.choices.choice(names)
        return f"{self.style.words(name)}({inside})"

    def call(self, call: ir.Call) -> Written:
        """Returns the text of an operator, a predicate, CASE or a function, and how tightly it binds."""
        call = with_implied(call, self.style.chance, self.known)
        words, args = self.style.words, call.args
        if call.function in INFIX:
            level, signs = INFIX[call.function]
            left = self.operand(args[0], level)
            right = self.operand(args[1], Level(level + 1))
            return f"{left} {words(self.style.choices.choice(signs))} {right}", level
        if call.function in SUFFIX:
            return (
                f"{self.operand(args[0], Level.COMPARISON)} {words(SUFFIX[call.function])}",
                Level.PREDICATE,
            )
        if call.function in PREDICATES and not (call.function == "rlike" and self.style.chance(20)):
            return self.predicate(call, ""), Level.PREDICATE
        match call.function:
            case "rlike":
                return f"{words('regexp_like')}({self.text(args[0])}, {self.text(args[1])})", Level.PRIMARY
            case "not":
                return self.negation(args[0])
            case "neg":
                return f"-{self.operand(args[0], Level.SIGN)}", Level.SIGN
            case "same" if self.style.chance(50):
                sides = self.operand(args[0], Level.COMPARISON), self.operand(args[1], Level.SUM)
                return f"{sides[0]} <=> {sides[1]}", Level.COMPARISON
            case "same":
                left, right = (self.operand(arg, Level.COMPARISON) for arg in args)
                return f"{left} {words('IS NOT DISTINCT FROM')} {right}", Level.PREDICATE
            case "cast" if self.style.chance(30):
                type_ = type_name(call.type, Dialect.SPARK)
                return f"{self.operand(args[0], Level.PRIMARY)}::{type_}", Level.PRIMARY
            case name if name == IN:
                return self.predicate(call, ""), Level.PREDICATE
            case name if name == CASE:
                return self.case(call), Level.PRIMARY
            case _:
                return self.function(call), Level.PRIMARY

    def predicate(self, call: ir.Call, negation: str) -> str:
        """Returns BETWEEN, LIKE, IS DISTINCT FROM or IN; `negation`: NOT and a blank, or nothing."""
        first, *others = call.args
        value = self.operand(first, Level.COMPARISON)
        if call.function == IN:
            listed = ", ".join(map(self.text, others))
            return f"{value} {self.style.words(negation + 'IN')} ({listed})"
        texts = [value, *(self.operand(arg, Level.COMPARISON) for arg in others)]
        return PREDICATES[call.function].format(*texts, **{"not": negation})

    def negation(self, negated: ir.Expr) -> Written:
        """Returns NOT, where the predicate takes it in front of its word: `a NOT IN (1)`."""
        inner = negated.function if isinstance(negated, ir.Call) else ""
        if (
            isinstance(negated, ir.Call)
            and inner in (IN, "between", "like", "rlike")
            and self.style.chance(60)
        ):
            return self.predicate(negated, "NOT "), Level.PREDICATE
        sign = self.style.choices.choice((self.style.words("NOT "), self.style.words("NOT "), "!"))
        return f"{sign}{self.operand(negated, Level.NOT)}", Level.NOT

    def case(self, call: ir.Call) -> str:
        """Returns a CASE, or DECODE or IF where these say the same."""
        words, args = self.style.words, [self.text(arg) for arg in call.args]
        nullsafe = self.tested(call, "same")
        if nullsafe is not None and self.style.chance(60):
            searched = [self.text(value) for value in nullsafe]
            pairs = zip(searched[1:], args[1::2], strict=False)
            listed = ", ".join((searched[0], *(text for pair in pairs for text in pair), args[-1]))
            return f"{words('DECODE')}({listed})"
        tested = self.tested(call, "eq")
        if tested is not None and self.style.chance(60):
            branches = "".join(
                f" {words('WHEN')} {self.text(value)} {words('THEN')} {args[2 * number + 1]}"
                for number, value in enumerate(tested[1:])
            )
            first = self.operand(tested[0], Level.SUM)
            return f"{words('CASE')} {first}{branches} {words('ELSE')} {args[-1]} {words('END')}"
        if len(args) == 3 and self.style.chance(40):
            return f"{words('IF')}({', '.join(args)})"
        branches = "".join(
            f" {words('WHEN')} {args[i]} {words('THEN')} {args[i + 1]}" for i in range(0, len(args) - 1, 2)
        )
        return f"{words('CASE')}{branches} {words('ELSE')} {args[-1]} {words('END')}"

    def tested(self, call: ir.Call, comparison: str) -> list[ir.Expr] | None:
        """Returns x, a, b of `CASE WHEN x = a THEN .. WHEN x = b THEN ..`; None for another CASE.

        `comparison`: the function that stands where `=` stands here.
        """
        found: list[ir.Expr] = []
        for condition in call.args[:-1:2]:
            match condition:
                case ir.Call(function, (first, value), _) if function == comparison and (
                    not found or first == found[0]
                ):
                    found = [*(found or [first]), value]
                case _:
                    return None
        return found

    def function(self, call: ir.Call) -> str:
        """Returns a function that is no operator; COALESCE and the current time have other names, too."""
        if call.function == NOW:
            text = f"({current_time(call, Dialect.SPARK)})"
            return (
                text.replace("current_timestamp", self.style.words("NOW")) if self.style.chance(50) else text
            )
        args = [self.text(arg) for arg in call.args]
        if call.function == "coalesce" and len(args) == 2 and self.style.chance(50):
            name = self.style.choices.choice(("NVL", "IFNULL"))
            return f"{self.style.words(name)}({args[0]}, {args[1]})"
        fields = {"type": type_name(call.type, Dialect.SPARK), "args": ", ".join(args)}
        return FUNCTIONS[call.function].template(Dialect.SPARK).format(*args, **fields)
