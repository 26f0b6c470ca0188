"""Faults in aggregates that are maintained from the table's own contents (`differentiate.algebraic`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from campaign.faults.fault import in_rules, part_fault
from dynamic_tables.differentiate.accumulators import ROWS, ZERO, Accumulator, old_of, or_zero
from dynamic_tables.differentiate.algebraic import Algebra, algebra_of
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit, replace_columns
from dynamic_tables.plan.nodes import BoundQuery
from dynamic_tables.plan.types import BIGINT, BOOLEAN
from workload.results import Check

Maintained = Callable[[BoundQuery], Algebra | None]


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

    def faulty(query: BoundQuery) -> Algebra | None:
        known = algebra_of(query)
        if known is None:
            return None
        changed = tuple(kind(one.number, one.name, one.agg) for one in known.accumulators)
        return replace(known, accumulators=changed)

    faulty.__doc__ = kind.__doc__
    return faulty


class GroupsStay(Algebra):
    """A group that loses its last row stays, with a count of 0."""

    @property
    def loses_groups(self) -> bool:
        return False


def emptied_group_stays(query: BoundQuery) -> Algebra | None:
    """A group that loses its last row stays, with a count of 0."""
    known = algebra_of(query)
    if known is None:
        return None
    return GroupsStay(known.query, known.node, known.projects, known.accumulators, known.operator)


_fault = partial(part_fault, area="aggregates", replacing=in_rules)

FAULTS = (
    _fault("stored-extremum-outlives-its-row", "algebra", of_kind(NeverComputedAnew), Check.EQUALITY),
    _fault("stored-maximum-outlives-its-row", "algebra", of_kind(GreatestKept), Check.EQUALITY),
    _fault("stored-sum-of-nothing", "algebra", of_kind(SumOfNothing), Check.EQUALITY),
    _fault("stored-average-of-rows", "algebra", of_kind(AverageOfRows), Check.EQUALITY),
    _fault("stored-count-of-nulls", "algebra", of_kind(NullCounted), Check.EQUALITY),
    _fault("stored-ties-kept", "algebra", of_kind(TiesKept), Check.STATE, Check.EQUALITY),
    _fault("stored-count-never-falls", "algebra", of_kind(CountNeverFalls), Check.STATE, Check.EQUALITY),
    _fault("stored-group-stays-empty", "algebra", emptied_group_stays, Check.EQUALITY),
)
