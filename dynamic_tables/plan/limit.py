"""ORDER BY with LIMIT and OFFSET: the first rows of a query."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.correlated import Ctes, Queries
from dynamic_tables.plan.expressions import Col, SortKey
from dynamic_tables.plan.nodes import Limit, Project
from dynamic_tables.plan.scope import Bound, Names, Outputs

HIDDEN = "$ORDER"
"""How the names of outputs begin that only ORDER BY reads."""


def is_cut(node: exp.Expr) -> bool:
    """Tells whether a query yields only some of its rows."""
    return any(node.args.get(name) is not None for name in ("limit", "offset"))


def first_rows(queries: Queries, node: exp.Expr, ctes: Ctes) -> Bound:
    """Returns a query with LIMIT or OFFSET.

    Where rows are equal in all keys of ORDER BY, the query has several right answers; the rows that are first
    by their other columns, left to right, are taken. Raises DefinitionError for a key that is no column;
    UnsupportedError for a query without ORDER BY, and for keys and bounds that cannot be bound.
    """
    count, offset = _number(node, "limit"), _number(node, "offset") or 0
    order = node.args.get("order")
    if order is None:
        raise UnsupportedError("LIMIT without ORDER BY", "any rows would do; order them")
    inner = node.copy()
    for name in ("order", "limit", "offset"):
        inner.set(name, None)
    places = [_place(inner, ordered, number) for number, ordered in enumerate(order.expressions)]
    bound = queries.query(inner, ctes)
    keys = [
        SortKey(_column(bound.outputs, place), bool(o.args.get("desc")), bool(o.args.get("nulls_first")))
        for place, o in zip(places, order.expressions, strict=True)
    ]
    queries.names.refuse_keys((key.expr for key in keys), "ORDER BY with LIMIT")
    outputs = tuple(output for output in bound.outputs if not output[0].startswith(HIDDEN))
    known = {key.expr for key in keys}
    rest = [SortKey(column) for column in _sure(queries.names, outputs) if column not in known]
    free = any(column not in known for _, column in outputs)
    rows = Limit(bound.plan, (*keys, *rest), count, offset, free)
    return Bound(Project(rows, tuple((column.name, column) for _, column in outputs)), outputs)


def _number(node: exp.Expr, clause: str) -> int | None:
    """Returns the number of a LIMIT or OFFSET; None where the clause is absent."""
    bound = node.args.get(clause)
    if bound is None:
        return None
    value = bound.expression if isinstance(bound, exp.Limit | exp.Offset) else None
    if not isinstance(value, exp.Literal) or not value.is_int:
        raise UnsupportedError(f"{clause.upper()} that is no plain number", "write the number of rows")
    return int(str(value.this))


def _place(query: exp.Expr, ordered: exp.Expr, number: int) -> int | str:
    """Returns the output that a key of ORDER BY stands for: its position, from 1, or its name.

    A key that is no output becomes one, whose name begins with HIDDEN.
    """
    key = ordered.this
    if ordered.args.get("with_fill") is not None or key.find(exp.Query, exp.Window) is not None:
        raise UnsupportedError("a query or window in ORDER BY with LIMIT")
    if isinstance(key, exp.Literal) and key.is_int:
        return int(str(key.this))
    named = isinstance(key, exp.Column) and not key.table
    if isinstance(key, exp.Var):
        raise UnsupportedError("ORDER BY ALL with LIMIT", "list the columns")
    if named and (not isinstance(query, exp.Select) or _is_output(query, key.name)):
        return str(key.name)
    if not isinstance(query, exp.Select):
        raise UnsupportedError("an expression in ORDER BY with LIMIT over a set operation")
    group = query.args.get("group")
    if query.args.get("distinct") is not None or (group is not None and group.args.get("all")):
        raise UnsupportedError("a key of ORDER BY with LIMIT that is not selected", "select it")
    for column in key.find_all(exp.Column):
        if not named and not column.table and _aliased(query, column.name):
            # Spark takes the output, and only where there is none the input.
            raise UnsupportedError("an expression over an output in ORDER BY with LIMIT", "select it")
    name = f"{HIDDEN}{number}"
    query.append("expressions", exp.alias_(key.copy(), name, quoted=True))
    return name


def _is_output(query: exp.Select, name: str) -> bool:
    """Tells whether a name is surely that of an output; what a star brings is found as an input, too."""
    return any(item.alias_or_name.lower() == name.lower() for item in query.expressions)


def _aliased(query: exp.Select, name: str) -> bool:
    return any(
        isinstance(item, exp.Alias) and item.alias.lower() == name.lower() for item in query.expressions
    )


def _column(outputs: Outputs, place: int | str) -> Col:
    if isinstance(place, int):
        listed = [column for name, column in outputs if not name.startswith(HIDDEN)]
        if not 1 <= place <= len(listed):
            raise DefinitionError(f"ORDER BY {place}: there are {len(listed)} columns")
        return listed[place - 1]
    matches = [column for name, column in outputs if name.lower() == place.lower()]
    if len(matches) != 1:
        known = ", ".join(name for name, _ in outputs if not name.startswith(HIDDEN))
        raise DefinitionError(
            f"ORDER BY {place}: {len(matches)} output columns have this name; known: {known}"
        )
    return matches[0]


def _sure(names: Names, outputs: Outputs) -> Sequence[Col]:
    """Returns the columns that rows can be ordered by."""
    return [c for _, c in outputs if c.type.identifies and c.name not in names.float_aggregates]
