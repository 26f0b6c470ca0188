"""The elements of arrays as people write them: LATERAL VIEW, LATERAL joins, explode in the select list."""

from __future__ import annotations

from workload import query as ir
from workload.writing.style import Style
from workload.writing.window import Writes


def view(clause: Writes, node: ir.Exploded) -> str:
    """Returns the LATERAL VIEW that stands for a node, which comes after all joins."""
    style = clause.style
    call, outer = _call(clause, node)
    words = style.words(f"LATERAL VIEW {'OUTER ' if outer else ''}")
    columns = ", ".join(node.columns)
    shown = style.choices.choice((f" {style.words('AS')} {columns}", f" {columns}", ""))
    return f"{words}{call} {style.alias(node.alias)}{shown}"


def lateral(clause: Writes, node: ir.Exploded, relation: str, *, comma: bool) -> str:
    """Returns the LATERAL join of a relation with the elements; `comma`: a comma may stand for the join."""
    style = clause.style
    call, outer = _call(clause, node)
    if outer:
        joined, on = f" {style.choices.choice(('LEFT JOIN', 'LEFT OUTER JOIN'))} ", " ON TRUE"
    else:
        joins = (" CROSS JOIN ", " JOIN ", " INNER JOIN ")
        joined, on = ", " if comma and style.chance(50) else style.choices.choice(joins), ""
    as_ = style.words("AS ") if style.chance(60) else ""
    columns = f"({', '.join(node.columns)})" if style.chance(70) else ""
    called = f"{call} {as_}{style.alias(node.alias)}{columns}"
    return f"{relation}{style.words(f'{joined}LATERAL ')}{called}{style.words(on)}"


def listed(style: Style, node: ir.Exploded, names: list[str], array: str) -> str:
    """Returns the call that stands for the elements in the select list, with the names of its outputs."""
    function, _ = _function(style, node, named_outer=True)
    shown = names[0] if len(names) == 1 and style.chance(70) else f"({', '.join(names)})"
    as_ = style.words("AS ") if shown.startswith("(") or style.chance(70) else ""
    return f"{style.words(function)}({array}) {as_}{shown}"


def place_in_list(select: ir.Select) -> int | None:
    """Returns the place of the outputs that a call in the select list gives; None: no call can give them.

    Nothing but these outputs may read the elements, and all of them stand side by side.
    """
    node = select.source
    if not isinstance(node, ir.Exploded) or select.group_by is not None or any(ir.windows_of(select)):
        return None
    tops = [item.expr for item in select.items] + ([] if select.where is None else [select.where])
    read = [
        part
        for top in tops
        for part in ir.subexpressions(top)
        if isinstance(part, ir.ColumnRef) and part.relation == node.alias
    ]
    wanted = [ir.ColumnRef(node.alias, name, type_) for name, type_ in node.columns.items()]
    if read != wanted or wanted[0] not in tops[: len(select.items)]:
        return None
    place = tops.index(wanted[0])
    return place if tops[place : place + len(wanted)] == wanted else None


def _call(clause: Writes, node: ir.Exploded) -> tuple[str, bool]:
    """Returns the call that makes rows of an array, and whether other words must say that empty ones stay."""
    style = clause.style
    function, outer = _function(style, node, named_outer=style.chance(30))
    match node.array:
        case ir.Call("array", elements, _) if not node.position and style.chance(30):
            # The elements as structs of one field, which `inline` takes apart.
            function = function.replace("explode", "inline")
            texts = map(clause.text, elements)
            pairs = ((f"struct({text} AS col)", f"named_struct('col', {text})") for text in texts)
            array = f"array({', '.join(map(style.choices.choice, pairs))})"
        case _:
            array = clause.text(node.array)
    return f"{style.words(function)}({array})", outer


def _function(style: Style, node: ir.Exploded, *, named_outer: bool) -> tuple[str, bool]:
    """Returns the function's name, and whether other words must say that rows without elements stay."""
    name = "posexplode" if node.position else "explode"
    return (f"{name}_outer", False) if node.outer and named_outer else (name, node.outer)
