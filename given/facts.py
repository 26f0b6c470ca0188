"""Facts about the columns of queries: the columns of base tables behind them, and whether they may be NULL.

A *fact* about an output column holds for all contents of the base tables that keep their promises. Facts
decide which values random rows need, and which goals can be reached at all: a condition over columns that are
never NULL is never NULL. Of `SELECT id + 1 AS n FROM t`, the fact about n is that it is computed from t.id,
and may be NULL only if t.id may.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import Scope, build_scope

from generators.given.documents import DocumentPart, Path, path_text
from given.documents import EXPLODED, Taken, drawn_type, taken
from given.script import BaseTable, Script, ScriptError, WrittenDefinition
from given.translation import qualified
from workload.types import INT, Kind, SqlType

BaseColumn = tuple[str, str]
"""The name of a base table and of one of its columns."""


@dataclass(frozen=True, slots=True)
class Fact:
    """What is true of a column, or of an expression, for all contents.

    `origin`: the column of a base table whose values it shows as they are; `path`: the aliases under which
    that table is read, from the query down. `bases`: all base columns that its values are computed from.
    `nullable`: whether it may be NULL.
    """

    origin: BaseColumn | None = None
    bases: frozenset[BaseColumn] = frozenset()
    nullable: bool = True
    path: tuple[str, ...] = ()


UNKNOWN = Fact()
"""The fact about a column of which nothing can be told."""

UNREAD = ("unread",)
"""The path of a part that no definition takes: a document may change though no row of a definition does."""

Facts = Mapping[str, Fact]
"""The facts about the columns of a relation, by name."""

NEVER_NULL = (exp.Count, exp.Exists, exp.NullSafeEQ, exp.NullSafeNEQ, exp.RowNumber, exp.Rank, exp.DenseRank)
"""Expressions without NULL, whatever their arguments are."""

MAYBE_NULL = (exp.Anonymous, exp.Nullif, exp.TryCast, exp.Subquery, exp.Lag, exp.Lead, exp.Null)
"""Expressions that may be NULL though no argument is."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A definition with its columns resolved.

    `tree`: its query with a relation's name before each column. `translated`: the query in the form for
    DuckDB. `scope`: sqlglot's scopes of `tree`; None where sqlglot could not resolve it. `sources`: the
    relations that it reads.
    """

    written: WrittenDefinition
    tree: exp.Expr
    translated: exp.Expr
    scope: Scope | None
    facts: Facts
    sources: tuple[str, ...]


@dataclass(slots=True)
class Resolver:
    """The resolver of a script's definitions, upstreams first. `known`: facts about all relations so far."""

    script: Script
    known: dict[str, Facts] = field(default_factory=dict)
    types: dict[BaseColumn, SqlType] = field(default_factory=dict)
    """The types of the columns of base tables, and of the parts of documents that definitions take."""
    parts: dict[BaseColumn, tuple[str, Path]] = field(default_factory=dict)
    """By part: the column that it is a part of, and its path in it."""
    exploded: set[tuple[str, str, Path]] = field(default_factory=set)
    """The tables, columns and paths of the parts whose elements become rows."""
    seen: dict[Scope, Facts] = field(default_factory=dict)
    """Facts of queries: else a query inside eight others is visited anew for each of their columns."""

    @property
    def bases(self) -> frozenset[str]:
        """The names of the base tables."""
        return frozenset(base.table.name for base in self.script.tables)

    def __post_init__(self) -> None:
        self.known.update({name: {} for name in self.script.unfit})
        for base in self.script.tables:
            self.types.update({(base.table.name, each.name): each.type for each in base.table.columns})
            self.known[base.table.name] = {
                column.name: Fact(
                    (base.table.name, column.name),
                    frozenset({(base.table.name, column.name)}),
                    column.name not in base.required,
                )
                for column in base.table.columns
            }

    def resolve(self, written: WrittenDefinition) -> Resolved:
        """Returns the definition with its columns resolved; without scopes and facts if sqlglot cannot."""
        sources = self.sources(written)
        tree, translated = qualified(written.tree, self.known)
        try:
            scope = build_scope(tree) if tree is not written.tree else None
        except SqlglotError:
            tree, translated, scope = written.tree, written.tree, None
        facts = {} if scope is None else self.facts(scope)
        self.known[written.name] = facts
        return Resolved(written, tree, translated, scope, facts, sources)

    def sources(self, written: WrittenDefinition) -> tuple[str, ...]:
        """Returns the relations that a definition reads. Raises ScriptError for one that the script lacks."""
        ctes = {cte.alias.lower() for cte in written.tree.find_all(exp.CTE)}
        found: dict[str, None] = {}
        for table in written.tree.find_all(exp.Table):
            name = table.name.lower()
            if not name or (name in ctes and name not in self.known):
                continue
            if table.args.get("db") is not None or name not in self.known:
                line = written.place.line + (table.this.meta.get("line") or 1) - 1
                raise ScriptError(
                    f"{written.place.file}, line {line}: {written.name} reads {table.sql('spark')}, which no "
                    "script creates; add its CREATE TABLE"
                )
            found[name] = None
        return tuple(found)

    def facts(self, scope: Scope) -> Facts:
        """Returns the facts about the output columns of a query."""
        if scope not in self.seen:
            self.seen[scope] = self._facts(scope)
        return self.seen[scope]

    def _facts(self, scope: Scope) -> Facts:
        """Computes the facts about the output columns of a query: of a block, or of a set operation."""
        if scope.set_operation_scopes:
            branches = [list(self.facts(branch).values()) for branch in scope.set_operation_scopes]
            names = self.facts(scope.set_operation_scopes[0])
            return {
                name: Fact(
                    bases=frozenset().union(*(branch[n].bases for branch in branches if n < len(branch))),
                    nullable=any(n >= len(branch) or branch[n].nullable for branch in branches),
                )
                for n, name in enumerate(names)
            }
        if not isinstance(scope.expression, exp.Select):
            return {}
        return {item.alias_or_name: self.fact(item.unalias(), scope) for item in scope.expression.selects}

    def fact(self, expr: exp.Expr, scope: Scope) -> Fact:
        """Returns the fact about an expression in a query."""
        if isinstance(expr, exp.Column):
            return self._column(expr, scope)
        if isinstance(expr, exp.Paren):
            return self.fact(expr.this, scope)
        if (part := taken(expr)) is not None and (fact := self._part(part, scope)) is not None:
            return fact
        return Fact(bases=self._bases(expr, scope), nullable=self.nullable(expr, scope))

    def _bases(self, expr: exp.Expr, scope: Scope) -> frozenset[BaseColumn]:
        """Returns the base columns, and the parts of documents, that an expression is computed from."""
        if isinstance(expr, exp.Column):
            return self._column(expr, scope).bases
        if (part := taken(expr)) is not None and (fact := self._part(part, scope)) is not None:
            return fact.bases
        return frozenset[BaseColumn]().union(*(self._bases(each, scope) for each in expr.iter_expressions()))

    def _part(self, part: Taken, scope: Scope) -> Fact | None:
        """Returns the fact about a part of a document of a base table, and notes the part; else None."""
        whole = self.fact(part.document, scope)
        if whole.origin is None or self.types[whole.origin].kind is not Kind.VARIANT:
            return None
        table, name = whole.origin
        # The document may be a part itself: then the path goes on from there.
        column, above = self.parts.get(whole.origin, (name, ()))
        origin = (table, column + path_text((*above, *part.path)))
        self.parts[origin] = (column, (*above, *part.path))
        if origin not in self.types or self.types[origin].kind is Kind.VARIANT:
            self.types[origin] = SqlType(Kind.VARIANT) if part.type is None else drawn_type(part)
        return Fact(origin, frozenset({origin}), path=whole.path)

    def _element(self, exploded: exp.Expr, scope: Scope) -> Fact:
        """Returns the fact about the column `value` of variant_explode: that of the array's first element."""
        if not isinstance(exploded, exp.Anonymous) or exploded.name.upper() not in EXPLODED:
            return UNKNOWN
        fact = self._part(Taken(exploded.expressions[0], (0,), None), scope)
        if fact is None or fact.origin is None:
            return UNKNOWN
        column, path = self.parts[fact.origin]
        self.exploded.add((fact.origin[0], column, path[:-1]))
        return fact

    def parts_of(self, base: BaseTable, whole: Container[str]) -> tuple[tuple[DocumentPart, BaseColumn], ...]:
        """Returns the parts of the documents of a table, each with the base column that stands for it here.

        They are the parts that definitions take, the same parts of a second element where elements become
        rows, and one part that nothing takes. A part of type VARIANT is left out where a part inside it is
        there. `whole`: the columns whose documents are drawn as a whole.
        """
        found: dict[DocumentPart, BaseColumn] = {}
        for position, each in enumerate(base.table.columns):
            if each.type.kind is not Kind.VARIANT or each.name in whole:
                continue
            table = base.table.name
            known = {
                path: of for of, (column, path) in self.parts.items() if (of[0], column) == (table, each.name)
            }
            for path, of in known.items():
                type_ = self.types[of]
                if type_.kind is Kind.VARIANT and any(other[: len(path)] == path != other for other in known):
                    continue
                found[DocumentPart(position, path, type_)] = of
                for exploded in (path[:n] for n, step in enumerate(path) if step == 0):
                    if (table, each.name, exploded) in self.exploded:
                        second = (*exploded, 1, *path[len(exploded) + 1 :])
                        found[DocumentPart(position, second, type_)] = of
            found[DocumentPart(position, UNREAD, INT)] = table, each.name + path_text(UNREAD)
        return tuple(found.items())

    def nullable(self, expr: exp.Expr, scope: Scope) -> bool:
        """Tells whether an expression may be NULL."""
        match expr:
            case exp.Column():
                return self._column(expr, scope).nullable
            case exp.Is():
                return False
            case exp.Cast() | exp.JSONExtract() if taken(expr) is not None:
                return True
            case exp.Coalesce():
                return all(self.nullable(part, scope) for part in (expr.this, *expr.expressions))
            case exp.Case():
                default = expr.args.get("default")
                results = [branch.args["true"] for branch in expr.args["ifs"]]
                return default is None or any(self.nullable(part, scope) for part in (default, *results))
            case exp.In() if expr.args.get("query") is not None:
                return True
            case exp.Window():
                return self.nullable(expr.this, scope)
            case exp.Filter():
                # A group may have no row that meets the condition.
                return not isinstance(expr.this, NEVER_NULL)
            case _ if isinstance(expr, NEVER_NULL):
                return False
            case _ if isinstance(expr, MAYBE_NULL):
                return True
            case exp.AggFunc() if not _groups(scope):
                return True
            case _:
                # A chain of AND or OR may have hundreds of parts.
                chain = isinstance(expr, exp.Connector)
                parts = expr.flatten() if chain else expr.iter_expressions()
                return any(self.nullable(part, scope) for part in parts)

    def _column(self, column: exp.Column, scope: Scope) -> Fact:
        """Returns the fact about a column as its query sees it: outer joins may have padded it."""
        select = scope.expression
        fact = self.stored(column, scope)
        if isinstance(select, exp.Select) and column.table in padded(select):
            return replace(fact, nullable=True)
        return fact

    def stored(self, column: exp.Column, scope: Scope) -> Fact:
        """Returns the fact about a column as its relation has it, before an outer join may pad it."""
        source = scope.sources.get(column.table)
        if source is None or column.table in scope.outer_columns:
            return UNKNOWN
        if isinstance(source, Scope) and isinstance(source.expression, exp.Lateral):
            return self._element(source.expression.this, scope) if column.name == "value" else UNKNOWN
        if isinstance(source, Scope):
            fact = self.facts(source).get(column.name, UNKNOWN) if source is not scope else UNKNOWN
        else:
            fact = self.known.get(source.name.lower(), {}).get(column.name.lower(), UNKNOWN)
        return replace(fact, path=(column.table, *fact.path))


def _groups(scope: Scope) -> bool:
    """Tells whether a query has a group only where it has rows: it groups by some key."""
    group = scope.expression.args.get("group")
    return group is not None and bool(group.expressions)


def padded(select: exp.Select) -> frozenset[str]:
    """Returns the relations of a FROM clause whose columns an outer join may pad with NULL."""
    seen = [select.args["from_"].this.alias_or_name] if select.args.get("from_") else []
    may_be_padded: set[str] = set()
    for join in select.args.get("joins") or ():
        side = (join.side or "").upper()
        if side in ("LEFT", "FULL"):
            may_be_padded.add(join.alias_or_name)
        if side in ("RIGHT", "FULL"):
            may_be_padded.update(seen)
        seen.append(join.alias_or_name)
    return frozenset(may_be_padded)


def in_order(script: Script) -> tuple[list[WrittenDefinition], Mapping[str, str]]:
    """Returns the definitions, upstreams first, and what is wrong with those that form a circle."""
    written = {definition.name: definition for definition in script.definitions}
    ordered: dict[str, WrittenDefinition] = {}
    circular: dict[str, str] = {}

    def visit(definition: WrittenDefinition, path: tuple[str, ...]) -> None:
        if definition.name in path:
            circle = path[path.index(definition.name) :]
            for at, name in enumerate(circle):
                shown = " reads ".join((*circle[at:], *circle[:at], name))
                circular.setdefault(name, f"{written[name].place}: {shown}; remove one of these readings")
        elif definition.name not in ordered:
            for name in names_in(definition.tree):
                if name in written:
                    visit(written[name], (*path, definition.name))
            ordered[definition.name] = definition

    for definition in script.definitions:
        visit(definition, ())
    return list(ordered.values()), circular


def names_in(tree: exp.Expr) -> Iterable[str]:
    """Returns the names of the relations that a query reads, without those of its own CTEs."""
    ctes = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    names = (table.name.lower() for table in tree.find_all(exp.Table))
    return dict.fromkeys(name for name in names if name and name not in ctes)


def always_matched(left: Fact, right: Fact, tables: Mapping[str, BaseTable]) -> bool:
    """Tells whether each value of the left column stands in the right one, if both relations have all rows.

    It does where both show the same column of a base table, and where a foreign key says so.
    """
    if left.nullable or left.origin is None or right.origin is None:
        return False
    if left.origin == right.origin:
        return True
    table, column = left.origin
    for names, target, referred in tables[table].foreign:
        key = referred or (tables[target].keys[0] if target in tables and tables[target].keys else ())
        if names == (column,) and (target, key) == (right.origin[0], (right.origin[1],)):
            return True
    return False
