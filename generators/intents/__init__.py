"""Trigger intents: the low-probability situations that break incremental engines, built on purpose.

Each intent takes one or two base tables, defines dynamic tables over them, and gives acts: transactions to
commit before a refresh. A scenario mixes acts with random DML. The list follows the bug reports of users and
maintainers of incremental engines. The docstring of an intent says what its acts do; a name such as
`groups.null_keys` is `null keys` in coverage.
"""

from __future__ import annotations

from collections.abc import Mapping

from generators.intents import (
    exploded,
    failing,
    groups,
    history,
    joins,
    keyed,
    limits,
    many,
    memberships,
    sets,
    stories,
    subqueries,
    windows,
)
from generators.intents.script import Act, Intent, Script

INTENTS: Mapping[str, Intent] = {
    intent.__name__.replace("_", " "): intent
    for intent in (
        joins.both_join_sides_change,
        joins.key_renamed_while_match_goes,
        history.there_and_back,
        groups.group_emptied_and_refilled,
        groups.table_emptied_and_refilled,
        groups.null_keys,
        history.identical_duplicates,
        groups.extremum_deleted,
        groups.boundary_crossed,
        joins.last_match_leaves_and_returns,
        joins.unmatched_row_updated,
        joins.read_twice,
        groups.mixed_aggregates,
        history.stacked_filter,
        history.diamond,
        history.maintenance,
        history.no_op_update,
        history.one_merge_updates_and_deletes,
        history.changed_and_changed_again,
        history.replaced_source,
        joins.several_joins,
        joins.emptied_cross_join,
        joins.outer_joins_in_a_row,
        joins.null_key_in_a_row,
        joins.match_moves_away,
        joins.key_of_another_name,
        joins.unioned_with_itself,
        groups.scalar_over_no_rows,
        groups.case_branch_switched,
        groups.groups_of_groups,
        groups.aggregates_over_pads,
        groups.awkward_keys,
        failing.data_that_fails,
        failing.pair_of_two_times,
        many.many_rows,
        history.in_several_branches,
        history.values_of_two_types,
        sets.copies_on_both_sides,
        limits.first_rows_change,
        windows.row_comes_between,
        windows.partition_changed,
        windows.subtotals,
        exploded.elements_change,
        subqueries.group_comes_and_goes,
        groups.average_beside_nulls,
        groups.statistic_of_changed_group,
        subqueries.member_with_several_matches,
        groups.keys_run_together,
        sets.tagged_branches,
        limits.first_rows_below,
        limits.rows_equal_at_the_border,
        windows.running_values,
        memberships.member_by_two_columns,
        memberships.marked_by_unknown,
        memberships.member_of_groups,
        memberships.value_of_one_row,
        memberships.first_rows_of_each,
        stories.story_of_a_key,
        keyed.written_again_by_key,
        keyed.frozen_by_key,
        windows.first_of_each_key,
    )
}
"""Every intent by the name under which coverage counts it. The order is part of what decides the draws."""

TWICE_AS_OFTEN = (
    "awkward keys",
    "values of two types",
    "outer joins in a row",
    "last match leaves and returns",
    "emptied cross join",
    "pair of two times",
    "statistic of changed group",
    "group comes and goes",
    "member with several matches",
    "copies on both sides",
    "copies on both sides",
    "first rows below",
    "running values",
    "running values",
    "member by two columns",
    "member of groups",
    "value of one row",
    "first rows of each",
    "story of a key",
    "story of a key",
    "written again by key",
    "written again by key",
    "frozen by key",
    "first of each key",
)
"""Intents with several variants: drawn as often as the others, most variants would never come up. One that
stands here twice is drawn three times as often."""

__all__ = ["INTENTS", "TWICE_AS_OFTEN", "Act", "Script"]
