"""Triggers of histories: changes that undo each other, rewrites, tables above tables."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from generators.builder import ScenarioBuilder
from generators.dml import to_itself
from generators.domains import DECIMAL
from generators.intents import shapes
from generators.intents.script import (
    Act,
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
from workload.dml import Insert, Merge, Optimize, Overwrite, Replace, Restore
from workload.types import BIGINT, DOUBLE, SqlType, Value


def there_and_back(b: ScenarioBuilder) -> Script:
    """Changes A -> B -> A inside an interval, and inserts, updates and deletes a row."""
    table = b.choices.pick(b.tables)
    target = shapes.anything(b, table)
    k, drawn = key(b), other_column(b, table)
    first, second = b.choices.pick(drawn.values), b.choices.pick(drawn.values)
    where, lone = is_value(table, "k", k), is_value(table, "k", -1)
    return script(
        target,
        act(insert(b, table, k=k, **{drawn.name: first}), set_value(table, drawn.name, first, where)),
        act(set_value(table, drawn.name, second, where)) + act(set_value(table, drawn.name, first, where)),
        act(insert(b, table, k=-1))
        + act(set_value(table, drawn.name, second, lone))
        + act(delete(table, "k", -1)),
    )


def identical_duplicates(b: ScenarioBuilder) -> Script:
    """Inserts equal rows, and removes them one by one and together."""
    table = b.choices.pick(b.tables)
    target = shapes.anything(b, table)
    row = b.row(table, k=key(b))
    return script(
        target,
        act(Insert(table.name, (row, row, row))),
        act(Overwrite(table.name, (row, row))),
        act(Overwrite(table.name, (row,)), Insert(table.name, (row,))),
        act(delete(table, "k", row[0])),
    )


def stacked_filter(b: ScenarioBuilder) -> Script:
    """Changes the column by which a dynamic table filters another dynamic table."""
    table = b.choices.pick(b.tables)
    target = shapes.stacked(b, table)
    k = key(b)
    return script(
        target,
        act(insert(b, table, k=3), insert(b, table, k=k)),
        act(move_key(table, 3, 0)),
        act(move_key(table, 0, 4)),
        act(delete(table, "k", 4)),
    )


def diamond(b: ScenarioBuilder) -> Script:
    """Changes a table that a dynamic table reads by two paths: A -> B, A -> C, B join C -> D."""
    table = b.choices.pick(b.tables)
    target = shapes.diamond(b, table)
    k = key(b)
    return script(
        target,
        act(insert(b, table, k=k)),
        act(move_key(table, k, 2)),
        act(delete(table, "k", 2)),
    )


def maintenance(b: ScenarioBuilder) -> Script:
    """Runs OPTIMIZE, RESTORE and overwrite between refreshes, alone and beside changes."""
    table = b.choices.pick(b.tables)
    target = shapes.anything(b, table)
    optimize = act(Optimize(table.name))
    acts: list[Act] = [act(delete(table, "k", key(b))) + optimize, optimize]
    times = b.commit_times[table.name]
    if times:
        acts.append(act(Restore(table.name, b.choices.pick(times))))
    return script(target, *acts, act(Overwrite(table.name, b.dml.rows(table, 1, 3))))


def in_several_branches(b: ScenarioBuilder) -> Script:
    """Inserts a key into both branches of a UNION, deletes it from one and then from the other."""
    left, right = shapes.two_tables(b)
    target = shapes.union_of_keys(b, left, right)
    k = key(b)
    return script(
        target,
        act(insert(b, left, k=k), insert(b, right, k=k), insert(b, left, k=k)),
        act(delete(left, "k", k)),
        act(delete(right, "k", k)),
    )


TYPES_THAT_MEET_INT: Sequence[tuple[SqlType, tuple[Value, ...]]] = (
    (DOUBLE, (2.0, 1.5, 0.25)),
    (DECIMAL, (Decimal("2.00"), Decimal("1.50"))),
    (BIGINT, (2, 2**32 + 2)),
)
"""Types that meet INT, with values near 2."""


def values_of_two_types(b: ScenarioBuilder) -> Script:
    """Compares a key with numbers of another type: equal ones, and some that a conversion makes equal."""
    type_, values = b.choices.pick(TYPES_THAT_MEET_INT)
    table = b.add_table((type_,), digits=34 if type_ == BIGINT else 0)
    target = shapes.of_two_types(b, table, "a")
    where = is_value(table, "k", 2)
    return script(
        target,
        *(act(insert(b, table, k=2, a=value), insert(b, table, k=1, a=value)) for value in values),
        act(set_value(table, "a", values[-1], where)),
    )


def no_op_update(b: ScenarioBuilder) -> Script:
    """Runs an UPDATE that sets every column to itself: commits without a change."""
    table = b.choices.pick(b.tables)
    target = shapes.anything(b, table)
    touch = act(to_itself(table))
    return script(target, act(insert(b, table, k=key(b))), touch, touch + act(insert(b, table, k=key(b))))


def one_merge_updates_and_deletes(b: ScenarioBuilder) -> Script:
    """Runs one MERGE that updates a row, deletes another and inserts a third."""
    table = b.choices.pick(b.tables)
    target = shapes.anything(b, table)
    rows = (b.row(table, k=0), b.row(table, k=1), b.row(table, k=4))
    merge = Merge(table.name, ("k",), rows, is_value(table, "k", 1), True)
    return script(
        target, act(insert(b, table, k=0), insert(b, table, k=1), delete(table, "k", 4)), act(merge)
    )


def changed_and_changed_again(b: ScenarioBuilder) -> Script:
    """Inserts and updates a row, or updates it twice, in one interval."""
    table = b.choices.pick(b.tables)
    target = shapes.anything(b, table)
    drawn = other_column(b, table)
    k = key(b)
    where = is_value(table, "k", k)
    first, second = (act(set_value(table, drawn.name, b.choices.pick(drawn.values), where)) for _ in range(2))
    return script(target, act(insert(b, table, k=k)) + first + second, first + second)


def replaced_source(b: ScenarioBuilder) -> Script:
    """Replaces a base table by another of the same columns."""
    table = b.choices.pick(b.tables)
    target = shapes.anything(b, table)
    return script(target, act(Replace(table.name, b.dml.rows(table, 0, 3))), act(insert(b, table, k=key(b))))
