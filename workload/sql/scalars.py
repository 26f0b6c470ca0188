"""Joins as the subqueries that people write for them: scalar subqueries, LATERAL, EXISTS in the select list.

The IR has joins only. A left join of a row with the aggregates of its group can be written as `(SELECT MAX(b)
FROM s WHERE s.k = t.k)`. A writer of SQL asks here whether a join has such a form. A *tie* is an equality of
an expression over the row outside with one over the rows inside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from workload import query as ir
from workload.aggregates import LISTS
from workload.sql.memberships import conjunction, over_groups
from workload.types import BOOLEAN

Ties = tuple[tuple[ir.Expr, ir.Expr], ...]
"""Expressions over the row outside, each with the one over the rows inside that it has to equal."""


@dataclass(frozen=True, slots=True)
class ScalarJoin:
    """A join that scalar subqueries can stand for: the relation `left`, joined with the block `inner`.

    `ties`: what a row has to equal, each with the key of the groups. `values`: column of the joined block ->
    the aggregate that it shows. `marks`: the tests whether there is a group at all, which EXISTS and NOT
    EXISTS say.
    """

    left: ir.Relation
    inner: ir.Select
    ties: Ties
    values: Mapping[ir.Expr, ir.Expr]
    marks: tuple[ir.Call, ...]


@dataclass(frozen=True, slots=True)
class RowJoin:
    """A join of the relation `left` with groups, at most one to a row, whose `columns` the block reads."""

    left: ir.Relation
    rows: ir.Derived
    ties: Ties
    columns: tuple[ir.ColumnRef, ...]


@dataclass(frozen=True, slots=True)
class FirstRows:
    """The first `count` rows, in an order, of those that a join ties to each row; `padded`: a LEFT JOIN.

    `offset`: how many rows are skipped before.
    """

    block: ir.Select
    alias: str
    ties: Ties
    order: tuple[ir.OrderKey, ...]
    count: int
    padded: bool
    offset: int


def row_join(select: ir.Select) -> RowJoin | None:
    """Returns the join of a block with groups that all their keys tie to a row; None: there is none.

    A subquery over the groups then has one row or none, and none is NULL, as in a LEFT JOIN.
    """
    match select.source:
        case ir.Join(
            ir.JoinKind.LEFT,
            left,
            ir.Derived(ir.Select(items, _, _, keys) as groups, alias) as rows,
            on,
        ) if keys:
            pass
        case _:
            return None
    if groups.sets is not None or select.group_by is not None or any(True for _ in ir.windows_of(select)):
        return None
    named = {item.name: item.expr for item in items}
    ties = [_tie_of(part, alias, named) for part in ir.conjuncts(on)]
    tied = [tie for tie in ties if tie is not None]
    if len(tied) < len(ties) or {key for _, key in tied} != set(keys):
        return None
    names = {item.expr: item.name for item in reversed(items)}
    inside = tuple((outer, ir.ColumnRef(alias, names[key], key.type)) for outer, key in tied)
    columns = tuple(dict.fromkeys(_read(select, alias)))
    return RowJoin(left, rows, inside, columns) if columns else None


def first_rows(join: ir.Join) -> FirstRows | None:
    """Returns the first rows of each partition where a join ties a row to all its keys; None: it does not."""
    match join:
        case ir.Join(
            ir.JoinKind.INNER | ir.JoinKind.LEFT as kind,
            _,
            ir.Derived(
                ir.Select(
                    items,
                    group_by=None,
                    distinct=False,
                    qualify=ir.Call() as kept,
                ) as block,
                alias,
            ),
            on,
        ):
            pass
        case _:
            return None
    match list(ir.conjuncts(kept)):
        case [ir.Call("le", (ir.Window() as number, ir.Literal(int() as last)))]:
            offset = 0
        case [
            ir.Call("le", (ir.Window() as number, ir.Literal(int() as last))),
            ir.Call("gt", (ir.Window() as again, ir.Literal(int() as offset))),
        ] if again == number:
            pass
        case _:
            return None
    if number.function is not ir.WindowFunction.ROW_NUMBER or last < offset:
        return None
    named = {item.name: item.expr for item in items}
    ties = [_tie_of(part, alias, named) for part in ir.conjuncts(on)]
    tied = [tie for tie in ties if tie is not None]
    if len(tied) < len(ties) or {key for _, key in tied} != set(number.partition):
        return None
    whole = replace(block, qualify=None)
    padded = kind is ir.JoinKind.LEFT
    return FirstRows(whole, alias, tuple(tied), number.order, last - offset, padded, offset)


def scalar_join(select: ir.Select) -> ScalarJoin | None:
    """Returns the join of a block whose right side can be written as scalar subqueries; None: there is none.

    Of a group that is not there a LEFT JOIN gives NULL, as a subquery does, but for COUNT, which is 0 there.
    HAVING may leave out the one group of all rows: then a LEFT JOIN on TRUE gives NULL, as a subquery does.
    """
    match select.source:
        case ir.Join(
            ir.JoinKind.LEFT | ir.JoinKind.CROSS as kind, left, ir.Derived(ir.Select() as inner, alias), on
        ):
            pass
        case _:
            return None
    values: dict[ir.Expr, ir.Expr]
    keys = inner.group_by
    of_all = keys == () and on == ir.Literal(True, BOOLEAN)
    if keys is None or inner.distinct or select.group_by is not None:
        return None
    if inner.having is not None and not of_all:
        return None
    if inner.sets is not None or inner.qualify is not None or any(True for _ in ir.windows_of(inner)):
        return None
    named = {item.name: item.expr for item in inner.items}
    if of_all:
        values = {column: named[column.name] for column in _read(select, alias)}
        has_form = values and all(_is_value(value, ir.JoinKind.CROSS) for value in values.values())
        return ScalarJoin(left, inner, (), values, ()) if has_form else None
    block = _tied_by_condition(left, inner, on, alias) if kind is ir.JoinKind.LEFT else None
    if block is not None:
        values = {column: named[column.name] for column in _read(select, alias)}
        has_form = values and all(_is_value(value, kind) for value in values.values())
        return ScalarJoin(left, block, (), values, ()) if has_form else None
    ties = [_tie_of(part, alias, named) for part in ir.conjuncts(on)]
    tied = [tie for tie in ties if tie is not None]
    if (
        len(tied) < len(ties)
        or {key for _, key in tied} != set(keys)
        or (kind is ir.JoinKind.CROSS) != (not keys)
    ):
        return None
    marks = tuple(_marks(select, alias, named)) if kind is ir.JoinKind.LEFT else ()
    marked = {mark.args[0] for mark in marks}
    values = {column: named[column.name] for column in _read(select, alias) if column not in marked}
    # Without any value the text would not name the relations of the join.
    if not (values or marks) or not all(_is_value(value, kind) for value in values.values()):
        return None
    return ScalarJoin(left, inner, tuple(tied), values, marks)


def scalars_over_groups(select: ir.Select, join: ScalarJoin) -> tuple[ir.Select, ScalarJoin]:
    """Returns the block with the groups of its FROM clause as its own; the same block where it cannot be.

    A subquery may then be tied to keys, but where Spark refuses this: its value stands in the select list.
    """
    outer = over_groups(replace(select, source=join.left))
    if outer is None:
        return select, join
    tied = [mine for mine, _ in join.ties]
    shown = {part for item in select.items for part in ir.subexpressions(item.expr)}
    if tied and (shown & {*join.values} or not outer.are_plain_keys(outer.read_by(tied))):
        return select, join
    if not all(isinstance(mine, ir.ColumnRef) for mine in tied):
        return select, join
    ties = tuple((outer.changed(mine), key) for mine, key in join.ties)
    return outer.block, replace(join, left=outer.block.source, ties=ties)


def _tied_by_condition(
    left: ir.Relation, inner: ir.Select, on: ir.Expr | None, alias: str
) -> ir.Select | None:
    """Returns the block of a subquery that is tied by any condition; None: the join has no such form.

    The join groups its rows by the different values of a column of `left`, and ties these by null-safe
    equality.
    """
    match inner, on:
        case (
            ir.Select(
                items,
                ir.Join(
                    ir.JoinKind.INNER,
                    ir.Derived(ir.Select((value,), ir.Named(source, read), None, None, None, True), values),
                    right,
                    condition,
                ),
                where,
                (key,),
            ),
            ir.Call("same", (ir.ColumnRef(outer, column, _) as mine, ir.ColumnRef(named, name, type_)), _),
        ) if left == ir.Named(source, outer) and named == alias:
            pass
        case _:
            return None
    inside = ir.ColumnRef(values, value.name, type_)
    shown = {item.name: item.expr for item in items}
    if value.expr != ir.ColumnRef(read, column, type_) or key != inside or shown[name] != inside:
        return None
    tie = None if condition is None else ir.changed(condition, lambda part: mine if part == inside else None)
    where_inside = conjunction([each for each in (tie, where) if each is not None])
    return replace(inner, source=right, where=where_inside)


def _marks(select: ir.Select, alias: str, named: Mapping[str, ir.Expr]) -> Iterator[ir.Call]:
    """Yields the tests for NULL of a COUNT(*) that nothing else reads: it is never NULL in a group."""
    tops = [item.expr for item in select.items] + ([] if select.where is None else [select.where])
    parts = [part for top in tops for part in ir.subexpressions(top)]
    for part in dict.fromkeys(parts):
        match part:
            case ir.Call("is_null" | "is_not_null", (ir.ColumnRef(relation, name, _) as column,), _):
                counted = ir.Aggregate(ir.AggregateFunction.COUNT_STAR, None, False, column.type)
                tests = sum(
                    isinstance(p, ir.Call) and p.function in TESTS and p.args == (column,) for p in parts
                )
                if relation == alias and named[name] == counted and parts.count(column) == tests:
                    yield part
            case _:
                pass


TESTS = frozenset({"is_null", "is_not_null"})


def _tie_of(condition: ir.Expr, alias: str, named: Mapping[str, ir.Expr]) -> tuple[ir.Expr, ir.Expr] | None:
    """Returns the two sides of a tie, the outer one first; None: the condition is none."""
    match condition:
        case ir.Call("eq", (outer, ir.ColumnRef(relation, name, _)), _) if relation == alias:
            pass
        case ir.Call("eq", (ir.ColumnRef(relation, name, _), outer), _) if relation == alias:
            pass
        case _:
            return None
    read = {part.relation for part in ir.subexpressions(outer) if isinstance(part, ir.ColumnRef)}
    return (outer, named[name]) if read and alias not in read else None


def _read(select: ir.Select, alias: str) -> Iterator[ir.ColumnRef]:
    """Yields the columns of the relation `alias` that a block reads in its items and WHERE."""
    tops = [item.expr for item in select.items] + ([] if select.where is None else [select.where])
    for top in tops:
        for part in ir.subexpressions(top):
            if isinstance(part, ir.ColumnRef) and part.relation == alias:
                yield part


def _is_value(value: ir.Expr, kind: ir.JoinKind) -> bool:
    """Tells whether a subquery gives the same value as the join, also for a row without a group."""
    aggregates = [part.function for part in ir.subexpressions(value) if isinstance(part, ir.Aggregate)]
    # Of no rows these are no NULL.
    counts = {ir.AggregateFunction.COUNT, ir.AggregateFunction.COUNT_STAR, *LISTS}
    return bool(aggregates) and (kind is ir.JoinKind.CROSS or not counts & set(aggregates))
