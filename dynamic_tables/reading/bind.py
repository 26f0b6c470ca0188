"""The binder: from a syntax tree to a plan, with names resolved, views expanded, and every expression typed.

The engine reads SQL itself, because it must know the operators of a query to differentiate them. sqlglot
makes the syntax tree; this module binds one SELECT block after the other, in the order in which SQL evaluates
it: FROM, WHERE, subqueries, `explode`, GROUP BY and HAVING, select list, DISTINCT. What is right SQL but has
no rule raises UnsupportedError, which makes an AUTO table FULL; what Spark refuses too raises
DefinitionError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.expressions import Col, Lit, conjunction
from dynamic_tables.plan.nodes import (
    BoundQuery,
    Distinct,
    ExceptAll,
    IntersectAll,
    Join,
    JoinKind,
    Plan,
    Project,
    Scan,
    SemiJoin,
    UnionAll,
    children,
    columns,
    sources,
)
from dynamic_tables.plan.rewrites.pushed import pushed
from dynamic_tables.plan.rewrites.timed import lifted, with_time_columns
from dynamic_tables.plan.types import BOOLEAN, FLOATING, INT, Kind, Type, common_of
from dynamic_tables.reading.blocks import grouping
from dynamic_tables.reading.blocks.constant_rows import listed_rows, without_from
from dynamic_tables.reading.blocks.correlated import conjuncts
from dynamic_tables.reading.blocks.exploding import with_exploded_items, with_lateral_views
from dynamic_tables.reading.blocks.lateral_aliases import with_lateral_aliases
from dynamic_tables.reading.blocks.limit import first_rows, is_cut
from dynamic_tables.reading.blocks.pivots import pivoted
from dynamic_tables.reading.subqueries.joined_on import with_queries_in_on
from dynamic_tables.reading.subqueries.lateral import lateral_join
from dynamic_tables.reading.subqueries.subqueries import restricted, with_scalars
from dynamic_tables.reading.text.parse import (
    ensure_deterministic,
    ensure_plain_table,
    has_doubled_quotes,
    parse_query,
)
from dynamic_tables.reading.text.relations import Relations, StoredRelation, View
from dynamic_tables.reading.text.spark_text import SparkText
from dynamic_tables.reading.text.time_windows import refuse_time_windows
from dynamic_tables.reading.values.bind_expression import ExpressionBinder
from dynamic_tables.reading.values.passed import TypeOf
from dynamic_tables.reading.values.refusals import join_kind, refuse_clauses, refuse_parts
from dynamic_tables.reading.values.scope import Bound, Cte, Names, Outputs, Scope, listed
from dynamic_tables.reading.values.typed import call, cast, predicate

MAX_SCANS = 500
"""Most relations that a query may read after views and CTEs are expanded. Each use of a view counts: in a
chain of views that each use the one below twice, the number doubles with each view."""

LESS_DEEP = "write a long chain of equalities with IN, or split the query over several dynamic tables"

MAX_NESTING = 200
"""The most levels of a syntax tree: binding and rendering go through them by recursion."""

MAX_DEPTH = 60
"""Most operators above one another. Plans are walked recursively, and 75 are too deep for Python's stack."""


def bind_query(query: str, relations: Relations, type_of: TypeOf | None = None) -> BoundQuery:
    """Returns the plan of a defining query. `type_of`: as in `ExpressionBinder`.

    Raises DefinitionError: for a query that is wrong (syntax, unknown names, types that do not fit).
    Raises UnsupportedError: for a query that is right but that no differentiation rule covers.
    """
    tree = _tree(query)
    ensure_deterministic(tree)
    refuse_time_windows(tree)
    if _nesting(tree) > MAX_NESTING:
        raise UnsupportedError(f"a query nested deeper than {MAX_NESTING} levels", LESS_DEEP)
    names_given = Names(type_of)
    try:
        bound = QueryBinder(relations, names_given).query(tree, {})
    except RecursionError as error:
        raise UnsupportedError("a query nested too deeply", LESS_DEEP) from error
    if _depth(bound.plan) > MAX_DEPTH:
        raise UnsupportedError(
            f"plan deeper than {MAX_DEPTH} operators", "split the query over several dynamic tables"
        )
    if not sources(bound.plan):
        raise UnsupportedError("SELECT without FROM", "a dynamic table reads at least one relation")
    ensure_different([name for name, _ in bound.outputs])
    plan = pushed(lifted(bound.plan), names_given.branches.add)
    plan, outside = with_time_columns(plan, names_given.fresh)
    return BoundQuery(plan, bound.outputs, frozenset(names_given.branches), outside)


def _tree(text: str) -> exp.Query:
    """Returns the syntax tree of a query. Raises UnsupportedError: Spark reads its quotes in another way."""
    tree = parse_query(text)
    if has_doubled_quotes(text):
        raise UnsupportedError('a quote that is doubled in a "text"', "write '...' instead")
    return tree


def ensure_different(names: Sequence[str]) -> None:
    """Raises DefinitionError if two output columns have one name."""
    taken: set[str] = set()
    for name in names:
        if name.lower() in taken:
            raise DefinitionError(f"two output columns are named {name}; give one of them an alias")
        taken.add(name.lower())


def _nesting(tree: exp.Expr) -> int:
    """Returns how many levels of a syntax tree lie in one another; a chain of AND, or of OR, is one."""
    depth, level = 0, [tree]
    while level:
        parts = [part for node in level for part in _parts(node)]
        depth, level = depth + 1, [child for part in parts for child in part.iter_expressions()]
    return depth


def _parts(node: exp.Expr) -> Iterator[exp.Expr]:
    return node.flatten(unnest=False) if isinstance(node, exp.Connector) else iter((node,))


def _depth(plan: Plan) -> int:
    """Returns how many operators of a plan stand above one another."""
    depth, level = 0, [plan]
    while level:
        depth, level = depth + 1, [child for node in level for child in children(node)]
    return depth


@dataclass(slots=True)
class QueryBinder:
    """Binds queries, one SELECT block at a time.

    `expanding`: the views inside of which the binder is now. `scans`: how many relations it has read so far.
    """

    relations: Relations
    names: Names = field(default_factory=Names)
    expanding: tuple[str, ...] = ()
    scans: int = 0

    def query(self, node: exp.Expr, ctes: Mapping[str, Cte]) -> Bound:
        """Returns a bound SELECT or set operation; `ctes` are the CTEs that are visible where it stands."""
        if is_cut(node):
            return first_rows(self, node, ctes)
        refuse_clauses(node)
        ctes = self.visible(node, ctes)
        match node:
            case exp.Select():
                return self.select(node, ctes)
            case exp.SetOperation():
                return self.set_operation(node, ctes)
            case exp.Subquery() if not node.alias:
                return self.query(node.this, ctes)
            case _:
                raise UnsupportedError(type(node).__name__.upper(), "not a SELECT or a set operation")

    def visible(self, node: exp.Expr, ctes: Mapping[str, Cte]) -> Mapping[str, Cte]:
        """Returns the CTEs that are visible in a query: those of its WITH too."""
        with_ = node.args.get("with_")
        if with_ is None:
            return ctes
        if with_.args.get("recursive"):
            raise UnsupportedError("recursive CTE")
        names = [cte.alias.lower() for cte in with_.expressions]
        for name in names:
            if names.count(name) > 1:
                raise DefinitionError(f"two CTEs are named {name}; rename one of them")
        for cte in with_.expressions:
            # A CTE is bound anew at each use: column names are unique in a plan, and the two inputs of a self
            # join are two nodes, each with its own term in the changes.
            ctes = {**ctes, cte.alias.lower(): Cte(cte.this, ctes, cte.args["alias"])}
        return ctes

    def set_operation(self, node: exp.SetOperation, ctes: Mapping[str, Cte]) -> Bound:
        """Returns a set operation; casts give the branches common types.

        Without ALL it is DISTINCT over UNION ALL, or EXCEPT ALL or INTERSECT ALL over DISTINCT branches.
        """
        word, make = type(node).__name__.upper(), SET_OPERATIONS[type(node)]
        flat = list(_flatten(node))
        if any(isinstance(branch, exp.Select) and is_cut(branch) for branch in flat):
            raise UnsupportedError(f"LIMIT in a branch of a {word}", "put the branch in parentheses")
        branches = self.branches(flat, ctes)
        widths = {len(branch.outputs) for branch in branches}
        if len(widths) != 1:
            raise DefinitionError(
                f"the branches of a {word} have {sorted(widths)} columns; select the same number in each"
            )
        names = []
        for position, (name, _) in enumerate(branches[0].outputs):
            type_ = common_of(tuple(branch.outputs[position][1].type for branch in branches))
            if type_ is None:
                raise DefinitionError(f"column {name} of a {word} has types that do not meet; cast them")
            names.append((name, Col(self.names.fresh(name), type_)))
        parts = tuple(self._branch(branch, names) for branch in branches)
        union, distinct = isinstance(node, exp.Union), node.args.get("distinct")
        # EXCEPT ALL and INTERSECT ALL compare whole rows, too, so their columns must be able to be keys.
        if distinct or not union:
            self.names.refuse_keys((column for _, column in names), word)
        plan: Plan = make(tuple(map(Distinct, parts)) if distinct and not union else parts)
        return Bound(Distinct(plan) if distinct and union else plan, tuple(names))

    def branches(self, flat: Sequence[exp.Expr], ctes: Mapping[str, Cte]) -> list[Bound]:
        """Returns the bound branches of a set operation; a bare NULL has the type of another branch there."""
        open_ = {place: nulls for place, branch in enumerate(flat) if (nulls := _nulls_of(branch))}
        bound = {place: self.query(flat[place], ctes) for place in range(len(flat)) if place not in open_}
        types: dict[int, Type] = {}
        for each in bound.values():
            types.update((place, column.type) for place, (_, column) in enumerate(each.outputs))
        if not all(nulls.keys() <= types.keys() for nulls in open_.values()):
            # Each branch has NULL somewhere: what stands beside it is typed with any type in its place.
            scans = self.scans
            for place, nulls in open_.items():
                outputs = self._typed(flat[place].copy(), dict.fromkeys(nulls, INT), ctes).outputs
                known = {at: column.type for at, (_, column) in enumerate(outputs) if at not in nulls}
                types = {**known, **types}
            self.scans = scans
        bound.update({place: self._typed(flat[place], types, ctes) for place in open_})
        return [bound[place] for place in range(len(flat))]

    def _typed(self, branch: exp.Expr, types: Mapping[int, Type], ctes: Mapping[str, Cte]) -> Bound:
        """Returns a bound branch whose bare NULLs have the types of their positions; changes its tree.

        A type that a cast does not name, such as a STRUCT, leaves NULL as it is. Raises UnsupportedError.
        """
        for place, null in _nulls_of(branch).items():
            if place in types and types[place].kind is not Kind.OTHER:
                type_ = exp.DataType.build(str(types[place]), dialect=SparkText)
                null.replace(exp.Cast(this=exp.null(), to=type_))
        bound = self.query(branch, ctes)
        if len(bound.outputs) != len(branch.unnest().expressions):
            # An item of several columns: the position of an item is not that of its column.
            raise UnsupportedError("untyped NULL", "write CAST(NULL AS type)")
        return bound

    def _branch(self, branch: Bound, names: Sequence[tuple[str, Col]]) -> Plan:
        """Returns a branch of a set operation, with the columns and types of the operation."""
        items = []
        for (_, target), (_, column) in zip(names, branch.outputs, strict=True):
            items.append((target.name, cast(column, target.type)))
            if column.name in self.names.float_aggregates:
                self.names.float_aggregates.add(target.name)
        return Project(branch.plan, tuple(items))

    def select(self, node: exp.Select, ctes: Mapping[str, Cte]) -> Bound:
        """Returns one bound SELECT block: FROM, WHERE, grouping and select list, DISTINCT."""
        plan, scope = self.from_clause(node, ctes)
        # Outputs that later items name are replaced first: all that follows reads columns of FROM only.
        node = with_lateral_aliases(node, scope)
        where = node.args.get("where")
        if where is not None:
            plan = self.restricted(plan, scope, list(conjuncts(where.this)), ctes)
        plan, scope, node, beside = with_scalars(self, plan, scope, node, ctes)
        plan, scope, node = with_exploded_items(self.names, plan, scope, node)
        bound = grouping.bind_items(self.names, node, plan, scope, beside)
        if node.args.get("distinct") is not None:
            if node.args["distinct"].args.get("on") is not None:
                raise UnsupportedError("DISTINCT ON", "not Spark SQL")
            self.names.refuse_keys((column for _, column in bound.outputs), "DISTINCT")
            return Bound(Distinct(bound.plan), bound.outputs)
        return bound

    def restricted(
        self, plan: Plan, scope: Scope, where: Sequence[exp.Expr], ctes: Mapping[str, Cte]
    ) -> Plan:
        """Returns the rows of a FROM clause that meet conditions, with queries inside them too."""
        return restricted(self, plan, scope, where, ctes)

    def from_clause(self, node: exp.Select, ctes: Mapping[str, Cte]) -> tuple[Plan, Scope]:
        """Returns the plan and the scope of a FROM clause with its joins."""
        from_ = node.args.get("from_")
        if from_ is None:
            return with_lateral_views(self.names, *without_from(self.names, node), node)
        plan, scope = self._joined(*self.source(from_.this, ctes), node, ctes)
        return with_lateral_views(self.names, plan, scope, node)

    def source(self, node: exp.Expr, ctes: Mapping[str, Cte]) -> tuple[Plan, Scope]:
        """Returns the plan and the scope of a FROM item with the joins attached to it."""
        match node:
            case exp.Table():
                ensure_plain_table(node)
                refuse_parts(node, node.name, "pivots")
                plan, outputs = self.named(node.name, ctes)
                outputs = listed(outputs, node.args.get("alias"))
                scope = Scope(((node.alias_or_name.lower(), outputs),))
            case exp.Values():
                refuse_parts(node, "VALUES", "expressions")
                plan, outputs = listed_rows(self.names, node)
                outputs = listed(outputs, node.args.get("alias"))
                scope = Scope(((node.alias.lower(), outputs),))
            case exp.Subquery() if _holds_relations(node.this):
                if node.alias:
                    raise UnsupportedError("alias of relations in parentheses", "alias each inside them")
                refuse_parts(node, "relations in parentheses")
                plan, scope = self.source(node.this, ctes)
            case exp.Subquery():
                refuse_parts(node, node.alias or "a sub-select", "pivots")
                bound = self.query(node.this, ctes)
                outputs = listed(bound.outputs, node.args.get("alias"))
                plan, scope = bound.plan, Scope(((node.alias.lower(), outputs),))
            case _:
                raise UnsupportedError(f"{type(node).__name__.upper()} in FROM")
        plan, scope = pivoted(self.names, plan, scope, node)
        return self._joined(plan, scope, node, ctes)

    def named(self, name: str, ctes: Mapping[str, Cte]) -> tuple[Plan, Outputs]:
        """Returns the plan and the outputs of a CTE, view or stored relation, in this order of precedence."""
        cte = ctes.get(name.lower())
        if cte is not None:
            bound = self.query(cte.query, cte.visible)
            return bound.plan, listed(bound.outputs, cte.alias)
        match self.relations.get(name.lower()):
            case None:
                raise DefinitionError(f"unknown table {name}; create the table or correct the name")
            case View(_, text):
                if name.lower() in self.expanding:
                    circle = " -> ".join((*self.expanding, name))
                    raise DefinitionError(
                        f"view {name} is defined by itself: {circle}; remove one of these references"
                    )
                self.expanding = (*self.expanding, name.lower())
                try:
                    bound = self.query(_tree(text), {})
                finally:
                    self.expanding = self.expanding[:-1]
                return bound.plan, bound.outputs
            case StoredRelation(_, columns) as stored:
                self.scans += 1
                if self.scans > MAX_SCANS:
                    raise UnsupportedError(
                        f"more than {MAX_SCANS} inputs", "split the query over several dynamic tables"
                    )
                outputs = tuple((column, Col(self.names.fresh(column), type_)) for column, type_ in columns)
                key = [column for column_name, column in outputs if column_name in stored.unique]
                # -0.0 and 0.0 are equal in an order, and two keys.
                exact = all(column.type.kind not in FLOATING for column in key)
                return Scan(name.lower(), outputs, tuple(each.name for each in key) if exact else ()), outputs

    def _joined(
        self, plan: Plan, scope: Scope, node: exp.Expr, ctes: Mapping[str, Cte]
    ) -> tuple[Plan, Scope]:
        """Returns the plan and the scope of a FROM item with the joins that are attached to a syntax node."""
        for join in node.args.get("joins") or ():
            plan, scope = self.join(plan, scope, join, ctes)
        return plan, scope

    def join(self, left: Plan, scope: Scope, node: exp.Join, ctes: Mapping[str, Cte]) -> tuple[Plan, Scope]:
        """Returns the plan and the scope of a join with `left`, whose columns are in `scope`."""
        refuse_parts(node, "a join", "on", "side", "kind", "using", "method")
        if isinstance(node.this, exp.Lateral):
            return lateral_join(self, left, scope, node, ctes)
        # sqlglot has LEFT SEMI JOIN as side LEFT and kind SEMI.
        semi = (node.kind or "").upper() if (node.side or "").upper() in ("", "LEFT") else ""
        kind = JoinKind.INNER if semi in ("SEMI", "ANTI") else join_kind(node)
        right, right_scope = self.source(node.this, ctes)
        # A sub-select may have no alias: then no qualified name reaches its columns.
        aliases = [alias for alias, _ in scope.relations + right_scope.relations if alias]
        if len(set(aliases)) != len(aliases) and semi in ("SEMI", "ANTI"):
            raise UnsupportedError(f"{semi} JOIN of two relations with one alias", "give each its own")
        if len(set(aliases)) != len(aliases):
            raise DefinitionError(
                f"alias {right_scope.relations[0][0]} stands twice in one FROM; give each its own"
            )
        shared = self._shared(node, scope, right_scope)
        both = Scope(
            scope.relations + right_scope.relations,
            scope.merged + right_scope.merged,
            scope.hidden | right_scope.hidden,
        )
        on = node.args.get("on")
        if semi in ("SEMI", "ANTI"):
            if node.args.get("method"):
                raise DefinitionError(f"there is no NATURAL {semi} JOIN in Spark; write USING or ON")
            condition = conjunction(call("=", *pair) for _, *pair in shared) if shared else Lit(True, BOOLEAN)
            if on is not None:
                binder = ExpressionBinder(both.resolve, type_of=self.names.type_of)
                condition = predicate(binder.bind(on), "ON")
            self.names.refuse_float_comparison(condition, "a join condition")
            return SemiJoin(left, right, condition, anti=semi == "ANTI"), _with_first(scope, shared)
        if shared:
            return self._merged(kind, left, right, both, shared)
        if on is None:
            if kind is not JoinKind.INNER and kind is not JoinKind.CROSS:
                raise DefinitionError(f"{kind.value} without ON; write the condition of the join")
            return Join(JoinKind.CROSS, left, right, None), both
        if on.find(exp.Query) is not None and kind in (JoinKind.INNER, JoinKind.CROSS):
            # ON of an inner join means the same as WHERE, where subqueries have rules.
            cross = Join(JoinKind.CROSS, left, right, None)
            return self.restricted(cross, both, list(conjuncts(on)), ctes), both
        seen = both
        if on.find(exp.Query) is not None:
            left, right, seen, on = with_queries_in_on(self, left, right, both, on, ctes)
        condition = predicate(ExpressionBinder(seen.resolve, type_of=self.names.type_of).bind(on), "ON")
        self.names.refuse_float_comparison(condition, "a join condition")
        return Join(JoinKind.INNER if kind is JoinKind.CROSS else kind, left, right, condition), both

    def _shared(self, node: exp.Join, left: Scope, right: Scope) -> list[tuple[str, Col, Col]]:
        """Returns the columns that USING or NATURAL equates: name, left column, right column."""
        names = [each.name for each in node.args.get("using") or ()]
        if (node.args.get("method") or "").upper() == "NATURAL":
            other_names = {name.lower() for name, _ in right.visible}
            names = [name for name, _ in left.visible if name.lower() in other_names]
        columns = [(name, exp.column(name)) for name in names]
        return [(name, _column(left, column), _column(right, column)) for name, column in columns]

    def _merged(
        self, kind: JoinKind, left: Plan, right: Plan, scope: Scope, shared: list[tuple[str, Col, Col]]
    ) -> tuple[Plan, Scope]:
        """Returns a join with USING or NATURAL: each shared name then stands for one merged column.

        It is the column of the preserved side, and of a FULL JOIN the first of both that is not NULL.
        """
        kind = JoinKind.INNER if kind is JoinKind.CROSS else kind
        condition = conjunction(call("=", *pair) for _, *pair in shared)
        self.names.refuse_float_comparison(condition, "a join condition")
        plan: Plan = Join(kind, left, right, condition)
        merged = [(name, theirs if kind is JoinKind.RIGHT else mine) for name, mine, theirs in shared]
        if kind is JoinKind.FULL:
            either = [(self.names.fresh(name), call("coalesce", *pair)) for name, *pair in shared]
            plan = Project(plan, (*((each.name, each) for each in columns(plan)), *either))
            merged = [
                (name, Col(new, expr.type)) for (name, *_), (new, expr) in zip(shared, either, strict=True)
            ]
        gone = {column.name for _, *pair in shared for column in pair}
        kept = [output for output in scope.merged if output[1].name not in gone]
        return plan, Scope(scope.relations, (*merged, *kept), scope.hidden | gone)


def _holds_relations(inner: exp.Expr) -> bool:
    """Tells whether parentheses hold relations, as in `(r JOIN s ON ...)`, and not a query."""
    named = isinstance(inner, exp.Subquery) and bool(inner.alias or inner.args.get("joins"))
    return isinstance(inner, exp.Table) or named


def _with_first(scope: Scope, shared: Sequence[tuple[str, Col, Col]]) -> Scope:
    """Returns the scope of the left side of a join whose USING puts some of its columns first."""
    first = tuple((name, mine) for name, mine, _ in shared)
    gone = {column.name for _, column in first}
    kept = tuple(output for output in scope.merged if output[1].name not in gone)
    return Scope(scope.relations, (*first, *kept), scope.hidden | gone)


def _column(scope: Scope, node: exp.Column) -> Col:
    """Returns the column that a name of USING or NATURAL stands for on one side of a join."""
    column = scope.resolve(node)
    assert isinstance(column, Col)
    return column


SET_OPERATIONS: Mapping[type[exp.SetOperation], Callable[[tuple[Plan, ...]], Plan]] = {
    exp.Union: UnionAll,
    exp.Except: ExceptAll,
    exp.Intersect: IntersectAll,
}
"""The plans of set operations with ALL, by their syntax nodes."""


def _nulls_of(branch: exp.Expr) -> Mapping[int, exp.Expr]:
    """Returns by position the bare NULLs of the select list of a branch; none if its text reads one by name.

    Their types would decide the types of what reads them.
    """
    inner = branch.unnest()
    items = inner.expressions if isinstance(inner, exp.Select) and not inner.is_star else []
    nulls = {place: item for place, item in enumerate(items) if isinstance(item.unalias(), exp.Null)}
    names = {item.alias.lower() for item in nulls.values()}
    if nulls and any(not each.table and each.name.lower() in names for each in inner.find_all(exp.Column)):
        return {}
    return {place: item.unalias() for place, item in nulls.items()}


def _flatten(node: exp.SetOperation) -> Iterator[exp.Expr]:
    """Yields the branches of a set operation.

    `a UNION ALL b UNION ALL c` is parsed as nested pairs, and becomes one node with three branches.
    """
    left = node.this
    same = (
        isinstance(node, exp.Union)
        and isinstance(left, exp.Union)
        and not left.args.get("with_")
        and left.args.get("distinct") == node.args.get("distinct")
    )
    if same:
        yield from _flatten(left)
    else:
        yield left
    yield node.expression
