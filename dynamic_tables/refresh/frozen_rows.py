"""A refresh of a table with a frozen part: which stored rows stay, and which changes come too late."""

from __future__ import annotations

from dynamic_tables.definition import DynamicTable, View
from dynamic_tables.differentiate.apply import CHANGES
from dynamic_tables.differentiate.changes import identify, named
from dynamic_tables.differentiate.differentiation import ACT, At
from dynamic_tables.differentiate.keys import rows_of
from dynamic_tables.errors import StoreError
from dynamic_tables.frozen import FrozenPart
from dynamic_tables.plan.nodes import ACTION, ROW_ID, Leaf, Plan, UnionAll
from dynamic_tables.plan.types import STRING
from dynamic_tables.refresh.plans import Plans
from dynamic_tables.store.port import Relation, Store

FRESH, KEPT = "fresh", "kept"
"""The names of two leaves: the rows that the query gives now, and the rows whose frozen ones stay."""


def active_changes(part: FrozenPart, changes: Relation, store: Store) -> Relation:
    """Returns the changes of rows that are not frozen; the others come too late, and change nothing."""
    rows = part.rows(CHANGES, ((ACTION, STRING), (ROW_ID, STRING)), frozen=False)
    return store.compute(part.identified(rows, (ACT,)), {CHANGES: changes}, once=True)


def history_of(table: DynamicTable, store: Store, plans: Plans, *, first: bool) -> Relation | None:
    """Returns the rows whose frozen ones stay: those stored, or at first those of `backfill_from`.

    None where there are none yet. Raises StoreError: the table to copy from is not there.
    """
    if not first:
        # A table that is written anew, because another writer has edited its rows, keeps the frozen ones.
        return store.current(table, edited=True)
    if not table.backfill_from:
        return None
    source = store.definitions().get(table.backfill_from)
    versions = () if source is None or isinstance(source, View) else store.history(source).versions
    if not versions or source is None:
        raise StoreError(f"{table.backfill_from}, whose rows {table.name} begins with, is not there any more")
    rows = store.snapshot(source.name, versions[-1].version, ids=False)
    if not table.incremental:
        return rows
    plan = plans.of(identify, source.name, At.T1, table.columns, plans.rules.row_ids)
    return store.compute(plan, {rows_of(source.name, At.T1): rows}, once=True)


def with_history(
    part: FrozenPart, table: DynamicTable, fresh: Relation, kept: Relation | None, store: Store
) -> Relation:
    """Returns the rows of `fresh` that are not frozen, and the rows of `kept` that are.

    `fresh`: the rows of the query; all of them where `kept`, which `history_of` gives, is None.
    """
    more = ((ROW_ID, STRING),) if table.incremental else ()
    plan: Plan = Leaf(FRESH, named((*table.columns, *more)))
    if kept is not None:
        plan = part.rows(FRESH, more, frozen=False)
    if table.incremental:
        plan = part.identified(plan, ())
    leaves = {FRESH: fresh}
    if kept is not None:
        plan = UnionAll((plan, part.rows(KEPT, more, frozen=True)))
        leaves = {FRESH: fresh, KEPT: kept}
    return store.compute(plan, leaves, once=True)
