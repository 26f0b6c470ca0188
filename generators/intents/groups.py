"""Triggers of grouping: groups emptied and refilled, new keys, deleted extremes."""

from __future__ import annotations

from dataclasses import replace

from generators import domains
from generators.builder import ScenarioBuilder
from generators.domains import ARRAY, IMITATIONS, STRUCT, WIDE_DECIMAL, Domain, TableSketch
from generators.intents import group_shapes, shapes
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
from workload.dml import Delete, Dml, Insert, Overwrite, Truncate
from workload.query import Call
from workload.types import BOOLEAN, DOUBLE, INT, SMALLINT, STRING, TINYINT


def group_emptied_and_refilled(b: ScenarioBuilder) -> Script:
    """Deletes the last row of a group; a later refresh sees it filled again."""
    table = b.choices.pick(b.tables)
    target = group_shapes.grouped(b, table)
    k = key(b)
    return script(
        target,
        act(insert(b, table, k=k)),
        act(delete(table, "k", k)),
        act(insert(b, table, k=k), insert(b, table, k=k)),
    )


def table_emptied_and_refilled(b: ScenarioBuilder) -> Script:
    """Removes all rows, by DELETE, TRUNCATE or overwrite, and brings some back."""
    table = b.choices.pick(b.tables)
    return script(group_shapes.grouped(b, table), *emptied_and_refilled(b, table))


def scalar_over_no_rows(b: ScenarioBuilder) -> Script:
    """Removes all rows below an aggregate over all rows: its result still has one row."""
    table = b.choices.pick(b.tables)
    return script(group_shapes.scalar(b, table), *emptied_and_refilled(b, table))


def emptied_and_refilled(b: ScenarioBuilder, table: TableSketch) -> tuple[Act, ...]:
    """Returns the acts that remove all rows in one of three ways, and then insert one."""
    ways: tuple[Dml, ...] = (Delete(table.name, None), Truncate(table.name), Overwrite(table.name, ()))
    return (
        act(insert(b, table, k=key(b))),
        act(b.choices.pick(ways)),
        act(insert(b, table, k=key(b))),
    )


def null_keys(b: ScenarioBuilder) -> Script:
    """Makes keys NULL, and takes NULL keys away."""
    table = b.choices.pick(b.tables)
    if b.choices.chance(60):
        target = group_shapes.grouped(b, table)
    else:
        target = shapes.outer_join(b, table, shapes.partner(b, table))
    k = key(b)
    return script(
        target,
        act(insert(b, table, k=None), insert(b, table, k=k)),
        act(move_key(table, k, None)),
        act(move_key(table, None, k)),
        act(insert(b, table, k=None)) + act(delete(table, "k", k)),
    )


def extremum_deleted(b: ScenarioBuilder) -> Script:
    """Deletes the row that holds a group's minimum or maximum, or makes it an inner value."""
    table = b.choices.pick(b.tables)
    target = group_shapes.extremes(b, table)
    k = key(b)
    column = other_column(b, table)
    name, low, high = column.name, column.values[0], column.values[-1]
    highest = Call("and", (is_value(table, "k", k), is_value(table, name, high)), BOOLEAN)
    return script(
        target,
        act(insert(b, table, k=k, **{name: low}), insert(b, table, k=k, **{name: high})),
        act(Delete(table.name, highest)),
        act(set_value(table, name, high, is_value(table, name, low))),
    )


def boundary_crossed(b: ScenarioBuilder) -> Script:
    """Moves a value over the boundary of a filter or a HAVING, both ways."""
    table = b.choices.pick(b.tables)
    target = group_shapes.boundary(b, table)
    k = key(b)
    return script(
        target,
        act(insert(b, table, k=1), insert(b, table, k=k)),
        act(move_key(table, 1, 3)),
        act(move_key(table, 3, 1), insert(b, table, k=1)),
        act(delete(table, "k", 1)),
    )


def case_branch_switched(b: ScenarioBuilder) -> Script:
    """Changes a row to the other branch of a CASE that is summed, and back, within its group."""
    table = b.choices.pick(b.tables)
    target = group_shapes.sum_of_case(b, table)
    return script(
        target,
        act(insert(b, table, k=1), insert(b, table, k=0)),
        act(move_key(table, 1, 3)),
        act(move_key(table, 3, 1)),
    )


def mixed_aggregates(b: ScenarioBuilder) -> Script:
    """Changes a group with a NULL, with MAX beside aggregates that could be maintained by addition.

    Often of an integer, whose average is maintained, or of more digits than a double has.
    """
    match b.choices.weighted(((5, "wide"), (3, "integer"), (2, "any"))):
        case "wide":
            table = b.add_table((WIDE_DECIMAL,))
        case "integer":
            table = b.add_table((b.choices.pick((INT, SMALLINT, TINYINT)),))
        case _:
            table = b.choices.pick(b.tables)
    target = group_shapes.mixed(b, table)
    k = key(b)
    column = other_column(b, table)
    where = is_value(table, "k", k)
    return script(
        target,
        act(insert(b, table, k=k), insert(b, table, k=k)),
        act(insert(b, table, k=k, **{column.name: None})),
        act(set_value(table, column.name, b.choices.pick(column.values), where)),
        act(set_value(table, column.name, None, where)),
    )


def average_beside_nulls(b: ScenarioBuilder) -> Script:
    """Inserts a row with NULL into a group whose average is maintained, and deletes it again."""
    table = b.add_table((b.choices.pick((INT, INT, SMALLINT, WIDE_DECIMAL)),))
    target = group_shapes.sums(b, table)
    k, column = key(b), other_column(b, table)
    values = [value for value in column.values if value is not None]
    rows = [insert(b, table, k=k, **{column.name: b.choices.pick(values)}) for _ in range(2)]
    return script(
        target,
        act(*rows),
        act(insert(b, table, k=k, **{column.name: None})),
        act(insert(b, table, k=k, **{column.name: b.choices.pick(values)})),
        act(delete(table, column.name, None)),
    )


def statistic_of_changed_group(b: ScenarioBuilder) -> Script:
    """Adds and removes rows of a group with a percentile, a list, a deviation or the like, and others stay.

    Often beside a sum of more digits than a double has.
    """
    table = b.add_table((b.choices.pick((INT, SMALLINT, WIDE_DECIMAL)),))
    target = group_shapes.statistics(b, table)
    k, column = key(b), other_column(b, table)
    values = [value for value in column.values if value is not None]
    rows = [insert(b, table, k=k, **{column.name: value}) for value in values[:3]]
    value = b.choices.pick(values)
    return script(
        target,
        act(*rows),
        act(insert(b, table, k=k, **{column.name: value})),
        act(delete(table, column.name, value)),
        act(insert(b, table, k=k)),
    )


def groups_of_groups(b: ScenarioBuilder) -> Script:
    """Inserts a second row of a group that exists, and splits a group of one row in two."""
    table = b.choices.pick(b.tables)
    target = group_shapes.counted_over_groups(b, table)
    row = b.row(table, k=key(b))
    return script(
        target,
        act(Insert(table.name, (row,))),
        act(Insert(table.name, (row, row))),
        act(insert(b, table, k=row[0])),
    )


def aggregates_over_pads(b: ScenarioBuilder) -> Script:
    """Makes all rows of groups over an outer join pads, then matches, then pads again."""
    left, right = shapes.two_tables(b)
    target = group_shapes.padded_groups(b, left, right)
    k = key(b)
    column = other_column(b, left)
    where = is_value(left, "k", k)
    return script(
        target,
        act(insert(b, left, k=k), delete(right, "k", k)),
        act(set_value(left, column.name, b.choices.pick(column.values), where)) + act(insert(b, left, k=k)),
        act(insert(b, right, k=k)),
        act(delete(right, "k", k)),
    )


def keys_run_together(b: ScenarioBuilder) -> Script:
    """Groups by pairs of texts that are equal when they are put together: 'a', 'bc' and 'ab', 'c'."""
    table = b.add_table((STRING, STRING))
    target = group_shapes.by_two_columns(b, table)
    pairs = b.choices.pick(TOGETHER)
    return script(
        target,
        act(*(insert(b, table, a=first, b=second) for first, second in pairs)),
        act(insert(b, table, a=pairs[0][0], b=pairs[0][1])),
        act(delete(table, "a", pairs[1][0])),
    )


TOGETHER = (
    (("a", "bc"), ("ab", "c")),
    (("", "a"), ("a", "")),
    (("a|", "b"), ("a", "|b")),
    (("1:a", "x"), ("1", ":ax")),
)
"""Pairs of texts that give one text when they are put together."""


def awkward_keys(b: ScenarioBuilder) -> Script:
    """Groups by keys easily confused: 0.0 and -0.0, 'a' and 'A', 'a|b' and 'a', NULL and ARRAY(NULL).

    Each value comes in a separate row, so that one of two equal keys can go while the other stays.
    """
    table = b.add_table((b.choices.pick((DOUBLE, STRING, ARRAY, STRUCT)),))
    if table.columns[1].type == STRING and b.choices.chance(50):
        imitations = domains.stored(Domain((None, *IMITATIONS)), STRING, b.profile.limits)
        table = replace(table, domains=(table.domains[0], imitations, *table.domains[2:]))
    target = group_shapes.by_second_column(b, table)
    name, values = table.columns[1].name, table.domains[1].values
    if None not in values:
        values = (*values, None)
    return script(
        target,
        act(*(insert(b, table, k=k, **{name: value}) for k, value in enumerate(values))),
        act(delete(table, "k", 0)),
        act(insert(b, table, k=0, **{name: values[0]}), delete(table, "k", 2)),
        act(delete(table, "k", len(values) - 1)),
    )
