"""A change set against the stored contents: validated, folded to one row per id, applied."""

from __future__ import annotations

from dynamic_tables.differentiate.changes import Columns, stored
from dynamic_tables.differentiate.differentiation import ACT, ID
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit, text
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
    columns,
)
from dynamic_tables.plan.types import BIGINT, BOOLEAN, STRING

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
    """The materialised change set."""
    pairs = tuple((column, Col(column, type_)) for column, type_ in schema)
    return Leaf(CHANGES, (*pairs, (ACTION, ACT), (ROW_ID, ID)))


def having_action(changes: Plan, action: str) -> Plan:
    """The rows of one action."""
    return Filter(changes, Fn("=", (ACT, text(action)), BOOLEAN))


def other_ids(plan: Plan) -> Plan:
    """The ids of a plan, named so that they can be compared with those of another."""
    return Project(plan, ((OTHER_ID.name, ID),))


SAME_ID: Expr = Fn("=", (ID, OTHER_ID), BOOLEAN)


def validate(schema: Columns) -> Plan:
    """One query for the validations of the paper's section 6.1 and the size of a change set.

    Columns `check`, `rows`, `example`: a row per action, and a row per broken validation. Broken is: more
    than one row with one `$ROW_ID` and `$ACTION`; a DELETE of an
    absent row; and, beyond the paper, an INSERT of a row that is there and is not deleted by the same set.
    """
    changes = change_leaf(schema)
    contents = stored(CONTENTS, schema)
    counted = Aggregate(
        changes, ((ROW_ID, ID), (ACTION, ACT)), (("$COUNT", Agg("COUNT", None, False, BIGINT)),)
    )
    duplicated = Filter(counted, Fn(">", (Col("$COUNT", BIGINT), Lit(1, BIGINT)), BOOLEAN))
    deletes, inserts = having_action(changes, DELETE), having_action(changes, INSERT)
    absent = SemiJoin(deletes, other_ids(contents), SAME_ID, anti=True)
    kept = SemiJoin(contents, other_ids(deletes), SAME_ID, anti=True)
    present = SemiJoin(inserts, other_ids(kept), SAME_ID)
    broken = UnionAll(
        tuple(
            Project(rows, (("check", text(check)), ("example", ID)))
            for check, rows in (
                (INSERT, inserts),
                (DELETE, deletes),
                (DUPLICATED, duplicated),
                (ABSENT, absent),
                (PRESENT, present),
            )
        )
    )
    count: tuple[str, Agg] = ("rows", Agg("COUNT", None, False, BIGINT))
    example: tuple[str, Agg] = ("example", Agg("MIN", Col("example", STRING), False, STRING))
    return Aggregate(broken, (("check", Col("check", STRING)),), (count, example))


def fold(schema: Columns) -> Plan:
    """One row per id with `$OPERATION`: a DELETE and an INSERT of one id are an UPDATE."""
    changes = change_leaf(schema)
    deletes, inserts = having_action(changes, DELETE), having_action(changes, INSERT)
    paired = Join(JoinKind.LEFT, inserts, other_ids(deletes), SAME_ID)
    operation: Expr = Fn(CASE, (Fn("is null", (OTHER_ID,), BOOLEAN), text(INSERT), text(UPDATE)), STRING)
    written = Project(paired, _items(schema, operation))
    removed = Project(SemiJoin(deletes, other_ids(inserts), SAME_ID, anti=True), _items(schema, text(DELETE)))
    return UnionAll((written, removed))


def _items(schema: Columns, operation: Expr) -> tuple[tuple[str, Expr], ...]:
    return (*((name, Col(name, type_)) for name, type_ in schema), (ROW_ID, ID), (OPERATION.name, operation))


def apply(schema: Columns) -> Plan:
    """The contents after a folded change set: what MERGE does on Delta, as a plan."""
    contents = stored(CONTENTS, schema)
    folded = Leaf(FOLDED, (*contents.columns, (OPERATION.name, OPERATION)))
    untouched = SemiJoin(contents, other_ids(folded), SAME_ID, anti=True)
    kept = Filter(folded, Fn("<>", (OPERATION, text(DELETE)), BOOLEAN))
    written = Project(kept, tuple((column.name, column) for column in columns(contents)))
    return UnionAll((untouched, written))
