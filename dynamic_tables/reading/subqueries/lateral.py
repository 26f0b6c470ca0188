"""LATERAL joins: each left row is joined with the rows that a function or a query makes of it.

A function makes them of an array (`exploding`). A query is decorrelated in one of four ways: without FROM it
is a projection; one of aggregates without GROUP BY is a scalar subquery for each output; one with groups,
windows, DISTINCT or LIMIT goes through `decorrelate`; any other one is a plain join, whose condition are its
correlated predicates.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.branches import Branch
from dynamic_tables.plan.expressions import Agg, Col, Expr, Lit, conjunction, walk
from dynamic_tables.plan.nodes import Filter, Join, JoinKind, Plan, Project, columns
from dynamic_tables.plan.types import BOOLEAN
from dynamic_tables.reading.blocks.correlated import Block, Ctes, Queries, bind_block, plain_query
from dynamic_tables.reading.blocks.exploding import beside, exploded, exploding, with_exploded_items
from dynamic_tables.reading.blocks.grouping import UNNAMED, without_excepted
from dynamic_tables.reading.blocks.limit import is_cut
from dynamic_tables.reading.blocks.output_names import own_name
from dynamic_tables.reading.subqueries.decorrelate import dependent, ensure_no_alias_read
from dynamic_tables.reading.subqueries.scalar import Scalars
from dynamic_tables.reading.text.parse import parts
from dynamic_tables.reading.values.aggregate_forms import has_group_aggregate
from dynamic_tables.reading.values.bind_expression import ExpressionBinder
from dynamic_tables.reading.values.refusals import join_kind
from dynamic_tables.reading.values.scope import Outputs, Scope, listed
from dynamic_tables.reading.values.typed import predicate

Items = Sequence[tuple[str, Expr]]


def lateral_join(
    queries: Queries, left: Plan, scope: Scope, node: exp.Join, ctes: Ctes
) -> tuple[Plan, Scope]:
    """Returns the plan and the scope of a join of `left` with a LATERAL item.

    Raises DefinitionError or UnsupportedError for an item, a kind or a condition that cannot be bound.
    """
    lateral, kind = node.this, join_kind(node)
    for part in parts(lateral):
        if part not in ("this", "alias"):
            raise UnsupportedError(f"LATERAL with {part.replace('_', ' ')}")
    if kind in (JoinKind.RIGHT, JoinKind.FULL) or node.args.get("using") or node.args.get("method"):
        raise UnsupportedError("RIGHT, FULL, NATURAL or USING with LATERAL", "Spark has no such joins")
    on = node.args.get("on")
    on = None if isinstance(on, exp.Boolean) and on.this else on
    joining = _Lateral(queries, left, scope, ctes, padded=kind is JoinKind.LEFT)
    call = exploding(lateral.this)
    if call is not None:
        plan, outputs = exploded(queries.names, left, scope, call, outer=joining.padded)
    elif isinstance(lateral.this, exp.Subquery):
        return joining.query(plain_query(lateral.this, "LATERAL"), lateral, on)
    else:
        raise UnsupportedError("LATERAL of a relation", "write a function or a query after LATERAL")
    return joining.restricted(plan, listed(outputs, lateral.args.get("alias")), lateral, on)


class _Lateral:
    """The join of `left` with a LATERAL item; `padded`: as a LEFT JOIN, it keeps rows without a partner."""

    def __init__(self, queries: Queries, left: Plan, scope: Scope, ctes: Ctes, *, padded: bool) -> None:
        self.queries, self.left, self.scope, self.ctes, self.padded = queries, left, scope, ctes, padded

    def restricted(
        self, plan: Plan, outputs: Outputs, lateral: exp.Expr, on: exp.Expr | None
    ) -> tuple[Plan, Scope]:
        """Returns a plan that has a row for each pair, with the pairs that meet ON, and its scope."""
        both = beside(self.scope, lateral.alias, outputs)
        if on is None:
            return plan, both
        if self.padded:
            raise UnsupportedError("LEFT JOIN LATERAL with a condition", "write ON TRUE, or a sub-select")
        return Filter(plan, self.condition(on, both)), both

    def condition(self, on: exp.Expr, both: Scope) -> Expr:
        """Returns ON as it is read over both sides."""
        names = self.queries.names
        condition = predicate(ExpressionBinder(both.resolve, type_of=names.type_of).bind(on), "ON")
        names.refuse_float_comparison(condition, "a join condition")
        return condition

    def query(self, query: exp.Expr, lateral: exp.Expr, on: exp.Expr | None) -> tuple[Plan, Scope]:
        """Returns the join with the rows of a query."""
        if not isinstance(query, exp.Select):
            raise UnsupportedError("LATERAL of a set operation", "write one SELECT")
        clauses = ("group", "having", "qualify", "distinct")
        if is_cut(query) or any(map(query.args.get, clauses)) or any(map(_has_window, query.expressions)):
            return self._of_each(query, lateral, on)
        if query.args.get("from_") is None:
            plan, outputs = self._without_from(query)
            return self.restricted(plan, listed(outputs, lateral.args.get("alias")), lateral, on)
        if _aggregates(query):
            plan, outputs = self._aggregated(query)
            return self.restricted(plan, listed(outputs, lateral.args.get("alias")), lateral, on)
        return self._joined(query, lateral, on)

    def _of_each(self, query: exp.Select, lateral: exp.Expr, on: exp.Expr | None) -> tuple[Plan, Scope]:
        """Returns the join with a query that has groups, DISTINCT, windows or LIMIT."""
        self.queries.names.branches.add(Branch.LATERAL_OF_EACH)
        found = dependent(query, self.left, self.queries, self.scope, self.ctes, "LATERAL")
        both = beside(self.scope, lateral.alias, listed(found.outputs, lateral.args.get("alias")))
        ties = [*found.rows.ties, *([] if on is None else [self.condition(on, both)])]
        return self._tied(found.rows.plan, ties), both

    def _without_from(self, query: exp.Select) -> tuple[Plan, Outputs]:
        """Returns the rows of a query that has no FROM: expressions over the row, and its arrays exploded."""
        if any(name not in ("expressions", "kind") for name in parts(query)):
            raise UnsupportedError("a clause of a SELECT without FROM inside LATERAL")
        plan, scope, query = with_exploded_items(self.queries.names, self.left, self.scope, query)
        if self.padded and plan is not self.left:
            raise UnsupportedError("LEFT JOIN LATERAL (SELECT explode(...))", "write LATERAL explode(...)")
        binder = ExpressionBinder(scope.resolve, type_of=self.queries.names.type_of)
        return self._projected(plan, _named_items(query, binder))

    def _aggregated(self, query: exp.Select) -> tuple[Plan, Outputs]:
        """Returns a query of aggregates without GROUP BY: one row, whose outputs are scalar subqueries."""
        self.queries.names.branches.add(Branch.LATERAL_VALUES)
        values, plan, outputs = Scalars(self.queries, self.scope, self.ctes), self.left, []
        for place, item in enumerate(query.expressions):
            one = query.copy()
            one.set("expressions", [item.unalias().copy()])
            # In parentheses, because it is replaced by the name of its value.
            written = exp.paren(exp.Subquery(this=one))
            # Two outputs of one value are two columns.
            values.known.clear()
            plan = values.joined(plan, [written.this])
            name = written.find(exp.Column)
            assert name is not None, "the syntax names the value"
            column = values.scope.resolve(name)
            assert isinstance(column, Col)
            outputs.append((item.alias or own_name(item, query) or f"{UNNAMED}{place}", column))
        return plan, tuple(outputs)

    def _joined(self, query: exp.Select, lateral: exp.Expr, on: exp.Expr | None) -> tuple[Plan, Scope]:
        """Returns the join with a plain query, FROM and WHERE, on its correlated predicates."""
        names = self.queries.names
        names.branches.add(Branch.LATERAL_ROWS)
        block = bind_block(query, self.queries, self.scope, self.ctes, "LATERAL")
        # Outputs that read only the inner rows are computed below the join; the others need both sides.
        items = _named_items(query, block.binder, block)
        own = [item for item in items if not block.reads_outside(item[1])]
        if len(own) < len(items) and self.padded:
            raise UnsupportedError("LEFT JOIN LATERAL that computes with a column from outside")
        inner, outputs = self._projected(block.plan, own)
        column_of, ties = dict(zip([id(item) for item in own], outputs, strict=True)), list(block.ties)
        if on is not None and len(own) < len(items):
            raise UnsupportedError("ON of a LATERAL query that computes with a column from outside")
        if on is not None:
            both = beside(self.scope, lateral.alias, listed(outputs, lateral.args.get("alias")))
            ties.append(self.condition(on, both))
        names.refuse_float_comparison(conjunction(ties) if ties else Lit(True, BOOLEAN), "a join condition")
        plan = self._tied(inner, ties)
        outside = [item for item in items if id(item) not in column_of]
        if outside:
            plan, computed = self._projected(plan, outside)
            column_of.update(zip([id(item) for item in outside], computed, strict=True))
        shown = tuple(column_of[id(item)] for item in items)
        return plan, beside(self.scope, lateral.alias, listed(shown, lateral.args.get("alias")))

    def _tied(self, inner: Plan, ties: Sequence[Expr]) -> Plan:
        """Returns the join of the left rows with inner rows, on conditions that tie them."""
        if self.padded:
            return Join(JoinKind.LEFT, self.left, inner, conjunction(ties) if ties else Lit(True, BOOLEAN))
        if ties:
            return Join(JoinKind.INNER, self.left, inner, conjunction(ties))
        return Join(JoinKind.CROSS, self.left, inner, None)

    def _projected(self, plan: Plan, items: Items) -> tuple[Plan, Outputs]:
        """Returns a plan with all its columns and the items beside them."""
        names, outputs, computed = self.queries.names, [], []
        for name, expr in items:
            if any(isinstance(part, Agg) for part in walk(expr)):
                raise UnsupportedError("an aggregate beside other outputs inside LATERAL")
            column = Col(names.fresh(name), expr.type)
            if names.is_float_aggregate(expr):
                names.float_aggregates.add(column.name)
            outputs.append((name, column))
            computed.append((column.name, expr))
        kept = tuple((each.name, each) for each in columns(plan))
        return Project(plan, (*kept, *computed)), tuple(outputs)


def _aggregates(query: exp.Select) -> bool:
    """Tells whether each output of a query is computed from aggregates, so that it has one row."""
    return all(map(has_group_aggregate, query.expressions))


def _has_window(item: exp.Expr) -> bool:
    """Tells whether an item of a select list has a window function of its own query."""
    return any(
        isinstance(part, exp.Window) for part in item.walk(prune=lambda node: isinstance(node, exp.Query))
    )


def _named_items(
    query: exp.Select, binder: ExpressionBinder, block: Block | None = None
) -> list[tuple[str, Expr]]:
    """Returns the outputs of a select list; a star stands for the columns of the query's own FROM."""
    items: list[tuple[str, Expr]] = []
    before: set[str] = set()
    for place, item in enumerate(query.expressions):
        ensure_no_alias_read(item, before, Scope(()) if block is None else block.scope)
        before.update([item.alias.lower()] if item.alias else [])
        star = item.this if isinstance(item, exp.Column) else item
        if isinstance(star, exp.Star):
            if block is None:
                raise DefinitionError("a star in a SELECT without FROM; list the columns")
            table = item.table if isinstance(item, exp.Column) else None
            items.extend(without_excepted(star, block.scope.star(table)))
        else:
            name = item.alias or own_name(item, query) or f"{UNNAMED}{place}"
            items.append((name, binder.bind(item.unalias())))
    return items
