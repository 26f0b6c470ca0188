"""ORDER BY with LIMIT and OFFSET: the first rows of a query.

The difficulty is what a key of ORDER BY means. Spark looks a name up among the outputs first, then among the
columns of FROM, and a key may also be an expression that is not selected. Such a key becomes one more output
of the block (a hidden sort key), which is dropped above the LIMIT. Keys whose meaning in Spark depends on
more than the text shows here are refused, and the table is FULL.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.expressions import Col, SortKey
from dynamic_tables.plan.nodes import Limit, Project
from dynamic_tables.reading.blocks.correlated import Ctes, Queries
from dynamic_tables.reading.blocks.order_over_outputs import (
    ensure_over_outputs,
    has_outputs_only,
    over_outputs,
    reads_elements,
)
from dynamic_tables.reading.blocks.output_names import output_names, own_name
from dynamic_tables.reading.text.parse import parts
from dynamic_tables.reading.values.aggregate_forms import is_over_a_group
from dynamic_tables.reading.values.scope import Bound, Names, Outputs
from dynamic_tables.reading.values.struct_fields import may_show_fields


@dataclass(frozen=True, slots=True)
class HiddenSortKey:
    """A key of ORDER BY that is no output. `index`: its place among all such keys, from 0."""

    index: int


def is_cut(node: exp.Expr) -> bool:
    """Tells whether a query has LIMIT or OFFSET."""
    return any(node.args.get(name) is not None for name in ("limit", "offset"))


@dataclass(frozen=True, slots=True)
class Cut:
    """A query with LIMIT or OFFSET, taken apart.

    `query`: the query without ORDER BY, LIMIT and OFFSET; its last `hidden` outputs are hidden sort keys.
    `order`: each key with the output that it stands for: a position from 1, a name, or a hidden sort key.
    `count`: the rows that LIMIT keeps; None for all rows after the offset.
    """

    query: exp.Expr
    order: tuple[tuple[int | str | HiddenSortKey, exp.Expr], ...]
    hidden: int
    count: int | None
    offset: int


@dataclass(frozen=True, slots=True)
class Order:
    """An order of rows. `free`: the query itself does not say which of equal rows are first."""

    keys: tuple[SortKey, ...]
    free: bool


def cut_of(node: exp.Expr) -> Cut:
    """Returns the parts of a query with LIMIT or OFFSET.

    Raises UnsupportedError for a query without ORDER BY, and for keys and bounds that cannot be bound.
    """
    count, offset = _number(node, "limit"), _number(node, "offset") or 0
    order = node.args.get("order")
    if order is None:
        raise UnsupportedError("LIMIT without ORDER BY", "any rows would do; order them")
    inner = node.copy()
    for name in ("order", "limit", "offset"):
        inner.set(name, None)
    if isinstance(inner, exp.Select) and may_show_fields(inner):
        # Spark finds the fields as outputs, which come before columns of their names.
        raise UnsupportedError("fields of a struct as s.* beside ORDER BY with LIMIT", "list the fields")
    hidden: list[exp.Expr] = []
    # After DISTINCT or a set operation the rows of FROM are gone: then an expression is computed over the
    # outputs, in a SELECT around the query.
    outputs_only = has_outputs_only(inner) or reads_elements(inner, order)
    places = [_place(inner, ordered, hidden, outputs_only) for ordered in order.expressions]
    if hidden and outputs_only:
        inner = over_outputs(inner)
    for number, key in enumerate(hidden):
        inner.append("expressions", exp.alias_(key.copy(), f"$ORDER{number}", quoted=True))
    return Cut(inner, tuple(zip(places, order.expressions, strict=True)), len(hidden), count, offset)


def order_of(names: Names, cut: Cut, outputs: Outputs, extra: Outputs) -> Order:
    """Returns the order of a query's rows; `extra`: its hidden outputs.

    Where rows are equal in all keys of ORDER BY, the query has several right answers. The other outputs, left
    to right, become further keys, so that every refresh takes the same rows. Raises DefinitionError for a key
    that is no column.
    """
    keys = [
        SortKey(_column(outputs, extra, place), bool(o.args.get("desc")), bool(o.args.get("nulls_first")))
        for place, o in cut.order
    ]
    names.refuse_keys((key.expr for key in keys), "ORDER BY with LIMIT")
    exprs = {key.expr for key in keys}
    rest = [SortKey(column) for column in _sure(names, outputs) if column not in exprs]
    return Order((*keys, *rest), any(column not in exprs for _, column in outputs))


def first_rows(queries: Queries, node: exp.Expr, ctes: Ctes) -> Bound:
    """Returns a query with LIMIT or OFFSET. Raises as `cut_of` and `order_of`."""
    cut = cut_of(node)
    bound = queries.query(cut.query, ctes)
    shown = len(bound.outputs) - cut.hidden
    outputs, extra = bound.outputs[:shown], bound.outputs[shown:]
    order = order_of(queries.names, cut, outputs, extra)
    rows = Limit(bound.plan, order.keys, cut.count, cut.offset, order.free)
    return Bound(Project(rows, tuple((column.name, column) for _, column in outputs)), outputs)


def _number(node: exp.Expr, clause: str) -> int | None:
    """Returns the number of a LIMIT or OFFSET; None where the clause is absent."""
    bound = node.args.get(clause)
    if bound is None:
        return None
    value = bound.expression if isinstance(bound, exp.Limit | exp.Offset) else None
    plain = isinstance(value, exp.Literal) and value.is_int and set(parts(bound)) == {"expression"}
    if value is None or not plain or int(str(value.this)) >= 2**31:
        raise UnsupportedError(f"{clause.upper()} that is no plain number", "write the number of rows")
    return int(str(value.this))


def _place(
    query: exp.Expr, ordered: exp.Expr, hidden: list[exp.Expr], outputs_only: bool
) -> int | str | HiddenSortKey:
    """Returns the output that a key of ORDER BY stands for: its position, from 1, or its name.

    A key that is no output is added to `hidden`, the outputs that only ORDER BY reads; with `outputs_only` it
    may read outputs alone.
    """
    # In this order: a position, the name of an output, for DISTINCT an output that is this column, and at
    # last an expression of its own.
    key = ordered.this.unnest()
    if ordered.args.get("with_fill") is not None or key.find(exp.Query, exp.Window) is not None:
        raise UnsupportedError("a query or window in ORDER BY with LIMIT")
    if isinstance(key, exp.Literal) and key.is_int:
        return int(str(key.this))
    if isinstance(key, exp.Var):
        raise UnsupportedError("ORDER BY ALL with LIMIT", "list the columns")
    named = isinstance(key, exp.Column) and not key.table
    if named and (not isinstance(query, exp.Select) or _is_output(query, key.name)):
        return str(key.name)
    selected = _selected(query, key) if isinstance(query, exp.Select) else None
    if selected is not None:
        return selected
    if not isinstance(query, exp.Select) or outputs_only:
        ensure_over_outputs(query, key)
    else:
        written, key = key, key if named else _over_inputs(query, key)
        _ensure_an_input(query, key, of_output=key != written)
    hidden.append(key)
    return HiddenSortKey(len(hidden) - 1)


def _selected(query: exp.Select, key: exp.Expr) -> int | None:
    """Returns the position, from 1, of the output of a SELECT DISTINCT that a key is; None if it is none.

    ORDER BY of a DISTINCT reads outputs only, and `SELECT DISTINCT a FROM r ORDER BY r.a` names one by its
    column.
    """
    items = [item.unalias().unnest() for item in query.expressions]
    single = all(len(output_names(item, query)) <= 1 and not item.is_star for item in query.expressions)
    distinct = query.args.get("distinct") is not None
    if not distinct or not single or not isinstance(key, exp.Column) or _merges_columns(query):
        return None

    def is_key(item: exp.Expr) -> bool:
        # A name without its table is that of one column of all tables of FROM.
        plain = isinstance(item, exp.Column) and not item.table
        return item.name.lower() == key.name.lower() if plain else _is_same_name(item, key)

    return next((number for number, item in enumerate(items, start=1) if is_key(item)), None)


def _over_inputs(query: exp.Select, key: exp.Expr) -> exp.Expr:
    """Returns an expression in which each output that it names is replaced by the expression of that output.

    `SELECT a + 1 AS b ... ORDER BY b * 2` is ordered by `(a + 1) * 2`. Spark takes the output of a name, and
    the input only where there is none. Raises UnsupportedError for an output that cannot be written twice.
    """
    meanings: dict[str, list[exp.Expr]] = {}
    for item in query.expressions:
        if isinstance(item, exp.Alias):
            meanings.setdefault(item.alias.lower(), []).append(item.this)
        elif _is_more_than_a_name(item.unnest()) and (name := own_name(item, query)):
            meanings.setdefault(name.lower(), []).append(item)
    key = key.copy()
    for column in list(key.find_all(exp.Column)):
        meant = [] if column.table else meanings.get(column.name.lower(), [])
        if len(meant) > 1 or any(each.find(exp.Query) for each in meant):
            raise UnsupportedError("an expression over an output in ORDER BY with LIMIT", "select it")
        for each in meant:
            column.replace(exp.paren(each.copy()))
    return key


def _is_more_than_a_name(item: exp.Expr) -> bool:
    """Tells whether an output may be another one than the column of its name: beside USING, `t.k` may."""
    return not isinstance(item, exp.Column) or bool(item.table)


def _ensure_an_input(query: exp.Select, key: exp.Expr, *, of_output: bool) -> None:
    """Raises UnsupportedError for a key that may not mean what it means over the rows of FROM.

    `of_output`: the key reads an output, which may be a constant.
    """
    group = query.args.get("group")
    if group is not None and group.args.get("all"):
        _ensure_of_listed_keys(query, key)
    of_group = any(map(is_over_a_group, key.walk()))
    if key.find(exp.Column) is None and not of_group and not of_output:
        raise UnsupportedError("a constant in ORDER BY with LIMIT", "leave it out")
    grouped = group is not None or any(
        is_over_a_group(part) for item in query.expressions for part in item.walk()
    )
    if of_group and not grouped:
        raise UnsupportedError("an aggregate in ORDER BY with LIMIT over rows", "group them")
    if any(not column.table for column in _merged_columns(query, key)):
        # A merged column and those that it stands for have one name; an output may be either.
        raise UnsupportedError("a key of ORDER BY with LIMIT beside USING or NATURAL", "select it")


def _ensure_of_listed_keys(query: exp.Select, key: exp.Expr) -> None:
    """Raises UnsupportedError for a key that would be one more of the keys for which GROUP BY ALL stands.

    A key over columns that are selected, or over aggregates, makes no more groups.
    """
    items = [item.unalias().unnest() for item in query.expressions]

    def is_known(part: exp.Expr) -> bool:
        return is_over_a_group(part) or part in items or any(_is_one_column(part, item) for item in items)

    columns = [part for part in key.walk(prune=is_known) if isinstance(part, exp.Column)]
    if _merged_columns(query, key) or not all(map(is_known, columns)):
        raise UnsupportedError("a key of ORDER BY with LIMIT that is not selected", "select it")


def _is_one_column(part: exp.Expr, other: exp.Expr) -> bool:
    """Tells whether two names are of one column: alike, or one without the table; no name is ambiguous."""
    if not isinstance(part, exp.Column) or not isinstance(other, exp.Column):
        return False
    same = part.name.lower() == other.name.lower() and not (part.table and other.table)
    return same or _is_same_name(part, other)


def _is_same_name(part: exp.Expr, other: exp.Expr) -> bool:
    """Tells whether two expressions are one name, in any case, with quotes or without."""
    if not isinstance(part, exp.Column) or not isinstance(other, exp.Column):
        return False
    names, others = ([each.name.lower() for each in column.parts] for column in (part, other))
    return names == others


def _merges_columns(query: exp.Select) -> bool:
    """Tells whether FROM has a join with USING or NATURAL, which merges columns."""
    return any(join.args.get("using") or join.args.get("method") for join in _own_joins(query))


def _merged_columns(query: exp.Select, key: exp.Expr) -> list[exp.Column]:
    """Returns the columns of a key whose name USING merges, or NATURAL may merge."""
    joins = list(_own_joins(query))
    natural = any(join.args.get("method") for join in joins)
    names = {name.name.lower() for join in joins for name in join.args.get("using") or ()}
    return [column for column in key.find_all(exp.Column) if natural or column.name.lower() in names]


def _own_joins(query: exp.Select) -> Iterator[exp.Join]:
    """Yields the joins in FROM, also those in parentheses, but not those of sub-selects."""
    for part in (query.args.get("from_"), *(query.args.get("joins") or ())):
        for node in () if part is None else part.walk(prune=lambda node: isinstance(node, exp.Select)):
            if isinstance(node, exp.Join):
                yield node


def _is_output(query: exp.Select, name: str) -> bool:
    """Tells whether a name is that of an output, as far as the syntax shows: a star hides its names.

    What a star shows are columns of FROM, so they are found there.
    """
    return any(
        output.lower() == name.lower() for item in query.expressions for output in output_names(item, query)
    )


def _column(outputs: Outputs, extra: Outputs, place: int | str | HiddenSortKey) -> Col:
    """Returns the column of a key of ORDER BY; `extra`: the hidden outputs."""
    match place:
        case HiddenSortKey(index):
            return extra[index][1]
        case int():
            if not 1 <= place <= len(outputs):
                raise DefinitionError(f"ORDER BY {place}: there are {len(outputs)} columns")
            return outputs[place - 1][1]
        case _:
            matches = [column for name, column in outputs if name.lower() == place.lower()]
            if len(matches) != 1:
                columns = ", ".join(name for name, _ in outputs)
                raise DefinitionError(
                    f"ORDER BY {place}: {len(matches)} output columns have this name; known: {columns}"
                )
            return matches[0]


def _sure(names: Names, outputs: Outputs) -> Sequence[Col]:
    """Returns the outputs by which rows can be ordered alike in every refresh: no sums of floats."""
    return [c for _, c in outputs if c.type.identifies and c.name not in names.float_aggregates]
