"""Aggregates of one column for several values of another one, written as PIVOT."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workload import query as ir
from workload.sql.functions import CASE
from workload.writing.subqueries import WritesQueries

FUNCTIONS = frozenset(
    {
        ir.AggregateFunction.SUM,
        ir.AggregateFunction.AVG,
        ir.AggregateFunction.MIN,
        ir.AggregateFunction.MAX,
    }
)
"""Aggregates that are NULL where there are no values, as every output of PIVOT is there."""


@dataclass(frozen=True, slots=True)
class Pivot:
    """A block whose outputs are keys and, for each of some values of `column`, an aggregate of `value`."""

    function: ir.AggregateFunction
    column: ir.Expr
    value: ir.Expr
    values: Mapping[str, int]
    """Output -> the value of `column` that it stands for."""


def pivot_of(select: ir.Select) -> Pivot | None:
    """Returns a block as PIVOT; None: it has no such form, or its values are other ones than integers."""
    if select.group_by is None or select.sets is not None or select.having is not None:
        return None
    if select.qualify is not None or select.distinct:
        return None
    values: dict[str, int] = {}
    found: set[tuple[ir.AggregateFunction, ir.Expr, ir.Expr]] = set()
    for item in select.items:
        match item.expr:
            case key if key in select.group_by:
                continue
            case ir.Aggregate(
                function,
                ir.Call(
                    name,
                    (
                        ir.Call("eq", (ir.ColumnRef() as column, ir.Literal(int() as number))),
                        ir.ColumnRef() as value,
                        ir.Literal(None),
                    ),
                ),
                False,
            ) if name == CASE and function in FUNCTIONS and number not in values.values():
                values[item.name] = number
                found.add((function, column, value))
            case _:
                return None
    if len(found) != 1:
        return None
    ((of, pivot, arg),) = found
    return None if {pivot, arg} & {*select.group_by} else Pivot(of, pivot, arg, values)


def written_pivot(writer: WritesQueries, select: ir.Select, pivot: Pivot) -> str:
    """Returns the text of a block as PIVOT over a sub-select with its keys and the two columns."""
    style, keys = writer.style, {key: f"g{place}" for place, key in enumerate(select.group_by or ())}
    columns: list[tuple[ir.Expr, str]] = [*keys.items(), (pivot.column, "p"), (pivot.value, "v")]
    inner = ir.Select(tuple(ir.Item(expr, name) for expr, name in columns), select.source, select.where)
    items = [f"{keys[i.expr]} AS {i.name}" if i.expr in keys else i.name for i in select.items]
    values = ", ".join(f"{number} {style.words('AS')} {name}" for name, number in pivot.values.items())
    words = style.words
    return (
        f"{words('SELECT')} {', '.join(items)} {words('FROM')} ({writer.query(inner)}){style.gap()}"
        f"{words('PIVOT')} ({pivot.function.value}(v) {words('FOR')} p {words('IN')} ({values}))"
    )
