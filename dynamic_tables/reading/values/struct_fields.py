"""Fields of structs: `r.s.a` is the field a of the column s, and `s.*` shows all fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.expressions import Expr, Fn, text
from dynamic_tables.plan.functions import FIELD
from dynamic_tables.plan.nested_types import fields_of
from dynamic_tables.reading.text.parse import parts
from dynamic_tables.reading.values.scope import Scope

Resolve = Callable[[exp.Column], Expr]
"""Returns the column that a name stands for; raises DefinitionError if it stands for none."""


def field_of(resolve: Resolve, column: Sequence[exp.Expr], names: Sequence[exp.Expr]) -> Expr | None:
    """Returns a column, or the field of it inside structs of these names; None if there is none."""
    *qualifier, name = (part.copy() for part in column)
    try:
        found = resolve(exp.Column(this=name, table=qualifier[0] if qualifier else None))
    except DefinitionError:
        return None
    for each in names:
        fields = [
            (field, type_)
            for field, type_ in fields_of(found.type) or ()
            if field.lower() == each.name.lower()
        ]
        if len(fields) != 1:
            return None
        found = Fn(FIELD, (found, text(fields[0][0])), fields[0][1])
    return found


def may_show_fields(block: exp.Select) -> bool:
    """Tells whether a block has a star that is not of a relation in its FROM clause."""
    relations: set[str] = set()
    for part in (
        block.args.get("from_"),
        *(block.args.get("joins") or ()),
        *(block.args.get("laterals") or ()),
    ):
        for node in () if part is None else part.walk(prune=lambda node: isinstance(node, exp.Select)):
            if isinstance(node, exp.Table | exp.Subquery | exp.Values | exp.Lateral | exp.Pivot):
                relations.add(node.alias_or_name.lower())
    stars = (item for item in block.expressions if isinstance(item, exp.Column) and item.is_star)
    return any(len(star.parts) > 2 or star.table.lower() not in relations for star in stars)


def fields_shown(scope: Scope, star: exp.Column) -> Sequence[tuple[str, Expr]] | None:
    """Returns the fields that `s.*` shows of a struct; None if `s` is a relation, which comes first, or none.

    Raises UnsupportedError: for a star with EXCEPT.
    """
    *names, _ = star.parts
    if len(names) == 1 and star.table.lower() in {alias for alias, _ in scope.relations}:
        return None
    for count in (2, 1):
        struct = field_of(scope.resolve, names[:count], names[count:]) if count <= len(names) else None
        fields = None if struct is None else fields_of(struct.type)
        if struct is not None and fields is not None:
            if any(True for _ in parts(star.this)):
                raise UnsupportedError("EXCEPT of fields of a struct", "list the fields")
            return [(name, Fn(FIELD, (struct, text(name)), type_)) for name, type_ in fields]
    return None
