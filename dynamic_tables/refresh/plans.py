"""The plans that refreshes run. They depend on definitions and rules, not on data, so each is made once.

Only which sources changed in an interval makes a difference: for each such set a plan is derived from the
whole one, by leaving out the terms that need a change of the other sources.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass, field

from dynamic_tables.differentiate.differentiation import leaf_name
from dynamic_tables.differentiate.registry import (
    Rules,
    change_plan,
    fresh_state_plan,
    group_again_plan,
    group_change_plan,
    group_parts_plan,
    group_plan,
    initial_plan,
    net_plan,
    state_plan,
    stored_groups,
)
from dynamic_tables.differentiate.stored_groups import StoredGroups
from dynamic_tables.plan.branches import Branch
from dynamic_tables.plan.nodes import BoundQuery, Plan
from dynamic_tables.plan.rewrites.empty import without_empty


@dataclass(slots=True)
class Plans:
    """Plans by one set of rules.

    The same arguments get the same plan object. Nodes compare by identity, so a store can use the object as
    the key of the SQL text, of the stages and of the results that it keeps. `made`: the plans so far.
    """

    rules: Rules
    made: dict[Hashable, Plan] = field(default_factory=dict)
    groups_by_query: dict[BoundQuery, StoredGroups | None] = field(default_factory=dict)

    def initial(self, query: BoundQuery, ids: bool) -> Plan:
        """Returns the plan of a query's rows at t1, with `$ROW_ID` if `ids`."""
        return self._once(("initial", query, ids), lambda: initial_plan(query, self.rules, ids=ids))

    def state(self, query: BoundQuery) -> Plan:
        """Returns the plan of a query's rows at t1, with hidden columns and `$ROW_ID`."""
        return self._once(("state", query), lambda: state_plan(query, self.rules))

    def stored_groups(self, query: BoundQuery) -> StoredGroups | None:
        """Returns how a query is maintained from its own contents; None where that is not possible."""
        if query not in self.groups_by_query:
            self.groups_by_query[query] = stored_groups(query, self.rules)
        return self.groups_by_query[query]

    def fresh_state(self, stored: StoredGroups) -> Plan:
        """Returns the plan of a query's rows at t1 with every hidden column and `$ROW_ID`."""
        return self._once(("fresh state", stored), lambda: fresh_state_plan(stored, self.rules))

    def net(self, stored: StoredGroups, unchanged: Collection[str] = ()) -> Plan:
        """Returns the plan of what changed in each group; without terms of the sources `unchanged`."""
        whole = self._once(("net", stored), lambda: net_plan(stored, self.rules))
        return self._without(whole, unchanged, ("net", stored))

    def groups(self, stored: StoredGroups) -> Plan:
        """Returns the plan of the groups that changed, old and new."""
        return self._once(("groups", stored), lambda: group_plan(stored, self.rules))

    def groups_again(self, stored: StoredGroups) -> Plan:
        """Returns the plan of the groups that must be computed anew."""
        return self._once(("groups again", stored), lambda: group_again_plan(stored, self.rules))

    def group_parts(self, stored: StoredGroups) -> Plan:
        """Returns the plan of the rows of the groups that must be computed anew."""
        return self._once(("group parts", stored), lambda: group_parts_plan(stored, self.rules))

    def group_changes(self, stored: StoredGroups, *, again: bool) -> Plan:
        """Returns the plan of the changes, from the groups; `again`: some of them are computed anew."""
        return self._once(
            ("group changes", stored, again), lambda: group_change_plan(stored, self.rules, again=again)
        )

    def changes(self, query: BoundQuery, unchanged: Collection[str] = (), *, contents: bool = True) -> Plan:
        """Returns the plan of a query's consolidated changes between t0 and t1.

        `unchanged`: sources that did not change; terms that have no rows then are left out. Of a join L, R
        with R unchanged, dL x R@t1 is left, and L is not read at t0. `contents`: whether the stored rows may
        be read in place of the query's rows at t0.
        """
        key = ("changes", query, contents)
        whole = self._once(key, lambda: change_plan(query, self.rules, contents=contents))
        return self._without(whole, unchanged, key)

    def of(self, make: Callable[..., Plan], *args: Hashable) -> Plan:
        """Returns `make(*args)`; `make` is a plan of the rules, such as `rules.fold`."""
        return self._once((make, args), lambda: make(*args))

    def forget(self) -> None:
        """Drops all plans, after a definition was dropped or changed."""
        self.made.clear()
        self.groups_by_query.clear()

    def _without(self, whole: Plan, unchanged: Collection[str], key: tuple[Hashable, ...]) -> Plan:
        """Returns a plan without the terms that need changes of the sources `unchanged`; `key`: its key."""
        leaves = frozenset(leaf_name(source, None) for source in unchanged)

        def pruned() -> Plan:
            # A plan needs a root: if nothing is left, the whole plan runs, and gives no rows.
            less = without_empty(whole, leaves) or whole
            if leaves and less is not whole:
                self.rules.met(Branch.SOURCE_UNCHANGED)
            return less

        return self._once((*key, leaves), pruned)

    def _once(self, key: Hashable, make: Callable[[], Plan]) -> Plan:
        """Returns the plan that is stored under a key; `make` builds it at the first call."""
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]
