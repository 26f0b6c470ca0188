"""What a planted fault is: one entry of the engine's rules or protocol replaced, from outside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from campaign.engine import Engine
from dynamic_tables.differentiate.differentiation import DeltaRule, StateRule
from dynamic_tables.differentiate.registry import Rules
from dynamic_tables.refresh.execute import RefreshProtocol
from workload.results import Check

Plant = Callable[[Engine], Engine]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A real bug of some engine, planted in ours. `caught_by`: the checks expected to see it."""

    name: str
    area: str
    wrong: str
    plant: Plant
    caught_by: tuple[Check, ...]
    core: bool = True


def in_operator(*operators: str, delta: DeltaRule | None = None, state: StateRule | None = None) -> Plant:
    """Replaces the rules of some operators."""

    def plant(engine: Engine) -> Engine:
        changed = dict(engine.rules.operators)
        for operator in operators:
            rule = changed[operator]
            changed[operator] = replace(rule, delta=delta or rule.delta, state=state or rule.state)
        return replace(engine, rules=replace(engine.rules, operators=changed))

    return plant


def in_rules(change: Callable[[Rules], Rules]) -> Plant:
    """Replaces another part of the algebra."""
    return lambda engine: replace(engine, rules=change(engine.rules))


def in_protocol(change: Callable[[RefreshProtocol], RefreshProtocol]) -> Plant:
    """Replaces a step of the refresh protocol."""
    return lambda engine: replace(engine, protocol=change(engine.protocol))
