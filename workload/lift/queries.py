"""Lifts a query over many worlds: each world gets the rows that the query yields over that world alone.

`workload.lift` makes whole scenarios of worlds with it, and `campaign.verify` puts all small worlds into one
query.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from workload import query as ir
from workload.aggregates import CONSTANTS
from workload.errors import WorkloadError
from workload.query import changed
from workload.schema import Column, Table
from workload.types import BOOLEAN, INT

WORLD = Column("world", INT)
"""The last column of every lifted relation, never NULL: which world a row belongs to."""

WORLDS = Table("worlds", (WORLD,))
"""All worlds, one row each: an aggregate over all rows has a row in a world that has none."""

INPUTS = "inputs"
"""Alias of what an aggregate over all rows is computed from."""


def lifted_query(query: ir.Query) -> ir.Query:
    """Returns the query with `WORLD` as its last column, over relations that have this column, too.

    How worlds stay apart: a join compares them (a cross join becomes an inner one), a full join takes the
    world of the side that is not NULL, a group, a window and a distinct row belong to one world, and set
    operations are lifted part by part. An aggregate over all rows becomes a left join of `WORLDS` with its
    input, grouped by world.
    """
    match query:
        case ir.Select():
            return _select(query)
        case ir.Limited():
            raise WorkloadError("the first rows of each world are no query with LIMIT")
        case ir.Verbatim():
            raise WorkloadError("a query that is given as text cannot be lifted")
        case ir.SetOperation() | ir.With():
            return changed(query, lambda node: _select(node) if isinstance(node, ir.Select) else None)
        case _:
            assert_never(query)


def _select(select: ir.Select) -> ir.Select:
    source, world = _relation(select.source)
    if select.group_by == ():
        return _of_all_rows(replace(select, source=source), world)
    select = _windows_of_one_world(select, world)
    items = (*select.items, ir.Item(world, WORLD.name))
    keys = None if select.group_by is None else (*select.group_by, world)
    place_of_world = len(select.group_by or ())
    sets = None if select.sets is None else tuple((*places, place_of_world) for places in select.sets)
    return replace(select, items=items, source=source, group_by=keys, sets=sets)


def _windows_of_one_world(select: ir.Select, world: ir.Expr) -> ir.Select:
    """Returns the block with the world as a key of each window's partition."""

    def within(node: ir.Node) -> ir.Node | None:
        return replace(node, partition=(*node.partition, world)) if isinstance(node, ir.Window) else None

    items = tuple(changed(item, within) for item in select.items)
    qualify = None if select.qualify is None else changed(select.qualify, within)
    return replace(select, items=items, qualify=qualify)


def _relation(relation: ir.Relation) -> tuple[ir.Relation, ir.Expr]:
    """Returns the relation lifted, and the expression of its world, which is never NULL."""
    match relation:
        case ir.Named(_, alias):
            return relation, ir.ColumnRef(alias, WORLD.name, INT)
        case ir.Derived(query, alias):
            return ir.Derived(lifted_query(query), alias), ir.ColumnRef(alias, WORLD.name, INT)
        case ir.Exploded(inner):
            rows, world = _relation(inner)
            return replace(relation, relation=rows), world
        case ir.Join(kind, left, right, on):
            lifted_left, left_world = _relation(left)
            lifted_right, right_world = _relation(right)
            one_world = ir.Call("eq", (left_world, right_world), BOOLEAN)
            condition = one_world if on is None else ir.Call("and", (one_world, on), BOOLEAN)
            joined = ir.Join(
                ir.JoinKind.INNER if kind is ir.JoinKind.CROSS else kind, lifted_left, lifted_right, condition
            )
            return joined, _world_of_join(kind, left_world, right_world)
        case _:
            assert_never(relation)


def _world_of_join(kind: ir.JoinKind, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    match kind:
        case ir.JoinKind.INNER | ir.JoinKind.CROSS | ir.JoinKind.LEFT | ir.JoinKind.SEMI | ir.JoinKind.ANTI:
            return left
        case ir.JoinKind.RIGHT:
            return right
        case ir.JoinKind.FULL:
            return ir.Call("coalesce", (left, right), INT)
        case _:
            assert_never(kind)


def _of_all_rows(select: ir.Select, world: ir.Expr) -> ir.Select:
    """Returns an aggregate over all rows, lifted: `WORLDS` left-joined with its input, grouped by world.

    Arguments are computed below the join: above it, the padded row of a world without rows would give
    coalesce(x, 0) a value.
    """
    inputs: list[ir.Item] = []
    names: dict[str, str] = {}
    every = ir.ColumnRef(WORLDS.name, WORLD.name, INT)
    present = ir.ColumnRef(INPUTS, WORLD.name, INT)

    def below_join(arg: ir.Expr) -> ir.Expr:
        name = names.setdefault(repr(arg), f"a{len(inputs)}")
        # Equal arguments share one input: it is added only where `setdefault` has added its name.
        if len(names) > len(inputs):
            inputs.append(ir.Item(arg, name))
        return ir.ColumnRef(INPUTS, name, arg.type)

    def without_pads(node: ir.Node) -> ir.Node | None:
        match node:
            case ir.Aggregate(ir.AggregateFunction.COUNT_STAR, _, _, type_):
                # The padded row of a world without rows is a row, but its world is NULL.
                return ir.Aggregate(ir.AggregateFunction.COUNT, present, False, type_)
            case ir.Aggregate(_, arg, _, _, extra):
                assert arg is not None
                first = below_join(arg)
                if node.function not in CONSTANTS:
                    extra = tuple(map(below_join, extra))
                return replace(node, arg=first, extra=extra)
            case _:
                return None

    items = tuple(changed(item, without_pads) for item in select.items)
    having = None if select.having is None else changed(select.having, without_pads)
    qualify = None if select.qualify is None else changed(select.qualify, without_pads)
    below = ir.Select((*inputs, ir.Item(world, WORLD.name)), select.source, select.where)
    join = ir.Join(
        ir.JoinKind.LEFT,
        ir.Named(WORLDS.name, WORLDS.name),
        ir.Derived(below, INPUTS),
        ir.Call("eq", (every, present), BOOLEAN),
    )
    whole = _windows_of_one_world(replace(select, items=items, having=having, qualify=qualify), every)
    return replace(
        whole,
        items=(*whole.items, ir.Item(every, WORLD.name)),
        source=join,
        where=None,
        group_by=(every,),
    )
