"""Triggers of joins: both sides change, matches come and go."""

from __future__ import annotations

from generators.builder import ScenarioBuilder
from generators.intents import queries as shapes
from generators.intents.script import (
    Script,
    delete,
    insert,
    is_value,
    key,
    new_value,
    other_column,
    set_value,
)
from workload.dml import (
    Delete,
    Dml,
    Insert,
)
from workload.query import JoinKind
from workload.types import INT


def both_join_sides_change(b: ScenarioBuilder) -> Script:
    """Matching rows appear on both sides in one interval, change together, vanish together."""
    left, right = shapes.two_tables(b)
    target = shapes.join(b, left, right)
    k, other = key(b), key(b)
    arrive = (insert(b, left, k=k), insert(b, right, k=k))
    move = (
        set_value(left, "k", other, is_value(left, "k", k)),
        set_value(right, "k", other, is_value(right, "k", k)),
    )
    leave = (delete(left, "k", other), delete(right, "k", other))
    return Script(target, ((arrive,), (move[:1], move[1:]) if b.choices.chance(50) else (move,), (leave,)))


def key_renamed_while_match_goes(b: ScenarioBuilder) -> Script:
    """One side's key is renamed and the other side's row is deleted in one interval."""
    left, right = shapes.two_tables(b)
    target = shapes.join(b, left, right)
    k, other = key(b), 3
    return Script(
        target,
        (
            ((insert(b, left, k=k), insert(b, right, k=k)),),
            ((set_value(left, "k", other, is_value(left, "k", k)), delete(right, "k", k)),),
        ),
    )


def last_match_leaves_and_returns(b: ScenarioBuilder) -> Script:
    """An outer row loses its last match, by DELETE or by an update of its key, and finds one again."""
    left, right = shapes.two_tables(b)
    target = shapes.outer_join(b, left, right)
    k = key(b)
    away: Dml = b.choices.pick((delete(right, "k", k), set_value(right, "k", -1, is_value(right, "k", k))))
    lone = b.row(left, k=k)
    return Script(
        target,
        (
            (
                (
                    Delete(right.name, is_value(right, "k", k)),
                    Insert(left.name, (lone, lone)),
                    insert(b, right, k=k),
                ),
            ),
            ((away,),),
            ((insert(b, right, k=k), insert(b, right, k=k)),),
            ((delete(right, "k", k), insert(b, right, k=k)),),
        ),
    )


def unmatched_row_updated(b: ScenarioBuilder) -> Script:
    """A row without a match changes while the other side changes too."""
    left, right = shapes.two_tables(b)
    target = shapes.outer_join(b, left, right)
    position = other_column(b, left)
    name = left.columns[position].name
    return Script(
        target,
        (
            ((insert(b, left, k=-1), delete(right, "k", -1)),),
            (
                (
                    set_value(left, name, new_value(b, left, position), is_value(left, "k", -1)),
                    insert(b, right, k=key(b)),
                ),
            ),
            ((insert(b, left, k=-1), insert(b, right, k=2)),),
        ),
    )


def several_joins(b: ScenarioBuilder) -> Script:
    """Three inputs, two of which lose or gain rows in one interval."""
    first, second = shapes.two_tables(b)
    target = shapes.three_way(b, first, second)
    k = key(b)
    return Script(
        target,
        (
            ((insert(b, first, k=k), insert(b, second, k=k)),),
            ((delete(first, "k", k), delete(second, "k", k)),),
            ((insert(b, first, k=k),), (insert(b, second, k=k),)),
        ),
    )


def emptied_cross_join(b: ScenarioBuilder) -> Script:
    """An outer join with a cross join on its other side, one input of which is emptied and refilled."""
    left, right = shapes.two_tables(b)
    target = shapes.over_cross(b, left, right)
    return Script(
        target,
        (
            ((insert(b, left, k=1), insert(b, right, k=1)),),
            ((Delete(right.name, None),),),
            ((insert(b, right, k=1),),),
        ),
    )


def outer_joins_in_a_row(b: ScenarioBuilder) -> Script:
    """One table in two outer joins: a row padded by the first finds and loses matches in the second."""
    left, right = shapes.two_tables(b)
    target = shapes.outer_chain(b, left, right)
    k = key(b)
    return Script(
        target,
        (
            ((insert(b, left, k=k), delete(right, "k", k)),),
            ((insert(b, right, k=key(b)), insert(b, left, k=k)),),
            ((insert(b, right, k=k),),),
            ((delete(right, "k", k),),),
        ),
    )


def null_key_in_a_row(b: ScenarioBuilder) -> Script:
    """Two outer joins on different columns: a row whose key for one is NULL matches in the other."""
    left = b.add_table((INT,))
    right = shapes.partner(b, left)
    name = shapes.int_column(left)
    target = shapes.two_outer_joins(b, JoinKind.LEFT, (left, right, right), name, "plain")
    k = key(b)
    return Script(
        target,
        (
            ((insert(b, left, **{"k": None, name: k}), insert(b, right, k=k)),),
            ((delete(right, "k", k),),),
            ((insert(b, right, k=k), set_value(left, "k", k, is_value(left, "k", None))),),
        ),
    )


def match_moves_away(b: ScenarioBuilder) -> Script:
    """The only match of an outer row gets another key, and comes back: updates of the other side alone."""
    left, right = shapes.two_tables(b)
    target = shapes.left_join(b, left, right)
    k = key(b)
    return Script(
        target,
        (
            ((Delete(right.name, is_value(right, "k", k)), insert(b, left, k=k), insert(b, right, k=k)),),
            ((set_value(right, "k", 7, is_value(right, "k", k)),),),
            ((set_value(right, "k", k, is_value(right, "k", 7)),),),
        ),
    )


def key_of_another_name(b: ScenarioBuilder) -> Script:
    """A self join on columns of different names, both of which both sides have."""
    table = b.add_table((INT,))
    target = shapes.other_name(b, table)
    name, k = shapes.int_column(table), key(b)
    return Script(
        target,
        (
            ((insert(b, table, **{"k": k, name: k + 1}), insert(b, table, **{"k": k + 1, name: -1})),),
            ((set_value(table, "k", k + 2, is_value(table, "k", k + 1)),),),
            ((set_value(table, name, k + 2, is_value(table, "k", k)),),),
        ),
    )


def unioned_with_itself(b: ScenarioBuilder) -> Script:
    """UNION ALL of a table with itself: rows that differ by their branch alone."""
    table = b.choices.pick(b.tables)
    target = shapes.union_with_itself(b, table)
    k = key(b)
    return Script(
        target,
        (
            ((insert(b, table, k=k),),),
            ((set_value(table, "k", key(b), is_value(table, "k", k)),),),
            ((delete(table, "k", k),),),
        ),
    )


def read_twice(b: ScenarioBuilder) -> Script:
    """One table read twice: self join, CTE used twice."""
    table = b.choices.pick(b.tables)
    target = shapes.twice(b, table)
    k = key(b)
    return Script(
        target,
        (
            ((insert(b, table, k=k),),),
            ((insert(b, table, k=k), insert(b, table, k=k)),),
            ((set_value(table, "k", key(b), is_value(table, "k", k)),),),
            ((delete(table, "k", k),),),
        ),
    )
