"""A variant of the built-in engine: the argument by which planted faults reach it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dynamic_tables.differentiate.registry import RULES, Rules
from dynamic_tables.plan.branches import Met
from dynamic_tables.refresh.execute import PROTOCOL, RefreshProtocol
from dynamic_tables.store.log.own_commit import OwnCommitter, own_commit
from dynamic_tables.store.spark.own_session import own_session
from dynamic_tables.store.ticks.version_rules import VERSION_RULES, VersionRules

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Variant:
    """What the built-in engine runs with: differentiation rules, refresh protocol, rules of versions.

    On Delta: `session_of` makes the engine's own Spark session from the caller's; `own_commit` writes a
    commit without Spark.

    A planted fault is a variant in which one rule or one step is replaced.
    """

    rules: Rules = field(default_factory=lambda: RULES)
    protocol: RefreshProtocol = field(default_factory=lambda: PROTOCOL)
    versions: VersionRules = field(default_factory=lambda: VERSION_RULES)
    session_of: Callable[[SparkSession], SparkSession] = field(default_factory=lambda: own_session)
    own_commit: OwnCommitter = field(default_factory=lambda: own_commit)

    def watched(self, report: Met) -> Variant:
        """Returns this variant with rules that give `report` each branch that a refresh takes."""
        return replace(self, rules=replace(self.rules, met=report))
