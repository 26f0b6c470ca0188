"""`dvs verify rules --each-fault`: which planted faults of rules the proofs and the enumeration refute.

This tests the tests: a proof that no fault could break would prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass, field
from enum import Enum
from itertools import chain, islice

from campaign.errors import CampaignError
from campaign.faults import FAULTS
from campaign.lanes.spec import LaneSpec
from campaign.lanes.workers import Worker, pool_for
from campaign.verify.definitions import QUICK_PAIRS, Definition, over_time, pairs, singles
from campaign.verify.engine import bound_query, declared
from campaign.verify.running import rules_with, verify_one
from campaign.verify.unbounded.prove import Outcome, Proof
from campaign.verify.unbounded.running import provable, prove_one
from campaign.verify.verify import registered
from dynamic_tables.definition import BaseTable
from dynamic_tables.differentiate.differentiation import At
from dynamic_tables.differentiate.registry import RULES, Rules, change_plan
from dynamic_tables.errors import DynamicTablesError
from dynamic_tables.plan.dialects import DUCKDB
from dynamic_tables.plan.nodes import Plan
from dynamic_tables.plan.written.render import render
from dynamic_tables.refresh.plans import Plans
from workload.outcomes.decision import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """The result for a planted fault.

    `refuted`: the proof that refutes it, if one does. `enumerated`: the definition whose enumeration refutes
    it, if one does. `forms`: how many forms have other plans with the fault. `open`: those of them for which
    the proof has no answer, by name, with the reason.
    """

    fault: str
    refuted: Proof | None
    enumerated: str
    forms: int
    open: Mapping[str, str] = field(default_factory=dict)


class RefutedBy(Enum):
    """What refutes a planted fault; the values are printed."""

    BOTH = "refuted by the proof and by the enumeration"
    PROOF = "refuted by the proof alone"
    ENUMERATION = "refuted by the enumeration alone"
    NEITHER = "other plans in some form, and refuted by neither"
    NO_FORM = "no form has other plans"


def refuted_by(tried: Tried) -> RefutedBy:
    """Returns what refutes a fault."""
    if tried.refuted is not None:
        return RefutedBy.BOTH if tried.enumerated else RefutedBy.PROOF
    if tried.enumerated:
        return RefutedBy.ENUMERATION
    return RefutedBy.NEITHER if tried.forms else RefutedBy.NO_FORM


def faults_of_rules() -> tuple[str, ...]:
    """Returns the planted faults that are in a rule."""
    names = []
    for name in FAULTS:
        try:
            rules_with((name,))
        except CampaignError:
            continue
        names.append(name)
    return tuple(names)


def try_all(
    faults: Sequence[str], *, workers: int, progress: Callable[[Tried], None] = lambda tried: None
) -> tuple[Tried, ...]:
    """Tries each fault, and returns the results in the order of the faults."""
    results: dict[str, Tried] = {}
    if workers == 1:
        for fault in faults:
            results[fault] = try_fault(fault)
            progress(results[fault])
    else:
        with pool_for(LaneSpec(tier="rules"), workers, dies_by_interrupt=True) as pool:
            for done in as_completed([pool.submit(_in_worker, fault) for fault in faults]):
                results[done.result().fault] = done.result()
                progress(done.result())
    return tuple(results[fault] for fault in faults)


def _in_worker(_: Worker, fault: str) -> Tried:
    return try_fault(fault)


def try_fault(fault: str, *, nested: bool = True) -> Tried:
    """Tries one fault on forms until one refutes it, and on definitions that are enumerated.

    These are the forms of `--unbounded --quick`, and the operators alone of `--quick`, a filter by the
    current time among them; where neither refutes the fault, with `nested`, also pairs of operators. What has
    the same plans without it is left out.
    """
    touched = [each for each in provable(quick=True) if changes_plans(fault, each)]
    refuted, undecided = None, dict[str, str]()
    for each in touched:
        proof = prove_one(each, True, (fault,))
        if proof.outcome is Outcome.REFUTED:
            refuted = proof
            break
        if proof.outcome is not Outcome.PROVED:
            undecided[each.name] = proof.reason
    enumerated = _enumerated(fault, chain(singles(quick=True), islice(over_time(QUICK_PAIRS), 1)))
    if nested and refuted is None and not enumerated:
        enumerated = _enumerated(fault, pairs(QUICK_PAIRS))
    return Tried(fault=fault, refuted=refuted, enumerated=enumerated, forms=len(touched), open=undecided)


def _enumerated(fault: str, definitions: Iterable[Definition]) -> str:
    """Returns the name of the first definition of which a small world shows the fault; empty if none does."""
    names = (
        each.name
        for each in definitions
        if changes_plans(fault, each) and verify_one(each, (fault,)).failures
    )
    return next(names, "")


def changes_plans(fault: str, definition: Definition) -> bool:
    """Returns whether some plan of a definition is another one with a fault, or the engine refuses it."""
    if definition.name not in _plans_without_fault:
        _plans_without_fault[definition.name] = _written(definition, RULES)
    return _written(definition, rules_with((fault,))) != _plans_without_fault[definition.name]


_plans_without_fault: dict[str, Sequence[str]] = {}
"""By name of a definition its plans without a fault, as texts, made once in a process."""


def _written(definition: Definition, rules: Rules) -> Sequence[str]:
    """Returns the plans of all roads as texts, to compare them: nodes compare by identity."""
    try:
        return [render(plan, DUCKDB).text() for plan in _plans(definition, rules)]
    except DynamicTablesError as error:
        return [str(error)]


def _plans(definition: Definition, rules: Rules) -> Iterator[Plan]:
    """Yields every plan by which a refresh of a definition may compute something."""
    bound, plans = bound_query(definition.query, definition.tables, rules), Plans(rules)
    for table in definition.tables:
        base = declared((table,))[table.name]
        assert isinstance(base, BaseTable)
        yield rules.capture(table.name, base.columns)
        if table.primary_key:
            for at in At:
                yield rules.keyed(table.name, at, base.columns, table.primary_key, rules.row_ids)
    yield plans.initial(bound, True)
    yield plans.changes(bound)
    yield change_plan(bound, registered(rules))
    grouping = plans.stored_groups(bound)
    if grouping is not None:
        yield plans.state(bound)
        yield plans.fresh_state(grouping)
        yield plans.net(grouping)
        yield plans.groups(grouping)
        yield plans.group_parts(grouping)
        for again in (False, True):
            yield plans.group_changes(grouping, again=again)


def decision_of_tried(tried: Sequence[Tried]) -> Decision:
    """Returns whether the proofs can fail: undecided where they refute no fault."""
    return Decision.PASSED if any(each.refuted for each in tried) else Decision.UNDECIDED
