"""A planted fault: one rule of the built-in engine, or one step around it, replaced from outside.

The other files of this folder hold the faults, by the part of the engine that they are planted in. `dvs
mutants` and `dvs gate` plant them to see whether the harness finds them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from campaign.judging.recording import RECORDING, Recording
from dynamic_tables.differentiate.differentiation import DeltaRule
from dynamic_tables.differentiate.registry import Rules
from engines.variant import Variant
from workload.outcomes.results import Check


@dataclass(frozen=True, slots=True)
class Subject:
    """What faults are planted in: the built-in engine, and the recording of its runs as histories."""

    variant: Variant = field(default_factory=Variant)
    recording: Recording = RECORDING


Plant = Callable[[Subject], Subject]
"""Returns the subject with a fault in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A real bug of some engine, planted in the built-in one.

    `area`: the part of the engine; scores are counted for each area. `wrong`: what the engine does wrong, as
    `dvs mutants --list` shows it. `caught_by`: the checks that are expected to find it, the likeliest first.
    `core`: whether every gate hunts it. `only_on`: the beginning of the names of the tiers that it can be
    planted in; empty for all. `documents`: whether it shows in no other columns than VARIANTs.
    """

    name: str
    area: str
    wrong: str
    plant: Plant
    caught_by: tuple[Check, ...]
    core: bool = True
    only_on: str = ""
    documents: bool = False


Model = TypeVar("Model")


@dataclass(frozen=True, slots=True)
class ModelFault(Generic[Model]):
    """A mistake planted in a model. `wrong`: what the model then does wrong; `model`: its rules with it."""

    wrong: str
    model: Model


def sentence(function: Callable[..., object]) -> str:
    """The docstring of a faulty function, on one line: users read it in lists, as they do click's help."""
    return " ".join((function.__doc__ or "").split())


def rule_fault(
    name: str, rule: DeltaRule, *checks: Check, area: str, operators: tuple[str, ...], core: bool = True
) -> Fault:
    """A fault that replaces the differentiation rule of some operators; the rule's docstring describes it."""

    def plant(subject: Subject) -> Subject:
        rules = subject.variant.rules
        changed = {operator: replace(rules.operators[operator], delta=rule) for operator in operators}
        return _with_rules(subject, replace(rules, operators={**rules.operators, **changed}))

    return Fault(name=name, area=area, wrong=sentence(rule), plant=plant, caught_by=checks, core=core)


def part_fault(
    name: str,
    part: str,
    faulty: Callable[..., object],
    *checks: Check,
    area: str,
    replacing: Callable[..., Plant],
    core: bool = True,
    only_on: str = "",
    documents: bool = False,
) -> Fault:
    """A fault that replaces a named part by a faulty function, whose docstring describes it.

    `replacing`: `in_rules` or another function below, which takes the part as a keyword argument.
    """
    plant = replacing(**{part: faulty})
    return Fault(
        name=name,
        area=area,
        wrong=sentence(faulty),
        plant=plant,
        caught_by=checks,
        core=core,
        only_on=only_on,
        documents=documents,
    )


def in_rules(**parts: Any) -> Plant:
    """Replaces parts of the engine's `Rules` that belong to no operator, such as `capture`."""
    return lambda subject: _with_rules(subject, replace(subject.variant.rules, **parts))


def in_row_ids(**kinds: Any) -> Plant:
    """Replaces how the ids of some kinds of rows are made, such as `key` (`RowIds`)."""

    def plant(subject: Subject) -> Subject:
        rules = subject.variant.rules
        return _with_rules(subject, replace(rules, row_ids=replace(rules.row_ids, **kinds)))

    return plant


def in_protocol(**steps: Any) -> Plant:
    """Replaces steps of the refresh protocol (`RefreshProtocol`)."""

    def plant(subject: Subject) -> Subject:
        protocol = replace(subject.variant.protocol, **steps)
        return replace(subject, variant=replace(subject.variant, protocol=protocol))

    return plant


def in_versions(**steps: Any) -> Plant:
    """Replaces steps by which commits become versions of data timestamps (`VersionRules`)."""

    def plant(subject: Subject) -> Subject:
        versions = replace(subject.variant.versions, **steps)
        return replace(subject, variant=replace(subject.variant, versions=versions))

    return plant


def in_store(**parts: Any) -> Plant:
    """Replaces parts of the store on Delta, such as `session_of` (`Variant`)."""
    return lambda subject: replace(subject, variant=replace(subject.variant, **parts))


def in_recording(**parts: Any) -> Plant:
    """Replaces which events of a run are recorded (`Recording`)."""
    return lambda subject: replace(subject, recording=replace(subject.recording, **parts))


def _with_rules(subject: Subject, rules: Rules) -> Subject:
    return replace(subject, variant=replace(subject.variant, rules=rules))
