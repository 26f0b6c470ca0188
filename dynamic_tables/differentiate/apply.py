"""Plans over a change set and the stored contents: validate, fold to one row per row id, apply.

A change set has the columns of the table, `$ACTION` (INSERT or DELETE) and `$ROW_ID`. An UPDATE is a DELETE
of the old row and an INSERT of the new one under the same row id. The paper validates a change set before the
merge (section 6.1). `fold` makes of it what a MERGE takes: one row for each row id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
    """Returns the part of `validate` that needs only the change set: its size, and duplicated rows.

    For a store whose merge itself refuses changes that do not fit the contents, so they are not read here.
    """
    return _checked(_written(schema), SIZES, (DUPLICATED,))


def validate(schema: Columns) -> Plan:
    """Returns one query for the validations of a change set (DVS paper, section 6.1) and for its size.

    Its one row has the number of rows with each action, and for each validation the number of rows that
    violate it, and the row id of one of them. The validations: at most one row per `$ROW_ID` and `$ACTION`;
    no DELETE of an absent row; and, beyond the paper, no INSERT of a present row that the change set does
    not delete.
    """
    # One UNION ALL and one grouping by row id, not a join for each validation: rows of the change set bring
    # their INSERT or DELETE, and stored rows bring a 1 in `$HELD`.
    held = Project(stored(CONTENTS, schema), _counted(NONE, NONE, ONE))
    rows = UnionAll((_written(schema), held))
    return _checked(rows, SIZES, tuple(VIOLATIONS))


ONE, NONE = Lit(1, BIGINT), Lit(0, BIGINT)

INSERTS, DELETES, HELD = Col("$INSERTS", BIGINT), Col("$DELETES", BIGINT), Col("$HELD", BIGINT)
"""How often a row id is inserted, deleted, and stored."""

SIZES: Mapping[str, Expr] = {INSERT: INSERTS, DELETE: DELETES}


def _several(count: Col) -> Expr:
    """Returns 1 where a row id has one action more than once, else 0."""
    return Fn(CASE, (boolean(">", count, ONE), ONE, NONE), BIGINT)


VIOLATIONS: Mapping[str, Expr] = {
    DUPLICATED: Fn("+", (_several(INSERTS), _several(DELETES)), BIGINT),
    ABSENT: Fn(CASE, (boolean("=", HELD, NONE), DELETES, NONE), BIGINT),
    PRESENT: Fn(
        CASE,
        (boolean("and", boolean(">", HELD, NONE), boolean("=", DELETES, NONE)), INSERTS, NONE),
        BIGINT,
    ),
}
"""By validation: how many rows of one row id violate it, over the counts of that id."""


def example_of(violation: str) -> str:
    """Returns the column with the row id of a row that violates a validation."""
    return f"{violation} example"


def _counted(inserts: Expr, deletes: Expr, held: Expr) -> tuple[tuple[str, Expr], ...]:
    return ((ROW_ID, ID), (INSERTS.name, inserts), (DELETES.name, deletes), (HELD.name, held))


def _written(schema: Columns) -> Plan:
    """Returns the row ids of the change set, each with what its row does."""
    inserts, deletes = (
        Fn(CASE, (boolean("=", ACT, text(action)), ONE, NONE), BIGINT) for action in (INSERT, DELETE)
    )
    return Project(change_leaf(schema), _counted(inserts, deletes, NONE))


def _checked(rows: Plan, sizes: Mapping[str, Expr], violations: Iterable[str]) -> Plan:
    """Returns one row: the sums of `sizes`, and for each violation its number of rows and one row id."""
    # First one row for each row id, with its counts; then the violations of all ids are summed.
    by_id = Aggregate(
        rows,
        ((ROW_ID, ID),),
        tuple((count.name, Agg("SUM", count, False, BIGINT)) for count in (INSERTS, DELETES, HELD)),
    )
    found = {name: VIOLATIONS[name] for name in violations}
    bad = {name: boolean(">", Col(name, BIGINT), NONE) for name in found}
    counted = Project(by_id, ((ROW_ID, ID), *sizes.items(), *found.items()))
    sums = tuple((name, Agg("SUM", Col(name, BIGINT), False, BIGINT)) for name in (*sizes, *found))
    examples = tuple(
        (example_of(name), Agg("MIN", Fn(CASE, (condition, ID, Lit(None, STRING)), STRING), False, STRING))
        for name, condition in bad.items()
    )
    return Aggregate(counted, (), (*sums, *examples))


def fold(schema: Columns) -> Plan:
    """Returns one row per row id, with `$OPERATION`: a DELETE and an INSERT of one id become an UPDATE."""
    changes = change_leaf(schema)
    deletes, inserts = having_action(changes, DELETE), having_action(changes, INSERT)
    # An UPDATE needs the new row only: the old one is found by its id.
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
