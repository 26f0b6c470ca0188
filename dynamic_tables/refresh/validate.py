"""The engine's own validations of a change set (DVS paper, section 6.1)."""

from __future__ import annotations

from dynamic_tables.definition import DynamicTable
from dynamic_tables.differentiate.apply import ABSENT, CHANGES, CONTENTS, DUPLICATED, PRESENT
from dynamic_tables.plan.nodes import DELETE, INSERT
from dynamic_tables.refresh.change_set import ChangeSet, ChangeSetRefused
from dynamic_tables.refresh.plans import Plans
from dynamic_tables.store.port import Relation, Store

MESSAGES = {
    DUPLICATED: "{rows} pairs of $ROW_ID and $ACTION occur more than once in the change set",
    ABSENT: "{rows} DELETEs of rows that are not in the table",
    PRESENT: "{rows} INSERTs of rows that are in the table and stay there",
}


def validate(
    table: DynamicTable,
    timestamp: int,
    changes: ChangeSet,
    contents: Relation,
    store: Store,
    plans: Plans,
    enforce: bool,
) -> tuple[int, int]:
    """How many rows a change set inserts and deletes.

    Raises ChangeSetRefused, before anything is committed, where a validation fails and `enforce` is on.
    """
    bound = {CHANGES: changes.relation, CONTENTS: contents}
    counted = {
        str(check): (int(str(rows)), str(example))
        for check, rows, example in store.compute(plans.validate(table.columns), bound, once=False).rows()
    }
    broken = [
        f"{MESSAGES[check].format(rows=rows)} (for example {example})"
        for check, (rows, example) in sorted(counted.items())
        if check in MESSAGES
    ]
    if broken and enforce:
        raise ChangeSetRefused(table.name, timestamp, "; ".join(broken), changes)
    return counted.get(INSERT, (0, ""))[0], counted.get(DELETE, (0, ""))[0]
