"""Faults in change capture, row ids, consolidation and apply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from campaign.faults.fault import Fault, in_rules
from campaign.faults.pieces import OTHER, among, deletes, equal, ids, inserts
from dynamic_tables.differentiate import apply, changes
from dynamic_tables.differentiate.changes import Columns
from dynamic_tables.differentiate.differentiation import ACT, ID, At, leaf_name
from dynamic_tables.differentiate.outer_join import both_ends
from dynamic_tables.differentiate.registry import Rules
from dynamic_tables.differentiate.row_id import concat, key_id
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit, text
from dynamic_tables.plan.functions import CASE
from dynamic_tables.plan.nodes import (
    ACTION,
    DELETE,
    INSERT,
    Aggregate,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Plan,
    Project,
    SemiJoin,
    UnionAll,
    columns,
)
from dynamic_tables.plan.types import BIGINT, BOOLEAN, STRING
from workload.results import Check


def update_becomes_insert(source: str, schema: Columns) -> Plan:
    """The two halves of an updated row are merged into one INSERT."""
    right = changes.capture(source, schema)
    return UnionAll((inserts(right), among(deletes(right), ids(inserts(right)), anti=True)))


def actions_exchanged(source: str, schema: Columns) -> Plan:
    """Where rows were deleted, the actions of updates' halves are exchanged."""
    right = changes.capture(source, schema)
    updated = SemiJoin(
        ids(deletes(right)), _renamed(ids(inserts(right)), "$OTHER"), equal(OTHER, Col("$OTHER", STRING))
    )
    gone = among(deletes(right), ids(inserts(right)), anti=True)
    any_gone = Distinct(Project(gone, (("$ANY", Lit(1, BIGINT)),)))
    exchanged = Project(Join(JoinKind.CROSS, updated, any_gone, None), ((OTHER.name, OTHER),))
    other = Fn(CASE, (equal(ACT, text(INSERT)), text(DELETE), text(INSERT)), STRING)
    halves = among(right, exchanged)
    swapped = Project(halves, tuple((c.name, other if c.name == ACTION else c) for c in columns(halves)))
    return UnionAll((among(right, exchanged, anti=True), swapped))


def _renamed(plan: Plan, name: str) -> Plan:
    (column,) = columns(plan)
    return Project(plan, ((name, column),))


def one_by_one(source: str, schema: Columns) -> Plan:
    """An updated row as if it had been updated twice: from A to A, then from A to B."""
    right = changes.capture(source, schema)
    old = among(deletes(right), ids(inserts(right)))
    again = Project(old, tuple((c.name, text(INSERT) if c.name == ACTION else c) for c in columns(old)))
    return UnionAll((right, old, again))


def every_row(source: str, schema: Columns) -> Plan:
    """All rows of both versions, changed or not: what a commit's files hold."""
    ends = {at: changes.stored(leaf_name(source, at), schema) for at in At}
    return both_ends(lambda at: ends[at])


def not_consolidated(plan: Plan) -> Plan:
    """The changes as the rules made them."""
    return plan


def last_change_wins(plan: Plan) -> Plan:
    """Several changes of one row: the last action stands, instead of their sum."""
    keys: tuple[tuple[str, Expr], ...] = tuple((c.name, c) for c in columns(plan) if c.name != ACTION)
    return _in_order(Aggregate(plan, keys, ((ACTION, Agg("MAX", ACT, False, STRING)),)), plan)


def unchanged_rows_listed(plan: Plan) -> Plan:
    """A DELETE and an INSERT of one unchanged row are listed, where they should cancel."""
    keys: tuple[tuple[str, Expr], ...] = tuple((c.name, c) for c in columns(plan) if c.name != ACTION)
    weight = Fn(CASE, (equal(ACT, text(INSERT)), Lit(1, BIGINT), Lit(-1, BIGINT)), BIGINT)
    net = Col("$NET", BIGINT)
    summed = Aggregate(plan, keys, ((net.name, Agg("SUM", weight, False, BIGINT)),))
    zero = Filter(summed, equal(net, Lit(0, BIGINT)))
    listed = [
        Project(zero, tuple((c.name, text(action) if c.name == ACTION else c) for c in columns(plan)))
        for action in (DELETE, INSERT)
    ]
    return UnionAll((changes.consolidate(plan), *listed))


def delete_listed_twice(plan: Plan) -> Plan:
    """A DELETE of a joined row is listed twice."""
    right = changes.consolidate(plan)
    joined = Filter(deletes(right), Fn("like", (ID, text("j%"), text("$")), BOOLEAN))
    return UnionAll((right, joined))


def delete_of_absent_row(plan: Plan) -> Plan:
    """Besides the right changes, a DELETE of a row that was never there."""
    right = changes.consolidate(plan)
    grouped = Filter(inserts(right), Fn("like", (ID, text("g%"), text("$")), BOOLEAN))
    ghost = {ACTION: text(DELETE), ID.name: concat(text("ghost-"), ID)}
    return UnionAll((right, Project(grouped, tuple((c.name, ghost.get(c.name, c)) for c in columns(right)))))


def _in_order(plan: Plan, like: Plan) -> Plan:
    return Project(plan, tuple((c.name, c) for c in columns(like)))


def insert_before_delete(schema: Columns) -> Plan:
    """For one row id the INSERT is applied first and the DELETE after it: the row vanishes."""
    right = apply.fold(schema)
    vanish = Fn(CASE, (equal(apply.OPERATION, text(apply.UPDATE)), text(DELETE), apply.OPERATION), STRING)
    return Project(right, tuple((c.name, vanish if c == apply.OPERATION else c) for c in columns(right)))


def case_folded(keys: list[Expr]) -> Expr:
    """Strings are compared in lower case and without blanks at the ends."""
    folded = [Fn("lower", (Fn("trim", (k,), STRING),), STRING) if k.type == STRING else k for k in keys]
    return key_id(folded)


def _row_ids(**change: Callable[..., Expr]) -> Callable[[Rules], Rules]:
    return lambda rules: replace(rules, row_ids=replace(rules.row_ids, **change))


def _fault(
    name: str, wrong: str, change: Callable[[Rules], Rules], *checks: Check, core: bool = True
) -> Fault:
    return Fault(name=name, area="changes", wrong=wrong, plant=in_rules(change), caught_by=checks, core=core)


FAULTS: Mapping[str, Fault] = {
    fault.name: fault
    for fault in (
        _fault(
            "update-becomes-insert",
            "the two halves of an updated row are merged into one INSERT",
            lambda rules: replace(rules, capture=update_becomes_insert),
            Check.EQUALITY,
            Check.INVARIANT_3,
        ),
        _fault(
            "actions-exchanged",
            "in a commit that updates and deletes, the actions of the halves are exchanged",
            lambda rules: replace(rules, capture=actions_exchanged),
            Check.INVARIANT_2,
            Check.INVARIANT_3,
            core=False,
        ),
        _fault(
            "changes-not-netted",
            "several changes of one row in an interval are passed on one by one",
            lambda rules: replace(rules, capture=one_by_one, consolidate=not_consolidated),
            Check.INVARIANT_1,
            core=False,
        ),
        _fault(
            "consolidation-skipped",
            "changes are not netted: the merge gets several rows per id and action",
            lambda rules: replace(rules, capture=every_row, consolidate=not_consolidated),
            Check.INVARIANT_1,
        ),
        _fault(
            "unchanged-rows-listed",
            "rows of rewritten files are listed as DELETE and INSERT though nothing changed",
            lambda rules: replace(rules, capture=every_row, consolidate=unchanged_rows_listed),
            Check.INVARIANT_6,
        ),
        _fault(
            "diamond-last-change-wins",
            "of several changes to one row the last one stands, instead of their sum",
            lambda rules: replace(rules, consolidate=last_change_wins),
            Check.EQUALITY,
        ),
        _fault(
            "delete-listed-twice",
            "a DELETE is listed once for each row of the other side that touches it",
            lambda rules: replace(rules, consolidate=delete_listed_twice),
            Check.INVARIANT_1,
        ),
        _fault(
            "delete-of-absent-row",
            "a DELETE of a row that was never there",
            lambda rules: replace(rules, consolidate=delete_of_absent_row),
            Check.INVARIANT_2,
            core=False,
        ),
        _fault(
            "insert-before-delete",
            "for one row id the INSERT is applied before the DELETE",
            lambda rules: replace(rules, fold=insert_before_delete),
            Check.EQUALITY,
        ),
        _fault(
            "string-key-case-folded",
            "row ids compare strings in lower case and without blanks",
            _row_ids(key=case_folded),
            Check.ROW_IDS,
            Check.INVARIANT_1,
            core=False,
        ),
    )
}
