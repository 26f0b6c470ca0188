"""Plans over a change set and the stored contents: validate, fold to one row per row id, apply."""

from __future__ import annotations

from dynamic_tables.differentiate.changes import Columns, named, stored
from dynamic_tables.differentiate.differentiation import ACT, ID
from dynamic_tables.differentiate.linear import same
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit, boolean, text
from dynamic_tables.plan.functions import CASE
from dynamic_tables.plan.nodes import (
    ACTION,
    DELETE,
    INSERT,
    ROW_ID,
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Leaf,
    Plan,
    Project,
    SemiJoin,
    UnionAll,
)
from dynamic_tables.plan.types import BIGINT, STRING

CHANGES = "change_set"
CONTENTS = "contents"
FOLDED = "folded"

OPERATION = Col("$OPERATION", STRING)
UPDATE = "UPDATE"

OTHER_ID = Col("$OTHER_ID", STRING)

DUPLICATED = "duplicated"
ABSENT = "absent"
PRESENT = "present"


def change_leaf(schema: Columns) -> Leaf:
    """Returns the leaf of the materialised change set: the columns, `$ACTION`, `$ROW_ID`."""
    return Leaf(CHANGES, (*named(schema), (ACTION, ACT), (ROW_ID, ID)))


def having_action(changes: Plan, action: str) -> Plan:
    """Returns the rows of a change set with one action."""
    return Filter(changes, boolean("=", ACT, text(action)))


def other_ids(plan: Plan) -> Plan:
    """Returns the row ids of a plan under another name, to compare them with the ids of a second plan."""
    return Project(plan, ((OTHER_ID.name, ID),))


# Row ids are never NULL, so plain equality compares them.
SAME_ID: Expr = boolean("=", ID, OTHER_ID)


def validate_changes(schema: Columns) -> Plan:
    """Returns the part of `validate` that needs the change set alone: its size, and what is duplicated."""
    changes = change_leaf(schema)
    return _checked(
        (
            (INSERT, having_action(changes, INSERT)),
            (DELETE, having_action(changes, DELETE)),
            (DUPLICATED, _duplicated(schema)),
        )
    )


def _duplicated(schema: Columns) -> Plan:
    count: tuple[str, Agg] = ("$COUNT", Agg("COUNT", None, False, BIGINT))
    counted = Aggregate(change_leaf(schema), ((ROW_ID, ID), (ACTION, ACT)), (count,))
    return Filter(counted, boolean(">", Col("$COUNT", BIGINT), Lit(1, BIGINT)))


def _checked(checks: tuple[tuple[str, Plan], ...]) -> Plan:
    checked = UnionAll(
        tuple(Project(rows, (("check", text(check)), ("example", ID))) for check, rows in checks)
    )
    count: tuple[str, Agg] = ("rows", Agg("COUNT", None, False, BIGINT))
    example: tuple[str, Agg] = ("example", Agg("MIN", Col("example", STRING), False, STRING))
    return Aggregate(checked, (("check", Col("check", STRING)),), (count, example))


def validate(schema: Columns) -> Plan:
    """Returns one query for the validations of a change set (DVS paper, section 6.1) and for its size.

    Its columns are `check`, `rows`, `example`: a row for each action with its number of rows, and a row for
    each validation that fails. The validations: at most one row per `$ROW_ID` and `$ACTION`; no DELETE of an
    absent row; and, beyond the paper, no INSERT of a present row that the change set does not delete.
    """
    changes = change_leaf(schema)
    contents = stored(CONTENTS, schema)
    deletes, inserts = having_action(changes, DELETE), having_action(changes, INSERT)
    absent = SemiJoin(deletes, other_ids(contents), SAME_ID, anti=True)
    remaining = SemiJoin(contents, other_ids(deletes), SAME_ID, anti=True)
    present = SemiJoin(inserts, other_ids(remaining), SAME_ID)
    return _checked(
        (
            (INSERT, inserts),
            (DELETE, deletes),
            (DUPLICATED, _duplicated(schema)),
            (ABSENT, absent),
            (PRESENT, present),
        )
    )


def fold(schema: Columns) -> Plan:
    """Returns one row per row id, with `$OPERATION`: a DELETE and an INSERT of one id become an UPDATE."""
    changes = change_leaf(schema)
    deletes, inserts = having_action(changes, DELETE), having_action(changes, INSERT)
    paired = Join(JoinKind.LEFT, inserts, other_ids(deletes), SAME_ID)
    operation: Expr = Fn(CASE, (boolean("is null", OTHER_ID), text(INSERT), text(UPDATE)), STRING)
    written = Project(paired, _items(schema, operation))
    removed = Project(SemiJoin(deletes, other_ids(inserts), SAME_ID, anti=True), _items(schema, text(DELETE)))
    return UnionAll((written, removed))


def _items(schema: Columns, operation: Expr) -> tuple[tuple[str, Expr], ...]:
    return (*named(schema), (ROW_ID, ID), (OPERATION.name, operation))


def apply(schema: Columns) -> Plan:
    """Returns the contents after a folded change set is applied, as MERGE does it on Delta."""
    contents = stored(CONTENTS, schema)
    folded = Leaf(FOLDED, (*contents.columns, (OPERATION.name, OPERATION)))
    untouched = SemiJoin(contents, other_ids(folded), SAME_ID, anti=True)
    written = Project(Filter(folded, boolean("<>", OPERATION, text(DELETE))), same(contents))
    return UnionAll((untouched, written))
