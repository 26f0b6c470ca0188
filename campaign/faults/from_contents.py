"""Faults in what is maintained from the table's own contents (`stored_groups`, `stored_parts`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from campaign.faults.fault import in_rules, part_fault
from campaign.faults.pieces import changed_calls, equal, inserts, rewritten, with_nodes
from dynamic_tables.differentiate.accumulators import ROWS, ZERO, Accumulator, old_of, or_zero
from dynamic_tables.differentiate.differentiation import CONTENTS, At, Differentiation
from dynamic_tables.differentiate.stored_groups import StoredGroups, stored_groups_of
from dynamic_tables.differentiate.stored_parts import OnTop, delta_of_contents
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit, boolean, conjunction, replace_columns
from dynamic_tables.plan.functions import CASE
from dynamic_tables.plan.nodes import (
    BoundQuery,
    Leaf,
    Plan,
    Project,
    SemiJoin,
    children,
    children_first,
    rebuilt,
)
from dynamic_tables.plan.types import BIGINT, BOOLEAN
from workload.outcomes.results import Check

Maintained = Callable[[BoundQuery], StoredGroups | None]


class NeverComputedAnew(Accumulator):
    """A group that loses its least or greatest value keeps it."""

    def must_compute(self) -> Expr:
        return Lit(False, BOOLEAN)


class SumOfNothing(Accumulator):
    """The SUM of a group that loses its last value is 0 instead of NULL."""

    def _new_sum(self) -> Expr:
        counted = super()._new_sum()
        return or_zero(counted) if counted.type == BIGINT else counted


class NullCounted(Accumulator):
    """COUNT of a column counts a changed row whose value is NULL."""

    def parts(self, *, changes: bool) -> tuple[tuple[str, Agg], ...]:
        right = super().parts(changes=changes)
        if not changes or self.agg.name != "COUNT" or not right:
            return right
        every = replace(self, agg=replace(self.agg, arg=ZERO))
        return tuple(Accumulator.parts(every, changes=True))


class AverageOfRows(Accumulator):
    """AVG is the sum divided by the number of rows in the group, rows whose value is NULL included."""

    def new_value(self) -> Expr:
        right = super().new_value()
        rows = Col(ROWS, BIGINT)
        return replace_columns(
            right, lambda col: rows if self.agg.name == "AVG" and col == self.count else col
        )


class GreatestKept(Accumulator):
    """A group that loses its greatest value keeps it; the least value is right."""

    def must_compute(self) -> Expr:
        return Lit(False, BOOLEAN) if self.agg.name == "MAX" else super().must_compute()


class TiesKept(Accumulator):
    """A row with its group's least or greatest value that leaves is still counted among such rows."""

    def _remaining(self) -> Expr:
        gained = Fn("greatest", (self._net_ties, ZERO), BIGINT)
        return Fn("+", (old_of(self.ties), gained), BIGINT)


class CountNeverFalls(Accumulator):
    """The hidden number of values that are not NULL does not fall when such a value leaves the group."""

    def _new_count(self) -> Expr:
        gained = Fn("greatest", (or_zero(self._net_count), ZERO), BIGINT)
        return (
            Fn("+", (or_zero(old_of(self.count)), gained), BIGINT) if self.has_sum else super()._new_count()
        )


def of_kind(kind: type[Accumulator]) -> Maintained:
    """The algebra of queries, with accumulators of a faulty kind."""

    def faulty(query: BoundQuery) -> StoredGroups | None:
        known = stored_groups_of(query)
        if known is None:
            return None
        changed = tuple(kind(one.number, one.name, one.agg) for one in known.accumulators)
        return replace(known, accumulators=changed)

    faulty.__doc__ = kind.__doc__
    return faulty


class TiesOutliveTheBest(Accumulator):
    """A better value takes over the number of rows that had the best one before."""

    def _new_ties(self) -> Expr:
        return self._remaining()


class AnythingReplaces(Accumulator):
    """A group that loses its best value is not computed anew if any other value comes."""

    def must_compute(self) -> Expr:
        none = boolean("is null", self._gained)
        return super().must_compute() if not self.is_extremum else conjunction((super().must_compute(), none))


class SumStaysWithCount(Accumulator):
    """The SUM of a group with as many values as before stays."""

    def _new_sum(self) -> Expr:
        old = old_of(self.count)
        same = boolean("is not distinct from", old, self._new_count())
        return Fn(CASE, (same, old_of(self.result), super()._new_sum()), self.result.type)


class TiesOvercounted(Accumulator):
    """Of a group that is computed anew, one row too many counts as one with the best value."""

    def state_of_whole(self) -> tuple[tuple[str, Expr], ...]:
        more = Fn("+", (self.ties, Lit(1, BIGINT)), BIGINT)
        known = super().state_of_whole()
        return tuple((name, more if name == self.ties.name else expr) for name, expr in known)


class GroupsStay(StoredGroups):
    """A group that loses its last row stays, with a count of 0."""

    @property
    def loses_groups(self) -> bool:
        return False


class CountTellsAll(StoredGroups):
    """A group with as many rows as before counts as unchanged."""

    def changes(self, d: Differentiation, *, again: bool) -> Plan:
        return rewritten(super().changes(d, again=again), _rows_alone)


def _rows_alone(call: Fn) -> Expr:
    of_state = call.name == "is distinct from" and isinstance(call.args[0], Col)
    return Lit(False, BOOLEAN) if of_state and call.args[0] != Col(ROWS, BIGINT) else call


class NullGroupsKept(StoredGroups):
    """The rows of groups that are computed anew are looked up with `=`: those of key NULL are not found."""

    def parts_again(self, d: Differentiation) -> Plan:
        return rewritten(super().parts_again(d), _by_equality)


def _by_equality(call: Fn) -> Expr:
    return equal(*call.args) if call.name == "is not distinct from" else call


class ComputedFromThePast(StoredGroups):
    """Groups that are computed anew are computed from the rows at t0."""

    def parts_again(self, d: Differentiation) -> Plan:
        right = super().parts_again(d)
        rows = d.state(self.node.child, At.T0, False)
        now = d.state(self.node.child, At.T1, False)
        return _with(right, now, rows)


def _with(plan: Plan, old: Plan, new: Plan) -> Plan:
    done: dict[int, Plan] = {id(old): new}
    for node in children_first(plan):
        if id(node) not in done:
            done[id(node)] = rebuilt(node, tuple(done[id(child)] for child in children(node)))
    return done[id(plan)]


def of_class(kind: type[StoredGroups]) -> Maintained:
    """The algebra of queries, of a faulty class."""

    def faulty(query: BoundQuery) -> StoredGroups | None:
        known = stored_groups_of(query)
        if known is None:
            return None
        return kind(known.query, known.node, known.projects, known.accumulators, known.operator)

    faulty.__doc__ = kind.__doc__
    return faulty


def parts_of_new_rows(query: BoundQuery, top: OnTop, d: Differentiation) -> Plan:
    """A group or partition at the top that a row has left stays as it is stored."""

    def changed(node: Plan) -> Plan:
        keys = isinstance(node, Project) and all(name.startswith("$KEY") for name, _ in node.items)
        return replace(node, child=inserts(node.child)) if keys and isinstance(node, Project) else node

    return with_nodes(delta_of_contents(query, top, d), changed)


def stored_null_kept(query: BoundQuery, top: OnTop, d: Differentiation) -> Plan:
    """The stored rows of a group or partition at the top whose key is NULL are not found."""

    def changed(node: Plan) -> Plan:
        if not isinstance(node, SemiJoin) or not _is_stored(node.left):
            return node
        return replace(node, on=changed_calls(node.on, _by_equality))

    return with_nodes(delta_of_contents(query, top, d), changed)


def stored_tail_begins_late(query: BoundQuery, top: OnTop, d: Differentiation) -> Plan:
    """The stored rows that are equal in the order to the first changed row are not found."""
    strictly = {">=": ">", "<=": "<"}

    def changed(node: Plan) -> Plan:
        if not isinstance(node, SemiJoin) or not _is_stored(node.left):
            return node
        return SemiJoin(node.left, node.right, changed_calls(node.on, strict), node.anti)

    def strict(call: Fn) -> Expr:
        return replace(call, name=strictly.get(call.name, call.name))

    return with_nodes(delta_of_contents(query, top, d), changed)


def _is_stored(plan: Plan) -> bool:
    return isinstance(plan, Leaf) and plan.name == CONTENTS


_fault = partial(part_fault, area="aggregates", replacing=in_rules)
_rare = partial(_fault, core=False)

FAULTS = (
    _fault("stored-extremum-outlives-its-row", "stored_groups", of_kind(NeverComputedAnew), Check.EQUALITY),
    _fault("stored-maximum-outlives-its-row", "stored_groups", of_kind(GreatestKept), Check.EQUALITY),
    _fault("stored-sum-of-nothing", "stored_groups", of_kind(SumOfNothing), Check.EQUALITY),
    _fault("stored-average-of-rows", "stored_groups", of_kind(AverageOfRows), Check.EQUALITY),
    _fault("stored-count-of-nulls", "stored_groups", of_kind(NullCounted), Check.EQUALITY),
    _fault("stored-ties-kept", "stored_groups", of_kind(TiesKept), Check.STATE, Check.EQUALITY),
    _fault(
        "stored-count-never-falls", "stored_groups", of_kind(CountNeverFalls), Check.STATE, Check.EQUALITY
    ),
    _fault("stored-group-stays-empty", "stored_groups", of_class(GroupsStay), Check.EQUALITY),
    _fault(
        "stored-ties-outlive-best", "stored_groups", of_kind(TiesOutliveTheBest), Check.STATE, Check.EQUALITY
    ),
    _fault("stored-part-left-stays", "parts", parts_of_new_rows, Check.EQUALITY),
    _fault("stored-part-of-null-kept", "parts", stored_null_kept, Check.EQUALITY, Check.INVARIANT_3),
    _fault("stored-tail-begins-late", "parts", stored_tail_begins_late, Check.EQUALITY, Check.INVARIANT_3),
    _rare("stored-extremum-replaced-by-any", "stored_groups", of_kind(AnythingReplaces), Check.EQUALITY),
    _rare("stored-sum-stays-with-count", "stored_groups", of_kind(SumStaysWithCount), Check.EQUALITY),
    _rare("stored-ties-overcounted", "stored_groups", of_kind(TiesOvercounted), Check.EQUALITY),
    _rare("stored-group-by-count-alone", "stored_groups", of_class(CountTellsAll), Check.EQUALITY),
    _rare("stored-null-group-not-recomputed", "stored_groups", of_class(NullGroupsKept), Check.EQUALITY),
    _rare("stored-group-recomputed-at-t0", "stored_groups", of_class(ComputedFromThePast), Check.EQUALITY),
)
