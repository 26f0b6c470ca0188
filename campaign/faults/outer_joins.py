"""Faults in outer joins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, wraps

from campaign.faults.fault import in_row_ids, part_fault, rule_fault
from campaign.faults.pieces import (
    OTHER,
    OUTER,
    all_of,
    among,
    deletes,
    equal,
    ids,
    inserts,
    is_null,
    joins_in,
)
from dynamic_tables.differentiate import inner_join, outer_join
from dynamic_tables.differentiate.differentiation import ID, At, DeltaRule, Differentiation
from dynamic_tables.differentiate.inner_join import LEFT_ID, RIGHT_ID, with_id_as
from dynamic_tables.differentiate.linear import id_item, same
from dynamic_tables.differentiate.outer_join import condition, marked, preserved
from dynamic_tables.differentiate.row_id import concat, frame, pair_id
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit, boolean, text, walk
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
from workload.outcomes.results import Check

NO_ID = Lit(None, STRING)
"""The row id of a padded side."""


@dataclass(frozen=True, slots=True)
class LeftJoin:
    """A left join under differentiation. `affected`: the ids of left rows whose part may differ."""

    node: Join
    affected: Plan
    want_ids: bool
    d: Differentiation

    def part(self, at: At, node: Join | None = None) -> Plan:
        """The join of the affected rows at one end, as the right rule has it; `node`: of another join."""
        return left_part(node or self.node, self.affected, at, self.want_ids, self.d)

    def affected_left(self, at: At) -> Plan:
        """The affected left rows at one end, with their ids as LEFT_ID."""
        left = with_id_as(self.d.state(self.node.left, at, True), LEFT_ID)
        return only_affected(left, LEFT_ID, self.affected)


def at_t1(faulty: Callable[[LeftJoin], Plan]) -> DeltaRule:
    """The rule of the left join with its part at t1 computed by `faulty`."""

    @wraps(faulty)
    def rule(node: Join, want_ids: bool, d: Differentiation) -> Plan:
        before, changes = d.state(node.left, At.T0, True), d.delta(node.right, False)
        affected = affected_rows(d.delta(node.left, True), before, changes, node)
        join = LeftJoin(node, affected, want_ids, d)
        return outer_join.both_ends(lambda at: faulty(join) if at is At.T1 else join.part(at))

    return rule


def with_right_changes(faulty: Callable[[Join, Differentiation], Plan]) -> DeltaRule:
    """The rule of the left join with the right side's changes, which affect left rows, from `faulty`."""

    @wraps(faulty)
    def rule(node: Join, want_ids: bool, d: Differentiation) -> Plan:
        before, changed = d.state(node.left, At.T0, True), d.delta(node.left, True)
        affected = affected_rows(changed, before, faulty(node, d), node)
        return outer_join.both_ends(LeftJoin(node, affected, want_ids, d).part)

    return rule


def second_order_padded(node: Join, want_ids: bool, d: Differentiation) -> Plan:
    """The pad of a new left row is made twice when the right side changes in the same interval."""
    right = outer_join.delta_left_join(node, want_ids, d)
    any_change = Distinct(Project(d.delta(node.right, False), (("$ANY", Lit(1, INT)),)))
    new = Project(inserts(d.delta(node.left, True)), ((AFFECTED.name, ID),))
    rows = Project(Join(JoinKind.CROSS, new, any_change, None), ((AFFECTED.name, AFFECTED),))
    left = LeftJoin(node, rows, want_ids, d).affected_left(At.T1)
    alone = SemiJoin(left, d.state(node.right, At.T1, False), condition(node), anti=True)
    nulls: tuple[tuple[str, Expr], ...] = tuple((c.name, Lit(None, c.type)) for c in columns(node.right))
    pad = Project(alone, same(node.left) + nulls + id_item(want_ids, d.row_ids.pair(LEFT_ID, NO_ID)))
    return UnionAll((right, marked(pad, INSERT)))


def null_key_means_unmatched(join: LeftJoin) -> Plan:
    """A left row counts as unmatched when a column of another join's condition is NULL in it."""
    node = join.node
    visible = {column.name for column in columns(node.left)}
    keys_of_others = [
        column
        for other in joins_in(node.left, OUTER | {JoinKind.INNER})
        if other.on is not None
        for column in walk(other.on)
        if isinstance(column, Col) and column.name in visible
    ]
    if not keys_of_others:
        return join.part(At.T1)
    not_null: list[Expr] = [Fn("not", (is_null(key),), BOOLEAN) for key in keys_of_others]
    return join.part(At.T1, Join(node.kind, node.left, node.right, all_of([condition(node), *not_null])))


def pad_to_match_as_update(join: LeftJoin) -> Plan:
    """The first match of a left row gets the row id of the pad that it replaces."""
    node, d = join.node, join.d
    if not join.want_ids:
        return join.part(At.T1)
    before = with_id_as(d.state(node.left, At.T0, True), OTHER)
    padded_before = Project(
        SemiJoin(before, d.state(node.right, At.T0, False), condition(node), anti=True),
        ((OTHER.name, OTHER),),
    )
    right = with_id_as(d.state(node.right, At.T1, True), RIGHT_ID)
    pairs = Join(JoinKind.LEFT, join.affected_left(At.T1), right, condition(node))
    joined = Join(JoinKind.LEFT, pairs, padded_before, equal(LEFT_ID, OTHER))
    pad, match = d.row_ids.pair(LEFT_ID, NO_ID), d.row_ids.pair(LEFT_ID, RIGHT_ID)
    return Project(joined, same(node) + id_item(True, Fn(CASE, (is_null(OTHER), match, pad), STRING)))


def duplicates_merged(join: LeftJoin) -> Plan:
    """Equal rows of the preserved side become one row before they are matched."""
    node, d = join.node, join.d
    keys: tuple[tuple[str, Expr], ...] = tuple((c.name, c) for c in columns(node.left))
    smallest_id = ((LEFT_ID.name, Agg("MIN", LEFT_ID, False, STRING)),)
    merged = Aggregate(join.affected_left(At.T1), keys, smallest_id)
    right = with_id_as(d.state(node.right, At.T1, join.want_ids), RIGHT_ID)
    joined = Join(JoinKind.LEFT, merged, right, condition(node))
    return Project(joined, same(node) + id_item(join.want_ids, d.row_ids.pair(LEFT_ID, RIGHT_ID)))


def old_half_of_update_ignored(node: Join, d: Differentiation) -> Plan:
    """A left row that matched only the old version of an updated right row is not looked at again."""
    changes = d.delta(node.right, True)
    seen = UnionAll((inserts(changes), among(deletes(changes), ids(inserts(changes)), anti=True)))
    return Project(seen, same(node.right))


def cross_join_first_input_only(node: Join, d: Differentiation) -> Plan:
    """A cross join below an outer join is differentiated by the changes of its first input alone."""
    if not joins_in(node.right, frozenset({JoinKind.CROSS})):
        return d.delta(node.right, False)

    def first_term(join: Join, want_ids: bool, inner: Differentiation) -> Plan:
        changed, right = inner.delta(join.left, want_ids), inner.state(join.right, At.T1, want_ids)
        return inner_join.changed_pairs(join, changed, right, want_ids, inner)

    operators = {**d.operators, "cross join": replace(d.operators["cross join"], delta=first_term)}
    return Differentiation(operators, d.row_ids).delta(node.right, False)


def right_as_left(node: Join, want_ids: bool, d: Differentiation) -> Plan:
    """A RIGHT JOIN is differentiated as a LEFT JOIN of the same inputs."""
    return outer_join.delta_left_join(Join(JoinKind.LEFT, node.left, node.right, node.on), want_ids, d)


def changes_meet_the_past(node: Join, want_ids: bool, d: Differentiation) -> Plan:
    """The changes of the preserved side are joined with the other side at t0."""
    changed, *_ = preserved(node, node.left, node.right, want_ids, at_other_end(d, node.right, At.T1))
    _, *matched = preserved(node, node.left, node.right, want_ids, d)
    return UnionAll((changed, *matched))


def matched_in_the_present(node: Join, want_ids: bool, d: Differentiation) -> Plan:
    """The preserved rows that a changed row of the other side matches are looked up at t1."""
    changed, *_ = preserved(node, node.left, node.right, want_ids, d)
    _, *matched = preserved(node, node.left, node.right, want_ids, at_other_end(d, node.left, At.T0))
    return UnionAll((changed, *matched))


def without_pad(left: Expr, right: Expr) -> Expr:
    """The row id of a joined row leaves out the padded side: unmatched rows of both sides share an id."""
    alone = {side: concat(text("j"), frame(side)) for side in (left, right)}
    padded_right = Fn(CASE, (is_null(right), alone[left], pair_id(left, right)), STRING)
    return Fn(CASE, (is_null(left), alone[right], padded_right), STRING)


def at_other_end(d: Differentiation, child: Plan, at: At) -> Differentiation:
    """A recursion that takes a child's rows at one end from the other end."""
    other = At.T0 if at is At.T1 else At.T1
    wrong = {(id(child), at, with_ids): d.state(child, other, with_ids) for with_ids in (True, False)}
    return replace(d, states={**d.states, **wrong}, deltas=d.deltas)


_fault = partial(rule_fault, area="outer joins", operators=("left join",))

FAULTS = (
    _fault("outer-second-order-padded", second_order_padded, Check.INVARIANT_1, Check.EQUALITY),
    _fault("null-key-means-unmatched", at_t1(null_key_means_unmatched), Check.EQUALITY),
    _fault("pad-to-match-as-update", at_t1(pad_to_match_as_update), Check.ROW_IDS),
    _fault(
        "right-update-counts-as-new-match", with_right_changes(old_half_of_update_ignored), Check.EQUALITY
    ),
    _fault("preserved-duplicates-merged", at_t1(duplicates_merged), Check.EQUALITY),
    _fault(
        "cross-join-second-anti-term",
        with_right_changes(cross_join_first_input_only),
        Check.EQUALITY,
        core=False,
    ),
    _fault("outer-changes-meet-the-past", changes_meet_the_past, Check.EQUALITY, Check.INVARIANT_1),
    _fault("outer-matched-in-the-present", matched_in_the_present, Check.EQUALITY, Check.INVARIANT_1),
    part_fault(
        "padded-side-not-in-id",
        "pair",
        without_pad,
        Check.ROW_IDS,
        Check.INVARIANT_1,
        area="outer joins",
        replacing=in_row_ids,
    ),
    _fault("right-join-sides-kept", right_as_left, Check.EQUALITY, operators=("right join",), core=False),
)


AFFECTED = Col("$AFFECTED", STRING)


def affected_rows(changed: Plan, before: Plan, other_changes: Plan, node: Join) -> Plan:
    """The ids of the rows that changed, and of the rows at t0 that a changed row of the other side matches.

    A row that is new at t1 has changed itself, so t0 is enough. Both images of an update on the other side
    count.
    """
    matched = Join(JoinKind.INNER, with_id_as(before, AFFECTED), other_changes, condition(node))
    return UnionAll(
        (Project(changed, ((AFFECTED.name, ID),)), Project(matched, ((AFFECTED.name, AFFECTED),)))
    )


def only_affected(plan: Plan, id_column: Col, affected: Plan) -> Plan:
    """The rows whose id is among the affected ids."""
    return SemiJoin(plan, affected, boolean("=", id_column, AFFECTED))


def left_part(node: Join, affected: Plan, at: At, want_ids: bool, d: Differentiation) -> Plan:
    """The left join of the affected left rows at one end."""
    rows = only_affected(with_id_as(d.state(node.left, at, True), LEFT_ID), LEFT_ID, affected)
    right = with_id_as(d.state(node.right, at, want_ids), RIGHT_ID)
    joined = Join(JoinKind.LEFT, rows, right, condition(node))
    return Project(joined, same(node) + id_item(want_ids, d.row_ids.pair(LEFT_ID, RIGHT_ID)))
