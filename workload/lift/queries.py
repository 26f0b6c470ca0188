"""A query over lifted relations: it gives every world the rows that the query gives it alone."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from workload.query import (
    Aggregate,
    AggregateFunction,
    Call,
    ColumnRef,
    Cte,
    Derived,
    Expr,
    Item,
    Join,
    JoinKind,
    Literal,
    Named,
    Query,
    Relation,
    Select,
    UnionAll,
    With,
)
from workload.schema import Column, Table
from workload.types import BOOLEAN, INT

WORLD = Column("world", INT)
"""The last column of every lifted relation, never NULL: which world a row belongs to."""

WORLDS = Table("worlds", (WORLD,))
"""All worlds, one row each: an aggregate over all rows has a row in a world that has none."""

INPUTS = "inputs"
"""Alias of what an aggregate over all rows is computed from."""


def lifted_query(query: Query) -> Query:
    """The query with `WORLD` as its last column; each relation that it names is lifted too.

    Where worlds are kept apart: a join compares them (a cross join becomes an inner one), a full join takes
    the world of whichever side is there, a group and a distinct row belong to one world. An aggregate over
    all rows becomes a left join of `WORLDS` with its input, grouped by world.
    """
    match query:
        case Select():
            return _select(query)
        case UnionAll(branches):
            return UnionAll(tuple(lifted_query(branch) for branch in branches))
        case With(ctes, body):
            return With(tuple(Cte(cte.name, lifted_query(cte.query)) for cte in ctes), lifted_query(body))
        case _:
            assert_never(query)


def _select(select: Select) -> Select:
    source, world = _relation(select.source)
    if select.group_by == ():
        return _of_all_rows(replace(select, source=source), world)
    items = (*select.items, Item(world, WORLD.name))
    keys = None if select.group_by is None else (*select.group_by, world)
    return replace(select, items=items, source=source, group_by=keys)


def _relation(relation: Relation) -> tuple[Relation, Expr]:
    """The relation lifted, and the expression of its world, never NULL."""
    match relation:
        case Named(_, alias):
            return relation, ColumnRef(alias, WORLD.name, INT)
        case Derived(query, alias):
            return Derived(lifted_query(query), alias), ColumnRef(alias, WORLD.name, INT)
        case Join(kind, left, right, on):
            lifted_left, of_left = _relation(left)
            lifted_right, of_right = _relation(right)
            one_world = Call("eq", (of_left, of_right), BOOLEAN)
            condition = one_world if on is None else Call("and", (one_world, on), BOOLEAN)
            joined = Join(
                JoinKind.INNER if kind is JoinKind.CROSS else kind, lifted_left, lifted_right, condition
            )
            return joined, _world_of_join(kind, of_left, of_right)
        case _:
            assert_never(relation)


def _world_of_join(kind: JoinKind, left: Expr, right: Expr) -> Expr:
    match kind:
        case JoinKind.INNER | JoinKind.CROSS | JoinKind.LEFT:
            return left
        case JoinKind.RIGHT:
            return right
        case JoinKind.FULL:
            return Call("coalesce", (left, right), INT)
        case _:
            assert_never(kind)


def _of_all_rows(select: Select, world: Expr) -> Select:
    """Arguments are computed below the join: above it, a padded row would give coalesce(x, 0) a value."""
    inputs: list[Item] = []
    every = ColumnRef(WORLDS.name, WORLD.name, INT)
    present = ColumnRef(INPUTS, WORLD.name, INT)

    def over_pads(expr: Expr) -> Expr:
        match expr:
            case Aggregate(AggregateFunction.COUNT_STAR, _, _, type_):
                return Aggregate(AggregateFunction.COUNT, present, False, type_)
            case Aggregate(_, arg, _, _):
                assert arg is not None
                name = f"a{len(inputs)}"
                inputs.append(Item(arg, name))
                return replace(expr, arg=ColumnRef(INPUTS, name, arg.type))
            case Call(_, args, _):
                return replace(expr, args=tuple(over_pads(part) for part in args))
            case ColumnRef() | Literal():
                return expr
            case _:
                assert_never(expr)

    items = tuple(Item(over_pads(item.expr), item.name) for item in select.items)
    having = None if select.having is None else over_pads(select.having)
    below = Select((*inputs, Item(world, WORLD.name)), select.source, select.where)
    join = Join(
        JoinKind.LEFT,
        Named(WORLDS.name, WORLDS.name),
        Derived(below, INPUTS),
        Call("eq", (every, present), BOOLEAN),
    )
    return Select(
        (*items, Item(every, WORLD.name)),
        join,
        group_by=(every,),
        having=having,
        distinct=select.distinct,
    )
