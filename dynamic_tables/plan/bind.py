"""Names bound, views expanded, every expression typed: from a syntax tree to a plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan import grouping
from dynamic_tables.plan.bind_expression import ExpressionBinder, cast
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
)
from dynamic_tables.plan.parse import ensure_deterministic, parse_query
from dynamic_tables.plan.scope import Bound, Names, Outputs, Scope
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
    bound = QueryBinder(relations).query(tree, {})
    names: set[str] = set()
    for name, _ in bound.outputs:
        if name.lower() in names:
            raise DefinitionError(f"two output columns are named {name}; give one of them an alias")
        names.add(name.lower())
    return BoundQuery(bound.plan, bound.outputs)


@dataclass(slots=True)
class QueryBinder:
    """Binds queries, one block at a time."""

    relations: Relations
    names: Names = field(default_factory=Names)
    expanding: tuple[str, ...] = ()

    def query(self, node: exp.Expression, ctes: Mapping[str, exp.Expression]) -> Bound:
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
                raise UnsupportedError(type(node).__name__.lower(), "no differentiation rule yet")
            case _:
                raise UnsupportedError(type(node).__name__.lower(), "not a SELECT or UNION ALL")

    def _with(
        self, with_: exp.Expression, ctes: Mapping[str, exp.Expression]
    ) -> Mapping[str, exp.Expression]:
        if with_.args.get("recursive"):
            raise UnsupportedError("recursive CTE", "no differentiation rule yet")
        for cte in with_.expressions:
            if cte.args["alias"].columns:
                raise UnsupportedError("CTE with a column list", "alias the columns inside it")
            # Bound anew at each use: two uses are two inputs, with cross terms of their own.
            ctes = {**ctes, cte.alias.lower(): _Closure(this=cte.this, ctes=ctes)}
        return ctes

    def union(self, node: exp.Union, ctes: Mapping[str, exp.Expression]) -> Bound:
        """UNION ALL, or DISTINCT over it for UNION; types are brought together by casts."""
        if node.args.get("by_name"):
            raise UnsupportedError("UNION BY NAME", "list the columns in one order")
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

    def select(self, node: exp.Select, ctes: Mapping[str, exp.Expression]) -> Bound:
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

    def source(self, node: exp.Expression, ctes: Mapping[str, exp.Expression]) -> tuple[Plan, Scope]:
        """A FROM item with the joins hanging on it."""
        match node:
            case exp.Table() if isinstance(node.this, exp.Identifier):
                _refuse_table_parts(node)
                plan, outputs = self.named(node.name, ctes)
                scope = Scope(((node.alias_or_name.lower(), outputs),))
            case exp.Subquery() if isinstance(node.this, exp.Table):
                plan, scope = self.source(node.this, ctes)
            case exp.Subquery():
                bound = self.query(node.this, ctes)
                plan, scope = bound.plan, Scope(((node.alias.lower(), bound.outputs),))
            case exp.Table():
                raise UnsupportedError("table function", "a dynamic table reads relations of its account")
            case _:
                raise UnsupportedError(
                    f"{type(node).__name__.lower()} in FROM", "no differentiation rule yet"
                )
        for join in node.args.get("joins") or ():
            plan, scope = self.join(plan, scope, join, ctes)
        return plan, scope

    def named(self, name: str, ctes: Mapping[str, exp.Expression]) -> tuple[Plan, Outputs]:
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
                outputs = tuple((column, Col(self.names.fresh(column), type_)) for column, type_ in columns)
                return Scan(name.lower(), outputs), outputs

    def join(
        self, left: Plan, scope: Scope, node: exp.Join, ctes: Mapping[str, exp.Expression]
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
        raise DefinitionError(f"{where} is a {expr.type}; it must be a BOOLEAN")
    return expr


class _Closure(exp.Expression):
    """A CTE's query together with the CTEs that were visible where it stands."""

    arg_types = {"this": True, "ctes": True}  # noqa: RUF012  # sqlglot's own protocol


def _flatten(node: exp.Union) -> Iterator[exp.Expression]:
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
        raise UnsupportedError(f"{kind.lower()} join", "no differentiation rule yet")
    match side, kind:
        case "", "" | "INNER":
            return JoinKind.INNER
        case "", "CROSS":
            return JoinKind.CROSS
        case "LEFT" | "RIGHT" | "FULL", "" | "OUTER":
            return JoinKind[side]
        case _:
            raise UnsupportedError(f"{side} {kind} join".lower(), "no differentiation rule yet")


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


def _refuse_modifiers(node: exp.Expression) -> None:
    for name, value in node.args.items():
        if value in (None, False, []) or name in CLAUSES:
            continue
        raise UnsupportedError(name.strip("_").replace("_", " ").upper(), "no differentiation rule yet")


def _refuse_table_parts(node: exp.Table) -> None:
    if node.args.get("db") is not None or node.args.get("catalog") is not None:
        raise DefinitionError(
            f"{node.sql()} is refused: a query reads relations of its account, by their plain names"
        )
    for name, value in node.args.items():
        if value not in (None, False, []) and name not in ("this", "alias", "joins"):
            raise UnsupportedError(f"{name.replace('_', ' ')} on {node.name}", "no rule for this form")
    alias = node.args.get("alias")
    if alias is not None and alias.columns:
        raise UnsupportedError("alias with a column list", "alias the columns inside a sub-select")
