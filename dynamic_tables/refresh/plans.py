"""The plans that refreshes run. They depend on definitions and rules, not on data, so each is made once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass, field

from dynamic_tables.differentiate.differentiation import leaf_name
from dynamic_tables.differentiate.registry import Rules, change_plan, initial_plan
from dynamic_tables.plan.empty import without_empty
from dynamic_tables.plan.nodes import BoundQuery, Plan


@dataclass(slots=True)
class Plans:
    """Plans by one set of rules. Equal arguments get the same plan object, so a store can cache its text."""

    rules: Rules
    made: dict[Hashable, Plan] = field(default_factory=dict)

    def initial(self, query: BoundQuery, ids: bool) -> Plan:
        """Returns the plan of a query's rows at t1, with `$ROW_ID` if `ids`."""
        return self._once(("initial", query, ids), lambda: initial_plan(query, self.rules, ids=ids))

    def changes(self, query: BoundQuery, unchanged: Collection[str] = ()) -> Plan:
        """Returns the plan of a query's consolidated changes between t0 and t1.

        It holds no term that only a change of one of the sources `unchanged` could fill.
        """
        whole = self._once(("changes", query), lambda: change_plan(query, self.rules))
        if not unchanged:
            return whole
        leaves = frozenset(leaf_name(source, None) for source in unchanged)
        return self._once(("changes", query, leaves), lambda: without_empty(whole, leaves) or whole)

    def of(self, make: Callable[..., Plan], *args: Hashable) -> Plan:
        """Returns `make(*args)`; `make` is a plan of the rules, such as `rules.fold`."""
        return self._once((make, args), lambda: make(*args))

    def forget(self) -> None:
        """Drops all plans, after a definition was dropped or changed."""
        self.made.clear()

    def _once(self, key: Hashable, make: Callable[[], Plan]) -> Plan:
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]
