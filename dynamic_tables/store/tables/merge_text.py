"""The MERGE statement that applies a folded change set."""

from __future__ import annotations

from dynamic_tables.definition import Columns
from dynamic_tables.differentiate.apply import OPERATION, UPDATE
from dynamic_tables.plan.dialects import SPARK
from dynamic_tables.plan.nodes import DELETE, INSERT, ROW_ID

REFUSED = "MERGE refused"
"""How the message of a MERGE begins that met changes that do not fit."""


def merge_text(target: str, source: str, columns: Columns, *, strict: bool) -> str:
    """Returns MERGE of `source` (the columns, `$ROW_ID`, `$OPERATION`) into `target`; both are quoted SQL.

    `strict`: an INSERT of a row that exists, and an UPDATE or DELETE of one that does not, make the MERGE
    fail, so that nothing is committed. Otherwise INSERT and UPDATE write the row and DELETE does nothing.
    """
    row_id, operation = SPARK.identifier(ROW_ID), f"s.{SPARK.identifier(OPERATION.name)}"
    names = [SPARK.identifier(name) for name, _ in columns]
    is_delete = f"{operation} = '{DELETE}'"
    updated = inserted = f"s.{row_id}"
    unmatched = f" AND NOT ({is_delete})"
    if strict:
        # The check is in the expression of the row id, because every written row has that column.
        updated = _unless(f"{operation} = '{UPDATE}'", f"s.{row_id}", f"{INSERT} of a row that is there")
        inserted = _unless(f"{operation} = '{INSERT}'", f"s.{row_id}", "a change of a row that is not there")
        unmatched = ""
    sets = ", ".join([*(f"t.{name} = s.{name}" for name in names), f"t.{row_id} = {updated}"])
    values = ", ".join([*(f"s.{name}" for name in names), inserted])
    return (
        f"MERGE INTO {target} AS t USING {source} AS s ON t.{row_id} = s.{row_id} "
        f"WHEN MATCHED AND {is_delete} THEN DELETE WHEN MATCHED THEN UPDATE SET {sets} "
        f"WHEN NOT MATCHED{unmatched} THEN INSERT ({', '.join([*names, row_id])}) VALUES ({values})"
    )


def _unless(condition: str, value: str, message: str) -> str:
    """Returns SQL that is `value` if `condition` holds, and else fails with REFUSED and the message."""
    complaint = f"raise_error(concat('{REFUSED}: {message}: ', {value}))"
    return f"CASE WHEN {condition} THEN {value} ELSE CAST({complaint} AS STRING) END"
