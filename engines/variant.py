"""A variant of the built-in engine: the argument by which planted faults reach it."""

from __future__ import annotations

from dataclasses import dataclass, field

from dynamic_tables.differentiate.registry import RULES, Rules
from dynamic_tables.refresh.execute import PROTOCOL, RefreshProtocol


@dataclass(frozen=True, slots=True)
class Variant:
    """The differentiation rules and the refresh protocol that the built-in engine runs with.

    A planted fault is a variant in which one rule or one step of the protocol is replaced.
    """

    rules: Rules = field(default_factory=lambda: RULES)
    protocol: RefreshProtocol = field(default_factory=lambda: PROTOCOL)
