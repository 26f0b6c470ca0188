"""Faults in outer joins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from campaign.faults.fault import Fault, in_operator
from campaign.faults.pieces import (
    OTHER,
    OUTER,
    all_of,
    among,
    deletes,
    equal,
    full_delta,
    ids,
    inserts,
    joins_in,
)
from dynamic_tables.differentiate import inner_join, outer_join
from dynamic_tables.differentiate.differentiation import ID, At, Differentiation
from dynamic_tables.differentiate.inner_join import LEFT_ID, RIGHT_ID, with_id_as
from dynamic_tables.differentiate.linear import id_item, same
from dynamic_tables.differentiate.outer_join import AFFECTED, condition, marked, only_affected
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit, walk
from dynamic_tables.plan.functions import CASE
from dynamic_tables.plan.nodes import (
    INSERT,
    Aggregate,
    Distinct,
    Join,
    JoinKind,
    Plan,
    Project,
    SemiJoin,
    UnionAll,
    columns,
)
from dynamic_tables.plan.types import BOOLEAN, INT, STRING
from workload.results import Check

Rule = Callable[[Join, bool, Differentiation], Plan]


def left_join_with(
    affected: Callable[[Join, Differentiation], Plan] | None = None,
    part: Callable[[Join, Plan, At, bool, Differentiation], Plan] | None = None,
) -> Rule:
    """The left join's derivative with one of its two pieces replaced."""

    def rule(node: Join, want_ids: bool, d: Differentiation) -> Plan:
        rows = (affected or _affected)(node, d)
        return outer_join.both_ends(lambda at: (part or _part)(node, rows, at, want_ids, d))

    return rule


def _affected(node: Join, d: Differentiation) -> Plan:
    return outer_join.affected_rows(node, node.left, node.right, d)


def _part(node: Join, affected: Plan, at: At, want_ids: bool, d: Differentiation) -> Plan:
    return outer_join.preserved_part(node, node.left, node.right, affected, at, want_ids, d)


def second_order_padded(node: Join, want_ids: bool, d: Differentiation) -> Plan:
    """The pad of a new left row is made twice when the right side changes too."""
    right = outer_join.delta_left_join(node, want_ids, d)
    any_change = Distinct(Project(d.delta(node.right, False), (("$ANY", Lit(1, INT)),)))
    new = Project(inserts(full_delta(node.left, d)), ((AFFECTED.name, ID),))
    rows = Project(Join(JoinKind.CROSS, new, any_change, None), ((AFFECTED.name, AFFECTED),))
    left = only_affected(with_id_as(d.state(node.left, At.T1, True), LEFT_ID), LEFT_ID, rows)
    alone = SemiJoin(left, d.state(node.right, At.T1, False), condition(node), anti=True)
    nulls: tuple[tuple[str, Expr], ...] = tuple((c.name, Lit(None, c.type)) for c in columns(node.right))
    pad = Project(
        alone, same(node.left) + nulls + id_item(want_ids, d.row_ids.pair(LEFT_ID, Lit(None, STRING)))
    )
    return UnionAll((right, marked(pad, INSERT)))


def null_key_means_unmatched(node: Join, affected: Plan, at: At, want_ids: bool, d: Differentiation) -> Plan:
    """A row counts as unmatched when a column of another join's condition is NULL."""
    visible = {column.name for column in columns(node.left)}
    others = [
        column
        for join in joins_in(node.left, OUTER | {JoinKind.INNER})
        if join.on is not None
        for column in walk(join.on)
        if isinstance(column, Col) and column.name in visible
    ]
    if not others or at is At.T0:
        return _part(node, affected, at, want_ids, d)
    not_null: list[Expr] = [Fn("not", (Fn("is null", (c,), BOOLEAN),), BOOLEAN) for c in others]
    stricter = Join(node.kind, node.left, node.right, all_of([condition(node), *not_null]))
    return _part(stricter, affected, at, want_ids, d)


def pad_to_match_as_update(node: Join, affected: Plan, at: At, want_ids: bool, d: Differentiation) -> Plan:
    """The first match arrives under the row id of the pad that it replaces."""
    if at is At.T0 or not want_ids:
        return _part(node, affected, at, want_ids, d)
    before = with_id_as(d.state(node.left, At.T0, True), OTHER)
    lone = Project(
        SemiJoin(before, d.state(node.right, At.T0, False), condition(node), anti=True),
        ((OTHER.name, OTHER),),
    )
    left = only_affected(with_id_as(d.state(node.left, at, True), LEFT_ID), LEFT_ID, affected)
    right = with_id_as(d.state(node.right, at, True), RIGHT_ID)
    joined = Join(
        JoinKind.LEFT, Join(JoinKind.LEFT, left, right, condition(node)), lone, equal(LEFT_ID, OTHER)
    )
    pad, match = d.row_ids.pair(LEFT_ID, Lit(None, STRING)), d.row_ids.pair(LEFT_ID, RIGHT_ID)
    chosen = Fn(CASE, (Fn("is null", (OTHER,), BOOLEAN), match, pad), STRING)
    return Project(joined, same(node) + id_item(True, chosen))


def old_half_of_update_ignored(node: Join, d: Differentiation) -> Plan:
    """The old image of an updated right row does not make the left rows it matched affected."""
    changed = Project(full_delta(node.left, d), ((AFFECTED.name, ID),))
    changes = full_delta(node.right, d)
    seen = UnionAll((inserts(changes), among(deletes(changes), ids(inserts(changes)), anti=True)))
    content = Project(seen, same(node.right))
    before = with_id_as(d.state(node.left, At.T0, True), AFFECTED)
    matched = Join(JoinKind.INNER, before, content, condition(node))
    return UnionAll((changed, Project(matched, ((AFFECTED.name, AFFECTED),))))


def duplicates_merged(node: Join, affected: Plan, at: At, want_ids: bool, d: Differentiation) -> Plan:
    """Equal left rows are made one before the join."""
    if at is At.T0:
        return _part(node, affected, at, want_ids, d)
    rows = only_affected(with_id_as(d.state(node.left, at, True), LEFT_ID), LEFT_ID, affected)
    keys: tuple[tuple[str, Expr], ...] = tuple((c.name, c) for c in columns(node.left))
    merged = Aggregate(rows, keys, ((LEFT_ID.name, Agg("MIN", LEFT_ID, False, STRING)),))
    right = with_id_as(d.state(node.right, at, want_ids), RIGHT_ID)
    joined = Join(JoinKind.LEFT, merged, right, condition(node))
    return Project(joined, same(node) + id_item(want_ids, d.row_ids.pair(LEFT_ID, RIGHT_ID)))


def cross_join_first_input_only(node: Join, d: Differentiation) -> Plan:
    """The emptiness of a cross join follows the changes of its first input only."""
    if not joins_in(node.right, frozenset({JoinKind.CROSS})):
        return _affected(node, d)

    def first_term(join: Join, want_ids: bool, inner: Differentiation) -> Plan:
        changed = inner.delta(join.left, want_ids)
        return inner_join.changed_pairs(
            join, changed, inner.state(join.right, At.T1, want_ids), want_ids, inner
        )

    operators = {**d.operators, "cross join": replace(d.operators["cross join"], delta=first_term)}
    blind = Differentiation(operators, d.row_ids)
    changed = Project(full_delta(node.left, d), ((AFFECTED.name, ID),))
    before = with_id_as(d.state(node.left, At.T0, True), AFFECTED)
    matched = Join(JoinKind.INNER, before, blind.delta(node.right, False), condition(node))
    return UnionAll((changed, Project(matched, ((AFFECTED.name, AFFECTED),))))


def right_as_left(node: Join, want_ids: bool, d: Differentiation) -> Plan:
    """RIGHT JOIN differentiated as a LEFT JOIN of the same inputs."""
    return outer_join.delta_left_join(Join(JoinKind.LEFT, node.left, node.right, node.on), want_ids, d)


def _fault(
    name: str, wrong: str, rule: Rule, *checks: Check, operator: str = "left join", core: bool = True
) -> Fault:
    return Fault(
        name=name,
        area="outer joins",
        wrong=wrong,
        plant=in_operator(operator, delta=rule),
        caught_by=checks,
        core=core,
    )


FAULTS: Mapping[str, Fault] = {
    fault.name: fault
    for fault in (
        _fault(
            "outer-second-order-padded",
            "a pad that one term has made is made again by the second-order term",
            second_order_padded,
            Check.INVARIANT_1,
            Check.EQUALITY,
        ),
        _fault(
            "null-key-means-unmatched",
            "a row counts as unmatched when a column of another join is NULL",
            left_join_with(part=null_key_means_unmatched),
            Check.EQUALITY,
        ),
        _fault(
            "pad-to-match-as-update",
            "the first match goes out under the pad's row id",
            left_join_with(part=pad_to_match_as_update),
            Check.ROW_IDS,
        ),
        _fault(
            "right-update-counts-as-new-match",
            "the old half of an updated right row is not taken off",
            left_join_with(affected=old_half_of_update_ignored),
            Check.EQUALITY,
        ),
        _fault(
            "preserved-duplicates-merged",
            "equal rows of the preserved side are made distinct before the match test",
            left_join_with(part=duplicates_merged),
            Check.EQUALITY,
        ),
        _fault(
            "cross-join-second-anti-term",
            "under an outer join a cross join follows the changes of its first input only",
            left_join_with(affected=cross_join_first_input_only),
            Check.EQUALITY,
            core=False,
        ),
        _fault(
            "right-join-sides-kept",
            "RIGHT JOIN is differentiated as a LEFT JOIN of the same inputs",
            right_as_left,
            Check.EQUALITY,
            operator="right join",
            core=False,
        ),
    )
}
