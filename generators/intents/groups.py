"""Triggers of grouping: groups emptied and refilled, keys born, extrema deleted."""

from __future__ import annotations

from generators.builder import ScenarioBuilder
from generators.domains import TableSketch
from generators.intents import queries as shapes
from generators.intents.script import (
    Act,
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
    Overwrite,
    Truncate,
)
from workload.query import Call
from workload.types import BOOLEAN, DOUBLE, STRING


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
    return Script(shapes.grouped(b, table), emptied_and_refilled(b, table))


def scalar_over_no_rows(b: ScenarioBuilder) -> Script:
    """An aggregate over all rows, when there are none left: it still has a row."""
    table = b.choices.pick(b.tables)
    return Script(shapes.scalar(b, table), emptied_and_refilled(b, table))


def emptied_and_refilled(b: ScenarioBuilder, table: TableSketch) -> tuple[Act, ...]:
    """All rows go in one of three ways; then one comes."""
    ways: tuple[Dml, ...] = (Delete(table.name, None), Truncate(table.name), Overwrite(table.name, ()))
    return (
        ((insert(b, table, k=key(b)),),),
        ((b.choices.pick(ways),),),
        ((insert(b, table, k=key(b)),),),
    )


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
    """A value crosses a filter or a HAVING boundary, both ways."""
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


def case_branch_switched(b: ScenarioBuilder) -> Script:
    """A row changes to the other branch of a CASE that is summed, and back, within its group."""
    table = b.choices.pick(b.tables)
    target = shapes.sum_of_case(b, table)
    return Script(
        target,
        (
            ((insert(b, table, k=1), insert(b, table, k=0)),),
            ((set_value(table, "k", 3, is_value(table, "k", 1)),),),
            ((set_value(table, "k", 1, is_value(table, "k", 3)),),),
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
    """Groups whose keys are easily confused: 0.0 and -0.0, NaN, 'a' and 'A', 'a|b' and 'a'.

    Each value comes in a row of its own, so that one of two equal keys can go while the other stays.
    """
    table = b.add_table((b.choices.pick((DOUBLE, STRING)),))
    target = shapes.by_second_column(b, table)
    name, values = table.columns[1].name, table.domains[1].values
    arrive = tuple(insert(b, table, k=k, **{name: value}) for k, value in enumerate(values))
    return Script(
        target,
        (
            (arrive,),
            ((delete(table, "k", 0),),),
            ((insert(b, table, k=0, **{name: values[0]}), delete(table, "k", 2)),),
            ((delete(table, name, values[-1]),),),
        ),
    )
