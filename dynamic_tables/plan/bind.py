"""Names bound, views expanded, every expression typed: from a syntax tree to a plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan import grouping
from dynamic_tables.plan.bind_expression import ExpressionBinder
from dynamic_tables.plan.expressions import Col, Expr, Fn, walk
from dynamic_tables.plan.nodes import (
    BoundQuery,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Plan,
    Project,
    Scan,
    UnionAll,
    children,
)
from dynamic_tables.plan.parse import TOO_DEEP, ensure_deterministic, ensure_plain_table, parse_query
from dynamic_tables.plan.scope import Bound, Names, Outputs, Scope
from dynamic_tables.plan.typed import cast
from dynamic_tables.plan.types import BOOLEAN, Type, common_of


@dataclass(frozen=True, slots=True)
class StoredRelation:
    """A base or dynamic table: its columns."""

    columns: tuple[tuple[str, Type], ...]


@dataclass(frozen=True, slots=True)
class ViewRelation:
    """A view: its defining text."""

    text: str


class Relations(Protocol):
    """What the names in a query mean."""

    def relation(self, name: str) -> StoredRelation | ViewRelation | None:
        """The relation of that (lower-case) name, None if there is none."""
        ...


def bind_query(query: str, relations: Relations) -> BoundQuery:
    """The plan of a defining query. Raises DefinitionError (wrong) or UnsupportedError (no rule)."""
    tree = parse_query(query)
    ensure_deterministic(tree)
    try:
        bound = QueryBinder(relations).query(tree, {})
    except RecursionError as error:
        raise DefinitionError(TOO_DEEP) from error
    if _depth(bound.plan) > MAX_DEPTH:
        raise UnsupportedError(
            f"plan deeper than {MAX_DEPTH} operators", "split the query over several dynamic tables"
        )
    names: set[str] = set()
    for name, _ in bound.outputs:
        if name.lower() in names:
            raise DefinitionError(f"two output columns are named {name}; give one of them an alias")
        names.add(name.lower())
    return BoundQuery(bound.plan, bound.outputs)


MAX_SCANS = 500
"""Relations that a query may read, counted after views and CTEs are expanded: each use is an input."""

MAX_DEPTH = 50
"""Operators above one another. Plans are walked recursively, and Spark does so too, on less stack."""


def _depth(plan: Plan) -> int:
    depth, level = 0, [plan]
    while level:
        depth, level = depth + 1, [child for node in level for child in children(node)]
    return depth


@dataclass(slots=True)
class QueryBinder:
    """Binds queries, one block at a time."""

    relations: Relations
    names: Names = field(default_factory=Names)
    expanding: tuple[str, ...] = ()
    scans: int = 0

    def query(self, node: exp.Expr, ctes: Mapping[str, exp.Expr]) -> Bound:
        """A SELECT or UNION with what its CTEs mean around it."""
        _refuse_modifiers(node)
        with_ = node.args.get("with_")
        if with_ is not None:
            ctes = self._with(with_, ctes)
        match node:
            case exp.Select():
                return self.select(node, ctes)
            case exp.Union():
                return self.union(node, ctes)
            case exp.Subquery() if not node.alias:
                return self.query(node.this, ctes)
            case exp.Except() | exp.Intersect():
                raise UnsupportedError(type(node).__name__.upper(), NO_RULE)
            case _:
                raise UnsupportedError(type(node).__name__.upper(), "not a SELECT or UNION ALL")

    def _with(self, with_: exp.Expr, ctes: Mapping[str, exp.Expr]) -> Mapping[str, exp.Expr]:
        if with_.args.get("recursive"):
            raise UnsupportedError("recursive CTE", NO_RULE)
        names = [cte.alias.lower() for cte in with_.expressions]
        for name in names:
            if names.count(name) > 1:
                raise DefinitionError(f"two CTEs are named {name}; rename one of them")
        for cte in with_.expressions:
            if cte.args["alias"].columns:
                raise UnsupportedError("CTE with a column list", "alias the columns inside it")
            # Bound anew at each use: two uses are two inputs, with cross terms of their own.
            ctes = {**ctes, cte.alias.lower(): _Closure(this=cte.this, ctes=ctes)}
        return ctes

    def union(self, node: exp.Union, ctes: Mapping[str, exp.Expr]) -> Bound:
        """UNION ALL, or DISTINCT over it for UNION; types are brought together by casts."""
        branches = [self.query(branch, ctes) for branch in _flatten(node)]
        widths = {len(branch.outputs) for branch in branches}
        if len(widths) != 1:
            raise DefinitionError(f"the branches of a UNION have {sorted(widths)} columns")
        types = []
        for position, (name, _) in enumerate(branches[0].outputs):
            met = common_of(tuple(branch.outputs[position][1].type for branch in branches))
            if met is None:
                raise DefinitionError(f"column {name} of a UNION has types that do not meet; cast them")
            types.append((name, met))
        names = [(name, Col(self.names.fresh(name), type_)) for name, type_ in types]
        projected = tuple(self._branch(branch, names) for branch in branches)
        plan: Plan = UnionAll(projected)
        if node.args.get("distinct"):
            self.names.refuse_float_keys((column for _, column in names), "UNION")
            plan = Distinct(plan)
        return Bound(plan, tuple(names))

    def _branch(self, branch: Bound, names: Sequence[tuple[str, Col]]) -> Plan:
        items = []
        for (_, target), (_, column) in zip(names, branch.outputs, strict=True):
            items.append((target.name, cast(column, target.type)))
            if column.name in self.names.float_aggregates:
                self.names.float_aggregates.add(target.name)
        return Project(branch.plan, tuple(items))

    def select(self, node: exp.Select, ctes: Mapping[str, exp.Expr]) -> Bound:
        """One SELECT block."""
        from_ = node.args.get("from_")
        if from_ is None:
            raise UnsupportedError("SELECT without FROM", "a dynamic table reads at least one relation")
        plan, scope = self.source(from_.this, ctes)
        for join in node.args.get("joins") or ():
            plan, scope = self.join(plan, scope, join, ctes)
        where = node.args.get("where")
        if where is not None:
            plan = Filter(plan, predicate(ExpressionBinder(scope.resolve).bind(where.this), "WHERE"))
        bound = grouping.bind_items(self.names, node, plan, scope)
        if node.args.get("distinct") is not None:
            if node.args["distinct"].args.get("on") is not None:
                raise UnsupportedError("DISTINCT ON", "not Spark SQL")
            self.names.refuse_float_keys((column for _, column in bound.outputs), "DISTINCT")
            return Bound(Distinct(bound.plan), bound.outputs)
        return bound

    def source(self, node: exp.Expr, ctes: Mapping[str, exp.Expr]) -> tuple[Plan, Scope]:
        """A FROM item with the joins hanging on it."""
        match node:
            case exp.Table():
                ensure_plain_table(node)
                _refuse_parts(node, node.name)
                plan, outputs = self.named(node.name, ctes)
                scope = Scope(((node.alias_or_name.lower(), outputs),))
            case exp.Subquery() if isinstance(node.this, exp.Table):
                if node.alias:
                    raise UnsupportedError("alias of relations in parentheses", "alias each inside them")
                _refuse_parts(node, "relations in parentheses")
                plan, scope = self.source(node.this, ctes)
            case exp.Subquery():
                _refuse_parts(node, node.alias or "a sub-select")
                bound = self.query(node.this, ctes)
                plan, scope = bound.plan, Scope(((node.alias.lower(), bound.outputs),))
            case _:
                raise UnsupportedError(f"{type(node).__name__.upper()} in FROM", NO_RULE)
        for join in node.args.get("joins") or ():
            plan, scope = self.join(plan, scope, join, ctes)
        return plan, scope

    def named(self, name: str, ctes: Mapping[str, exp.Expr]) -> tuple[Plan, Outputs]:
        """A CTE, view or stored relation by name."""
        closure = ctes.get(name.lower())
        if closure is not None:
            bound = self.query(closure.this, closure.args["ctes"])
            return bound.plan, bound.outputs
        relation = self.relations.relation(name.lower())
        match relation:
            case None:
                raise DefinitionError(f"unknown table {name}")
            case ViewRelation(text):
                if name.lower() in self.expanding:
                    raise DefinitionError(
                        f"view {name} is defined by itself: {' -> '.join((*self.expanding, name))}"
                    )
                self.expanding = (*self.expanding, name.lower())
                bound = self.query(parse_query(text), {})
                self.expanding = self.expanding[:-1]
                return bound.plan, bound.outputs
            case StoredRelation(columns):
                self.scans += 1
                if self.scans > MAX_SCANS:
                    raise UnsupportedError(
                        f"more than {MAX_SCANS} inputs", "split the query over several dynamic tables"
                    )
                outputs = tuple((column, Col(self.names.fresh(column), type_)) for column, type_ in columns)
                return Scan(name.lower(), outputs), outputs

    def join(
        self, left: Plan, scope: Scope, node: exp.Join, ctes: Mapping[str, exp.Expr]
    ) -> tuple[Plan, Scope]:
        """One more join on what has been joined so far."""
        kind = _join_kind(node)
        right, right_scope = self.source(node.this, ctes)
        both = Scope(scope.relations + right_scope.relations)
        aliases = [alias for alias, _ in both.relations]
        if len(set(aliases)) != len(aliases):
            raise DefinitionError(
                f"alias {right_scope.relations[0][0]} stands twice in one FROM; give each its own"
            )
        on = node.args.get("on")
        if on is None:
            if kind is not JoinKind.INNER and kind is not JoinKind.CROSS:
                raise DefinitionError(f"{kind.value} without ON")
            return Join(JoinKind.CROSS, left, right, None), both
        condition = predicate(ExpressionBinder(both.resolve).bind(on), "ON")
        self.names.refuse_float_keys(_equated(condition), "a join condition")
        return Join(JoinKind.INNER if kind is JoinKind.CROSS else kind, left, right, condition), both


def predicate(expr: Expr, where: str) -> Expr:
    """The expression, if it is a BOOLEAN. Raises DefinitionError."""
    if expr.type != BOOLEAN:
        raise DefinitionError(f"{where} is of type {expr.type}; it must be BOOLEAN")
    return expr


class _Closure(exp.Expression):
    """A CTE's query together with the CTEs that were visible where it stands."""

    arg_types = {"this": True, "ctes": True}  # noqa: RUF012  # sqlglot's own protocol


def _flatten(node: exp.Union) -> Iterator[exp.Expr]:
    left = node.this
    same = (
        isinstance(left, exp.Union)
        and not left.args.get("with_")
        and left.args.get("distinct") == node.args.get("distinct")
    )
    if same:
        yield from _flatten(left)
    else:
        yield left
    yield node.expression


def _equated(condition: Expr) -> Iterator[Expr]:
    for part in walk(condition):
        if isinstance(part, Fn) and part.name in ("=", "is not distinct from"):
            yield from part.args


def _join_kind(node: exp.Join) -> JoinKind:
    if node.args.get("using") or node.args.get("method"):
        raise UnsupportedError("JOIN with USING or NATURAL", "write the condition with ON")
    side, kind = (node.side or "").upper(), (node.kind or "").upper()
    if kind in ("SEMI", "ANTI"):
        raise UnsupportedError(f"{kind.lower()} join", NO_RULE)
    match side, kind:
        case "", "" | "INNER":
            return JoinKind.INNER
        case "", "CROSS":
            return JoinKind.CROSS
        case "LEFT" | "RIGHT" | "FULL", "" | "OUTER":
            return JoinKind[side]
        case _:
            raise UnsupportedError(f"{side} {kind} join".lower(), NO_RULE)


NO_RULE = "no differentiation rule yet"

CLAUSES = frozenset(
    {
        "with_",
        "expressions",
        "from_",
        "joins",
        "where",
        "group",
        "having",
        "distinct",
        "this",
        "expression",
        "alias",
        "side",
        "kind",
    }
)


CLAUSE_NAMES: Mapping[str, str] = {
    "by_name": "UNION BY NAME",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "laterals": "LATERAL VIEW",
    "order": "ORDER BY",
    "pivots": "PIVOT or UNPIVOT",
    "sample": "TABLESAMPLE",
    "sort": "SORT BY",
    "windows": "WINDOW",
}
"""sqlglot's words for clauses, where they are not the clause's own."""


def _clause(name: str) -> str:
    return CLAUSE_NAMES.get(name, name.strip("_").replace("_", " ").upper())


def _refuse_modifiers(node: exp.Expr) -> None:
    for name, value in node.args.items():
        if value in (None, False, []) or name in CLAUSES:
            continue
        raise UnsupportedError(_clause(name), NO_RULE)


def _refuse_parts(node: exp.Expr, relation: str) -> None:
    """Refuses what hangs on a FROM item besides its alias and joins."""
    alias = node.args.get("alias")
    if alias is not None and alias.columns:
        raise UnsupportedError(f"column list in the alias of {relation}", "alias the columns in a sub-select")
    for name, value in node.args.items():
        if value not in (None, False, []) and name not in ("this", "alias", "joins", "with_"):
            raise UnsupportedError(_clause(name), f"{NO_RULE} (on {relation})")
