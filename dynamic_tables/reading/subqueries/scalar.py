"""Decorrelates scalar subqueries: each becomes a join with the rows that it has for all outer rows at once.

- `(SELECT MAX(s.x) FROM s WHERE s.k = r.k)` is a LEFT JOIN of r with the groups of s by k. A row of r
  without a group gets NULL, as the subquery over no rows gives; a COUNT gets 0.
- `(SELECT MAX(s.x) FROM s)`, which reads nothing of r, has one row: a CROSS JOIN.
- `(SELECT s.x FROM s WHERE s.k = r.k)`, no aggregate, is grouped by k with MAX(x) and COUNT(*). A group of
  several rows makes the refresh fail, as it makes the query fail.

EXISTS and IN inside an expression become marks (see `membership`) by the same class. In the syntax tree, the
subquery is replaced by the name of the column that holds its value; then the block is bound as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.branches import Branch
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit, replace_columns, text
from dynamic_tables.plan.functions import CASE, FAIL
from dynamic_tables.plan.nodes import Aggregate, Plan, Project
from dynamic_tables.plan.rewrites.total_order import are_one
from dynamic_tables.plan.types import BIGINT, BOOLEAN, NUMERIC, TEMPORAL, Kind, Type
from dynamic_tables.reading.blocks.correlated import Block, Ctes, Queries, bind_block, plain_query
from dynamic_tables.reading.blocks.grouping import Grouping
from dynamic_tables.reading.blocks.subquery_columns import Beside, MarkBeside, ValueBeside
from dynamic_tables.reading.subqueries.correlation import Tied, columns_outside, tied_by_keys, tied_by_values
from dynamic_tables.reading.subqueries.decorrelate import dependent
from dynamic_tables.reading.subqueries.membership import Members, is_exists, membership
from dynamic_tables.reading.values.aggregate_forms import has_group_aggregate
from dynamic_tables.reading.values.scope import Scope
from dynamic_tables.reading.values.typed import call, predicate

SCALARS = "$scalars"
"""The alias under which the values of scalar subqueries are in scope."""

WHAT = "a scalar subquery"

OfGroups = Callable[[exp.Expr], bool]
"""(subquery) -> whether its value is joined with the groups of the block, and not with its rows."""

COMPARED = frozenset({*NUMERIC, *TEMPORAL, Kind.STRING, Kind.BOOLEAN})
"""The kinds of values that have a MAX, which picks the one value of a group."""


def scalars(node: exp.Expr) -> Iterator[exp.Subquery]:
    """Yields the scalar subqueries of an expression, but not those inside other queries."""
    if isinstance(node, exp.Subquery):
        yield node
    elif isinstance(node, exp.In) and node.args.get("query") is not None:
        yield from scalars(node.this)
    elif not (isinstance(node, exp.Query) or _of_query(node) or is_exists(node)):
        for child in node.iter_expressions():
            yield from scalars(child)


def marks(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yields EXISTS and IN with a query in an expression, but not those inside other queries."""
    if is_exists(node) or (isinstance(node, exp.In) and node.args.get("query") is not None):
        yield node
    elif not (isinstance(node, exp.Query) or _of_query(node)):
        for child in node.iter_expressions():
            yield from marks(child)


def _of_query(node: exp.Expr) -> bool:
    """Tells whether an expression is ANY or ALL of a query, and not `LIKE ANY ('x%', 'y%')`."""
    return isinstance(node, exp.Any | exp.All) and not isinstance(node.this, exp.Tuple)


@dataclass(slots=True)
class Scalars:
    """Joins the values of scalar subqueries, and marks of EXISTS and IN, with the rows of one FROM clause.

    `scope`: the columns of that clause, and the values so far. `later`: the values that are joined with the
    groups of the block, once these are formed. `known`: the column of each value so far, by the text of the
    subquery and whether it is `later`: a subquery that is written twice is computed once.
    """

    queries: Queries
    scope: Scope
    ctes: Ctes
    later: list[Beside] = field(default_factory=list)
    known: dict[tuple[str, bool], str] = field(default_factory=dict)

    def joined(
        self,
        plan: Plan,
        subqueries: Iterable[exp.Expr],
        *,
        correlated: bool = True,
        of_groups: OfGroups = lambda _: False,
    ) -> Plan:
        """Returns a plan with a column for each scalar subquery, and writes its name into the syntax instead.

        `correlated`: whether they may read columns of the plan. `of_groups`: tells which are `later`.
        """
        for subquery in list(subqueries):
            if subquery.parent is None:
                raise UnsupportedError("scalar subquery as a condition", "compare it with TRUE")
            later = of_groups(subquery)
            if self._is_known(subquery, later=later):
                continue
            try:
                value = self._value(plan, plain_query(subquery, "an expression"), correlated=correlated)
            except DefinitionError as error:
                if not (later or subquery.find_ancestor(exp.Qualify)):
                    raise
                # It may read an output, or an aggregate of the groups.
                raise UnsupportedError(f"scalar subquery beside outputs ({error})") from error
            plan = self._with(plan, value, value.value.type, subquery, later=later)
        return plan

    def marked(
        self,
        plan: Plan,
        members: Iterable[exp.Expr],
        *,
        of_groups: OfGroups = lambda _: False,
        filters: bool = False,
        joins: bool = False,
    ) -> Plan:
        """Returns a plan with a mark for each EXISTS and IN, and writes its name into the syntax instead.

        `of_groups`: tells which are `later`. `filters`: what they stand in is a condition of WHERE; `joins`:
        of ON of an outer join.
        """
        for node in list(members):
            later = of_groups(node)
            if isinstance(node, exp.In) and not _only_decides(node, filters=filters, joins=joins):
                # Where SQL's IN is NULL, Spark's value is FALSE or NULL, depending on its optimizer. That is
                # harmless only where NULL and FALSE have the same effect.
                raise UnsupportedError("IN (subquery) as a value", "write EXISTS, which is never NULL")
            member = membership(node)
            assert member is not None, "marks are memberships"
            if node.parent is None:
                raise UnsupportedError("EXISTS or IN (subquery) as a condition by itself")
            if self._is_known(node, later=later):
                continue
            try:
                mark = Members(self.queries, self.scope, self.ctes, aggregates=later).mark(plan, member)
            except DefinitionError as error:
                if not (later or node.find_ancestor(exp.Qualify)):
                    raise
                # It may read an output, or an aggregate of the groups.
                what = "aggregates" if later else "outputs"
                raise UnsupportedError(f"EXISTS or IN (subquery) beside {what} ({error})") from error
            plan = self._with(plan, mark, BOOLEAN, node, later=later)
        return plan

    def _with(self, plan: Plan, beside: Beside, type_: Type, node: exp.Expr, *, later: bool) -> Plan:
        """Returns a plan with a value or mark for a syntax node, which then names it."""
        if later:
            marks_groups = isinstance(beside, MarkBeside)
            branch = Branch.MARK_BESIDE_GROUPS if marks_groups else Branch.VALUE_BESIDE_GROUPS
            self.queries.names.branches.add(branch)
            self.later.append(beside)
        else:
            plan = beside.onto(plan)
        self._see(Col(beside.name, type_))
        self.known[_text(node), later] = beside.name
        _name(node, beside.name)
        return plan

    def _is_known(self, node: exp.Expr, *, later: bool) -> bool:
        """Tells whether a query stood before; then the syntax names its value."""
        name = self.known.get((_text(node), later))
        if name is not None:
            _name(node, name)
        return name is not None

    def _value(self, plan: Plan, query: exp.Expr, *, correlated: bool) -> ValueBeside:
        """Returns the value of a scalar subquery: of an aggregate over all its rows, or of its only row."""
        if isinstance(query, exp.Select) and len(query.expressions) != 1:
            raise DefinitionError(f"a scalar subquery of {len(query.expressions)} columns; select one")
        if isinstance(query, exp.Select) and _is_one_aggregate(query):
            block = bind_block(query, self.queries, self.scope, self.ctes, WHAT)
            value = block.binder.bind(query.expressions[0].unalias())
            kept = _having(query, block)
            if kept is not None:
                value = Fn(CASE, (kept, value, Lit(None, value.type)), value.type)
            outside = columns_outside(block, [*block.ties, value])
            self._ensure_correlated(outside, correlated=correlated)
            return self._aggregate(plan, block, value, kept)
        return self._only_row(plan, query, correlated=correlated)

    def _ensure_correlated(self, outside: Sequence[object], *, correlated: bool) -> None:
        """Raises UnsupportedError: a subquery reads columns `outside` of it, and may not."""
        if outside and not correlated:
            raise UnsupportedError("scalar subquery that reads a column of a join, in its ON")

    def _aggregate(self, plan: Plan, block: Block, item: Expr, kept: Expr | None) -> ValueBeside:
        """Returns the value of a subquery with one aggregate, from the groups by its correlated columns.

        `kept`: the condition of HAVING. An outer row without a group has a value, too: that of no rows.
        """
        names = self.queries.names
        if columns_outside(block, [item]):
            raise UnsupportedError("scalar subquery that computes with a column from outside")
        tied = tied_by_keys(names, block, WHAT) or tied_by_values(names, block, plan, {}, WHAT)
        grouping = Grouping(names, [(key.name, key) for key in tied.keys], block.scope)
        value = grouping.over_groups(item)
        names.branches.add(Branch.VALUE_OF_GROUP if tied.keys else Branch.VALUE_OF_ALL)
        if kept is not None:
            names.branches.add(Branch.VALUE_WITH_HAVING)
            names.refuse_float_comparison(grouping.over_groups(kept), "HAVING")
        groups = grouping.plan(tied.plan)
        keys = {
            key.name: Col(name, key.type) for key, (name, _) in zip(tied.keys, grouping.keys, strict=True)
        }
        if tied.keys:
            value = _of_nothing_too(value, grouping)
        return self._beside(groups, _renamed(tied.ties, keys), value)

    def _only_row(self, plan: Plan, query: exp.Expr, *, correlated: bool) -> ValueBeside:
        """Returns the value of a query that has at most one row for each outer row; several make it fail."""
        names = self.queries.names
        try:
            bound = self.queries.query(query, self.ctes)
            rows, outputs, single = Tied(bound.plan), bound.outputs, False
        except DefinitionError:
            if not isinstance(query, exp.Select):
                raise
            # An unknown name may be a column of the outer query.
            found = dependent(query, plan, self.queries, self.scope, self.ctes, WHAT)
            rows, outputs, single = found.rows, found.outputs, found.single
        self._ensure_correlated(rows.keys, correlated=correlated)
        if len(outputs) != 1:
            raise DefinitionError(f"a scalar subquery of {len(outputs)} columns; select one")
        ((_, column),) = outputs
        # No check is needed where the plan proves that the keys have one row: LIMIT 1, or a grouping by them.
        one = single or are_one(rows.plan, frozenset(key.name for key in rows.keys))
        names.branches.add(Branch.VALUE_OF_ONE_ROW if one else Branch.VALUE_CHECKED)
        if column.type.kind not in COMPARED:
            return self._nested(rows, column, one=one)
        value, count = Col(names.fresh(column.name), column.type), Col(names.fresh("rows"), BIGINT)
        if names.is_float_aggregate(column):
            names.float_aggregates.add(value.name)
        keys = {key.name: Col(names.fresh(key.name), key.type) for key in rows.keys}
        groups = Aggregate(
            rows.plan,
            tuple((keys[key.name].name, key) for key in rows.keys),
            (
                (count.name, Agg("COUNT", None, False, BIGINT)),
                (value.name, Agg("MAX", column, False, column.type)),
            ),
        )
        ties = _renamed(rows.ties, keys)
        if one:
            return self._beside(groups, ties, value)
        # A filter over all rows, and not a part of the value: the query fails even where nobody reads the
        # value.
        several = Fn(FAIL, (text("a scalar subquery gives more than one row"),), BOOLEAN)
        single_row = Fn(CASE, (call(">", count, Lit(1, BIGINT)), several, Lit(True, BOOLEAN)), BOOLEAN)
        return self._beside(groups, ties, value, single_row)

    def _nested(self, rows: Tied, column: Col, *, one: bool) -> ValueBeside:
        """Returns a value that has no MAX, such as an array, if each outer row has at most one inner row."""
        if not (one and rows.ties):
            raise UnsupportedError(f"scalar subquery of type {column.type}", "write it as a join")
        keys = {key.name: Col(self.queries.names.fresh(key.name), key.type) for key in rows.keys}
        value = Col(self.queries.names.fresh(column.name), column.type)
        items = (*((keys[key.name].name, key) for key in rows.keys), (value.name, column))
        return self._beside(Project(rows.plan, items), _renamed(rows.ties, keys), value)

    def _beside(
        self, groups: Plan, ties: Sequence[Expr], value: Expr, check: Expr | None = None
    ) -> ValueBeside:
        """Returns a value under a fresh name, and notes whether it is a float aggregate."""
        names = self.queries.names
        name = names.fresh("scalar")
        if names.is_float_aggregate(value):
            names.float_aggregates.add(name)
        return ValueBeside(name, value, groups, tuple(ties), check)

    def _see(self, column: Col) -> None:
        """Adds the column of a value to the scope, under the alias SCALARS; a star does not show it."""
        before = [pair for pair in self.scope.relations if pair[0] != SCALARS]
        seen = [output for alias, outputs in self.scope.relations if alias == SCALARS for output in outputs]
        relations = (*before, (SCALARS, (*seen, (column.name, column))))
        self.scope = replace(self.scope, relations=relations, hidden=self.scope.hidden | {column.name})


def _text(node: exp.Expr) -> str:
    """Returns the text that identifies a subquery in a block."""
    return node.sql(dialect="spark")


def _name(node: exp.Expr, value: str) -> None:
    """Writes the name of a value in place of the subquery."""
    # In parentheses: a plain column would give the output its name.
    node.replace(exp.paren(exp.column(value, table=SCALARS, quoted=True), copy=False))


def _only_decides(node: exp.Expr, *, filters: bool, joins: bool) -> bool:
    """Tells whether NULL and FALSE of an IN have the same effect, because it only selects rows or branches.

    So it is under AND, OR and NOT of WHERE, HAVING or QUALIFY, and in a condition of CASE or IF; it is not in
    the select list, in `IN (..) IS NULL` or in a comparison. `filters`: the outermost part is a condition of
    WHERE; `joins`: of ON of an outer join.
    """
    part, above, negated = node, node.parent, False
    while isinstance(above, exp.And | exp.Or | exp.Not | exp.Paren):
        part, above, negated = above, above.parent, negated or isinstance(above, exp.Not)
    if isinstance(above, exp.Where) and isinstance(above.parent, exp.Filter):
        # FILTER of an aggregate.
        return not negated
    # In ON, Spark's IN is FALSE where SQL's is NULL. Under NOT that makes a difference.
    if isinstance(above, exp.If) and above.this is part:
        compared = isinstance(above.parent, exp.Case) and above.parent.this is not None
        return not compared and not (joins and negated)
    outermost = above is None and (filters or (joins and not negated))
    return outermost or isinstance(above, exp.Having | exp.Qualify)


def _is_one_aggregate(query: exp.Select) -> bool:
    """Tells whether a query is an aggregate without GROUP BY: one row, or none if it has a HAVING."""
    clauses = ("group", "qualify", "distinct", "limit", "offset")
    having = query.args.get("having")
    if any(map(query.args.get, clauses)) or (having is not None and having.find(exp.Query) is not None):
        return False
    return any(map(has_group_aggregate, query.expressions if having is None else [having.this]))


def _having(query: exp.Select, block: Block) -> Expr | None:
    """Returns the condition of HAVING of an aggregate over all rows, if it has one."""
    having, output = query.args.get("having"), query.expressions[0].alias.lower()
    if having is None:
        return None
    if any(not each.table and each.name.lower() == output for each in having.find_all(exp.Column)):
        raise UnsupportedError(f"HAVING of {WHAT} that names its output", "write the aggregate")
    return predicate(block.binder.bind(having.this), "HAVING")


def _renamed(ties: Sequence[Expr], keys: Mapping[str, Col]) -> list[Expr]:
    """Returns ties that read the columns of the groups in place of the keys of the rows, by their names."""
    return [replace_columns(tie, lambda col: keys.get(col.name, col)) for tie in ties]


def _of_nothing_too(value: Expr, grouping: Grouping) -> Expr:
    """Returns a value over groups that is also right for an outer row without a group.

    The LEFT JOIN gives NULL there, as all aggregates of no rows are, except COUNT, which is 0. Lists would be
    empty, and are refused.
    """
    if any(agg.name.startswith("COLLECT_") for _, agg in grouping.aggregates):
        raise UnsupportedError("correlated scalar subquery over a list", "of no rows it is an empty list")
    counts = {name: agg for name, agg in grouping.aggregates if agg.name == "COUNT"}
    return replace_columns(
        value, lambda col: call("coalesce", col, Lit(0, col.type)) if col.name in counts else col
    )
