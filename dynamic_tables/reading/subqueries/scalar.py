"""Scalar subqueries: a join with the one row, or the one row per group, that they give.

`(SELECT MAX(s.x) FROM s WHERE s.k = r.k)` is the MAX of the group of r.k, NULL where there is no such group:
a LEFT JOIN with the groups of s by k. Without a condition that reads r, there is one row: a CROSS JOIN. A
query that is no aggregate is grouped all the same: a group of several rows makes the query fail.
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
"""The relation in whose name the values of scalar subqueries are in scope."""

WHAT = "a scalar subquery"

OfGroups = Callable[[exp.Expr], bool]
"""Tells of a query whether what it gives is joined with the groups of the rows, and not with the rows."""

COMPARED = frozenset({*NUMERIC, *TEMPORAL, Kind.STRING, Kind.BOOLEAN})
"""The kinds of values that MAX takes."""


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
    """Tells whether an expression is ANY or ALL of a query, and not of the patterns of LIKE."""
    return isinstance(node, exp.Any | exp.All) and not isinstance(node.this, exp.Tuple)


@dataclass(slots=True)
class Scalars:
    """Joins the values of scalar subqueries, and of EXISTS and IN, with the rows of one FROM clause.

    `scope`: the columns of that clause, and the values so far. `later`: the values that are joined with the
    groups of the rows, once these are formed. `known`: the names of the values so far, by the text of the
    query and whether it is `later`.
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
        """Returns a plan with the values of scalar subqueries, where the syntax then names the values.

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
        """Returns a plan with a mark for each EXISTS and IN, where the syntax then names the marks.

        `of_groups`: tells which are `later`. `filters`: what they stand in is a condition of WHERE; `joins`:
        of ON of an outer join.
        """
        for node in list(members):
            later = of_groups(node)
            if isinstance(node, exp.In) and not _only_decides(node, filters=filters, joins=joins):
                # Spark's IN is FALSE here where SQL's is NULL, or not, as its optimizer decides.
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
        if outside and not correlated:
            raise UnsupportedError("scalar subquery that reads a column of a join, in its ON")

    def _aggregate(self, plan: Plan, block: Block, item: Expr, kept: Expr | None) -> ValueBeside:
        """Returns the value of an aggregate over groups; there is a value without a group, too."""
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
        groups = Aggregate(tied.plan, tuple(grouping.keys), tuple(grouping.aggregates))
        keys = {
            key.name: Col(name, key.type) for key, (name, _) in zip(tied.keys, grouping.keys, strict=True)
        }
        if tied.keys:
            value = _of_nothing_too(value, grouping)
        return self._beside(groups, _renamed(tied.ties, keys), value)

    def _only_row(self, plan: Plan, query: exp.Expr, *, correlated: bool) -> ValueBeside:
        """Returns the value of a query that has one row for each row outside; several make it fail."""
        names = self.queries.names
        try:
            bound = self.queries.query(query, self.ctes)
            rows, outputs, single = Tied(bound.plan), bound.outputs, False
        except DefinitionError:
            if not isinstance(query, exp.Select):
                raise
            # What it does not know may be a column outside.
            found = dependent(query, plan, self.queries, self.scope, self.ctes, WHAT)
            rows, outputs, single = found.rows, found.outputs, found.single
        self._ensure_correlated(rows.keys, correlated=correlated)
        if len(outputs) != 1:
            raise DefinitionError(f"a scalar subquery of {len(outputs)} columns; select one")
        ((_, column),) = outputs
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
        # A condition of all rows, not a part of the value: the query fails even where nobody reads the value.
        several = Fn(FAIL, (text("a scalar subquery gives more than one row"),), BOOLEAN)
        single_row = Fn(CASE, (call(">", count, Lit(1, BIGINT)), several, Lit(True, BOOLEAN)), BOOLEAN)
        return self._beside(groups, ties, value, single_row)

    def _nested(self, rows: Tied, column: Col, *, one: bool) -> ValueBeside:
        """Returns a value that no MAX takes, such as an array, if at most one row is tied to each."""
        if not (one and rows.ties):
            raise UnsupportedError(f"scalar subquery of type {column.type}", "write it as a join")
        keys = {key.name: Col(self.queries.names.fresh(key.name), key.type) for key in rows.keys}
        value = Col(self.queries.names.fresh(column.name), column.type)
        items = (*((keys[key.name].name, key) for key in rows.keys), (value.name, column))
        return self._beside(Project(rows.plan, items), _renamed(rows.ties, keys), value)

    def _beside(
        self, groups: Plan, ties: Sequence[Expr], value: Expr, check: Expr | None = None
    ) -> ValueBeside:
        names = self.queries.names
        name = names.fresh("scalar")
        if names.is_float_aggregate(value):
            names.float_aggregates.add(name)
        return ValueBeside(name, value, groups, tuple(ties), check)

    def _see(self, column: Col) -> None:
        before = [pair for pair in self.scope.relations if pair[0] != SCALARS]
        seen = [output for alias, outputs in self.scope.relations if alias == SCALARS for output in outputs]
        relations = (*before, (SCALARS, (*seen, (column.name, column))))
        self.scope = replace(self.scope, relations=relations, hidden=self.scope.hidden | {column.name})


def _text(node: exp.Expr) -> str:
    return node.sql(dialect="spark")


def _name(node: exp.Expr, value: str) -> None:
    """Writes the name of a value instead of the query that gives it."""
    # In parentheses: a plain column would give the output its name.
    node.replace(exp.paren(exp.column(value, table=SCALARS, quoted=True), copy=False))


def _only_decides(node: exp.Expr, *, filters: bool, joins: bool) -> bool:
    """Tells whether a part of a condition only decides about rows or between values: NULL is like FALSE then.

    `filters`: what stands outermost is a condition of WHERE; `joins`: of ON of an outer join.
    """
    part, above, negated = node, node.parent, False
    while isinstance(above, exp.And | exp.Or | exp.Not | exp.Paren):
        part, above, negated = above, above.parent, negated or isinstance(above, exp.Not)
    if isinstance(above, exp.Where) and isinstance(above.parent, exp.Filter):
        return not negated
    # In ON Spark's IN is FALSE where SQL's is NULL, so that NOT would tell.
    if isinstance(above, exp.If) and above.this is part:
        compared = isinstance(above.parent, exp.Case) and above.parent.this is not None
        return not compared and not (joins and negated)
    outermost = above is None and (filters or (joins and not negated))
    return outermost or isinstance(above, exp.Having | exp.Qualify)


def _is_one_aggregate(query: exp.Select) -> bool:
    """Tells whether a query has one row, of aggregates over all rows, or none because of its HAVING."""
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
    return [replace_columns(tie, lambda col: keys.get(col.name, col)) for tie in ties]


def _of_nothing_too(value: Expr, grouping: Grouping) -> Expr:
    """Returns a value over groups that is right where there is no group: a COUNT of nothing is 0."""
    if any(agg.name.startswith("COLLECT_") for _, agg in grouping.aggregates):
        raise UnsupportedError("correlated scalar subquery over a list", "of no rows it is an empty list")
    counts = {name: agg for name, agg in grouping.aggregates if agg.name == "COUNT"}
    return replace_columns(
        value, lambda col: call("coalesce", col, Lit(0, col.type)) if col.name in counts else col
    )
