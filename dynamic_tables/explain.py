"""What the engine makes of a query, as a value: its plan, its change query, its row ids, or why not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from dynamic_tables.definition import Columns
from dynamic_tables.differentiate.differentiation import At, Differentiation, operator_of
from dynamic_tables.differentiate.registry import RULES, Rules, change_plan, ensure_supported
from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.bind import StoredRelation, ViewRelation, bind_query
from dynamic_tables.plan.dialects import SPARK, Dialect
from dynamic_tables.plan.expressions import Agg, Col, Expr
from dynamic_tables.plan.nodes import (
    ROW_ID,
    Aggregate,
    BoundQuery,
    Filter,
    Join,
    Leaf,
    Plan,
    Project,
    Scan,
    UnionAll,
    children,
    columns,
)
from dynamic_tables.plan.render import Statement, render, render_expression
from dynamic_tables.plan.text import read_text
from dynamic_tables.plan.types import Type
from dynamic_tables.store.statements import column_type


@dataclass(frozen=True, slots=True)
class Declared:
    """Tables and views by their declarations alone; a `plan.bind.Relations` without any store."""

    known: Mapping[str, StoredRelation | ViewRelation]

    def relation(self, name: str) -> StoredRelation | ViewRelation | None:
        """What a name means."""
        return self.known.get(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTree:
    """An operator of a plan. `row_id`: one expression, or one per branch; none where there is no rule."""

    operator: str
    detail: str
    row_id: tuple[str, ...]
    children: tuple[PlanTree, ...]

    def walk(self) -> Iterator[PlanTree]:
        """The operator and those below it."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What AUTO would make of a query.

    `reason`: why it is not incremental. `plan` and `columns`: None and empty where the query could not
    even be bound. `row_id`: the expression that makes the ids of the result, over the ids below it.
    """

    incremental: bool
    reason: str | None
    sources: tuple[str, ...]
    columns: Columns = ()
    plan: PlanTree | None = None
    change_query: str | None = None
    row_id: str | None = None

    @property
    def operators(self) -> tuple[str, ...]:
        """The operators of the plan, each once, from the top."""
        return () if self.plan is None else tuple(dict.fromkeys(node.operator for node in self.plan.walk()))


def explain(
    query: str, relations: Declared, *, dialect: Dialect = SPARK, rules: Rules = RULES
) -> Explanation:
    """The explanation of a defining query. Raises DefinitionError where no table could be created over it."""
    text = read_text(query, relations)
    try:
        bound = bind_query(query, relations)
    except UnsupportedError as error:
        text.ensure_admitted()
        return Explanation(incremental=False, reason=str(error), sources=text.sources)
    trees = _Trees(Differentiation(rules.operators, rules.row_ids), dialect)
    plan = trees.tree(bound.plan)
    reason = _unsupported(bound, rules)
    return Explanation(
        incremental=reason is None,
        reason=reason,
        sources=bound.sources,
        columns=bound.schema,
        plan=plan,
        change_query=None if reason else layout(render(change_plan(bound, rules), dialect), dialect),
        row_id=None if reason else _made_id(plan, trees.passed_on),
    )


def _unsupported(bound: BoundQuery, rules: Rules) -> str | None:
    try:
        ensure_supported(bound, rules)
    except UnsupportedError as error:
        return str(error)
    return None


def _made_id(tree: PlanTree, passed_on: str) -> str:
    """The topmost id that an operator makes; projections and filters only pass one on."""
    while tree.row_id == (passed_on,) and tree.children:
        tree = tree.children[0]
    return "; ".join(tree.row_id)


@dataclass(frozen=True, slots=True)
class _Trees:
    differentiation: Differentiation
    dialect: Dialect

    @property
    def passed_on(self) -> str:
        """The row id of an operator that keeps its child's."""
        return self.dialect.identifier(ROW_ID)

    def tree(self, plan: Plan) -> PlanTree:
        """A plan as a tree for showing."""
        return PlanTree(
            operator=operator_of(plan),
            detail=self.detail(plan),
            row_id=tuple(dict.fromkeys(self.row_ids(plan))),
            children=tuple(self.tree(child) for child in children(plan)),
        )

    def row_ids(self, plan: Plan) -> Iterable[str]:
        """The `$ROW_ID` of the operator's own rows, read off the plan that its rule yields."""
        try:
            state = self.differentiation.state(plan, At.T1, True)
        except UnsupportedError:
            return ()
        parts = state.branches if isinstance(state, UnionAll) else (state,)
        return (self.text(_row_id(part)) for part in parts)

    def text(self, expr: Expr) -> str:
        """An expression as SQL."""
        return render_expression(expr, self.dialect)

    def detail(self, plan: Plan) -> str:
        """What an operator's name does not say."""
        match plan:
            case Scan(source, _):
                return source
            case Project(_, items):
                return ", ".join(self.item(name, expr) for name, expr in items)
            case Filter(_, predicate):
                return self.text(predicate)
            case Join(_, _, _, on) if on is not None:
                return self.text(on)
            case Aggregate(_, keys, aggregates):
                by = ", ".join(self.item(name, key) for name, key in keys)
                made = ", ".join(self.item(name, aggregate) for name, aggregate in aggregates)
                return "; ".join(part for part in (f"by {by}" if by else "", made) if part)
            case _:
                return ""

    def item(self, name: str, expr: Expr | Agg) -> str:
        """A named expression."""
        quoted = self.dialect.identifier(name)
        return quoted if expr == Col(name, expr.type) else f"{self.text(expr)} AS {quoted}"


def _row_id(state: Plan) -> Expr:
    if isinstance(state, Project):
        return next(expr for name, expr in state.items if name == ROW_ID)
    if isinstance(state, Leaf):
        return next(Col(name, column.type) for name, column in state.columns if name == ROW_ID)
    return next(column for column in columns(state) if column.name == ROW_ID)


# ----------------------------------------------------------------------------------------------------
# Declarations

TABLE = re.compile(r"\s*(?P<name>[A-Za-z]\w*)\s*\((?P<columns>.*)\)\s*", re.ASCII | re.DOTALL)
COLUMN = re.compile(r"\s*(?P<name>[A-Za-z]\w*)\s+(?P<type>\S.*?)\s*", re.ASCII | re.DOTALL)
VIEW = re.compile(r"\s*(?P<name>[A-Za-z]\w*)\s*=\s*(?P<query>\S.*)", re.ASCII | re.DOTALL)


def declare(tables: Iterable[str], views: Iterable[str] = ()) -> Declared:
    """Relations from text: tables as `r(a INT, b STRING)`, views as `v=SELECT ...`.

    Raises DefinitionError for text of another form and for a name declared twice.
    """
    known: dict[str, StoredRelation | ViewRelation] = {}

    def add(name: str, relation: StoredRelation | ViewRelation) -> None:
        if name.lower() in known:
            raise DefinitionError(f"{name} is declared twice")
        known[name.lower()] = relation

    for text in tables:
        match = TABLE.fullmatch(text)
        if match is None:
            raise DefinitionError(f"table {text!r}: write it as name(column TYPE, ...)")
        add(match["name"], StoredRelation(_columns(match["name"], match["columns"])))
    for text in views:
        match = VIEW.fullmatch(text)
        if match is None:
            raise DefinitionError(f"view {text!r}: write it as name=SELECT ...")
        add(match["name"], ViewRelation(match["query"]))
    return Declared(known)


def _columns(table: str, text: str) -> Columns:
    typed: dict[str, tuple[str, Type]] = {}
    # The commas inside DECIMAL(10,2) separate nothing.
    for part in re.split(r",(?![^()]*\))", text):
        match = COLUMN.fullmatch(part)
        if match is None:
            raise DefinitionError(f"table {table}: {part.strip()!r} is no column; write a name and a type")
        if match["name"].lower() in typed:
            raise DefinitionError(f"table {table}: column {match['name']} is declared twice")
        typed[match["name"].lower()] = (match["name"], column_type(match["name"], match["type"]))
    return tuple(typed.values())


# ----------------------------------------------------------------------------------------------------
# Layout

BREAKS = frozenset("FROM WHERE GROUP UNION JOIN LEFT RIGHT FULL CROSS SEMI ANTI".split())
"""Words that begin a line of their own."""

JOIN_WORDS = frozenset("LEFT RIGHT FULL CROSS SEMI ANTI".split())

INDENT = "  "


def layout(statement: Statement, dialect: Dialect) -> str:
    """A rendered statement over many lines: one per clause, sub-selects and steps indented.

    Only blanks outside of literals and quoted names change; the text is cut into words, never parsed.
    """
    if not statement.steps:
        return laid_out(statement.query, dialect)
    steps = (f"{name} AS (\n{INDENT}{laid_out(text, dialect, depth=1)}\n)" for name, text in statement.steps)
    return "WITH " + ", ".join(steps) + "\n" + laid_out(statement.query, dialect)


def words(text: str, dialect: Dialect) -> list[str]:
    """A text cut into literals, quoted names, words, signs and blanks; joined they are the text again."""
    escaped = r"|\\." if dialect.backslash_escapes else ""
    plain = r"[^'\\]" if dialect.backslash_escapes else "[^']"
    quote = re.escape(dialect.quote)
    pattern = rf"'(?:''|{plain}{escaped})*'|{quote}(?:{quote}{quote}|[^{quote}])*{quote}|[A-Za-z_]\w*|\s+|."
    return re.findall(pattern, text, re.DOTALL)


def _begins_line(word: str, before: str) -> bool:
    return (word in BREAKS and before not in JOIN_WORDS) or (word == "SELECT" and before == "ALL")


def laid_out(text: str, dialect: Dialect, depth: int = 0) -> str:
    """One SELECT over many lines; the first is not indented, the others by `depth` and more."""
    found = words(text, dialect)
    lines = [""]
    # For each open parenthesis, whether it holds a relation and so begins lines of its own.
    open_: list[bool] = []
    level = depth

    def break_line() -> None:
        lines[-1] = lines[-1].rstrip()
        lines.append(INDENT * level)

    before = ""
    for position, word in enumerate(found):
        following = found[position + 1] if position + 1 < len(found) else ""
        if word == "(":
            holds = following in ("SELECT", "WITH") or before in ("FROM", "JOIN")
            open_.append(holds)
            lines[-1] += word
            if holds:
                level += 1
                break_line()
        elif word == ")":
            if open_.pop():
                level -= 1
                break_line()
            lines[-1] += word
        elif (not open_ or open_[-1]) and _begins_line(word, before):
            break_line()
            lines[-1] += word
        elif word.isspace() and not lines[-1].strip():
            continue
        else:
            lines[-1] += word
        if not word.isspace():
            before = word
    return "\n".join(lines).rstrip()
