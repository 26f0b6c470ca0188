"""Faults in change capture, consolidation, apply and the row ids of keys."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from campaign.faults.fault import in_row_ids, in_rules, part_fault
from campaign.faults.pieces import OTHER, among, deletes, equal, ids, inserts, recomputed
from dynamic_tables.differentiate import apply, changes
from dynamic_tables.differentiate.changes import Columns
from dynamic_tables.differentiate.differentiation import ACT, ID, At, leaf_name
from dynamic_tables.differentiate.outer_join import both_ends
from dynamic_tables.differentiate.row_id import concat, key_id
from dynamic_tables.plan import nodes
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit, text
from dynamic_tables.plan.functions import CASE, FIELD
from dynamic_tables.plan.nested_types import fields_of
from dynamic_tables.plan.types import BIGINT, BOOLEAN, INT, STRING, VARIANT
from workload.outcomes.results import Check


def update_becomes_insert(source: str, schema: Columns) -> nodes.Plan:
    """The DELETE and the INSERT of an updated row are merged into one INSERT."""
    right = changes.capture(source, schema)
    return nodes.UnionAll((inserts(right), among(deletes(right), ids(inserts(right)), anti=True)))


def actions_exchanged(source: str, schema: Columns) -> nodes.Plan:
    """In an interval that deletes rows, the DELETE and the INSERT of each updated row are exchanged."""
    right = changes.capture(source, schema)
    other_ids = nodes.Project(ids(inserts(right)), (("$OTHER", OTHER),))
    updated = nodes.SemiJoin(ids(deletes(right)), other_ids, equal(OTHER, Col("$OTHER", STRING)))
    deleted = among(deletes(right), ids(inserts(right)), anti=True)
    any_deleted = nodes.Distinct(nodes.Project(deleted, (("$ANY", Lit(1, BIGINT)),)))
    exchanged = nodes.Project(
        nodes.Join(nodes.JoinKind.CROSS, updated, any_deleted, None), ((OTHER.name, OTHER),)
    )
    opposite = Fn(CASE, (equal(ACT, text(nodes.INSERT)), text(nodes.DELETE), text(nodes.INSERT)), STRING)
    swapped = recomputed(among(right, exchanged), {nodes.ACTION: opposite})
    return nodes.UnionAll((among(right, exchanged, anti=True), swapped))


def one_by_one(source: str, schema: Columns) -> nodes.Plan:
    """Several changes of one row in an interval are listed one by one: here A to A, then A to B."""
    right = changes.capture(source, schema)
    old = among(deletes(right), ids(inserts(right)))
    return nodes.UnionAll((right, old, recomputed(old, {nodes.ACTION: text(nodes.INSERT)})))


def every_row(source: str, schema: Columns) -> nodes.Plan:
    """Rows are listed as DELETE and INSERT though nothing changed, as if whole files were the changes."""
    ends = {at: changes.stored(leaf_name(source, at), schema) for at in At}
    return both_ends(lambda at: ends[at])


def documents_alike(source: str, schema: Columns) -> nodes.Plan:
    """An update that changes a document (VARIANT) and nothing else is no change: all documents look alike."""
    others = changes.capture(source, tuple((name, type_) for name, type_ in schema if type_ != VARIANT))
    return among(changes.capture(source, schema), ids(others))


def not_consolidated(plan: nodes.Plan) -> nodes.Plan:
    """Changes are not consolidated: a DELETE and an INSERT of an equal row do not cancel."""
    return plan


def _all_but_action(plan: nodes.Plan) -> tuple[tuple[str, Expr], ...]:
    return tuple((c.name, c) for c in nodes.columns(plan) if c.name != nodes.ACTION)


def last_change_wins(plan: nodes.Plan) -> nodes.Plan:
    """Of several changes of one row the last action stands, instead of their sum."""
    last = nodes.Aggregate(plan, _all_but_action(plan), ((nodes.ACTION, Agg("MAX", ACT, False, STRING)),))
    return recomputed(last, {}, nodes.columns(plan))


def unchanged_rows_listed(plan: nodes.Plan) -> nodes.Plan:
    """A DELETE and an INSERT of an unchanged row are listed once, where they should cancel."""
    weight = Fn(CASE, (equal(ACT, text(nodes.INSERT)), Lit(1, BIGINT), Lit(-1, BIGINT)), BIGINT)
    net = Col("$NET", BIGINT)
    summed = nodes.Aggregate(plan, _all_but_action(plan), ((net.name, Agg("SUM", weight, False, BIGINT)),))
    unchanged = nodes.Filter(summed, equal(net, Lit(0, BIGINT)))
    listed = [
        recomputed(unchanged, {nodes.ACTION: text(action)}, nodes.columns(plan))
        for action in (nodes.DELETE, nodes.INSERT)
    ]
    return nodes.UnionAll((changes.consolidate(plan), *listed))


def delete_listed_twice(plan: nodes.Plan) -> nodes.Plan:
    """A DELETE of a joined row is listed twice."""
    right = changes.consolidate(plan)
    # Ids of joined rows start with j, those of groups with g (`row_id`).
    joined = nodes.Filter(deletes(right), Fn("like", (ID, text("j%"), text("$")), BOOLEAN))
    return nodes.UnionAll((right, joined))


def delete_of_absent_row(plan: nodes.Plan) -> nodes.Plan:
    """With each INSERT of a group comes a DELETE of a row that never existed."""
    right = changes.consolidate(plan)
    grouped = nodes.Filter(inserts(right), Fn("like", (ID, text("g%"), text("$")), BOOLEAN))
    ghost = {nodes.ACTION: text(nodes.DELETE), ID.name: concat(text("ghost-"), ID)}
    return nodes.UnionAll((right, recomputed(grouped, ghost)))


def insert_before_delete(schema: Columns) -> nodes.Plan:
    """For one row id the INSERT is applied before the DELETE, so an updated row disappears."""
    vanish = Fn(
        CASE, (equal(apply.OPERATION, text(apply.UPDATE)), text(nodes.DELETE), apply.OPERATION), STRING
    )
    return recomputed(apply.fold(schema), {apply.OPERATION.name: vanish})


def case_folded(keys: list[Expr]) -> Expr:
    """Row ids made of keys compare strings in lower case and without blanks at the ends."""
    folded = [Fn("lower", (Fn("trim", (k,), STRING),), STRING) if k.type == STRING else k for k in keys]
    return key_id(folded)


def without_lengths(keys: Sequence[Expr]) -> Expr:
    """Row ids made of keys join the texts of strings without their lengths, and write NULL as a letter."""
    parts = (Fn("coalesce", (k, text("n")), STRING) if k.type == STRING else key_id([k]) for k in keys)
    return concat(text("g"), *parts)


def of_fields_alone(keys: Sequence[Expr]) -> Expr:
    """Row ids made of a STRUCT hold its fields alone, so that NULL and a STRUCT of NULLs share one."""
    parts: list[Expr] = []
    for key in keys:
        fields = fields_of(key.type) or ()
        parts += [Fn(FIELD, (key, text(name)), type_) for name, type_ in fields] or [key]
    return key_id(parts)


def nulls_not_written(schema: Columns) -> nodes.Plan:
    """An update that sets a value to NULL leaves the old value, as `SET a = coalesce(s.a, a)` does."""
    contents = changes.stored(apply.CONTENTS, schema)
    old = nodes.Project(
        contents, tuple((f"$OLD_{column.name}", column) for column in nodes.columns(contents))
    )
    paired = nodes.Join(
        nodes.JoinKind.LEFT, apply.apply(schema), old, equal(ID, Col(f"$OLD_{ID.name}", STRING))
    )
    kept = {
        name: Fn("coalesce", (Col(name, type_), Col(f"$OLD_{name}", type_)), type_) for name, type_ in schema
    }
    return recomputed(paired, kept, nodes.columns(contents))


def counts_swapped(schema: Columns) -> nodes.Plan:
    """The record of a refresh gives the number of its DELETEs as that of its INSERTs, and the other way."""
    inserted, deleted = (Col(action, BIGINT) for action in (nodes.INSERT, nodes.DELETE))
    return recomputed(apply.validate(schema), {nodes.INSERT: deleted, nodes.DELETE: inserted})


MANY_ROWS = 25
"""Fewer rows than the intent "many rows" changes, more than any other change set has."""


def cut_off(source: str, schema: Columns) -> nodes.Plan:
    """Of more than 25 rows that come, or go, those beyond the 25th are cut off."""
    numbered = nodes.Numbered(changes.capture(source, schema), (Col(nodes.ACTION, STRING),), "$NUMBER")
    first = Fn("<=", (Col(numbered.name, INT), Lit(MANY_ROWS, INT)), BOOLEAN)
    return recomputed(nodes.Filter(numbered, first), {}, nodes.columns(numbered)[:-1])


_fault = partial(part_fault, area="changes", replacing=in_rules)
_rare = partial(_fault, core=False)
_key = partial(_rare, replacing=in_row_ids)
_one_by_one = partial(in_rules, consolidate=not_consolidated)
_unchanged = partial(in_rules, consolidate=unchanged_rows_listed)
_every_row = partial(in_rules, capture=every_row)

FAULTS = (
    _key("id-without-lengths", "key", without_lengths, Check.ROW_IDS, Check.INVARIANT_1),
    _rare("null-update-lost", "apply", nulls_not_written, Check.EQUALITY),
    _rare(
        "documents-look-alike", "capture", documents_alike, Check.EQUALITY, only_on="delta", documents=True
    ),
    _rare("rows-cut-off", "capture", cut_off, Check.EQUALITY),
    _rare("counts-swapped", "validate", counts_swapped, Check.COUNTS),
    _fault("update-becomes-insert", "capture", update_becomes_insert, Check.EQUALITY, Check.INVARIANT_3),
    _rare("actions-exchanged", "capture", actions_exchanged, Check.INVARIANT_2, Check.INVARIANT_3),
    _rare("changes-not-netted", "capture", one_by_one, Check.INVARIANT_1, replacing=_one_by_one),
    _fault("consolidation-skipped", "consolidate", not_consolidated, Check.INVARIANT_1, replacing=_every_row),
    _fault("unchanged-rows-listed", "capture", every_row, Check.INVARIANT_6, replacing=_unchanged),
    _fault("diamond-last-change-wins", "consolidate", last_change_wins, Check.EQUALITY),
    _fault("delete-listed-twice", "consolidate", delete_listed_twice, Check.INVARIANT_1),
    _rare("delete-of-absent-row", "consolidate", delete_of_absent_row, Check.INVARIANT_2),
    _fault("insert-before-delete", "fold", insert_before_delete, Check.EQUALITY),
    _key("struct-key-of-fields-alone", "key", of_fields_alone, Check.ROW_IDS, Check.INVARIANT_1),
    _key("string-key-case-folded", "key", case_folded, Check.ROW_IDS, Check.INVARIANT_1),
)
