"""A row for each of some columns, written as UNPIVOT in place of UNION ALL with a branch for each."""

from __future__ import annotations

from dataclasses import dataclass

from workload import query as ir
from workload.types import BOOLEAN
from workload.writing.subqueries import WritesQueries


@dataclass(frozen=True, slots=True)
class Unpivot:
    """What the branches of a union have in common. `columns`: name -> the column that its branch shows.

    `kept`: what stands before the name and the column; `nulls`: whether rows with NULL in the column stay.
    """

    source: ir.Relation
    kept: tuple[ir.Item, ...]
    name: str
    value: str
    columns: dict[str, ir.ColumnRef]
    nulls: bool


def unpivot_of(union: ir.UnionAll) -> Unpivot | None:
    """Returns what a union says as UNPIVOT; None if it does not, or if a column that is kept is no column.

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
                nulls = branch.where is None
                found.append(Unpivot(source, tuple(kept), name, value, {text: column}, nulls))
            case _:
                return None
    first = found[0]
    columns = {text: column for each in found for text, column in each.columns.items()}
    alike = all((e.source, e.kept, e.name, e.value, e.nulls) == _common(first) for e in found)
    shown = {item.expr for item in first.kept}
    plain = all(isinstance(expr, ir.ColumnRef) for expr in shown) and len(shown) == len(first.kept)
    several = len({*columns.values()}) == len(columns) == len(found)
    if not (alike and plain and several) or shown & {*columns.values()}:
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
