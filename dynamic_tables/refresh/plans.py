"""The plans that refreshes run, each made once: they depend on definitions and rules, not on data."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from dynamic_tables.definition import Columns
from dynamic_tables.differentiate.changes import identify
from dynamic_tables.differentiate.differentiation import At
from dynamic_tables.differentiate.registry import RULES, Rules, change_plan, initial_plan
from dynamic_tables.plan.nodes import BoundQuery, Plan


@dataclass(slots=True)
class Plans:
    """The plans by some rules. The same question gives the same object, so that its text can be kept too."""

    rules: Rules = RULES
    made: dict[Hashable, Plan] = field(default_factory=dict)

    def initial(self, query: BoundQuery, *, ids: bool) -> Plan:
        """The defining query at t1."""
        return self._once(("initial", query, ids), lambda: initial_plan(query, self.rules, ids=ids))

    def changes(self, query: BoundQuery) -> Plan:
        """The consolidated changes of the defining query between t0 and t1."""
        return self._once(("changes", query), lambda: change_plan(query, self.rules))

    def capture(self, source: str, columns: Columns) -> Plan:
        """The changes of a source between two versions."""
        return self._once(("capture", source, columns), lambda: self.rules.capture(source, columns))

    def identified(self, source: str, at: At, columns: Columns) -> Plan:
        """Row ids for the rows of a source that keeps none."""
        make = lambda: identify(source, at, columns, self.rules.row_ids)  # noqa: E731
        return self._once(("identified", source, at, columns), make)

    def validate(self, columns: Columns) -> Plan:
        """Counts and violations of a change set."""
        return self._once(("validate", columns), lambda: self.rules.validate(columns))

    def fold(self, columns: Columns) -> Plan:
        """A change set with one row per row id."""
        return self._once(("fold", columns), lambda: self.rules.fold(columns))

    def apply(self, columns: Columns) -> Plan:
        """The contents after a folded change set."""
        return self._once(("apply", columns), lambda: self.rules.apply(columns))

    def forget(self) -> None:
        """Starts anew: a definition is gone, or means something else."""
        self.made.clear()

    def _once(self, key: Hashable, make: Callable[[], Plan]) -> Plan:
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]
