"""Failures of a run by cause, as far as causes can be told apart from outside.

Every failure is shrunk (`triage.smallest`) until nothing can be taken away, so what is left is what the cause
needs. Two failures are of one cause if the same operators are left, as often, and checks of one family fail:
which check of the family, and whether rows are missing, extra or wrong, is decided by the data. An aggregate
function more is no other cause if the failures look alike in all else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from campaign.fingerprint import FAMILIES, Family, query_operators
from campaign.shrink.weight import weight
from campaign.triage import SHRINKABLE
from workload.query import AggregateFunction, names_read
from workload.results import Failure, FailureGroup, Fingerprint, Outcome, OutcomeClass
from workload.scenario import Scenario

FUNCTIONS = frozenset(
    label for function in AggregateFunction for label in (function.value, f"{function.value} DISTINCT")
) | {"MIN or MAX"}
"""How aggregate functions are called among operators."""

JOINED = {"cross join": "inner join"}


@dataclass(frozen=True, slots=True)
class Cause:
    """What two failures must share to count as one cause. `operators`: with their number."""

    outcome: OutcomeClass
    family: Family | None
    operators: frozenset[tuple[str, int]]
    functions: frozenset[str]

    @classmethod
    def of(cls, found: Fingerprint) -> Cause:
        """The cause that a minimal failure's fingerprint stands for."""
        # A cross join is an inner join ON TRUE, to engines and to shrinking.
        names = (JOINED.get(name, name) for name in found.operators if name not in FUNCTIONS)
        operators = Counter(names)
        return cls(
            outcome=found.outcome,
            family=None if found.check is None else FAMILIES[found.check],
            operators=frozenset(operators.items()),
            functions=frozenset(name for name in found.operators if name in FUNCTIONS),
        )

    def within(self, other: Cause) -> bool:
        """Whether a failure that shows `other` could be of this cause: all that it needs is there."""
        there = dict(other.operators)
        return (
            self.outcome is other.outcome
            and self.family is other.family
            and all(there.get(name, 0) >= count for name, count in self.operators)
            and self.functions <= other.functions
        )


@dataclass(frozen=True, slots=True)
class Likeness:
    """What a failure that was not shrunk shows: for each family of its failed checks a cause with everything
    in it. `weight`: how large the scenario is; `alike`: failures that start out the same way."""

    index: int
    causes: tuple[Cause, ...]
    weight: int
    alike: str
    shrinkable: bool

    @classmethod
    def of(cls, index: int, scenario: Scenario, outcome: Outcome) -> Likeness:
        """The likeness of a failure as it was found."""
        checks = dict.fromkeys(finding.check for finding in outcome.findings)
        shrinkable = outcome.outcome in SHRINKABLE
        tables = {finding.table for finding in outcome.findings}
        names = sorted(operators_behind(scenario, tables)) if shrinkable else []
        causes = (
            Cause.of(Fingerprint(outcome=outcome.outcome, check=check, operators=tuple(names), kind=None))
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
        """The cause it may be of: of those whose needs are all there, the one that needs most."""
        possible = [cause for cause in causes if any(cause.within(own) for own in self.causes)]
        return max(possible, key=_needs, default=None)


def _needs(cause: Cause) -> int:
    return sum(count for _, count in cause.operators) + len(cause.functions)


def operators_behind(scenario: Scenario, tables: set[str]) -> list[str]:
    """The operators of some tables' queries and of those upstream; of all, where none is defined."""
    queries = {definition.name: definition.query for definition in scenario.definitions}
    open_names = [name for name in tables if name in queries] or list(queries)
    seen: dict[str, None] = {}
    while open_names:
        name = open_names.pop()
        if name in queries and name not in seen:
            seen[name] = None
            open_names.extend(names_read(queries[name]))
    return [operator for name in seen for operator in query_operators(queries[name])]


def groups_of(failures: Sequence[Failure], unshrunk: Sequence[Likeness] = ()) -> tuple[FailureGroup, ...]:
    """The failures by cause, largest group first. Each of `failures` has a fingerprint.

    Those that are not minimal, and `unshrunk` ones, show more than their cause needs: they go to the cause
    that explains most of what they show. Every unshrunk one must be explained by one of the failures.
    """
    by_cause: dict[Cause, list[Failure]] = {}
    for failure in failures:
        if failure.minimal:
            by_cause.setdefault(_cause(failure), []).append(failure)
    members = _united(by_cause)
    for failure in failures:
        if not failure.minimal:
            own = _cause(failure)
            cause = max((c for c in members if c.within(own)), key=_needs, default=own)
            members.setdefault(cause, []).append(failure)
    likened: dict[Cause, list[int]] = {}
    for likeness in unshrunk:
        explained = likeness.explained_by(list(members))
        if explained is not None:
            likened.setdefault(explained, []).append(likeness.index)
    groups = [_group(found, likened.get(cause, [])) for cause, found in members.items()]
    return tuple(sorted(groups, key=lambda group: (-len(group.indices), group.representative)))


def _cause(failure: Failure) -> Cause:
    assert failure.fingerprint is not None
    return Cause.of(failure.fingerprint)


def _united(by_cause: Mapping[Cause, list[Failure]]) -> dict[Cause, list[Failure]]:
    """Causes that differ in aggregate functions alone, and whose failures otherwise look alike, as one."""
    members: dict[Cause, list[Failure]] = {}
    for cause in sorted(by_cause, key=_needs):
        home = next(
            (
                other
                for other in members
                if other.operators == cause.operators
                and other.within(cause)
                and _looks(members[other]) & _looks(by_cause[cause])
            ),
            cause,
        )
        members.setdefault(home, []).extend(by_cause[cause])
    return members


def _looks(failures: Sequence[Failure]) -> set[tuple[object, object]]:
    return {(f.fingerprint.check, f.fingerprint.kind) for f in failures if f.fingerprint is not None}


def _group(failures: Sequence[Failure], likened: Sequence[int]) -> FailureGroup:
    chosen = min(failures, key=lambda f: (not f.minimal, weight(f.shrunk), f.index))
    assert chosen.fingerprint is not None
    others = dict.fromkeys(f.fingerprint for f in failures if f.fingerprint is not None)
    others.pop(chosen.fingerprint, None)
    issues = dict.fromkeys(f.ignored for f in failures)
    return FailureGroup(
        fingerprint=chosen.fingerprint,
        others=tuple(sorted(others, key=lambda fingerprint: fingerprint.text)),
        indices=tuple(sorted([*(f.index for f in failures), *likened])),
        representative=chosen.index,
        unshrunk=tuple(sorted(likened)),
        ignored="" if "" in issues else ", ".join(issues),
    )
