"""Plans to SQL text: one statement, shared nodes as common table expressions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from dynamic_tables.plan.dialects import Dialect
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit, replace_columns
from dynamic_tables.plan.expressions import walk as walk_expression
from dynamic_tables.plan.functions import CASE, CAST, FRAME, FUNCTIONS, IN, wide_left
from dynamic_tables.plan.nodes import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Leaf,
    Numbered,
    Plan,
    Project,
    Scan,
    SemiJoin,
    UnionAll,
    Values,
    children,
    columns,
    walk,
)
from dynamic_tables.plan.types import Kind

JOINS = {
    JoinKind.INNER: "JOIN",
    JoinKind.CROSS: "CROSS JOIN",
    JoinKind.LEFT: "LEFT JOIN",
    JoinKind.RIGHT: "RIGHT JOIN",
    JoinKind.FULL: "FULL JOIN",
}

FRAME_TAGS = {
    Kind.INT: "i",
    Kind.BIGINT: "i",
    Kind.DECIMAL: "d",
    Kind.DOUBLE: "f",
    Kind.BOOLEAN: "b",
    Kind.STRING: "s",
    Kind.DATE: "t",
    Kind.TIMESTAMP_NTZ: "m",
}

ONE_GROUP = "(0 + 0)"
"""The key where all keys are constants: one group of all rows, and none of no rows.

Without GROUP BY there would be a row over no rows too.
"""

Items = tuple[tuple[str, Expr], ...]
"""Output columns: name and expression."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A rendered plan: named steps, each used more than once, and the query over them."""

    steps: tuple[tuple[str, str], ...]
    query: str

    def text(self) -> str:
        """One SELECT statement."""
        if not self.steps:
            return self.query
        named = ", ".join(f"{name} AS ({text})" for name, text in self.steps)
        return f"WITH {named} {self.query}"


def render(plan: Plan, dialect: Dialect, leaves: Mapping[str, str] | None = None) -> Statement:
    """The statement of a plan. Shared nodes become steps, so its size is linear in the number of nodes.

    `leaves` says which relation a leaf's name is bound to; a leaf that is not in it keeps its name.
    """
    uses: Counter[int] = Counter()
    for node in walk(plan):
        uses.update(id(child) for child in children(node))
    renderer = _Renderer(dialect, uses, leaves or {})
    # Bottom up, so that the recursion ends at the next shared node below, however deep the plan is.
    for node in _children_first(plan):
        if uses[id(node)] > 1:
            renderer.source(node)
    query = renderer.select(plan)
    return Statement(tuple(renderer.steps), query)


def _children_first(plan: Plan) -> list[Plan]:
    ordered: list[Plan] = []
    seen: set[int] = set()
    stack: list[tuple[Plan, bool]] = [(plan, False)]
    while stack:
        node, done = stack.pop()
        if done:
            ordered.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(children(node)))
    return ordered


def render_expression(expr: Expr, dialect: Dialect) -> str:
    """The text of one expression."""
    return _Renderer(dialect, Counter(), {}).expr(expr)


def _has_columns(expr: Expr) -> bool:
    return any(isinstance(part, Col) for part in walk_expression(expr))


def _is_leaf(plan: Plan) -> bool:
    return isinstance(plan, Leaf | Scan) and all(name == column.name for name, column in plan.columns)


@dataclass(slots=True)
class _Renderer:
    dialect: Dialect
    uses: Counter[int]
    leaves: Mapping[str, str]
    steps: list[tuple[str, str]] = field(default_factory=list)
    named: dict[int, str] = field(default_factory=dict)
    aliases: int = 0

    def names(self, plan: Plan) -> str:
        """The column list of a plan; never `*`, whose order is the engine's."""
        return ", ".join(self.dialect.identifier(column.name) for column in columns(plan))

    def source(self, plan: Plan) -> str:
        """A plan as an item of FROM."""
        if _is_leaf(plan):
            assert isinstance(plan, Leaf | Scan)
            return self.leaf(plan)
        if self.uses[id(plan)] > 1 and not isinstance(plan, Leaf | Scan):
            if id(plan) not in self.named:
                text = self.select(plan)
                self.named[id(plan)] = f"s{len(self.steps)}"
                self.steps.append((self.named[id(plan)], text))
            return self.named[id(plan)]
        if isinstance(plan, Join) and not self.dialect.join_hint:
            return f"({self.join(plan)})"
        self.aliases += 1
        alias = f"q{self.aliases}"
        return f"({self.select(plan)}) AS {alias}"

    def leaf(self, plan: Leaf | Scan) -> str:
        """The name of the relation behind a leaf."""
        name = plan.name if isinstance(plan, Leaf) else plan.source
        return self.dialect.identifier(self.leaves.get(name, name))

    def select(self, plan: Plan) -> str:
        """A plan as a SELECT."""
        match plan:
            case Scan() | Leaf() | Project():
                fused, below = self.fused(plan)
                listed = ", ".join(self.item(expr, name) for name, expr in fused)
                return f"SELECT {listed} {self.from_leaf_or(below)}"
            case Filter() | Join():
                hint = self.dialect.join_hint if isinstance(plan, Join) else ""
                return f"SELECT {hint}{self.names(plan)} {self.from_where(plan, own=True)}"
            case SemiJoin(left, right, on, anti):
                word = "ANTI" if anti else "SEMI"
                sides = f"{self.source(left)} {word} JOIN {self.source(right)}"
                return f"SELECT {self.names(left)} FROM {sides} ON {self.expr(on)}"
            case UnionAll(branches):
                return " UNION ALL ".join(self.select_in_order(branch, columns(plan)) for branch in branches)
            case Distinct(child):
                return f"SELECT DISTINCT {self.names(child)} FROM {self.source(child)}"
            case Aggregate():
                return self.aggregate(plan)
            case Numbered(child, partition, name):
                by = ", ".join(self.expr(expr) for expr in partition)
                counter = f"CAST(row_number() OVER (PARTITION BY {by} ORDER BY {by}) AS INT)"
                items = f"{self.names(child)}, {counter} AS {self.dialect.identifier(name)}"
                return f"SELECT {items} FROM {self.source(child)}"
            case Values():
                return self.values(plan)
            case _:
                assert_never(plan)

    def fused(self, plan: Scan | Leaf | Project) -> tuple[Items, Plan]:
        """Projections on top of each other as one, and what they read: the less text, the less to bind.

        One that others read too stays apart, and so does one whose expressions would be written twice.
        """
        if not isinstance(plan, Project):
            return tuple((c.name, Col(source, c.type)) for source, c in plan.columns), plan
        return self.over(plan.items, plan.child)

    def over(self, items: Items, child: Plan) -> tuple[Items, Plan]:
        """Items over a node as items over what that node projects from, where that is as good."""
        if isinstance(child, Project) and self.uses[id(child)] > 1:
            return items, child
        if not isinstance(child, Scan | Leaf | Project):
            return items, child
        inner, below = self.fused(child)
        used = Counter(
            part.name for _, expr in items for part in walk_expression(expr) if isinstance(part, Col)
        )
        if any(used[name] > 1 and not isinstance(expr, Col | Lit) for name, expr in inner):
            return items, child
        meaning = dict(inner)
        return tuple((n, replace_columns(e, lambda col: meaning[col.name])) for n, e in items), below

    def select_in_order(self, plan: Plan, order: tuple[Col, ...]) -> str:
        """A branch of a union: its columns in the order of the first branch."""
        if [column.name for column in columns(plan)] == [column.name for column in order] and self.uses[
            id(plan)
        ] <= 1:
            return self.select(plan)
        names = ", ".join(self.dialect.identifier(column.name) for column in order)
        return f"SELECT {names} FROM {self.source(plan)}"

    def from_where(self, plan: Plan, own: bool = False) -> str:
        """FROM and WHERE of a SELECT over a plan: filters and joins used once need no sub-select.

        `own`: the SELECT is the plan's own text, so the plan itself is not looked up among the steps.
        """
        conditions: list[str] = []
        while isinstance(plan, Filter) and (own or self.uses[id(plan)] <= 1):
            conditions.append(self.expr(plan.predicate))
            plan, own = plan.child, False
        single = isinstance(plan, Join) and (own or (self.uses[id(plan)] <= 1 and not self.dialect.join_hint))
        text = f"FROM {self.join(plan) if single and isinstance(plan, Join) else self.source(plan)}"
        return f"{text} WHERE {' AND '.join(reversed(conditions))}" if conditions else text

    def from_leaf_or(self, plan: Plan) -> str:
        """FROM and WHERE of what fused projections read: a leaf by its own column names."""
        return f"FROM {self.leaf(plan)}" if isinstance(plan, Scan | Leaf) else self.from_where(plan)

    def join(self, join: Join) -> str:
        condition = "" if join.on is None else f" ON {self.expr(join.on)}"
        return f"{self.source(join.left)} {JOINS[join.kind]} {self.source(join.right)}{condition}"

    def aggregate(self, plan: Aggregate) -> str:
        items, below = self.over((*plan.keys, *plan.aggregates), plan.child)
        listed = ", ".join(self.item(expr, name) for name, expr in items)
        text = f"SELECT {listed} {self.from_leaf_or(below)}"
        if not plan.keys:
            return text
        # A constant, such as 1 or -1, would be read as a position.
        varying = [expr for _, expr in items[: len(plan.keys)] if _has_columns(expr)]
        by = ", ".join(map(self.expr, varying))
        return f"{text} GROUP BY {by or ONE_GROUP}"

    def values(self, plan: Values) -> str:
        rows = (
            "SELECT "
            + ", ".join(self.item(Lit(v, c.type), c.name) for v, c in zip(row, plan.columns_, strict=True))
            for row in plan.rows
        )
        return " UNION ALL ".join(rows)

    def item(self, expr: Expr, name: str) -> str:
        quoted = self.dialect.identifier(name)
        text = self.expr(expr)
        return text if text == quoted else f"{text} AS {quoted}"

    def expr(self, expr: Expr) -> str:
        """An expression, safe to put beside an operator."""
        match expr:
            case Col(name, _):
                return self.dialect.identifier(name)
            case Lit():
                return self.dialect.literal(expr)
            case Agg():
                return self.agg(expr)
            case Fn():
                return self.fn(expr)
            case _:
                assert_never(expr)

    def agg(self, agg: Agg) -> str:
        if agg.arg is None:
            return "COUNT(*)"
        distinct = "DISTINCT " if agg.distinct else ""
        return self.dialect.aggregate_text(agg, f"{agg.name}({distinct}{self.expr(agg.arg)})")

    def fn(self, fn: Fn) -> str:
        args = [self.expr(arg) for arg in fn.args]
        match fn.name:
            case "case":
                branches = "".join(f" WHEN {args[i]} THEN {args[i + 1]}" for i in range(0, len(args) - 1, 2))
                return f"(CASE{branches} ELSE {args[-1]} END)"
            case "in":
                return f"({args[0]} IN ({', '.join(args[1:])}))"
            case "cast":
                return f"CAST({args[0]} AS {self.dialect.type_name(fn.type)})"
            case "frame":
                return self.frame(fn.args[0], args[0])
            case _:
                return self.template(fn, args)

    def template(self, fn: Fn, args: list[str]) -> str:
        fields = {"type": self.dialect.type_name(fn.type), "args": ", ".join(args)}
        text = self.dialect.function_text(FUNCTIONS[fn.name])
        if "{wide0}" in text:
            wide = wide_left(fn.args[0].type, fn.type)
            fields["wide0"] = (
                args[0] if wide is None else f"CAST({args[0]} AS {self.dialect.type_name(wide)})"
            )
        return text.format(*args, **fields)

    def frame(self, arg: Expr, rendered: str) -> str:
        """A row-id component: its tag, the length of its text, its text; NULL is a tag of its own."""
        string = self.dialect.type_names.get(Kind.STRING, "STRING")
        value = rendered
        if arg.type.kind is Kind.DOUBLE:
            # Adding zero turns -0.0 into 0.0: one group in SQL, so one id.
            value = f"({rendered} + CAST('0.0' AS DOUBLE))"
        if arg.type.kind is not Kind.STRING:
            value = f"CAST({value} AS {string})"
        length = f"CAST(length({value}) AS {string})"
        return f"coalesce('{FRAME_TAGS[arg.type.kind]}' || {length} || ':' || {value}, 'n')"


assert (CASE, IN, CAST, FRAME) == ("case", "in", "cast", "frame")
