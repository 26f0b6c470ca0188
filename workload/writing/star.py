"""The select list of a query that yields all columns of another one: `*`, or each column by its name."""

from __future__ import annotations

from workload import query as ir
from workload.sql.dialect import Dialect, type_name
from workload.types import NESTED
from workload.writing.style import Style


def all_columns(style: Style, query: ir.Query, alias: str) -> str:
    """Returns `*`, or the columns of a block, some cast to the type that they have.

    A cast without an alias has the name of its column, as in Spark.
    """
    if not isinstance(query, ir.Select) or not style.chance(40):
        return style.choices.choice(("*", f"{alias}.*", f"{alias.upper()}.*"))
    return ", ".join(_column(style, item, alias) for item in query.items)


def _column(style: Style, item: ir.Item, alias: str) -> str:
    name = f"{alias}.{item.name}" if style.chance(50) else item.name
    type_ = item.expr.type
    if type_.kind in NESTED or not style.chance(50):
        return name
    target = type_name(type_, Dialect.SPARK)
    if style.chance(30):
        return f"{name}::{target}"
    return f"{style.words('CAST')}({name} {style.words('AS')} {target})"
