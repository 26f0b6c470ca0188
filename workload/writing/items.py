"""Select lists: items that name the output of an earlier one, and all columns of another query."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from workload import query as ir
from workload.sql.dialect import Dialect, type_name
from workload.types import NESTED
from workload.writing.expression import Clause, Level, Written
from workload.writing.style import Style


def named_later(clause: Clause, select: ir.Select, inputs: Collection[str]) -> list[str]:
    """Returns the texts of the items of a block; some name earlier outputs, where no column has such a name.

    Such as `SELECT a * 2 AS b, b + 1 AS c`. `inputs`: the columns that FROM brings into scope, which come
    first. Spark's aggregates and windows read no outputs, so only expressions over one row do here; what
    stands for a subquery is not named.
    """
    input_names = {*map(str.lower, inputs)}
    names = [item.name.lower() for item in select.items]
    texts: list[str] = []
    outputs: dict[ir.Expr, Written] = {}
    for item, name in zip(select.items, names, strict=True):
        plain = select.group_by is None and _over_one_row(item.expr)
        writer = replace(clause, known={**clause.known, **outputs}) if plain else clause
        texts.append(writer.item(item))
        subquery = any(part in clause.known for part in ir.subexpressions(item.expr))
        unique = name not in input_names and names.count(name) == 1
        if plain and unique and not subquery and clause.style.chance(30):
            outputs[item.expr] = clause.style.name(item.name), Level.PRIMARY
    return texts


def _over_one_row(expr: ir.Expr) -> bool:
    """Tells whether an expression is no constant, and has no aggregate and no window function."""
    parts = list(ir.subexpressions(expr))
    return any(isinstance(part, ir.ColumnRef) for part in parts) and not any(
        isinstance(part, ir.Aggregate | ir.Grouping | ir.Window) for part in parts
    )


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
