"""Groups the failures of a run by cause, as far as causes can be told apart from outside the engine.

A failure is shrunk (`triage.smallest`) until nothing can be taken away, so what is left is what its cause
needs. Two errors have one cause if their messages agree, numbers and names aside. Two other failures have
one cause if the same operators are left, equally often, and checks of one family fail: the data decide which
check of the family fails, and whether rows are missing, extra or wrong. One more aggregate function is no
other cause if the failures look alike in all else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from campaign.failures.fingerprint import FAMILIES, Family, error_message, query_operators
from shrink.weight import weight
from workload.outcomes.results import Failure, FailureGroup, Fingerprint, Outcome, OutcomeClass
from workload.query import AggregateFunction, names_read
from workload.scenario import Scenario

FUNCTIONS = frozenset(
    label for function in AggregateFunction for label in (function.value, f"{function.value} DISTINCT")
) | {"MIN or MAX"}
"""The names of aggregate functions among the operators of a fingerprint."""

JOINED = {"cross join": "inner join"}
"""A cross join is an inner join ON TRUE, to engines and to shrinking, so the two count as one operator."""


@dataclass(frozen=True, slots=True)
class Cause:
    """What two failures must share to count as one cause. `operators`: each with how often it occurs.

    `functions`: the aggregate functions. An error counts by its `message` alone: one error of an engine shows
    in queries of any shape.
    """

    outcome: OutcomeClass
    family: Family | None
    operators: frozenset[tuple[str, int]]
    functions: frozenset[str]
    message: str = ""

    @classmethod
    def of(cls, fingerprint: Fingerprint) -> Cause:
        """Returns the cause that the fingerprint of a minimal failure stands for."""
        if fingerprint.message:
            family = None if fingerprint.check is None else FAMILIES[fingerprint.check]
            return cls(fingerprint.outcome, family, frozenset(), frozenset(), fingerprint.message)
        names = (JOINED.get(name, name) for name in fingerprint.operators if name not in FUNCTIONS)
        return cls(
            outcome=fingerprint.outcome,
            family=None if fingerprint.check is None else FAMILIES[fingerprint.check],
            operators=frozenset(Counter(names).items()),
            functions=FUNCTIONS.intersection(fingerprint.operators),
        )

    @property
    def needs(self) -> int:
        """How many operators and aggregate functions a failure of this cause needs."""
        return sum(count for _, count in self.operators) + len(self.functions)

    def within(self, other: Cause) -> bool:
        """Tells whether a failure that shows `other` has everything that this cause needs.

        A cause that needs no operator would explain every failure of its family, and hide other causes: it
        explains only failures that show no operator either.
        """
        if not self.needs and not self.message and other.needs:
            return False
        counts = dict(other.operators)
        return (
            self.outcome is other.outcome
            and self.family is other.family
            and self.message == other.message
            and all(counts.get(name, 0) >= count for name, count in self.operators)
            and self.functions <= other.functions
        )


@dataclass(frozen=True, slots=True)
class Signature:
    """What a failure shows before it is shrunk.

    `index`: the number of its scenario. `causes`: for each family of failed checks, the cause that needs
    everything in the scenario. `weight`: how large the scenario is. `kind`: outcome class, first check and
    kinds of difference; the queue shrinks failures of many kinds. `shrinkable`: whether shrinking helps.
    """

    index: int
    causes: tuple[Cause, ...]
    weight: int
    kind: str
    shrinkable: bool

    @classmethod
    def of(cls, index: int, scenario: Scenario, outcome: Outcome) -> Signature:
        """Returns the signature of a failure that has not been shrunk."""
        checks = dict.fromkeys(finding.check for finding in outcome.findings)
        shrinkable = outcome.shrinkable
        tables = {finding.table for finding in outcome.findings}
        names = sorted(operators_behind(scenario, tables)) if shrinkable else []
        causes = (
            Cause.of(
                Fingerprint(
                    outcome=outcome.outcome,
                    check=check,
                    operators=tuple(names),
                    kind=None,
                    message=error_message(scenario, outcome, check),
                )
            )
            for check in checks or (None,)
        )
        killer = "" if outcome.killer is None else outcome.killer.value
        kinds = sorted({f.difference.kind.value for f in outcome.findings if f.difference is not None})
        return cls(
            index,
            tuple(dict.fromkeys(causes)),
            weight(scenario),
            f"{outcome.outcome.value}: {killer}: {', '.join(kinds)}",
            shrinkable,
        )

    def explained_by(self, causes: Sequence[Cause]) -> Cause | None:
        """Returns the cause that needs most of those whose needs the failure meets; None without one."""
        possible = [cause for cause in causes if any(cause.within(shown) for shown in self.causes)]
        return max(possible, key=lambda cause: cause.needs, default=None)


def operators_behind(scenario: Scenario, tables: set[str]) -> list[str]:
    """Returns the operators in the queries of some tables and those upstream; of all if none is defined."""
    queries = {definition.name: definition.query for definition in scenario.definitions}
    open_names = [name for name in tables if name in queries] or list(queries)
    seen: dict[str, None] = {}
    while open_names:
        name = open_names.pop()
        if name in queries and name not in seen:
            seen[name] = None
            open_names.extend(names_read(queries[name]))
    return [operator for name in seen for operator in query_operators(queries[name])]


def groups_of(failures: Sequence[Failure], unshrunk: Sequence[Signature] = ()) -> tuple[FailureGroup, ...]:
    """Returns the failures in groups by cause. Each failure has a fingerprint.

    Groups of product failures come first, larger ones before smaller ones.

    Failures that are not minimal, and `unshrunk` ones, show more than their cause needs: they join the group
    whose cause explains most of what they show. An unshrunk one that no cause explains is in no group.
    """
    by_cause: dict[Cause, list[Failure]] = {}
    for failure in failures:
        if failure.minimal:
            by_cause.setdefault(_cause(failure), []).append(failure)
    members = _united(by_cause)
    for failure in failures:
        if not failure.minimal:
            shown = _cause(failure)
            cause = max((c for c in members if c.within(shown)), key=lambda c: c.needs, default=shown)
            members.setdefault(cause, []).append(failure)
    explained_indices: dict[Cause, list[int]] = {}
    for signature in unshrunk:
        explained = signature.explained_by(list(members))
        if explained is not None:
            explained_indices.setdefault(explained, []).append(signature.index)
    groups = [_group(of_cause, explained_indices.get(cause, [])) for cause, of_cause in members.items()]
    # What is wrong comes first: an engine may refuse a hundred queries beside one wrong row.
    order = [OutcomeClass.PRODUCT_FAILURE, OutcomeClass.DIVERGENCE, OutcomeClass.INFRASTRUCTURE_FAILURE]

    def place(group: FailureGroup) -> tuple[int, int, int]:
        outcome = group.fingerprint.outcome
        rank = order.index(outcome) if outcome in order else len(order)
        return rank, -len(group.indices), group.representative

    return tuple(sorted(groups, key=place))


def _cause(failure: Failure) -> Cause:
    """Returns the cause that a failure's fingerprint stands for."""
    assert failure.fingerprint is not None
    return Cause.of(failure.fingerprint)


def _united(by_cause: Mapping[Cause, list[Failure]]) -> dict[Cause, list[Failure]]:
    """Unites causes that differ in aggregate functions alone if their failures otherwise look alike."""
    members: dict[Cause, list[Failure]] = {}
    for cause in sorted(by_cause, key=lambda cause: cause.needs):
        home = next(
            (
                other
                for other in members
                if other.operators == cause.operators
                and other.message == cause.message
                and other.within(cause)
                and _looks(members[other]) & _looks(by_cause[cause])
            ),
            cause,
        )
        members.setdefault(home, []).extend(by_cause[cause])
    return members


def _looks(failures: Sequence[Failure]) -> set[tuple[object, object]]:
    """Returns the failed checks, each with the kind of its difference."""
    return {(f.fingerprint.check, f.fingerprint.kind) for f in failures if f.fingerprint is not None}


def _group(failures: Sequence[Failure], explained_indices: Sequence[int]) -> FailureGroup:
    """Returns the group of some failures, shown by the smallest. `explained_indices`: of unshrunk ones."""
    chosen = min(failures, key=lambda f: (not f.minimal, weight(f.shrunk), f.index))
    assert chosen.fingerprint is not None
    others = dict.fromkeys(f.fingerprint for f in failures if f.fingerprint is not None)
    others.pop(chosen.fingerprint, None)
    issues = dict.fromkeys(f.ignored for f in failures)
    return FailureGroup(
        fingerprint=chosen.fingerprint,
        others=tuple(sorted(others, key=lambda fingerprint: fingerprint.text)),
        indices=tuple(sorted([*(f.index for f in failures), *explained_indices])),
        representative=chosen.index,
        unshrunk=tuple(sorted(explained_indices)),
        ignored="" if "" in issues else ", ".join(issues),
    )
