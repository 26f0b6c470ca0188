"""Primary keys in a refresh: no two rows of a source have one, or the refresh fails and names both rows."""

from __future__ import annotations

from dynamic_tables.definition import BaseTable, DynamicTable
from dynamic_tables.differentiate.differentiation import At, leaf_name
from dynamic_tables.differentiate.keys import rows_of, with_id
from dynamic_tables.errors import KeyNotUnique
from dynamic_tables.refresh.plans import Plans
from dynamic_tables.store.port import Relation, Store


def key_of(definition: BaseTable | DynamicTable) -> tuple[str, ...]:
    """Returns the columns of a table's primary key; none where it has no key."""
    return definition.key if isinstance(definition, BaseTable) else ()


def ensure_unique(
    table: BaseTable, rows: Relation, changes: Relation | None, store: Store, plans: Plans
) -> None:
    """Raises KeyNotUnique: two rows have one key, of which one came with the changes.

    `rows`: all rows at the end of the interval, without ids. `changes`: the changes in the interval; None:
    the keys of all rows are looked at.
    """
    rules, came = plans.rules, changes is not None
    end = rows_of(table.name, At.T1)
    leaves = {end: rows} if changes is None else {end: rows, leaf_name(table.name, None): changes}
    plan = plans.of(rules.shared_key, table.name, table.columns, table.key, rules.row_ids, came)
    ((row_id,),) = store.compute(plan, leaves, once=True, few=True).rows()
    if row_id is None:
        return
    # The one id is a constant of the plan, so the plan is not kept.
    plan = with_id(table.name, table.columns, table.key, rules.row_ids, str(row_id))
    found = store.compute(plan, {end: rows}, once=False).rows()
    names = [name for name, _ in table.columns]
    places = [names.index(name) for name in table.key]
    one, other = sorted(found, key=repr)[:2]
    shown = ", ".join(f"{name} = {one[place]!r}" for name, place in zip(table.key, places, strict=True))
    raise KeyNotUnique(
        f"{len(found)} rows of {table.name} have the primary key {shown}: "
        f"{_shown(names, one)} and {_shown(names, other)}; delete one, or attach the table without the key"
    )


def _shown(names: list[str], row: tuple[object, ...]) -> str:
    """Returns a row for a message, such as `(id = 1, name = 'a')`."""
    return "(" + ", ".join(f"{name} = {value!r}" for name, value in zip(names, row, strict=True)) + ")"
