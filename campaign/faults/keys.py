"""Faults in primary keys and frozen parts: which row is which, and which may not change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from campaign.faults.fault import in_protocol, in_row_ids, in_rules, part_fault
from dynamic_tables.definition import DynamicTable
from dynamic_tables.differentiate import keys
from dynamic_tables.differentiate.changes import named
from dynamic_tables.differentiate.differentiation import At
from dynamic_tables.differentiate.linear import same
from dynamic_tables.differentiate.row_id import RowIds, primary_id
from dynamic_tables.frozen import Bind, FrozenPart
from dynamic_tables.plan.expressions import Col, Expr, Fn, Lit, boolean, conjunction
from dynamic_tables.plan.nodes import ROW_ID, Filter, Leaf, Plan, Project
from dynamic_tables.plan.types import INT, STRING, Columns
from dynamic_tables.reading.values.passed import TypeOf
from workload.outcomes.results import Check


def first_column_alone(values: Sequence[Expr]) -> Expr:
    """Of a primary key of several columns only the first one is compared."""
    return primary_id(values[:1])


def null_as_zero(values: Sequence[Expr]) -> Expr:
    """In a primary key NULL and 0 are the same value."""
    return primary_id(
        [Fn("coalesce", (value, Lit(0, INT)), INT) if value.type == INT else value for value in values]
    )


def without_nulls(source: str, at: At, schema: Columns, key: keys.Key, row_ids: RowIds) -> Plan:
    """Rows with a NULL in their primary key are overlooked."""
    known = keys.keyed(source, at, schema, key, row_ids)
    there = [boolean("not", boolean("is null", Col(name, type_))) for name, type_ in schema if name in key]
    return Filter(known, conjunction(there))


def identity_of_the_file(source: str, at: At, schema: Columns, key: keys.Key, row_ids: RowIds) -> Plan:
    """A primary key is not used: each row of a table that is written again counts as changed."""
    leaf = Leaf(keys.rows_of(source, at), (*named(schema), (ROW_ID, Col(ROW_ID, STRING))))
    return Project(leaf, same(leaf))


def at_the_end_only(source: str, at: At, schema: Columns, key: keys.Key, row_ids: RowIds) -> Plan:
    """At the start of an interval rows have the ids of their files, and at its end those of their keys."""
    by = keys.keyed if at is At.T1 else identity_of_the_file
    return by(source, at, schema, key, row_ids)


def late_changes_applied(
    table: DynamicTable, timestamp: int, bind: Bind, type_of: TypeOf | None
) -> FrozenPart:
    """Late changes of the sources change and delete rows of the frozen part."""
    return replace(FrozenPart.of(table, timestamp, bind, type_of), condition="FALSE")


def boundary_thawed(table: DynamicTable, timestamp: int, bind: Bind, type_of: TypeOf | None) -> FrozenPart:
    """The boundary of the frozen part is off by one: rows that lie on it are not frozen."""
    part = FrozenPart.of(table, timestamp, bind, type_of)
    return replace(part, condition=part.condition.replace("<=", "<"))


_fault = partial(part_fault, area="keys", replacing=in_rules, core=False)
_primary = partial(part_fault, area="keys", replacing=in_row_ids)
_frozen = partial(_fault, replacing=in_protocol)

FAULTS = (
    _primary("key-compared-in-part", "primary", first_column_alone, Check.REFRESH_ERROR),
    _primary("key-null-is-zero", "primary", null_as_zero, Check.REFRESH_ERROR, core=False),
    _fault("key-with-null-overlooked", "keyed", without_nulls, Check.EQUALITY),
    _frozen("late-changes-applied", "frozen", late_changes_applied, Check.EQUALITY, Check.INVARIANT_2),
    _frozen("frozen-boundary-off", "frozen", boundary_thawed, Check.EQUALITY),
    # On Delta the rows that a key identifies are read without other ids.
    _fault("key-not-used", "keyed", identity_of_the_file, Check.INVARIANT_6, only_on="rules"),
    _fault("key-at-the-end-only", "keyed", at_the_end_only, Check.INVARIANT_2, only_on="rules"),
)
