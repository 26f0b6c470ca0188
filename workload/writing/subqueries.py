"""Subqueries in Spark's SQL as people write them: EXISTS and IN, values of one row."""

from __future__ import annotations

from typing import Protocol

from workload import query as ir
from workload.sql.memberships import Comparison, comparison_of, groups_of, has_aggregate
from workload.sql.scalars import RowJoin, ScalarJoin
from workload.types import BOOLEAN
from workload.writing.expression import Clause, Level, Written
from workload.writing.style import Style


class WritesQueries(Protocol):
    """A writer of the blocks of a query and of their FROM clauses."""

    @property
    def style(self) -> Style:
        """The style in which it writes."""
        ...

    def query(self, query: ir.Query) -> str:
        """Returns a whole query."""
        ...

    def source(self, relation: ir.Relation) -> str:
        """Returns a FROM clause."""
        ...

    def relation(self, relation: ir.Relation) -> str:
        """Returns one relation of a FROM clause."""
        ...


def membership(writer: WritesQueries, join: ir.Join) -> str:
    """Returns a semi or anti join as a condition: EXISTS, or IN where a comparison allows it."""
    words, clause = writer.style.words, Clause(writer.style, False)
    assert join.on is not None, "only CROSS has no condition"
    negation, from_ = ("NOT " if join.kind is ir.JoinKind.ANTI else ""), words("FROM")
    whole = _one_group(join)
    if whole is not None and writer.style.chance(80):
        return f"{words(negation + 'EXISTS')} ({writer.query(whole)})"
    # An aggregate of groups outside can stand before IN, and not in the query.
    before = has_aggregate(join.on)
    found = None if before else groups_of(join)
    if found is not None and writer.style.chance(60):
        return f"{words(negation + 'EXISTS')} ({_groups(writer, found)})"
    right = writer.relation(join.right)
    compared = comparison_of(join)
    if compared is None or not (before or writer.style.chance(70)):
        selected = writer.style.choices.choice(("1", "*", "NULL"))
        query = f"{words('SELECT')} {selected} {from_} {right} {words('WHERE')} {clause.text(join.on)}"
        return f"{words(negation + 'EXISTS')} ({query})"
    pairs, rest = _tuple(writer.style, join, compared)
    theirs = ", ".join(clause.text(pair.theirs) for pair in pairs)
    query = f"{words('SELECT')} {theirs} {from_} {right}"
    if rest is not None:
        query += f" {words('WHERE')} {clause.text(rest)}"
    if len(pairs) > 1:
        mine = f"({', '.join(clause.text(pair.mine) for pair in pairs)})"
    else:
        mine = clause.operand(compared.mine, Level.COMPARISON)
    return f"{mine} {words(negation + 'IN')} ({query})"


def _one_group(join: ir.Join) -> ir.Select | None:
    """Returns the aggregate of all rows that a join on TRUE looks for: HAVING says whether it is there."""
    match join:
        case ir.Join(right=ir.Derived(ir.Select(group_by=()) as query), on=ir.Literal(True)):
            return query
        case _:
            return None


def _tuple(style: Style, join: ir.Join, first: Comparison) -> tuple[list[Comparison], ir.Expr | None]:
    """Returns the comparisons that IN says, in some cases of several columns, and the other conditions."""
    pairs, rest = [first], first.rest
    while rest is not None and style.chance(60):
        more = comparison_of(ir.Join(join.kind, join.left, join.right, rest))
        if more is None:
            break
        pairs, rest = [*pairs, more], more.rest
    return pairs, rest


def _groups(writer: WritesQueries, groups: ir.Select) -> str:
    """Returns a query whose groups are tied to a row outside by its WHERE and HAVING."""
    words, once = writer.style.words, Clause(writer.style, False)
    assert groups.group_by is not None, "it has groups"
    # Spark finds a computed key in HAVING only if it is written alike there.
    known: dict[ir.Expr, Written] = {
        key: once.written(key) for key in groups.group_by if isinstance(key, ir.Call)
    }
    clause = Clause(writer.style, False, known)
    keys = ", ".join(map(clause.text, groups.group_by))
    selected = writer.style.choices.choice(("1", keys, "NULL"))
    text = f"{words('SELECT')} {selected} {words('FROM')} {writer.source(groups.source)}"
    if groups.where is not None:
        text += f" {words('WHERE')} {clause.text(groups.where)}"
    text += f" {words('GROUP BY')} {keys}"
    return text if groups.having is None else f"{text} {words('HAVING')} {clause.text(groups.having)}"


def mark(writer: WritesQueries, join: ScalarJoin, test: ir.Call) -> Written:
    """Returns a test whether a row has a group: EXISTS, NOT EXISTS, or IN as a condition of CASE or IF."""
    if len(join.ties) == 1 and writer.style.chance(30):
        return _decided_by_in(writer, join, found=test.function == "is_not_null"), Level.PRIMARY
    exists = writer.style.words("EXISTS" if test.function == "is_not_null" else "NOT EXISTS")
    return f"{exists} {_inside(writer, join, writer.style.choices.choice(('1', '*', 'NULL')))}", Level.NOT


def _decided_by_in(writer: WritesQueries, join: ScalarJoin, *, found: bool) -> str:
    """Returns CASE or IF that gives TRUE or FALSE by IN: a NULL of IN gives the same as its FALSE."""
    words, clause = writer.style.words, Clause(writer.style, False)
    ((outer, key),) = join.ties
    query = f"{words('SELECT')} {clause.text(key)} {words('FROM')} {writer.source(join.inner.source)}"
    query += tied_where(writer.style, (), join.inner.where)
    condition = f"{clause.operand(outer, Level.COMPARISON)} {words('IN')} ({query})"
    then, otherwise = words(str(found)), words(str(not found))
    if writer.style.chance(50):
        return f"{words('IF')}({condition}, {then}, {otherwise})"
    return (
        f"{words('CASE WHEN')} {condition} {words('THEN')} {then} {words('ELSE')} {otherwise} {words('END')}"
    )


def scalar(writer: WritesQueries, join: ScalarJoin, value: ir.Expr) -> Written:
    """Returns the subquery that gives one value of a join."""
    return _inside(writer, join, Clause(writer.style, False).text(value)), Level.PRIMARY


def _inside(writer: WritesQueries, join: ScalarJoin, selected: str) -> str:
    words = writer.style.words
    text = f"{words('SELECT')} {selected} {words('FROM')} {writer.source(join.inner.source)}"
    text += tied_where(writer.style, join.ties, join.inner.where)
    if join.inner.having is not None:
        text += f" {words('HAVING')} {Clause(writer.style, False).text(join.inner.having)}"
    return f"({text})"


def tied_where(style: Style, ties: tuple[tuple[ir.Expr, ir.Expr], ...], where: ir.Expr | None) -> str:
    """Returns the WHERE clause that ties rows to a row outside, after a blank; nothing for no condition."""
    clause = Clause(style, False)
    conditions: list[ir.Expr] = [ir.Call("eq", (key, outer), BOOLEAN) for outer, key in ties]
    both = [*conditions, *([] if where is None else [where])]
    texts = [clause.operand(each, Level.AND) for each in both]
    return f" {style.words('WHERE')} {style.words(' AND ').join(texts)}" if texts else ""


def row_value(writer: WritesQueries, join: RowJoin, column: ir.ColumnRef) -> Written:
    """Returns the subquery that reads a column of the one row that is tied to the row outside."""
    words = writer.style.words
    selected = Clause(writer.style, False).text(column)
    text = f"{words('SELECT')} {selected} {words('FROM')} {writer.relation(join.rows)}"
    return f"({text}{tied_where(writer.style, join.ties, None)})", Level.PRIMARY
