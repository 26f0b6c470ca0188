"""A variant of the built-in engine: the argument by which planted faults reach it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from dynamic_tables.differentiate.registry import RULES, Rules
from dynamic_tables.plan.branches import Met
from dynamic_tables.refresh.execute import PROTOCOL, RefreshProtocol
from dynamic_tables.store.version_rules import VERSION_RULES, VersionRules


@dataclass(frozen=True, slots=True)
class Variant:
    """What the built-in engine runs with: differentiation rules, refresh protocol, rules of versions.

    A planted fault is a variant in which one rule or one step is replaced.
    """

    rules: Rules = field(default_factory=lambda: RULES)
    protocol: RefreshProtocol = field(default_factory=lambda: PROTOCOL)
    versions: VersionRules = field(default_factory=lambda: VERSION_RULES)

    def watched(self, met: Met) -> Variant:
        """Returns the variant, which tells `met` the branches of its rules that refreshes take."""
        return replace(self, rules=replace(self.rules, met=met))
