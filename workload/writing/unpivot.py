"""A row for each of some columns, written as UNPIVOT in place of a UNION ALL with a branch for each."""

from __future__ import annotations

from dataclasses import dataclass

from workload import query as ir
from workload.types import BOOLEAN
from workload.writing.subqueries import WritesQueries


@dataclass(frozen=True, slots=True)
class Unpivot:
    """What the branches of a union have in common: each shows a name, a text, and one of the `columns`.

    `columns`: the text that a branch shows -> its column. `kept`: the outputs before these two, the same in
    all branches. `name`, `value`: the names of the two outputs. `nulls`: whether rows with NULL in the column
    stay.
    """

    source: ir.Relation
    kept: tuple[ir.Item, ...]
    name: str
    value: str
    columns: dict[str, ir.ColumnRef]
    nulls: bool


def unpivot_of(union: ir.UnionAll) -> Unpivot | None:
    """Returns a union as UNPIVOT; None: it has no such form, or an output beside the two is no column.

    UNPIVOT shows no column of its list beside the value.
    """
    found: list[Unpivot] = []
    for branch in union.branches:
        match branch:
            case ir.Select(
                (
                    *kept,
                    ir.Item(ir.Literal(str() as text), name),
                    ir.Item(ir.ColumnRef() as column, value),
                ),
                source,
            ) if text.isidentifier() and branch == ir.Select(branch.items, source, branch.where):
                if branch.where not in (None, ir.Call("is_not_null", (column,), BOOLEAN)):
                    return None
                keeps_nulls = branch.where is None
                found.append(Unpivot(source, tuple(kept), name, value, {text: column}, keeps_nulls))
            case _:
                return None
    first = found[0]
    columns = {text: column for each in found for text, column in each.columns.items()}
    alike = all((e.source, e.kept, e.name, e.value, e.nulls) == _common(first) for e in found)
    kept_columns = {item.expr for item in first.kept}
    kept_are_columns = all(isinstance(expr, ir.ColumnRef) for expr in kept_columns) and len(
        kept_columns
    ) == len(first.kept)
    different = len({*columns.values()}) == len(columns) == len(found)
    if not (alike and kept_are_columns and different) or kept_columns & {*columns.values()}:
        return None
    return Unpivot(first.source, first.kept, first.name, first.value, columns, first.nulls)


def _common(unpivot: Unpivot) -> tuple[object, ...]:
    return unpivot.source, unpivot.kept, unpivot.name, unpivot.value, unpivot.nulls


def written_unpivot(writer: WritesQueries, unpivot: Unpivot) -> str:
    """Returns the text of a union as UNPIVOT over a sub-select with its columns."""
    style, words = writer.style, writer.style.words
    kept: dict[ir.Expr, str] = {item.expr: f"g{place}" for place, item in enumerate(unpivot.kept)}
    columns: dict[ir.Expr, str] = {c: f"c{place}" for place, c in enumerate(unpivot.columns.values())}
    read = {**kept, **columns}
    inner = ir.Select(tuple(ir.Item(column, name) for column, name in read.items()), unpivot.source)
    as_ = words("AS ") if style.chance(60) else ""
    listed = ", ".join(f"{columns[column]} {as_}{text}" for text, column in unpivot.columns.items())
    nulls = words(" INCLUDE NULLS" if unpivot.nulls else style.choices.choice(("", " EXCLUDE NULLS")))
    items = [f"{kept[item.expr]} {words('AS')} {item.name}" for item in unpivot.kept]
    items += [f"n {words('AS')} {unpivot.name}", f"v {words('AS')} {unpivot.value}"]
    return (
        f"{words('SELECT')} {', '.join(items)} {words('FROM')} ({writer.query(inner)}){style.gap()}"
        f"{words('UNPIVOT')}{nulls} (v {words('FOR')} n {words('IN')} ({listed}))"
    )
