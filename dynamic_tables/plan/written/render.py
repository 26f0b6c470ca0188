"""Plans to SQL text: one statement, shared nodes as common table expressions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from dynamic_tables.plan import nodes
from dynamic_tables.plan.dialects import Dialect
from dynamic_tables.plan.expressions import Col, Expr, Lit, replace_columns, walk as walk_expression
from dynamic_tables.plan.written.render_expression import ExpressionRenderer

ONE_GROUP = "(0 + 0)"
"""The group key where all keys are constants: it gives one group over some rows, and no group over none.

Without GROUP BY there would be one row over no rows too.
"""

Items = tuple[tuple[str, Expr], ...]
"""Output columns as (name, expression)."""


@dataclass(frozen=True, slots=True)
class RenderedPlan:
    """A rendered plan: named steps, each used more than once, and the query over the steps."""

    steps: tuple[tuple[str, str], ...]
    query: str

    def text(self) -> str:
        """Returns the steps and the query as one SELECT statement."""
        if not self.steps:
            return self.query
        named = ", ".join(f"{name} AS ({text})" for name, text in self.steps)
        return f"WITH {named} {self.query}"


def render(plan: nodes.Plan, dialect: Dialect, leaves: Mapping[str, str] | None = None) -> RenderedPlan:
    """Returns the statement of a plan. Shared nodes become steps: its size is linear in the number of nodes.

    `leaves` maps a leaf's name to the relation it is bound to; a leaf that is not in it keeps its name.
    """
    uses: Counter[int] = Counter()
    for node in nodes.walk(plan):
        uses.update(id(child) for child in nodes.children(node))
    renderer = _Renderer(dialect, uses, leaves or {}, ExpressionRenderer(dialect))
    # Bottom up, so that the recursion ends at the next shared node below, even in a very deep plan.
    for node in nodes.children_first(plan):
        if uses[id(node)] > 1:
            renderer.source(node)
    query = renderer.select(plan)
    return RenderedPlan(tuple(renderer.steps), query)


def _has_columns(expr: Expr) -> bool:
    """Tells whether an expression reads a column."""
    return any(isinstance(part, Col) for part in walk_expression(expr))


def _is_leaf(plan: nodes.Plan) -> bool:
    """Tells whether a plan is a relation whose columns keep their names, so that FROM can name it."""
    return isinstance(plan, nodes.Leaf | nodes.Scan) and all(
        name == column.name for name, column in plan.columns
    )


@dataclass(slots=True)
class _Renderer:
    """The rendering of one plan.

    `uses`: by `id` of a node how many readers it has. `leaves`: as for `render`. `steps`: name and text of
    each shared node so far. `named`: by `id` of a shared node its name.
    """

    dialect: Dialect
    uses: Counter[int]
    leaves: Mapping[str, str]
    expressions: ExpressionRenderer
    steps: list[tuple[str, str]] = field(default_factory=list)
    named: dict[int, str] = field(default_factory=dict)
    aliases: int = 0

    def names(self, plan: nodes.Plan) -> str:
        """Returns the column list of a plan; never `*`, whose order the database decides."""
        return ", ".join(self.dialect.identifier(column.name) for column in nodes.columns(plan))

    def source(self, plan: nodes.Plan) -> str:
        """Returns a plan as an item of FROM; a shared plan becomes a step when it is first rendered."""
        if _is_leaf(plan):
            assert isinstance(plan, nodes.Leaf | nodes.Scan)
            return self.leaf(plan)
        if self.uses[id(plan)] > 1 and not isinstance(plan, nodes.Leaf | nodes.Scan):
            if id(plan) not in self.named:
                text = self.select(plan)
                self.named[id(plan)] = f"s{len(self.steps)}"
                self.steps.append((self.named[id(plan)], text))
            return self.named[id(plan)]
        if isinstance(plan, nodes.Join) and not self.dialect.join_hint:
            return f"({self.join(plan)})"
        self.aliases += 1
        alias = f"q{self.aliases}"
        return f"({self.select(plan)}) AS {alias}"

    def leaf(self, plan: nodes.Leaf | nodes.Scan) -> str:
        """Returns the quoted name of the relation that a leaf is bound to."""
        name = plan.name if isinstance(plan, nodes.Leaf) else plan.source
        return self.dialect.identifier(self.leaves.get(name, name))

    def select(self, plan: nodes.Plan) -> str:
        """Returns a plan as a SELECT statement."""
        match plan:
            case nodes.Scan() | nodes.Leaf() | nodes.Project():
                fused, below = self.fused(plan)
                listed = ", ".join(self.expressions.item(expr, name) for name, expr in fused)
                return f"SELECT {listed} {self.from_leaf_or(below)}"
            case nodes.Filter() | nodes.Join():
                hint = self.dialect.join_hint if isinstance(plan, nodes.Join) else ""
                return f"SELECT {hint}{self.names(plan)} {self.from_where(plan, root=True)}"
            case nodes.SemiJoin(left, right, on, anti):
                word = "ANTI" if anti else "SEMI"
                sides = f"{self.source(left)} {word} JOIN {self.source(right)}"
                return f"SELECT {self.names(left)} FROM {sides} ON {self.expressions.expr(on)}"
            case nodes.SetOperation(branches):
                ordered = (self.select_in_order(branch, nodes.columns(plan)) for branch in branches)
                return f" {plan.operator.upper()} ".join(ordered)
            case nodes.Distinct(child):
                return f"SELECT DISTINCT {self.names(child)} FROM {self.source(child)}"
            case nodes.Aggregate():
                return self.aggregate(plan)
            case nodes.Limit(child, order, count, offset, _):
                text = f"SELECT {self.names(child)} FROM {self.source(child)}"
                text += f" ORDER BY {', '.join(map(self.expressions.sort_key, order))}" if order else ""
                text += "" if count is None else f" LIMIT {count}"
                return text + (f" OFFSET {offset}" if offset else "")
            case nodes.Numbered() | nodes.Window() | nodes.Explode() | nodes.Mark():
                return self.with_more_columns(plan)
            case nodes.Values():
                return self.values(plan)
            case _:
                assert_never(plan)

    def with_more_columns(self, plan: nodes.Numbered | nodes.Window | nodes.Explode | nodes.Mark) -> str:
        """Returns a plan that adds columns to its child, as a SELECT statement."""
        match plan:
            case nodes.Numbered(child, partition, name):
                by = ", ".join(self.expressions.expr(expr) for expr in partition)
                counter = f"CAST(row_number() OVER (PARTITION BY {by} ORDER BY {by}) AS INT)"
                items = f"{self.names(child)}, {counter} AS {self.dialect.identifier(name)}"
                return f"SELECT {items} FROM {self.source(child)}"
            case nodes.Window(child, calls):
                listed = ", ".join(self.expressions.item(call, name) for name, call in calls)
                return f"SELECT {self.names(child)}, {listed} FROM {self.source(child)}"
            case nodes.Explode(child, array, outer, position, value):
                names = [self.dialect.identifier(column.name) for column in (position, value)]
                exploded = self.dialect.exploded(self.expressions.expr(array), outer, *names)
                return exploded.over(self.names(child), self.source(child))
            case nodes.Mark():
                raise TypeError("a mark is rendered as the semi joins that its rule makes of it")
            case _:
                assert_never(plan)

    def fused(self, plan: nodes.Scan | nodes.Leaf | nodes.Project) -> tuple[Items, nodes.Plan]:
        """Returns projections above one another as one, and the plan that they read; less text binds faster.

        A projection with several readers stays a step, and so does one whose expressions would occur twice.
        """
        if not isinstance(plan, nodes.Project):
            return tuple((c.name, Col(source, c.type)) for source, c in plan.columns), plan
        return self.over(plan.items, plan.child)

    def over(self, items: Items, child: nodes.Plan) -> tuple[Items, nodes.Plan]:
        """Returns items over a node as items over the plan that the node projects from, if `fused` allows."""
        if isinstance(child, nodes.Project) and self.uses[id(child)] > 1:
            return items, child
        if not isinstance(child, nodes.Scan | nodes.Leaf | nodes.Project):
            return items, child
        inner, below = self.fused(child)
        used = Counter(
            part.name for _, expr in items for part in walk_expression(expr) if isinstance(part, Col)
        )
        if any(used[name] > 1 and not isinstance(expr, Col | Lit) for name, expr in inner):
            return items, child
        meaning = dict(inner)
        return tuple((n, replace_columns(e, lambda col: meaning[col.name])) for n, e in items), below

    def select_in_order(self, plan: nodes.Plan, order: tuple[Col, ...]) -> str:
        """Returns a branch of a union with its columns in the order of the first branch."""
        if [column.name for column in nodes.columns(plan)] == [column.name for column in order] and self.uses[
            id(plan)
        ] <= 1:
            return self.select(plan)
        names = ", ".join(self.dialect.identifier(column.name) for column in order)
        return f"SELECT {names} FROM {self.source(plan)}"

    def from_where(self, plan: nodes.Plan, root: bool = False) -> str:
        """Returns FROM and WHERE of a SELECT over a plan; filters and joins with one reader are inlined.

        `root`: the plan itself is being rendered, so it is not looked up among the steps.
        """
        conditions: list[str] = []
        while isinstance(plan, nodes.Filter) and (root or self.uses[id(plan)] <= 1):
            conditions.append(self.expressions.expr(plan.predicate))
            plan, root = plan.child, False
        single = isinstance(plan, nodes.Join) and (
            root or (self.uses[id(plan)] <= 1 and not self.dialect.join_hint)
        )
        text = f"FROM {self.join(plan) if single and isinstance(plan, nodes.Join) else self.source(plan)}"
        return f"{text} WHERE {' AND '.join(reversed(conditions))}" if conditions else text

    def from_leaf_or(self, plan: nodes.Plan) -> str:
        """Returns FROM and WHERE of the plan below fused projections; a leaf has its stored column names."""
        return (
            f"FROM {self.leaf(plan)}" if isinstance(plan, nodes.Scan | nodes.Leaf) else self.from_where(plan)
        )

    def join(self, join: nodes.Join) -> str:
        """Returns a join as an item of FROM, without parentheses."""
        word = "JOIN" if join.kind is nodes.JoinKind.INNER else join.kind.value.upper()
        condition = "" if join.on is None else f" ON {self.expressions.expr(join.on)}"
        return f"{self.source(join.left)} {word} {self.source(join.right)}{condition}"

    def aggregate(self, plan: nodes.Aggregate) -> str:
        """Returns an aggregation as a SELECT with its GROUP BY."""
        items, below = self.over((*plan.keys, *plan.aggregates), plan.child)
        listed = ", ".join(self.expressions.item(expr, name) for name, expr in items)
        text = f"SELECT {listed} {self.from_leaf_or(below)}"
        if not plan.keys:
            return text
        # In GROUP BY a constant such as 1 or -1 would be read as the position of a column.
        varying = [expr for _, expr in items[: len(plan.keys)] if _has_columns(expr)]
        by = ", ".join(map(self.expressions.expr, varying))
        return f"{text} GROUP BY {by or ONE_GROUP}"

    def values(self, plan: nodes.Values) -> str:
        """Returns constant rows as a UNION ALL of SELECTs."""
        rows = (
            "SELECT "
            + ", ".join(
                self.expressions.item(Lit(v, c.type), c.name) for v, c in zip(row, plan.columns_, strict=True)
            )
            for row in plan.rows
        )
        return " UNION ALL ".join(rows)
