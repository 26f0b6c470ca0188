"""Triggers of joins: both sides change, matches come and go."""

from __future__ import annotations

from generators.builder import ScenarioBuilder
from generators.domains import TableSketch
from generators.intents import shapes
from generators.intents.script import (
    Script,
    act,
    delete,
    insert,
    is_value,
    key,
    move_key,
    other_column,
    script,
    set_value,
)
from workload.dml import Delete, Insert
from workload.query import JoinKind
from workload.types import INT


def both_join_sides_change(b: ScenarioBuilder) -> Script:
    """Inserts matching rows on both sides in one interval, changes them together, deletes them together."""
    left, right = shapes.two_tables(b)
    target = shapes.join(b, left, right)
    k, other = key(b), key(b)
    arrive = act(insert(b, left, k=k), insert(b, right, k=k))
    moves = move_key(left, k, other), move_key(right, k, other)
    # In two transactions or in one.
    move = act(moves[0]) + act(moves[1]) if b.choices.chance(50) else act(*moves)
    return script(target, arrive, move, act(delete(left, "k", other), delete(right, "k", other)))


def key_renamed_while_match_goes(b: ScenarioBuilder) -> Script:
    """Changes one side's key and deletes the other side's row in one interval."""
    left, right = shapes.two_tables(b)
    target = shapes.join(b, left, right)
    k = key(b)
    return script(
        target,
        act(insert(b, left, k=k), insert(b, right, k=k)),
        act(move_key(left, k, 3), delete(right, "k", k)),
    )


def last_match_leaves_and_returns(b: ScenarioBuilder) -> Script:
    """Takes away an outer row's last match, by DELETE or by an update of the key, and brings one back."""
    left, right = shapes.two_tables(b)
    target = shapes.outer_join(b, left, right)
    k = key(b)
    leave = b.choices.pick((delete(right, "k", k), move_key(right, k, -1)))
    lone = b.row(left, k=k)
    return script(
        target,
        act(delete(right, "k", k), Insert(left.name, (lone, lone)), insert(b, right, k=k)),
        act(leave),
        act(insert(b, right, k=k), insert(b, right, k=k)),
        act(delete(right, "k", k), insert(b, right, k=k)),
    )


def unmatched_row_updated(b: ScenarioBuilder) -> Script:
    """Changes a row without a match while the other side changes too."""
    left, right = shapes.two_tables(b)
    target = shapes.outer_join(b, left, right)
    column = other_column(b, left)
    lone = is_value(left, "k", -1)
    return script(
        target,
        act(insert(b, left, k=-1), delete(right, "k", -1)),
        act(
            set_value(left, column.name, b.choices.pick(column.values), lone),
            insert(b, right, k=key(b)),
        ),
        act(insert(b, left, k=-1), insert(b, right, k=2)),
    )


def several_joins(b: ScenarioBuilder) -> Script:
    """Changes two of three joined inputs in one interval; or one table that is several of four inputs."""
    first, second = shapes.two_tables(b)
    if b.choices.chance(50):
        return _one_table_updated(b, first, second)
    target = shapes.three_way(b, first, second)
    k = key(b)
    return script(
        target,
        act(insert(b, first, k=k), insert(b, second, k=k)),
        act(delete(first, "k", k), delete(second, "k", k)),
        act(insert(b, first, k=k)) + act(insert(b, second, k=k)),
    )


def _one_table_updated(b: ScenarioBuilder, table: TableSketch, other: TableSketch) -> Script:
    """Makes rows match or not by one UPDATE of a table that is two or three of four inputs of joins."""
    target = shapes.four_way(b, table, other)
    name, k = shapes.int_column(table), key(b)
    return script(
        target,
        act(insert(b, table, k=k), insert(b, table, **{"k": k, name: k}), insert(b, other, k=k)),
        act(move_key(table, k, k + 1), insert(b, other, k=k + 1)),
        act(move_key(table, k + 1, k)),
        act(set_value(table, name, k, is_value(table, "k", k))),
    )


def emptied_cross_join(b: ScenarioBuilder) -> Script:
    """Empties and refills one input of a cross join that is a side of an outer join."""
    left, right = shapes.two_tables(b)
    target = shapes.over_cross(b, left, right)
    return script(
        target,
        act(insert(b, left, k=1), insert(b, right, k=1)),
        act(Delete(right.name, None)),
        act(insert(b, right, k=1)),
    )


def outer_joins_in_a_row(b: ScenarioBuilder) -> Script:
    """Changes one table in two outer joins: a row that the first pads gains and loses matches in the second.

    Or the second is an inner join, in which the padded row has several matches.
    """
    left, right = shapes.two_tables(b)
    if b.choices.chance(40):
        return _pads_with_several_matches(b, left, right)
    target = shapes.outer_chain(b, left, right)
    k = key(b)
    return script(
        target,
        act(insert(b, left, k=k), delete(right, "k", k)),
        act(insert(b, right, k=key(b)), insert(b, left, k=k)),
        act(insert(b, right, k=k)),
        act(delete(right, "k", k)),
    )


def _pads_with_several_matches(b: ScenarioBuilder, left: TableSketch, right: TableSketch) -> Script:
    """Takes away a row's matches in an outer join below an inner join that repeats it; brings them back."""
    others = [table for table in b.tables if table.name not in (left.name, right.name)]
    third = b.choices.pick(others) if others else b.add_table()
    target = shapes.inner_over_outer(b, left, right, third)
    k = key(b)
    return script(
        target,
        act(insert(b, left, k=k), insert(b, right, k=k), insert(b, third, k=k), insert(b, third, k=k)),
        act(b.choices.pick((delete(right, "k", k), move_key(right, k, -1)))),
        act(insert(b, right, k=k)) + act(insert(b, right, k=k)),
        act(delete(right, "k", k), delete(third, "k", k), insert(b, third, k=k)),
    )


def null_key_in_a_row(b: ScenarioBuilder) -> Script:
    """Matches a row in one of two outer joins on different columns, where its key for the other is NULL."""
    left = b.add_table((INT,))
    right = shapes.partner(b, left)
    name = shapes.int_column(left)
    target = shapes.two_outer_joins(b, JoinKind.LEFT, (left, right, right), name, "plain")
    k = key(b)
    return script(
        target,
        act(insert(b, left, **{"k": None, name: k}), insert(b, right, k=k)),
        act(delete(right, "k", k)),
        act(insert(b, right, k=k), move_key(left, None, k)),
    )


def match_moves_away(b: ScenarioBuilder) -> Script:
    """Gives the only match of an outer row another key, and back: it updates the other side alone."""
    left, right = shapes.two_tables(b)
    target = shapes.left_join(b, left, right)
    k = key(b)
    return script(
        target,
        act(delete(right, "k", k), insert(b, left, k=k), insert(b, right, k=k)),
        act(move_key(right, k, 7)),
        act(move_key(right, 7, k)),
    )


def key_of_another_name(b: ScenarioBuilder) -> Script:
    """Changes rows of a self join on columns of different names, both of which both sides have."""
    table = b.add_table((INT,))
    target = shapes.other_name(b, table)
    name, k = shapes.int_column(table), key(b)
    return script(
        target,
        act(insert(b, table, **{"k": k, name: k + 1}), insert(b, table, **{"k": k + 1, name: -1})),
        act(move_key(table, k + 1, k + 2)),
        act(set_value(table, name, k + 2, is_value(table, "k", k))),
    )


def unioned_with_itself(b: ScenarioBuilder) -> Script:
    """Changes a table below a UNION ALL of it with itself: rows differ by their branch alone."""
    table = b.choices.pick(b.tables)
    target = shapes.union_with_itself(b, table)
    k = key(b)
    return script(
        target,
        act(insert(b, table, k=k)),
        act(move_key(table, k, key(b))),
        act(delete(table, "k", k)),
    )


def read_twice(b: ScenarioBuilder) -> Script:
    """Changes a table that is read twice: in a self join, or by a CTE used twice."""
    table = b.choices.pick(b.tables)
    target = shapes.twice(b, table)
    k = key(b)
    return script(
        target,
        act(insert(b, table, k=k)),
        act(insert(b, table, k=k), insert(b, table, k=k)),
        act(move_key(table, k, key(b))),
        act(delete(table, "k", k)),
    )
