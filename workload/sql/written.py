"""Queries in Spark's SQL as people write them: the same query in many texts, drawn by a number.

`render` writes each operator in parentheses; here only those are written that Spark's grammar needs, and a
few that it does not. What a text means is what Spark's grammar (SqlBaseParser.g4) says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from random import Random
from typing import assert_never

from workload import query as ir
from workload.keywords import KEYWORDS
from workload.scenario import Definition
from workload.sql.dialect import Dialect, type_name
from workload.sql.functions import CASE, FUNCTIONS, IN
from workload.sql.implied import with_implied
from workload.sql.render import render_query
from workload.sql.written_literal import written_literal


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
    "differs": "{0} IS DISTINCT FROM {1}",
}
"""Predicates whose operands are values: comparisons, or what binds tighter."""


def definition_text(definition: Definition, dialect: Dialect) -> str:
    """Returns the text of a definition's query as an engine is given it; only Spark's SQL has styles."""
    if definition.style and dialect is Dialect.SPARK:
        return written_query(definition.query, definition.style)
    return render_query(definition.query, dialect)


def written_query(query: ir.Query, style: int) -> str:
    """Returns a query in Spark's SQL, in the style of that number: the same number gives the same text."""
    choices = Random(style)
    writer = _Writer(choices, parens=choices.choice((0, 0, 10, 40)), lower=choices.random() < 0.3)
    return writer.whole(query)


@dataclass(slots=True)
class _Writer:
    """Writes one query. `parens`: percent of operands in parentheses that need none."""

    choices: Random
    parens: int
    lower: bool

    def chance(self, percent: int) -> bool:
        return self.choices.random() * 100 < percent

    def words(self, text: str) -> str:
        return text.lower() if self.lower else text

    def name(self, name: str) -> str:
        if self.chance(10):
            name = name.upper()
        return f"`{name}`" if self.chance(10) else name

    def gap(self) -> str:
        """Returns what stands between two clauses."""
        if self.chance(4):
            return self.choices.choice((" /* a comment */ ", " -- a comment's end\n", "\n\t"))
        return " "

    # Queries.

    def whole(self, query: ir.Query) -> str:
        text = self.query(query)
        if isinstance(query, ir.With) or not self.chance(15):
            return text
        select, from_ = self.words("SELECT"), self.words("FROM")
        star = self.choices.choice(("*", "w.*", "W.*"))
        if self.chance(50):
            return f"{self.words('WITH')} w {self.words('AS')} ({text}) {select} {star} {from_} w"
        return f"{select} {star} {from_} ({text}) {self.choices.choice(('AS w', 'w'))}"

    def query(self, query: ir.Query) -> str:
        match query:
            case ir.Select():
                return self.select(query)
            case ir.SetOperation(branches):
                return f"{self.gap()}{self.words(query.sql)} ".join(map(self.branch, branches))
            case ir.With(ctes, body):
                while isinstance(body, ir.With):
                    ctes, body = ctes + body.ctes, body.body
                as_ = self.words("AS")
                named = ", ".join(f"{self.name(cte.name)} {as_} ({self.query(cte.query)})" for cte in ctes)
                return f"{self.words('WITH')} {named}{self.gap()}{self.query(body)}"
            case _:
                assert_never(query)

    def branch(self, branch: ir.Query) -> str:
        text = self.query(branch)
        return text if isinstance(branch, ir.Select) and self.chance(70) else f"({text})"

    def select(self, select: ir.Select) -> str:
        # Without a qualifier a name of two relations would be ambiguous.
        single = not isinstance(select.source, ir.Join)
        # Spark finds a key in the select list only if it is written alike there.
        once = _Clause(self, False)
        known: Mapping[ir.Expr, Written] = {
            key: once.written(key) for key in select.group_by or () if isinstance(key, ir.Call)
        }
        clause = _Clause(self, single and self.chance(60), known)
        distinct = "DISTINCT " if select.distinct else ""
        items = ", ".join(map(clause.item, select.items))
        parts = [
            f"{self.words('SELECT ' + distinct)}{items}",
            f"{self.words('FROM')} {self.source(select.source)}",
        ]
        if select.where is not None:
            parts.append(f"{self.words('WHERE')} {clause.text(select.where)}")
        if select.group_by:
            parts.append(f"{self.words('GROUP BY')} {self.keys(select, select.group_by, clause)}")
        if select.having is not None:
            # In HAVING a name without a qualifier may stand for an output.
            parts.append(f"{self.words('HAVING')} {_Clause(self, False, known).text(select.having)}")
        text = parts[0]
        for part in parts[1:]:
            text += self.gap() + part
        return text

    def keys(self, select: ir.Select, keys: tuple[ir.Expr, ...], clause: _Clause) -> str:
        items = [item.expr for item in select.items]
        if _all_are_keys(items, keys) and self.chance(20):
            return self.words("ALL")
        listed = []
        for key in keys:
            position = items.index(key) + 1 if key in items else 0
            listed.append(str(position) if position and self.chance(25) else clause.text(key))
        return ", ".join(listed)

    # Relations.

    def source(self, relation: ir.Relation) -> str:
        if isinstance(relation, ir.Join) and relation.kind is ir.JoinKind.CROSS and self.chance(50):
            right = self.relation(relation.right)
            if isinstance(relation.right, ir.Join):
                right = f"({right})"
            return f"{self.relation(relation.left)}, {right}"
        return self.relation(relation)

    def relation(self, relation: ir.Relation) -> str:
        as_ = self.words("AS ") if self.chance(60) else ""
        match relation:
            case ir.Named(name, alias):
                return self.name(name) if name == alias else f"{self.name(name)} {as_}{alias}"
            case ir.Derived(query, alias):
                return f"({self.query(query)}) {as_}{alias}"
            case ir.Join():
                return self.join(relation)
            case _:
                assert_never(relation)

    def join(self, join: ir.Join) -> str:
        left, right = self.relation(join.left), self.relation(join.right)
        if isinstance(join.right, ir.Join):
            right = f"({right})"
        if isinstance(join.left, ir.Join) and self.chance(20):
            left = f"({left})"
        words = join.kind.value
        if join.kind is ir.JoinKind.INNER and self.chance(60):
            words = "JOIN"
        elif join.kind not in (ir.JoinKind.INNER, ir.JoinKind.CROSS) and self.chance(40):
            words = words.replace(" JOIN", " OUTER JOIN")
        condition = "" if join.on is None else f" {self.words('ON')} {_Clause(self, False).text(join.on)}"
        return f"{left}{self.gap()}{self.words(words)} {right}{condition}"


def _all_are_keys(items: list[ir.Expr], keys: tuple[ir.Expr, ...]) -> bool:
    """Tells whether GROUP BY ALL means these keys: each item is a key, or has columns in aggregates only."""

    def bare(expr: ir.Expr) -> bool:
        if isinstance(expr, ir.Aggregate):
            return False
        return isinstance(expr, ir.ColumnRef) or any(bare(part) for part in ir.children(expr))  # type: ignore[arg-type]

    aggregated = [any(isinstance(part, ir.Aggregate) for part in ir.subexpressions(item)) for item in items]
    listed = [item for item, has in zip(items, aggregated, strict=True) if not has]
    mixed = any(bare(item) for item, has in zip(items, aggregated, strict=True) if has)
    return not mixed and all(key in listed for key in keys) and all(item in keys for item in listed)


@dataclass(frozen=True, slots=True)
class _Clause:
    """Writes the expressions of one clause. `bare`: columns without the name of their relation.

    `known`: expressions that are written already.
    """

    writer: _Writer
    bare: bool
    known: Mapping[ir.Expr, Written] = field(default_factory=dict)

    def item(self, item: ir.Item) -> str:
        expr = item.expr
        if isinstance(expr, ir.ColumnRef) and expr.name == item.name and self.writer.chance(40):
            # The output has the name as it is written here, capitals included.
            return item.name if self.bare else f"{expr.relation}.{item.name}"
        text = self.text(expr)
        as_ = self.writer.words("AS ") if self.writer.chance(70) or item.name in KEYWORDS else ""
        return f"{text} {as_}{item.name}"

    def text(self, expr: ir.Expr) -> str:
        return self.written(expr)[0]

    def operand(self, expr: ir.Expr, least: Level) -> str:
        """Returns the text of an operand, in parentheses if it binds less tightly than `least`."""
        text, level = self.written(expr)
        # Two signs in a row would begin a comment.
        signed = text.startswith("-") and least > Level.COMPARISON
        needed = level < least or signed
        extra = level < Level.PRIMARY and self.writer.chance(self.writer.parens)
        return f"({text})" if needed or extra else text

    def written(self, expr: ir.Expr) -> Written:
        if expr in self.known:
            return self.known[expr]
        match expr:
            case ir.ColumnRef(relation, name, _):
                shown = self.writer.name(name)
                return (shown if self.bare else f"{relation}.{shown}"), Level.PRIMARY
            case ir.Literal(value, type_):
                text = written_literal(value, type_, self.writer.chance, self.writer.words)
                return text, Level.SIGN if text.startswith("-") else Level.PRIMARY
            case ir.Call():
                return self.call(expr)
            case ir.Aggregate(function, arg, distinct, _):
                if function is ir.AggregateFunction.COUNT_STAR or arg is None:
                    return self.writer.words("COUNT(*)"), Level.PRIMARY
                name = self.writer.words(function.value)
                return f"{name}({'DISTINCT ' if distinct else ''}{self.text(arg)})", Level.PRIMARY
            case _:
                assert_never(expr)

    def call(self, call: ir.Call) -> Written:
        call = with_implied(call, self.writer.chance, self.known)
        words, args = self.writer.words, call.args
        if call.function in INFIX:
            level, signs = INFIX[call.function]
            left = self.operand(args[0], level)
            right = self.operand(args[1], Level(level + 1))
            return f"{left} {words(self.writer.choices.choice(signs))} {right}", level
        if call.function in SUFFIX:
            return (
                f"{self.operand(args[0], Level.COMPARISON)} {words(SUFFIX[call.function])}",
                Level.PREDICATE,
            )
        if call.function in PREDICATES:
            return self.predicate(call, ""), Level.PREDICATE
        match call.function:
            case "not":
                return self.negation(args[0])
            case "neg":
                return f"-{self.operand(args[0], Level.SIGN)}", Level.SIGN
            case "same" if self.writer.chance(50):
                sides = self.operand(args[0], Level.COMPARISON), self.operand(args[1], Level.SUM)
                return f"{sides[0]} <=> {sides[1]}", Level.COMPARISON
            case "same":
                left, right = (self.operand(arg, Level.COMPARISON) for arg in args)
                return f"{left} {words('IS NOT DISTINCT FROM')} {right}", Level.PREDICATE
            case "cast" if self.writer.chance(30):
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
            return f"{value} {self.writer.words(negation + 'IN')} ({listed})"
        texts = [value, *(self.operand(arg, Level.COMPARISON) for arg in others)]
        return PREDICATES[call.function].format(*texts, **{"not": negation})

    def negation(self, negated: ir.Expr) -> Written:
        inner = negated.function if isinstance(negated, ir.Call) else ""
        if isinstance(negated, ir.Call) and inner in (IN, "between", "like") and self.writer.chance(60):
            return self.predicate(negated, "NOT "), Level.PREDICATE
        sign = self.writer.choices.choice((self.writer.words("NOT "), self.writer.words("NOT "), "!"))
        return f"{sign}{self.operand(negated, Level.NOT)}", Level.NOT

    def case(self, call: ir.Call) -> str:
        words, args = self.writer.words, [self.text(arg) for arg in call.args]
        if len(args) == 3 and self.writer.chance(40):
            return f"{words('IF')}({', '.join(args)})"
        branches = "".join(
            f" {words('WHEN')} {args[i]} {words('THEN')} {args[i + 1]}" for i in range(0, len(args) - 1, 2)
        )
        return f"{words('CASE')}{branches} {words('ELSE')} {args[-1]} {words('END')}"

    def function(self, call: ir.Call) -> str:
        args = [self.text(arg) for arg in call.args]
        if call.function == "coalesce" and len(args) == 2 and self.writer.chance(50):
            name = self.writer.choices.choice(("NVL", "IFNULL"))
            return f"{self.writer.words(name)}({args[0]}, {args[1]})"
        fields = {"type": type_name(call.type, Dialect.SPARK), "args": ", ".join(args)}
        return FUNCTIONS[call.function].template(Dialect.SPARK).format(*args, **fields)
