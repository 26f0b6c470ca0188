"""Which refresh actions are due where a statement changed no row."""

from __future__ import annotations

import pytest

from campaign.judging.expectations import SourceHistory
from workload.dml import Delete, Dml, Insert, Merge, Optimize, Overwrite, Restore
from workload.outcomes.trace import Action
from workload.query import ColumnRef, Item, Named, Select
from workload.scenario import Commit, Create, DynamicTable, Refresh, Scenario
from workload.schema import Column, Table
from workload.types import INT

QUERY = Select((Item(ColumnRef("r", "a", INT), "a"),), Named("r", "r"))


MERGE = Merge("r", ("a",), ((1,),), None, insert_unmatched=False)


@pytest.mark.parametrize(
    ("statements", "without_effect", "due"),
    [
        ((Insert("r", ((1,),)),), False, {Action.INCREMENTAL}),
        ((Delete("r", None),), False, {Action.INCREMENTAL}),
        # A version that Delta makes of it as a part of a larger transaction holds the same rows.
        ((Delete("r", None),), True, {Action.INCREMENTAL, Action.NO_DATA}),
        ((Delete("r", None), Optimize("r")), True, {Action.INCREMENTAL, Action.NO_DATA}),
        ((Delete("r", None), Optimize("r")), False, {Action.INCREMENTAL}),
        ((MERGE,), True, {Action.INCREMENTAL, Action.NO_DATA}),
        ((MERGE,), False, {Action.INCREMENTAL}),
        ((Restore("r", 10),), True, {Action.INCREMENTAL, Action.NO_DATA}),
        # Equal rows, but with other identities.
        ((Overwrite("r", ((1,),)),), True, {Action.INCREMENTAL}),
        # No rows before, and none after.
        ((Overwrite("r", ()),), True, {Action.INCREMENTAL, Action.NO_DATA}),
        ((Overwrite("r", ()),), False, {Action.INCREMENTAL}),
    ],
)
def test_a_statement_without_effect_may_be_no_data(
    statements: tuple[Dml, ...], without_effect: bool, due: set[Action]
) -> None:
    scenario = Scenario(
        name="one commit",
        tables=(Table("r", (Column("a", INT),)),),
        definitions=(DynamicTable("d", QUERY),),
        steps=(Create(10, "d"), Commit(20, statements), Refresh(30, "d", 30)),
    )
    idle = {("r", 20)} if without_effect else set()
    assert SourceHistory(scenario, {"r": [20]}, idle).actions_due("d", True, 10, 30) == due
