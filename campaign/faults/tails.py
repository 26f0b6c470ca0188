"""Faults in window functions over tails: where a tail begins, and how it goes on from the rows before."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from campaign.faults.fault import Fault, rule_fault
from campaign.faults.pieces import rewritten
from dynamic_tables.differentiate import window_tail
from dynamic_tables.differentiate.differentiation import DeltaRule, Differentiation
from dynamic_tables.differentiate.window import delta_window
from dynamic_tables.plan.expressions import Col, Expr, Fn, Lit, boolean, walk
from dynamic_tables.plan.nodes import Plan, Window
from dynamic_tables.plan.types import BOOLEAN
from workload.outcomes.results import Check

TURNED = {"<=": ">=", ">=": "<="}
STRICT = {"<=": "<", ">=": ">"}


def _reads(expr: Expr, start: str) -> bool:
    return any(isinstance(part, Col) and part.name.startswith(start) for part in walk(expr))


def _is_start(call: Fn) -> bool:
    """Tells whether a call compares a row with where its tail begins."""
    return call.name in TURNED and _reads(call, window_tail.FIRST)


def peers_before_the_tail(call: Fn) -> Expr:
    """Rows that are equal to the first changed row in the order do not belong to the tail."""
    return Fn(STRICT[call.name], call.args, call.type) if _is_start(call) else call


def descending_as_ascending(call: Fn) -> Expr:
    """The tail of a descending order is taken at the other end: the rows before the first changed one."""
    return Fn(">=", call.args, call.type) if _is_start(call) and call.name == "<=" else call


def best_before_stays(call: Fn) -> Expr:
    """A running MIN or MAX is continued by the best value before the tail, though a better one is in it."""
    compared = call.name in TURNED and _reads(call, "$BEFORE_") and _reads(call, "$TAIL_")
    return Lit(True, BOOLEAN) if compared else call


def nothing_in_the_tail_is_null(call: Fn) -> Expr:
    """A running SUM is NULL where the tail has no value yet, though the rows before it have some."""
    continued = call.name == "coalesce" and _reads(call.args[0], "$TAIL_") and len(call.args) > 1
    return call.args[0] if continued and _reads(call.args[1], "$BEFORE_") else call


def null_partition_begins_anew(call: Fn) -> Expr:
    """The aggregate of the rows before is looked up with `=`: the tail of partition NULL begins anew."""
    found = call.name == "is not distinct from" and _reads(call, "$BEFORE")
    return boolean("=", *call.args) if found else call


def nulls_at_the_end_forgotten(call: Fn) -> Expr:
    """In an order with NULL at its end, rows with a NULL key do not belong to the tail."""
    match call:
        case Fn("or", (Fn("is null", _, _), compared), _) if _reads(compared, window_tail.FIRST):
            return compared
        case _:
            return call


def count_of_the_tail(call: Fn) -> Expr:
    """A running COUNT, ROW_NUMBER or RANK counts the rows of the tail alone."""
    match call:
        case Fn("+", (Fn("coalesce", (Col() as before, _), _), fresh), _) if before.name.startswith(
            "$BEFORE_"
        ):
            return fresh
        case _:
            return call


def _rule(change: Callable[[Fn], Expr]) -> DeltaRule:
    def delta(node: Window, want_ids: bool, d: Differentiation) -> Plan:
        whole = delta_window(node, want_ids, d)
        return rewritten(whole, change) if window_tail.looks_back(node) else whole

    delta.__doc__ = change.__doc__
    return delta


_fault = partial(rule_fault, area="windows", operators=("window",))

FAULTS: tuple[Fault, ...] = (
    _fault("window-tail-without-peers", _rule(peers_before_the_tail), Check.EQUALITY, core=False),
    _fault("window-tail-at-other-end", _rule(descending_as_ascending), Check.EQUALITY, core=False),
    _fault("window-tail-best-before-stays", _rule(best_before_stays), Check.EQUALITY),
    _fault("window-tail-sum-of-nothing", _rule(nothing_in_the_tail_is_null), Check.EQUALITY, core=False),
    _fault("window-tail-null-partition", _rule(null_partition_begins_anew), Check.EQUALITY, core=False),
    _fault("window-tail-nulls-at-end", _rule(nulls_at_the_end_forgotten), Check.EQUALITY, core=False),
    _fault("window-tail-counts-alone", _rule(count_of_the_tail), Check.EQUALITY, core=False),
)
