"""LATERAL in Spark's SQL as people write it: the first rows, the aggregates, or all rows tied to a row."""

from __future__ import annotations

from collections.abc import Collection

from workload import query as ir
from workload.sql.scalars import FirstRows, ScalarJoin
from workload.writing.expression import Clause
from workload.writing.style import Style
from workload.writing.subqueries import WritesQueries, tied_where
from workload.writing.window import written_key


def tied_rows(writer: WritesQueries, first: FirstRows) -> str:
    """Returns LATERAL with the first rows, in an order, of those that are tied to a row outside."""
    style, clause = writer.style, Clause(writer.style, False)
    words = style.words
    items = ", ".join(map(clause.item, first.block.items))
    text = f"{words('SELECT')} {items} {words('FROM')} {writer.source(first.block.source)}"
    text += tied_where(style, first.ties, first.block.where)
    text += f" {words('ORDER BY')} {', '.join(written_key(clause, key) for key in first.order)}"
    text += f" {words('LIMIT')} {first.count}"
    text += f" {words('OFFSET')} {first.offset}" if first.offset else ""
    return _beside(style, text, first.alias, padded=first.padded)


def tied_values(writer: WritesQueries, join: ScalarJoin, alias: str) -> str:
    """Returns LATERAL with the aggregates of what is tied to a row outside: one row, also of nothing."""
    style, clause = writer.style, Clause(writer.style, False)
    words = style.words
    named = {c.name: v for c, v in join.values.items() if isinstance(c, ir.ColumnRef)}
    items = ", ".join(f"{clause.text(value)} {words('AS')} {name}" for name, value in named.items())
    text = f"{words('SELECT')} {items} {words('FROM')} {writer.source(join.inner.source)}"
    text += tied_where(style, join.ties, join.inner.where)
    if style.chance(40):
        return f", {words('LATERAL')} ({text}) {_as(style)}{style.alias(alias)}"
    return f" {_beside(style, text, alias, padded=style.chance(40))}"


def joined_rows(
    writer: WritesQueries,
    right: ir.Named | ir.Derived,
    on: ir.Expr,
    columns: Collection[str],
    *,
    padded: bool,
) -> str:
    """Returns a join as LATERAL with the rows of its right side, of which ON is the condition, or a WHERE.

    `columns`: those of the right side; `padded`: a LEFT JOIN.
    """
    style, clause = writer.style, Clause(writer.style, False)
    words, alias = style.words, style.alias(right.alias)
    listed = ", ".join(f"{alias}.{name}" for name in columns)
    text = f"{words('SELECT')} {style.choices.choice(('*', f'{alias}.*', listed))} {words('FROM')} "
    text += writer.relation(right)
    if style.chance(25):
        return _beside(style, text, right.alias, padded=padded, on=clause.text(on))
    return _beside(style, f"{text} {words('WHERE')} {clause.text(on)}", right.alias, padded=padded)


def _beside(style: Style, text: str, alias: str, *, padded: bool, on: str = "") -> str:
    """Returns the join of the rows before it with a query under LATERAL, which is evaluated for each row."""
    if padded:
        joined, on = style.choices.choice(("LEFT JOIN", "LEFT OUTER JOIN")), on or style.words("TRUE")
    else:
        joined = style.choices.choice(("JOIN", "INNER JOIN") if on else ("JOIN", "INNER JOIN", "CROSS JOIN"))
    condition = f" {style.words('ON')} {on}" if on else ""
    return f"{style.words(joined + ' LATERAL')} ({text}) {_as(style)}{style.alias(alias)}{condition}"


def _as(style: Style) -> str:
    return style.words("AS ") if style.chance(60) else ""
