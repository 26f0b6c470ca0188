"""Triggers of histories: changes that undo each other, rewrites, tables above tables."""

from __future__ import annotations

from generators.builder import ScenarioBuilder
from generators.intents import queries as shapes
from generators.intents.script import (
    Act,
    Script,
    column,
    delete,
    insert,
    is_value,
    key,
    new_value,
    other_column,
    set_value,
)
from workload.dml import (
    Assignment,
    Insert,
    Merge,
    Optimize,
    Overwrite,
    Replace,
    Restore,
    Update,
)


def there_and_back(b: ScenarioBuilder) -> Script:
    """A -> B -> A inside an interval, and a row inserted, updated and deleted again."""
    table = b.choices.pick(b.tables)
    target = shapes.anything(b, table)
    k, position = key(b), other_column(b, table)
    name = table.columns[position].name
    first, second = new_value(b, table, position), new_value(b, table, position)
    where = is_value(table, "k", k)
    return Script(
        target,
        (
            ((insert(b, table, k=k, **{name: first}), set_value(table, name, first, where)),),
            ((set_value(table, name, second, where),), (set_value(table, name, first, where),)),
            (
                (insert(b, table, k=-1),),
                (set_value(table, name, second, is_value(table, "k", -1)),),
                (delete(table, "k", -1),),
            ),
        ),
    )


def identical_duplicates(b: ScenarioBuilder) -> Script:
    """Equal rows come, and go one by one and together."""
    table = b.choices.pick(b.tables)
    target = shapes.anything(b, table)
    row = b.row(table, k=key(b))
    return Script(
        target,
        (
            ((Insert(table.name, (row, row, row)),),),
            ((Overwrite(table.name, (row, row)),),),
            ((Overwrite(table.name, (row,)), Insert(table.name, (row,))),),
            ((delete(table, "k", row[0]),),),
        ),
    )


def stacked_filter(b: ScenarioBuilder) -> Script:
    """A dynamic table over a dynamic table, filtering on a column that changes below."""
    table = b.choices.pick(b.tables)
    target = shapes.stacked(b, table)
    k = key(b)
    return Script(
        target,
        (
            ((insert(b, table, k=3), insert(b, table, k=k)),),
            ((set_value(table, "k", 0, is_value(table, "k", 3)),),),
            ((set_value(table, "k", 4, is_value(table, "k", 0)),),),
            ((delete(table, "k", 4),),),
        ),
    )


def diamond(b: ScenarioBuilder) -> Script:
    """A change reaches a table by two paths: A -> B, A -> C, B join C -> D."""
    table = b.choices.pick(b.tables)
    target = shapes.diamond(b, table)
    k = key(b)
    return Script(
        target,
        (
            ((insert(b, table, k=k),),),
            ((set_value(table, "k", 2, is_value(table, "k", k)),),),
            ((delete(table, "k", 2),),),
        ),
    )


def maintenance(b: ScenarioBuilder) -> Script:
    """OPTIMIZE, RESTORE, TRUNCATE and overwrite between refreshes, alone and beside changes."""
    table = b.choices.pick(b.tables)
    target = shapes.anything(b, table)
    acts: list[Act] = [((delete(table, "k", key(b)),), (Optimize(table.name),)), ((Optimize(table.name),),)]
    times = b.commit_times[table.name]
    if times:
        acts.append(((Restore(table.name, b.choices.pick(times)),),))
    acts.append(((Overwrite(table.name, b.dml.rows(table, 1, 3)),),))
    return Script(target, tuple(acts))


def no_op_update(b: ScenarioBuilder) -> Script:
    """An UPDATE that sets every column to itself: commits without a change."""
    table = b.choices.pick(b.tables)
    target = shapes.anything(b, table)
    touch = Update(table.name, tuple(Assignment(c.name, column(table, c.name)) for c in table.columns), None)
    return Script(
        target, (((insert(b, table, k=key(b)),),), ((touch,),), ((touch,), (insert(b, table, k=key(b)),)))
    )


def one_merge_updates_and_deletes(b: ScenarioBuilder) -> Script:
    """One MERGE that updates a row, deletes another and inserts a third."""
    table = b.choices.pick(b.tables)
    target = shapes.anything(b, table)
    rows = (b.row(table, k=0), b.row(table, k=1), b.row(table, k=4))
    merge = Merge(table.name, ("k",), rows, is_value(table, "k", 1), True)
    return Script(
        target, (((insert(b, table, k=0), insert(b, table, k=1), delete(table, "k", 4)),), ((merge,),))
    )


def changed_and_changed_again(b: ScenarioBuilder) -> Script:
    """A row is inserted and updated, or updated twice, in one interval."""
    table = b.choices.pick(b.tables)
    target = shapes.anything(b, table)
    position = other_column(b, table)
    name = table.columns[position].name
    k = key(b)
    updates = tuple(
        (set_value(table, name, new_value(b, table, position), is_value(table, "k", k)),) for _ in range(2)
    )
    return Script(target, (((insert(b, table, k=k),), *updates), updates))


def replaced_source(b: ScenarioBuilder) -> Script:
    """A base table is replaced by another of the same columns."""
    table = b.choices.pick(b.tables)
    target = shapes.anything(b, table)
    return Script(
        target, (((Replace(table.name, b.dml.rows(table, 0, 3)),),), ((insert(b, table, k=key(b)),),))
    )
