"""Decorrelates queries with groups, windows, DISTINCT or LIMIT: they are computed for all outer rows at once.

`EXISTS (SELECT 1 FROM s WHERE s.k = r.k GROUP BY s.x HAVING COUNT(*) > 1)` means groups of s for each row of
r. Here the groups are computed for every k at once, with k as one more key, and are then joined with r on k.
In the same way k becomes one more key of a PARTITION BY or a DISTINCT, and LIMIT 3 becomes ROW_NUMBER() <= 3
in the partition of k.

Where the correlation is no equality (`s.day <= r.day`), s is first joined with the distinct values of r.day,
and these are the keys (Neumann and Kemper, Unnesting Arbitrary Queries, BTW 2015, section 3).

In this room "outside" is the outer query, and a "tie" is a correlated predicate.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.branches import Branch
from dynamic_tables.plan.expressions import Col, Fn, Lit, Win, conjunction, replace_columns
from dynamic_tables.plan.nodes import Distinct, Filter, Plan, Window
from dynamic_tables.plan.rewrites.grouping_sets import sets_of
from dynamic_tables.plan.types import INT
from dynamic_tables.reading.blocks import grouping
from dynamic_tables.reading.blocks.correlated import Block, Ctes, Queries, bind_block
from dynamic_tables.reading.blocks.limit import Cut, Order, cut_of, is_cut, order_of
from dynamic_tables.reading.blocks.order_over_outputs import has_outputs_only
from dynamic_tables.reading.subqueries.correlation import Tied, tied_by_keys, tied_by_values
from dynamic_tables.reading.values.aggregate_forms import AGGREGATE_SYNTAX, has_group_aggregate
from dynamic_tables.reading.values.scope import Bound, Names, Outputs, Scope
from dynamic_tables.reading.values.typed import call

COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)
"""The comparisons. To each of them 0.0 and -0.0 are one value, as they are to DISTINCT."""

OUTSIDE = "$outside"
"""The alias under which a rewritten query names columns of the outer query."""


@dataclass(frozen=True, slots=True)
class Dependent:
    """The rows of a decorrelated query. `single`: each outer row has at most one of them."""

    rows: Tied
    outputs: Outputs
    single: bool = False


def dependent(
    query: exp.Select, left: Plan, queries: Queries, outside: Scope, ctes: Ctes, what: str
) -> Dependent:
    """Returns the rows of a query inside `what`, say IN, which may read the columns `outside` of `left`.

    The steps: take LIMIT off, bind FROM and WHERE, replace outer columns in the other clauses, tie the rows
    to the keys, bind the other clauses with the keys added, put LIMIT back for each key.

    Raises DefinitionError: an unknown name. Raises UnsupportedError: a clause or correlation without a rule.
    """
    names, cut = queries.names, cut_of(query) if is_cut(query) else None
    if cut is not None and cut.hidden and has_outputs_only(query):
        raise UnsupportedError(f"{what} ordered by an expression over its outputs", "select the expression")
    inner = query.copy() if cut is None else cut.query
    assert isinstance(inner, exp.Select)
    _ensure_covered(inner, what)
    block = bind_block(inner, queries, outside, ctes, what)
    outer = _Outer(names, block)
    outer.rewrite(inner)
    # If a clause above WHERE also reads an outer column, its value must be in the rows: only the join with
    # the distinct outer values has it.
    tied = tied_by_keys(names, block, what) if not outer.found else None
    if tied is None:
        tied = tied_by_values(names, block, left, outer.found, what, computed=outer.computed)
    bound = _with_keys(names, inner, block.scope, tied)
    shown = len(bound.outputs) - len(tied.keys)
    outputs, keys = bound.outputs[:shown], tuple(column for _, column in bound.outputs[shown:])
    renamed = {old.name: new for old, new in zip(tied.keys, keys, strict=True)}
    ties = tuple(replace_columns(tie, lambda col: renamed.get(col.name, col)) for tie in tied.ties)
    if cut is None:
        return Dependent(Tied(bound.plan, ties, keys), outputs)
    shown -= cut.hidden
    order = order_of(names, cut, outputs[:shown], outputs[shown:])
    first = _first_of_each(names, bound.plan, keys, cut, order)
    return Dependent(Tied(first, ties, keys), outputs[:shown], single=cut.count == 1)


@dataclass(slots=True)
class _Outer:
    """The outer columns that the clauses above WHERE read, each with the new column that stands for it.

    `computed`: those of them that are not only compared, but computed with or shown.
    """

    names: Names
    block: Block
    found: dict[Col, Col] = field(default_factory=dict)
    computed: set[Col] = field(default_factory=set)

    def rewrite(self, query: exp.Select) -> None:
        """Renames outer columns in the select list, GROUP BY, HAVING and QUALIFY to columns of `OUTSIDE`."""
        aliases = frozenset(item.alias.lower() for item in query.expressions if isinstance(item, exp.Alias))
        before: set[str] = set()
        for item in list(query.expressions):
            ensure_no_alias_read(item, before, self.block.scope)
            before.update([item.alias.lower()] if isinstance(item, exp.Alias) else [])
            self._rewrite(item, frozenset())
        for part in _above_items(query):
            self._rewrite(part, aliases)

    def _rewrite(self, part: exp.Expr, aliases: Collection[str]) -> None:
        """Renames the outer columns in one clause; `aliases`: outputs, whose names come first there."""
        for node in list(part.find_all(exp.Column)):
            column = self._outside(node, aliases)
            if column is None:
                continue
            if node.find_ancestor(*AGGREGATE_SYNTAX) is not None:
                raise UnsupportedError(
                    "an aggregate of a column outside", "it may be one of the query outside"
                )
            new = Col(self.names.fresh(f"$outer_{column.name}"), column.type)
            new = self.found.setdefault(column, new)
            if not isinstance(node.parent, COMPARED):
                self.computed.add(column)
            name: exp.Expr = exp.column(new.name, table=OUTSIDE, quoted=True)
            if isinstance(node.parent, exp.Select) and node.arg_key == "expressions":
                name = exp.alias_(name, node.name, quoted=True)
            node.replace(name)

    def _outside(self, node: exp.Column, aliases: Collection[str]) -> Col | None:
        """Returns the outer column that a name stands for; None for a name of another kind."""
        if isinstance(node.this, exp.Star):
            return None
        if not node.table and node.name.lower() in aliases:
            # In these clauses the name of an output comes before an outer column.
            return None
        try:
            column = self.block.binder.resolve(node)
        except DefinitionError:
            # Perhaps the name of an output; if not, it is refused where it is bound.
            return None
        return column if isinstance(column, Col) and self.block.reads_outside(column) else None


def ensure_no_alias_read(item: exp.Expr, before: Collection[str], scope: Scope) -> None:
    """Raises UnsupportedError where an item of a select list reads an output `before` it, by its alias.

    The same name may be that of an outer column, too. Spark takes a column inside first, then the output, and
    only then the outer column.
    """
    inside = {name.lower() for _, outputs in scope.relations for name, _ in outputs}
    for node in item.find_all(exp.Column):
        if not node.table and node.name.lower() in before and node.name.lower() not in inside:
            raise UnsupportedError(f"a select list that reads its own output {node.name}", "use a sub-select")


def _above_where(query: exp.Select) -> Iterator[exp.Expr]:
    """Yields the items of the select list, then the clauses of `_above_items`."""
    yield from query.expressions
    yield from _above_items(query)


def _above_items(query: exp.Select) -> Iterator[exp.Expr]:
    """Yields GROUP BY, HAVING and QUALIFY, as far as a query has them."""
    for name in ("group", "having", "qualify"):
        part = query.args.get(name)
        if part is not None:
            yield part


def _ensure_covered(query: exp.Select, what: str) -> None:
    """Raises UnsupportedError for a query that cannot be decorrelated here."""
    parts, group = list(_above_where(query)), query.args.get("group")
    if any(part.find(exp.Query) is not None for part in parts):
        raise UnsupportedError(f"a query inside a correlated query with groups or windows in {what}")
    if query.args.get("windows"):
        raise UnsupportedError(f"a named window inside {what}", "write the window after OVER")
    of_all = group is not None and group.args.get("all") and all(map(has_group_aggregate, query.expressions))
    if of_all or (group is None and any(map(has_group_aggregate, parts))):
        raise UnsupportedError(f"an aggregate without GROUP BY inside {what}", "it has a row of nothing, too")
    if group is not None and sets_of(group) is not None:
        raise UnsupportedError(
            f"grouping sets inside a correlated {what}", "put the groups into a sub-select"
        )


def _with_keys(names: Names, query: exp.Select, scope: Scope, tied: Tied) -> Bound:
    """Returns a query over tied rows, with the keys added to GROUP BY, PARTITION BY and the select list.

    So each group, partition and distinct row belongs to one combination of keys. The last outputs are the
    keys.
    """
    keys = [exp.column(key.name, table=OUTSIDE, quoted=True) for key in tied.keys]
    hidden = scope.hidden.union(key.name for key in tied.keys)
    outside = (OUTSIDE, tuple((key.name, key) for key in tied.keys))
    scope = replace(scope, relations=(*scope.relations, outside), hidden=hidden)
    group = query.args.get("group")
    for window in [found for part in _above_where(query) for found in part.find_all(exp.Window)]:
        window.set("partition_by", [*(window.args.get("partition_by") or ()), *(key.copy() for key in keys)])
    for key in keys:
        if group is not None and not group.args.get("all"):
            group.append("expressions", key.copy())
        query.append("expressions", exp.alias_(key.copy(), key.name, quoted=True))
    bound = grouping.bind_items(names, query, tied.plan, scope)
    if query.args.get("distinct") is None:
        return bound
    names.refuse_keys((column for _, column in bound.outputs), "DISTINCT")
    return Bound(Distinct(bound.plan), bound.outputs)


def _first_of_each(names: Names, plan: Plan, keys: Sequence[Col], cut: Cut, order: Order) -> Plan:
    """Returns the rows that LIMIT and OFFSET keep for each combination of keys, by ROW_NUMBER."""
    names.branches.add(Branch.OFFSET_OF_EACH if cut.offset else Branch.FIRST_OF_EACH)
    number = Col(names.fresh("row_number"), INT)
    counted = Win(Fn("row_number", (), INT), tuple(keys), order.keys, None, False, INT)
    bounds = [call(">", number, Lit(cut.offset, INT))]
    if cut.count is not None:
        bounds.append(call("<=", number, Lit(min(cut.offset + cut.count, 2**31 - 1), INT)))
    return Filter(Window(plan, ((number.name, counted),), order.free), conjunction(bounds))
