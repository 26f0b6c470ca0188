"""ORDER BY and LIMIT as people write them: by position, name or expression, and where they change nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workload import query as ir
from workload.aggregates import FORMS
from workload.writing.expression import Clause
from workload.writing.style import Style

Own = Mapping[str, str]
"""Output -> the text of its expression over the input, where ORDER BY may name that, too."""


def own_expressions(style: Style, query: ir.Query) -> Own:
    """Returns the outputs of a block over one relation that are columns of it, or aggregates of columns."""
    if not isinstance(query, ir.Select) or query.sets is not None:
        return {}
    if query.qualify is not None and query.group_by is not None:
        # Spark finds no column of FROM above QUALIFY over groups.
        return {}
    if not isinstance(query.source, ir.Named | ir.Derived):
        return {}
    clause = Clause(style, False)
    return {item.name: clause.text(item.expr) for item in query.items if _is_plain(item.expr)}


def _is_plain(expr: ir.Expr) -> bool:
    if isinstance(expr, ir.Aggregate):
        plain = expr.arg is None or isinstance(expr.arg, ir.ColumnRef)
        return plain and not expr.extra and expr.function not in FORMS
    return isinstance(expr, ir.ColumnRef)


def sorted_by(style: Style, order: Sequence[ir.SortKey], outputs: Sequence[str], own: Own) -> str:
    """Returns the keys of ORDER BY: each by its position, its name, or an expression that sorts alike."""
    return ", ".join(_key(style, key, outputs, own) for key in order)


def _key(style: Style, key: ir.SortKey, outputs: Sequence[str], own: Own) -> str:
    directions = (" DESC", " DESC NULLS LAST") if key.descending else ("", " ASC", " NULLS FIRST")
    direction = style.words(style.choices.choice(directions))
    name = style.name(key.column)
    if style.chance(25):
        return f"{outputs.index(key.column) + 1}{direction}"
    if key.column in own and style.chance(30):
        return own[key.column] + direction
    if style.chance(20):
        return _expression(style, key, name, direction)
    return name + direction


def _expression(style: Style, key: ir.SortKey, name: str, direction: str) -> str:
    """Returns keys with an expression over an output; they sort the rows as the output itself does."""
    if style.chance(50):
        # FALSE comes before TRUE: NULLs first where the order ascends, else last.
        test = "IS NULL" if key.descending else "IS NOT NULL"
        return f"{name} {style.words(test)}, {name}{direction}"
    case = f"{style.words('CASE WHEN')} {name} {style.words('IS NOT NULL THEN')} {name} {style.words('END')}"
    return case + direction


def idle_order(style: Style, query: ir.Query, outputs: Sequence[str]) -> str:
    """Returns ORDER BY and LIMIT that keep every row of a query, sometimes; mostly nothing.

    Rows of a table have no order, so ORDER BY means nothing; neither does a LIMIT over one row.
    """
    text = ""
    if style.chance(8):
        by = style.choices.choice(("1", "1 DESC", "1 NULLS LAST", f"{outputs[0]} IS NULL, 1"))
        text = style.words(f" ORDER BY {by}")
    if is_one_row(query) and style.chance(20):
        text += style.words(f" LIMIT {style.choices.choice((1, 2, 100))}")
    return text


def is_one_row(query: ir.Query) -> bool:
    """Tells whether a query aggregates all rows without groups, so that it yields one row at most."""
    return isinstance(query, ir.Select) and query.group_by == () and query.sets is None
