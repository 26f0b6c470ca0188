"""The fold of a small change set, without a query: the same as the plan `differentiate.apply.fold`."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from dynamic_tables.differentiate.apply import OPERATION, UPDATE
from dynamic_tables.plan.nodes import ACTION, DELETE, INSERT, ROW_ID


def folded_here(changes: pa.Table) -> pa.Table:
    """Returns one row per row id, with `$OPERATION`: a DELETE and an INSERT of one id become an UPDATE."""
    is_insert = pc.equal(changes[ACTION], INSERT)
    inserts, deletes = changes.filter(is_insert), changes.filter(pc.invert(is_insert))
    replaced = pc.is_in(inserts[ROW_ID], value_set=deletes[ROW_ID])
    written = inserts.append_column(OPERATION.name, pc.if_else(replaced, UPDATE, INSERT))
    gone = deletes.filter(pc.invert(pc.is_in(deletes[ROW_ID], value_set=inserts[ROW_ID])))
    removed = gone.append_column(OPERATION.name, pa.array([DELETE] * gone.num_rows, pa.string()))
    return pa.concat_tables([written, removed]).drop_columns([ACTION])
