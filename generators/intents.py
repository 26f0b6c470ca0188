"""Trigger intents: the low-probability situations that break incremental engines, built on purpose.

Each takes one or two base tables, defines what is to be maintained over them and gives acts: transactions
to commit before a refresh. A scenario interleaves acts with random DML. The list follows what users and
maintainers of incremental engines wrote down after real bugs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from generators import intent_queries as shapes
from generators.builder import ScenarioBuilder
from generators.domains import TableSketch
from workload.dml import (
    Assignment,
    Delete,
    Dml,
    Insert,
    Merge,
    Optimize,
    Overwrite,
    Replace,
    Restore,
    Truncate,
    Update,
)
from workload.query import Call, ColumnRef, Expr, Literal
from workload.types import BOOLEAN, Value

Transaction = tuple[Dml, ...]
Act = tuple[Transaction, ...]
"""Transactions of one refresh interval."""


@dataclass(frozen=True, slots=True)
class Script:
    """The dynamic table to refresh after each act, and the acts."""

    target: str
    acts: tuple[Act, ...]


Intent = Callable[[ScenarioBuilder], Script]


def column(table: TableSketch, name: str) -> ColumnRef:
    """A table's column as DML reads it."""
    return ColumnRef(table.name, name, next(c.type for c in table.columns if c.name == name))


def is_value(table: TableSketch, name: str, value: Value) -> Expr:
    """`column = value`, null-safe for NULL."""
    ref = column(table, name)
    return Call("same" if value is None else "eq", (ref, Literal(value, ref.type)), BOOLEAN)


def insert(builder: ScenarioBuilder, table: TableSketch, **fixed: Value) -> Dml:
    """INSERT of one row with some columns fixed."""
    return Insert(table.name, (builder.row(table, **fixed),))


def delete(table: TableSketch, name: str, value: Value) -> Dml:
    """DELETE of the rows with a value."""
    return Delete(table.name, is_value(table, name, value))


def set_value(table: TableSketch, name: str, new: Value, where: Expr | None) -> Dml:
    """UPDATE of one column to a constant."""
    ref = column(table, name)
    return Update(table.name, (Assignment(name, Literal(new, ref.type)),), where)


def key(builder: ScenarioBuilder) -> int:
    """A key that random rows have too."""
    return builder.choices.integer(0, 4)


def other_column(builder: ScenarioBuilder, table: TableSketch) -> int:
    """The position of a column that is not the key."""
    return builder.choices.integer(1, len(table.columns) - 1)


def new_value(builder: ScenarioBuilder, table: TableSketch, position: int) -> Value:
    """A value of a column's domain."""
    return builder.choices.pick(table.domains[position].values)


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


def group_emptied_and_refilled(b: ScenarioBuilder) -> Script:
    """The last row of a group goes; a later refresh sees it filled again."""
    table = b.choices.pick(b.tables)
    target = shapes.grouped(b, table)
    k = key(b)
    return Script(
        target,
        (
            ((insert(b, table, k=k),),),
            ((delete(table, "k", k),),),
            ((insert(b, table, k=k), insert(b, table, k=k)),),
        ),
    )


def table_emptied_and_refilled(b: ScenarioBuilder) -> Script:
    """All rows go, by DELETE, TRUNCATE or overwrite, and come back."""
    table = b.choices.pick(b.tables)
    target = shapes.grouped(b, table) if b.choices.chance(50) else shapes.scalar(b, table)
    ways: tuple[Dml, ...] = (Delete(table.name, None), Truncate(table.name), Overwrite(table.name, ()))
    emptied = b.choices.pick(ways)
    return Script(target, (((emptied,),), ((insert(b, table, k=key(b)),),)))


def null_keys(b: ScenarioBuilder) -> Script:
    """NULL keys are born and vanish."""
    table = b.choices.pick(b.tables)
    target = (
        shapes.grouped(b, table)
        if b.choices.chance(60)
        else shapes.outer_join(b, table, shapes.partner(b, table))
    )
    k = key(b)
    return Script(
        target,
        (
            ((insert(b, table, k=None), insert(b, table, k=k)),),
            ((set_value(table, "k", None, is_value(table, "k", k)),),),
            ((set_value(table, "k", k, is_value(table, "k", None)),),),
            ((insert(b, table, k=None),), (delete(table, "k", k),)),
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


def extremum_deleted(b: ScenarioBuilder) -> Script:
    """The row that holds a group's minimum or maximum goes, or becomes an inner value."""
    table = b.choices.pick(b.tables)
    target = shapes.extremes(b, table)
    k = key(b)
    position = other_column(b, table)
    name, values = table.columns[position].name, list(table.domains[position].values)
    low, high = values[0], values[-1]
    return Script(
        target,
        (
            ((insert(b, table, k=k, **{name: low}), insert(b, table, k=k, **{name: high})),),
            (
                (
                    Delete(
                        table.name,
                        Call("and", (is_value(table, "k", k), is_value(table, name, high)), BOOLEAN),
                    ),
                ),
            ),
            ((set_value(table, name, high, is_value(table, name, low)),),),
        ),
    )


def boundary_crossed(b: ScenarioBuilder) -> Script:
    """A value crosses a filter, a CASE or a HAVING boundary, both ways."""
    table = b.choices.pick(b.tables)
    target = shapes.boundary(b, table)
    k = key(b)
    return Script(
        target,
        (
            ((insert(b, table, k=1), insert(b, table, k=k)),),
            ((set_value(table, "k", 3, is_value(table, "k", 1)),),),
            ((set_value(table, "k", 1, is_value(table, "k", 3)), insert(b, table, k=1)),),
            ((delete(table, "k", 1),),),
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


def read_twice(b: ScenarioBuilder) -> Script:
    """One table read twice: self join, CTE used twice, UNION ALL of it with itself."""
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


def mixed_aggregates(b: ScenarioBuilder) -> Script:
    """MIN or MAX beside aggregates that could be maintained by addition."""
    table = b.choices.pick(b.tables)
    target = shapes.mixed(b, table)
    k = key(b)
    position = other_column(b, table)
    name = table.columns[position].name
    return Script(
        target,
        (
            ((insert(b, table, k=k), insert(b, table, k=k)),),
            ((set_value(table, name, new_value(b, table, position), is_value(table, "k", k)),),),
            ((set_value(table, name, None, is_value(table, "k", k)),),),
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


def groups_of_groups(b: ScenarioBuilder) -> Script:
    """A second row of a group that exists; a group of one row split in two."""
    table = b.choices.pick(b.tables)
    target = shapes.counted_over_groups(b, table)
    row = b.row(table, k=key(b))
    return Script(
        target,
        (
            ((Insert(table.name, (row,)),),),
            ((Insert(table.name, (row, row)),),),
            ((insert(b, table, k=row[0]),),),
        ),
    )


def aggregates_over_pads(b: ScenarioBuilder) -> Script:
    """Groups over an outer join whose rows are all pads, then matched, then pads again."""
    left, right = shapes.two_tables(b)
    target = shapes.padded_groups(b, left, right)
    k = key(b)
    position = other_column(b, left)
    name = left.columns[position].name
    return Script(
        target,
        (
            ((insert(b, left, k=k), delete(right, "k", k)),),
            (
                (set_value(left, name, new_value(b, left, position), is_value(left, "k", k)),),
                (insert(b, left, k=k),),
            ),
            ((insert(b, right, k=k),),),
            ((delete(right, "k", k),),),
        ),
    )


def awkward_keys(b: ScenarioBuilder) -> Script:
    """Groups whose keys are easily confused: 0.0 and -0.0, NaN, 'a' and 'A', 'a|b' and 'a'."""
    table = b.choices.pick(b.tables)
    target = shapes.by_all_columns(b, table)
    position = other_column(b, table)
    name = table.columns[position].name
    values = table.domains[position].values
    inserts = tuple(insert(b, table, k=1, **{name: value}) for value in values)
    return Script(
        target,
        (
            (inserts,),
            ((delete(table, name, values[0]),),),
            ((insert(b, table, k=1, **{name: values[0]}),),),
            ((delete(table, name, values[-1]),),),
        ),
    )


INTENTS: Mapping[str, Intent] = {
    intent.__name__.replace("_", " "): intent
    for intent in (
        both_join_sides_change,
        key_renamed_while_match_goes,
        there_and_back,
        group_emptied_and_refilled,
        table_emptied_and_refilled,
        null_keys,
        identical_duplicates,
        extremum_deleted,
        boundary_crossed,
        last_match_leaves_and_returns,
        unmatched_row_updated,
        read_twice,
        mixed_aggregates,
        stacked_filter,
        diamond,
        maintenance,
        no_op_update,
        one_merge_updates_and_deletes,
        changed_and_changed_again,
        replaced_source,
        several_joins,
        emptied_cross_join,
        outer_joins_in_a_row,
        groups_of_groups,
        aggregates_over_pads,
        awkward_keys,
    )
}
"""Every intent by the name that coverage counts."""
