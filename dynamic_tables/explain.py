"""How the engine maintains a query: its plan, its change query and its row ids, or why it has none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import sqlglot

from dynamic_tables.arguments import checked_key
from dynamic_tables.definition import BaseTable, Columns, DynamicTable, RefreshMode, View
from dynamic_tables.differentiate.differentiation import At, Differentiation, operator_of
from dynamic_tables.differentiate.registry import (
    RULES,
    Rules,
    change_plan,
    ensure_supported,
    stored_groups,
    time_outside,
)
from dynamic_tables.errors import DefinitionError, UnsupportedError, UntypedError
from dynamic_tables.frozen import ensure_condition, unsupported_beside_frozen
from dynamic_tables.plan import nodes
from dynamic_tables.plan.dialects import DUCKDB, SPARK, Dialect
from dynamic_tables.plan.expressions import Col, Expr
from dynamic_tables.plan.nested_types import split_outside_brackets
from dynamic_tables.plan.types import Type
from dynamic_tables.plan.written.render import render
from dynamic_tables.plan.written.render_expression import render_expression
from dynamic_tables.reading.bind import bind_query
from dynamic_tables.reading.text.relations import Relations
from dynamic_tables.reading.text.spark_text import SparkText
from dynamic_tables.reading.text.text import read_text
from dynamic_tables.reading.values.passed import TypeOf
from dynamic_tables.store.names.statements import column_type


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTree:
    """An operator of a plan. `row_id`: one expression, or one per branch; empty where there is no rule."""

    operator: str
    detail: str
    row_id: tuple[str, ...]
    children: tuple[PlanTree, ...]

    def walk(self) -> Iterator[PlanTree]:
        """Yields the operator and every operator below it, from the top."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """How refresh mode AUTO would maintain a query.

    `reason`: why it is not incremental. `plan` and `columns`: None and empty if the query could not be
    bound. `row_id`: the expression that makes the ids of the result from the ids below it. `hidden`: the
    hidden columns from which a refresh computes the changed groups; `change_query` gives the same changes
    from the rows of these groups. `frozen_where`: the condition of rows that no refresh changes.
    """

    incremental: bool
    reason: str | None
    sources: tuple[str, ...]
    columns: Columns = ()
    plan: PlanTree | None = None
    change_query: str | None = None
    row_id: str | None = None
    hidden: tuple[str, ...] = ()
    frozen_where: str = ""

    @property
    def operators(self) -> tuple[str, ...]:
        """The names of the plan's operators, each once, from the top."""
        return () if self.plan is None else tuple(dict.fromkeys(node.operator for node in self.plan.walk()))


def explain(
    query: str,
    relations: Relations,
    *,
    dialect: Dialect = SPARK,
    rules: Rules = RULES,
    changes: bool = True,
    type_of: TypeOf | None = None,
    frozen_where: str = "",
) -> Explanation:
    """Returns the explanation of a defining query over declared relations; needs neither Spark nor data.

    `changes`: whether the change query is wanted, which takes most of the time. `type_of`: who knows the
    types of expressions that the engine does not know, as Spark does for an account. `frozen_where`: the
    condition of the table's frozen part, which is checked. Raises
    DefinitionError: if no dynamic table could be created with the query.

    >>> explanation = explain("SELECT a, COUNT(*) AS n FROM r GROUP BY a", declare(["r(a INT, b STRING)"]))
    >>> explanation.operators
    ('projection', 'grouped aggregation', 'scan')
    >>> explain("SELECT a FROM r SORT BY a", declare(["r(a INT)"])).reason
    'unsupported: SORT BY: no differentiation rule yet'
    """
    text = read_text(query, relations)
    try:
        bound = bind_query(query, relations, type_of)
    except UnsupportedError as error:
        text.ensure_admitted()
        return Explanation(incremental=False, reason=str(error), sources=text.sources)
    except UntypedError as error:
        if type_of is not None:
            raise
        untyped = UnsupportedError("an expression that only Spark can type", str(error))
        return Explanation(incremental=False, reason=str(untyped), sources=text.sources)
    keys = {name: each.key for name, each in relations.items() if isinstance(each, BaseTable)}
    trees = _Trees(rules.differentiation(), dialect, keys)
    plan = trees.tree(bound.plan)
    reason = _unsupported(bound, rules)
    if frozen_where:
        first = unsupported_beside_frozen(bound.plan)
        reason = reason or (None if first is None else str(first))
        _check_frozen(bound, frozen_where, rules, type_of, incremental=reason is None)
    # Of a frozen group hidden columns would not follow its rows.
    groups = None if reason or frozen_where else stored_groups(bound, rules)
    return Explanation(
        incremental=reason is None,
        reason=reason,
        sources=bound.sources,
        columns=bound.schema,
        plan=plan,
        change_query=None
        if reason or not changes
        else formatted(render(change_plan(bound, rules), dialect).text(), dialect),
        row_id=None if reason else _topmost_id(plan, trees.passed_on),
        hidden=() if groups is None else tuple(name for name, _ in groups.state),
        frozen_where=frozen_where,
    )


def _check_frozen(
    bound: nodes.BoundQuery, condition: str, rules: Rules, type_of: TypeOf | None, *, incremental: bool
) -> None:
    """Raises DefinitionError: the condition is none on the columns of the query that only freezes."""
    table = DynamicTable(
        name="the query",
        columns=bound.schema,
        text="",
        mode=RefreshMode.AUTO,
        incremental=incremental,
        reason="",
        target_lag=None,
        sources=bound.sources,
        expanded="",
        frozen_where=condition,
    )
    ensure_condition(table, rules.bind, type_of)


def _unsupported(bound: nodes.BoundQuery, rules: Rules) -> str | None:
    """Returns why a query cannot be maintained incrementally; None: it can."""
    try:
        ensure_supported(bound, rules)
    except UnsupportedError as error:
        return str(error)
    outside = time_outside(bound)
    return None if outside is None else str(outside)


def formatted(text: str, dialect: Dialect) -> str:
    """Returns a rendered statement over many lines, for reading; sqlglot may spell operators differently."""
    read = "duckdb" if dialect is DUCKDB else SparkText
    return sqlglot.parse_one(text, read=read).sql(read, pretty=True, normalize_functions=False)


def _topmost_id(tree: PlanTree, passed_on: str) -> str:
    """Returns the row id of the topmost operator that makes ids; projections and filters only pass ids on."""
    while tree.row_id == (passed_on,) and tree.children:
        tree = tree.children[0]
    return "; ".join(tree.row_id)


@dataclass(frozen=True, slots=True)
class _Trees:
    """Builds the tree of a plan, with row ids in SQL. `keys`: by base table the columns of its key."""

    differentiation: Differentiation
    dialect: Dialect
    keys: Mapping[str, tuple[str, ...]]

    @property
    def passed_on(self) -> str:
        """The row id of an operator that keeps the ids of its child."""
        return self.dialect.identifier(nodes.ROW_ID)

    def tree(self, plan: nodes.Plan) -> PlanTree:
        """Returns a plan as a tree of operators."""
        return PlanTree(
            operator=operator_of(plan),
            detail=self.detail(plan),
            row_id=tuple(dict.fromkeys(self.row_ids(plan))),
            children=tuple(self.tree(child) for child in nodes.children(plan)),
        )

    def row_ids(self, plan: nodes.Plan) -> Iterable[str]:
        """Returns the `$ROW_ID` expressions of an operator, taken from the plan that its rule returns."""
        try:
            state = self.differentiation.state(plan, At.T1, True)
        except UnsupportedError:
            return ()
        parts = state.branches if isinstance(state, nodes.UnionAll) else (state,)
        return (self.text(_row_id(part)) for part in parts)

    def text(self, expr: Expr) -> str:
        """Returns the SQL text of an expression."""
        return render_expression(expr, self.dialect)

    def detail(self, plan: nodes.Plan) -> str:
        """Returns the parts of an operator: its source, condition, columns, keys or aggregates."""
        match plan:
            case nodes.Scan(source, _, _):
                key = self.keys.get(source.lower(), ())
                return f"{source} by its key ({', '.join(key)})" if key else source
            case nodes.Project(_, items):
                return ", ".join(self.item(name, expr) for name, expr in items)
            case nodes.Filter(_, predicate):
                return self.text(predicate)
            case nodes.Join(_, _, _, on) if on is not None:
                return self.text(on)
            case nodes.Aggregate(_, keys, aggregates):
                by = ", ".join(self.item(name, key) for name, key in keys)
                computed = ", ".join(self.item(name, aggregate) for name, aggregate in aggregates)
                return "; ".join(part for part in (f"by {by}" if by else "", computed) if part)
            case nodes.SemiJoin(_, _, on, _) | nodes.Mark(_, _, _, on):
                return self.text(on)
            case nodes.Window(_, calls):
                return ", ".join(self.item(name, call) for name, call in calls)
            case nodes.Explode(_, array, outer, _, _):
                return f"{self.text(array)}{' OUTER' if outer else ''}"
            case _:
                return ""

    def item(self, name: str, expr: Expr) -> str:
        """Returns an expression with its name, where the name is not the expression itself."""
        quoted = self.dialect.identifier(name)
        return quoted if expr == Col(name, expr.type) else f"{self.text(expr)} AS {quoted}"


def _row_id(state: nodes.Plan) -> Expr:
    """Returns the expression of `$ROW_ID` in a plan that a rule returned."""
    if isinstance(state, nodes.Project):
        return next(expr for name, expr in state.items if name == nodes.ROW_ID)
    return next(column for column in nodes.columns(state) if column.name == nodes.ROW_ID)


TABLE = re.compile(r"\s*(?P<name>[A-Za-z]\w*)\s*\((?P<columns>.*)\)\s*", re.ASCII | re.DOTALL)
COLUMN = re.compile(r"\s*(?P<name>[A-Za-z]\w*)\s+(?P<type>\S.*?)\s*", re.ASCII | re.DOTALL)
KEY = re.compile(r"\s*PRIMARY\s+KEY\s*\((?P<columns>[^()]*)\)\s*", re.ASCII | re.IGNORECASE)
VIEW = re.compile(r"\s*(?P<name>[A-Za-z]\w*)\s*=\s*(?P<query>\S.*)", re.ASCII | re.DOTALL)


def declare(tables: Iterable[str], views: Iterable[str] = ()) -> Relations:
    """Returns relations declared as text: tables as `r(a INT, b STRING)`, views as `v=SELECT ...`.

    A table may have a primary key: `r(a INT, b STRING, PRIMARY KEY (a))`.
    Raises DefinitionError: for a text of another form, and for a name that is declared twice.
    """
    relations: dict[str, BaseTable | View] = {}

    def add(relation: BaseTable | View) -> None:
        if relation.name.lower() in relations:
            raise DefinitionError(f"{relation.name} is declared twice")
        relations[relation.name.lower()] = relation

    for text in tables:
        match = TABLE.fullmatch(text)
        if match is None:
            raise DefinitionError(f"table {text!r}: write it as name(column TYPE, ...)")
        # A comma inside DECIMAL(10,2) or STRUCT<a: INT, b: INT> does not separate columns.
        parts = split_outside_brackets(match["columns"])
        key = KEY.fullmatch(parts[-1])
        table = BaseTable(match["name"], _columns(match["name"], parts[:-1] if key else parts))
        add(checked_key(table, [name.strip() for name in key["columns"].split(",")]) if key else table)
    for text in views:
        match = VIEW.fullmatch(text)
        if match is None:
            raise DefinitionError(f"view {text!r}: write it as name=SELECT ...")
        add(View(match["name"], match["query"]))
    return relations


def _columns(table: str, parts: Sequence[str]) -> Columns:
    """Returns the columns that a table is declared with. `parts`: a text `name TYPE` each."""
    typed: dict[str, tuple[str, Type]] = {}
    for part in parts:
        match = COLUMN.fullmatch(part)
        if match is None:
            raise DefinitionError(f"table {table}: {part.strip()!r} is no column; write a name and a type")
        if match["name"].lower() in typed:
            raise DefinitionError(f"table {table}: column {match['name']} is declared twice")
        typed[match["name"].lower()] = (match["name"], column_type(match["name"], match["type"]))
    return tuple(typed.values())
