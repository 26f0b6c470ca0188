"""Groupings at the top of a query, maintained from the stored rows of the table itself.

Each stored row is a group, and carries hidden columns (the state): the number of rows in the group, and what
the aggregates need to be continued (`accumulators`). A refresh adds the net changes of the affected groups to
their state, and does not read their other rows. Only a group that loses its least or greatest value is
computed from its rows again. The paper's engine computes every affected group from its rows (section 5.5.1);
this rule is ours.

A refresh runs four plans, each over the results of those before: `net` (what changed in each group), `groups`
(the new row of each group beside its old one), `parts_again` (rows of the groups that must be computed anew,
if there are any), `changes` (the change set). They are separate so that few groups are fetched and become
literals: the keys of `net` decide which stored rows are read, and `$AGAIN` whether the third plan runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dynamic_tables.differentiate.accumulators import (
    NET_ROWS,
    ROWS,
    WEIGHT,
    ZERO,
    Accumulator,
    accumulator,
    old_of,
    or_zero,
    plus,
    state_columns,
)
from dynamic_tables.differentiate.differentiation import CONTENTS, ID, At, Differentiation, operator_of
from dynamic_tables.differentiate.grouping import group_id, grouped
from dynamic_tables.differentiate.linear import same
from dynamic_tables.plan.affected import only_groups
from dynamic_tables.plan.branches import Branch, Met
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit, boolean, conjunction, joined, text
from dynamic_tables.plan.functions import CASE
from dynamic_tables.plan.nodes import (
    ACTION,
    DELETE,
    INSERT,
    ROW_ID,
    Aggregate,
    BoundQuery,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Leaf,
    Plan,
    Project,
    SemiJoin,
    UnionAll,
    Values,
    columns,
    walk,
)
from dynamic_tables.plan.types import BIGINT, BOOLEAN, STRING, Columns

NET_CHANGES = "net"
"""The name of the leaf that is bound to the result of `StoredGroups.net`: each group's net changes."""

GROUPS = "groups"
"""The name of the leaf that is bound to the result of `StoredGroups.groups`: affected groups, old and new."""

PARTS = "parts"
"""The name of the leaf that is bound to the result of `StoredGroups.parts_again`."""

AGAIN = Col("$AGAIN", BOOLEAN)
"""Whether a group must be computed from its rows again, because it may have lost its extremum."""

GROUP_ID = Col("$GROUP_ID", STRING)
WRITTEN = Col("$WRITTEN", STRING)
NET_ROWS_OF_GROUP = Col("$ROWS_OF_GROUP", BIGINT)

Items = tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, eq=False)
class StoredGroups:
    """A query that is one grouping, with the plans that maintain the stored rows of its table.

    `node`: the grouping; DISTINCT is one by all columns without an aggregate. `projects`: the projections
    above the grouping, innermost first; with `SELECT k, SUM(x) + 1 ... GROUP BY k` one that adds 1.
    `operator`: the operator whose registered rule this one replaces.
    """

    query: BoundQuery
    node: Aggregate
    projects: tuple[Project, ...]
    accumulators: tuple[Accumulator, ...]
    operator: str

    @property
    def state(self) -> Columns:
        """Names and types of the hidden columns."""
        return state_columns(self.accumulators)

    @property
    def loses_groups(self) -> bool:
        """Whether a group that loses its last row leaves the result; the one group without keys stays."""
        return bool(self.node.keys)

    @property
    def has_extremum(self) -> bool:
        """Whether some group may have to be computed anew."""
        return any(known.is_extremum for known in self.accumulators)

    def record(self, met: Met) -> None:
        """Tells `met` the branches by which the groups are kept."""
        if self.operator == "distinct":
            met(Branch.CONTENTS_DISTINCT)
        else:
            met(Branch.CONTENTS_GROUPED if self.node.keys else Branch.CONTENTS_OF_ALL)
        if any(not isinstance(expr, Col) for project in self.projects for _, expr in project.items):
            met(Branch.CONTENTS_COMPUTED)
        for known in self.accumulators:
            branch = known.branch
            if branch is not None:
                met(branch)

    def record_again(self, met: Met) -> None:
        """Tells `met` that some groups are computed anew."""
        met(Branch.EXTREME_AGAIN if self.node.keys else Branch.ALL_AGAIN)

    def initial(self, d: Differentiation) -> Plan:
        """Returns the rows of the query at t1, with the hidden columns and `$ROW_ID`."""
        return Project(
            self._whole(d.state(self.node.child, At.T1, False), d), (*self._outputs(), (ROW_ID, ID))
        )

    def fresh(self, d: Differentiation) -> Plan:
        """Returns the same rows as `initial` with every hidden column, the numbers of ties included.

        It computes all groups in the way in which a refresh computes one group again. That costs more than
        `initial`, but it is a second way to the same state: a check compares it with what refreshes have
        kept. A wrong hidden value shows in no visible column until a later refresh continues from it.
        """
        parts = self._parts(d.state(self.node.child, At.T1, False), changes=False)
        return Project(self._from_parts(parts, d), (*self._outputs(), (ROW_ID, ID)))

    def net(self, d: Differentiation) -> Plan:
        """Returns the net changes of each group, with the id of the group as the last column.

        The last column is what a refresh fetches first: the ids of the stored rows that it must read.
        """
        parts = self._parts(d.delta(self.node.child, False), changes=True)
        return Project(parts, (*same(parts), (GROUP_ID.name, group_id(self.node, d))))

    def groups(self, d: Differentiation) -> Plan:
        """Returns each affected group, from the result of `net`: its new row, its old row, and `$AGAIN`.

        The columns: the outputs, the hidden columns, `$ROW_ID`, `$AGAIN`, the keys as `$KEY0`, `$KEY1`, ...,
        and the stored row with `$OLD_` before each name, NULL for a group that is new.
        """
        contents = self._contents()
        # The plan of `net` is built only for the names and types of its columns: its rows come by the leaf.
        net = Leaf(NET_CHANGES, tuple((column.name, column) for column in columns(self.net(d))))
        found = self._beside_contents(net, contents)
        rows: tuple[str, Expr] = (ROWS, plus(old_of(Col(ROWS, BIGINT)), NET_ROWS))
        state: Items = (rows, *(item for known in self.accumulators for item in known.new_state()))
        keys: Items = tuple((name, Col(name, key.type)) for name, key in self.node.keys)
        numbered: Items = tuple((f"$KEY{i}", key) for i, (_, key) in enumerate(keys))
        again: Expr = _any(k.must_compute() for k in self.accumulators if k.is_extremum)
        kept: Items = (*numbered, (ROW_ID, GROUP_ID), *same(contents))
        computed = Project(found, (*keys, *state, (AGAIN.name, again), *kept))
        values: Items = tuple((known.name, known.new_value()) for known in self.accumulators)
        alive = boolean(">", Col(ROWS, BIGINT), ZERO)
        passed = _passed((*state, *kept))
        # A group that lost its last row has lost its extremum too, but there is nothing to compute.
        again_alive = conjunction((AGAIN, alive)) if self.loses_groups else AGAIN
        # Three projections, one over the other: the state, the aggregates over the state, and then the
        # query's own expressions over the aggregates. Each reads columns that the one below it has made.
        valued = Project(computed, (*keys, *values, *passed, (AGAIN.name, again_alive)))
        passed = (*passed, (AGAIN.name, AGAIN))
        return Project(self._projected(valued, passed), (*self.query.outputs, *passed))

    def parts_again(self, d: Differentiation) -> Plan:
        """Returns the rows at t1 of the groups that must be computed anew, as the parts of `_parts`.

        They are summed up by group and by value of the extrema, so that `_from_parts` can count the ties.
        """
        keys = [key for _, key in self.node.keys]
        wanted = Filter(self._groups_leaf(d), AGAIN)
        numbered = tuple((f"$KEY{i}", Col(f"$KEY{i}", key.type)) for i, key in enumerate(keys))
        rows = d.state(self.node.child, At.T1, False)
        if not keys:
            # Without keys there is one group: all rows match if it is wanted, and none otherwise.
            return self._parts(SemiJoin(rows, Project(wanted, ((AGAIN.name, AGAIN),)), AGAIN), changes=False)
        return self._parts(only_groups(rows, keys, Project(wanted, numbered)), changes=False)

    def changes(self, d: Differentiation, *, again: bool) -> Plan:
        """Returns the changes, from the result of `groups`.

        `again`: some groups must be computed anew; their INSERTs come from the result of `parts_again`.
        """
        leaf = self._groups_leaf(d)
        stored = (*self.query.schema, *self.state)
        # The outputs follow from key and state, so to compare the state is enough. A row whose outputs stay
        # the same but whose state does not (MIN(x), where one more row came) must be written too.
        differs = _any(boolean("is distinct from", Col(n, t), old_of(Col(n, t))) for n, t in self.state)
        changed = boolean("or", differs, AGAIN)
        known = boolean("not", boolean("is null", old_of(ID)))
        alive: Expr = boolean(">", Col(ROWS, BIGINT), ZERO) if self.loses_groups else Lit(True, BOOLEAN)
        is_delete = boolean("=", WRITTEN, text(DELETE))
        deleted = conjunction((is_delete, known, changed))
        inserted = conjunction((boolean("not", is_delete), alive, boolean("not", AGAIN), changed))
        # Each group is joined with the two constants DELETE and INSERT, and the condition keeps those that
        # apply. So the leaf is read once; a UNION ALL of two filters would read it twice.
        written = Join(
            JoinKind.INNER, leaf, Values((WRITTEN,), ((DELETE,), (INSERT,))), boolean("or", deleted, inserted)
        )
        items: Items = tuple((n, Fn(CASE, (is_delete, old_of(Col(n, t)), Col(n, t)), t)) for n, t in stored)
        result = Project(written, (*items, (ACTION, WRITTEN), (ROW_ID, ID)))
        return UnionAll((result, self._computed_anew(d))) if again else result

    def again(self, d: Differentiation) -> Plan:
        """Returns the ids of the groups that must be computed anew, from the result of `groups`."""
        return Project(Filter(self._groups_leaf(d), AGAIN), ((ROW_ID, ID),))

    def _groups_leaf(self, d: Differentiation) -> Leaf:
        return Leaf(GROUPS, tuple((column.name, column) for column in columns(self.groups(d))))

    def _computed_anew(self, d: Differentiation) -> Plan:
        """Returns the INSERTs of the groups that must be computed anew, from the result of `parts_again`."""
        parts = Leaf(PARTS, tuple((column.name, column) for column in columns(self.parts_again(d))))
        return Project(self._from_parts(parts, d), (*self._outputs(), (ACTION, text(INSERT)), (ROW_ID, ID)))

    def _from_parts(self, parts: Plan, d: Differentiation) -> Plan:
        """Returns the query's result over the parts of whole groups, with hidden columns and `$ROW_ID`.

        Two passes over the parts: the first finds the extremum of each group, the second sums up the rows of
        the parts that have it.
        """
        keys: Items = tuple((name, Col(name, key.type)) for name, key in self.node.keys)
        totals = (
            (NET_ROWS_OF_GROUP.name, Agg("SUM", NET_ROWS, False, BIGINT)),
            *(total for known in self.accumulators for total in known.totals()),
        )
        whole = Aggregate(parts, keys, totals)
        # Names are unique in a whole plan, so the parts get new ones before they are joined with the totals.
        kept = {column.name for column in columns(whole)}
        renamed = Project(
            parts,
            tuple((f"$PART_{c.name}" if c.name in kept else c.name, c) for c in columns(parts)),
        )
        same_group = conjunction(
            [
                Lit(True, BOOLEAN),
                *(boolean("is not distinct from", Col(f"$PART_{n}", k.type), k) for n, k in keys),
            ]
        )
        # A LEFT join, because a grouping without keys has a row also when there are no parts.
        joined = Join(JoinKind.LEFT, whole, renamed, same_group)
        ties = tuple(counted for known in self.accumulators for counted in known.counted_ties())
        counted = Aggregate(joined, same(whole), ties)
        hidden = (item for known in self.accumulators for item in known.state_of_whole())
        state: Items = ((ROWS, or_zero(NET_ROWS_OF_GROUP)), *hidden)
        identified = Project(counted, (*keys, *state, (ROW_ID, group_id(self.node, d))))
        values: Items = tuple((known.name, known.new_value()) for known in self.accumulators)
        passed = _passed((*state, (ROW_ID, ID)))
        return self._projected(Project(identified, (*keys, *values, *passed)), passed)

    def _whole(self, rows: Plan, d: Differentiation) -> Plan:
        """Returns the query's result over some rows, with the hidden columns and `$ROW_ID`.

        It is one grouping, as the query itself is; so the numbers of ties stay NULL, for "not known".
        """
        hidden = (
            (ROWS, Agg("COUNT", None, False, BIGINT)),
            *(part for known in self.accumulators for part in known.of_whole()),
        )
        node = Aggregate(self.node.child, self.node.keys, (*self.node.aggregates, *hidden))
        groups = grouped(node, rows, True, d)
        unknown: Items = tuple(
            (known.ties.name, Lit(None, BIGINT)) for known in self.accumulators if known.is_extremum
        )
        passed: Items = (*((name, Col(name, type_)) for name, type_ in self.state), (ROW_ID, ID))
        return self._projected(Project(groups, (*same(groups), *unknown)), passed)

    def _outputs(self) -> Items:
        return (*self.query.outputs, *((name, Col(name, type_)) for name, type_ in self.state))

    def _projected(self, groups: Plan, passed: Items) -> Plan:
        """Returns the query's projections over groups; the columns `passed` are carried through unchanged."""
        for project in self.projects:
            groups = Project(groups, (*project.items, *passed))
        return groups

    def _contents(self) -> Leaf:
        stored = (*self.query.schema, *self.state, (ROW_ID, STRING))
        return Leaf(CONTENTS, tuple((name, old_of(Col(name, type_))) for name, type_ in stored))

    def _parts(self, rows: Plan, *, changes: bool) -> Plan:
        """Returns the number of rows, the counts and the sums of each group; of `changes`, the net of each.

        With MIN(x) in the query the grouping is by the group's key and x: a DELETE of x = 3 in one row and an
        INSERT of x = 3 in another one give the part (3, 0 rows), which neither gains nor loses a minimum.
        """
        weight = WEIGHT if changes else Lit(1, BIGINT)
        parts = (
            (NET_ROWS.name, Agg("SUM", weight, False, BIGINT)),
            *(part for known in self.accumulators for part in known.parts(changes=changes)),
        )
        values = tuple((k.value.name, k.agg.arg) for k in self.accumulators if k.is_extremum and k.agg.arg)
        return Aggregate(rows, (*self.node.keys, *values), parts)

    def _beside_contents(self, net: Plan, contents: Leaf) -> Plan:
        """Returns the net changes of each group, joined with its stored row (NULL for a new group)."""
        found = Join(JoinKind.LEFT, net, contents, boolean("=", GROUP_ID, old_of(ID)))
        if not self.has_extremum:
            # There is one part for each group already.
            return found
        keys: Items = tuple((name, Col(name, key.type)) for name, key in self.node.keys)
        totals = (
            (NET_ROWS.name, Agg("SUM", NET_ROWS, False, BIGINT)),
            *(total for known in self.accumulators for total in known.net_totals()),
        )
        return Aggregate(found, (*keys, (GROUP_ID.name, GROUP_ID), *same(contents)), totals)


def stored_groups_of(query: BoundQuery) -> StoredGroups | None:
    """Returns how a query is maintained from its own contents; None where that is not possible.

    The query must be a grouping or a DISTINCT with nothing but projections above it: a HAVING would drop
    groups whose state a later refresh needs.
    """
    projects: list[Project] = []
    node = query.plan
    while isinstance(node, Project):
        projects.insert(0, node)
        node = node.child
    operator = operator_of(node)
    if isinstance(node, Distinct):
        node = Aggregate(node.child, same(node), ())
    if not isinstance(node, Aggregate) or any(map(_adds_floats, walk(node.child))):
        return None
    known = [accumulator(i, name, agg) for i, (name, agg) in enumerate(node.aggregates)]
    accumulators = tuple(one for one in known if one is not None)
    if len(accumulators) < len(known):
        return None
    return StoredGroups(query, node, tuple(projects), accumulators, operator)


def _adds_floats(node: Plan) -> bool:
    """Tells whether a grouping has a sum of floats, whose last bits depend on the order of summation.

    Below a maintained grouping it would be an input. Its old image is computed at the next refresh, maybe in
    another order than when it was added as a new image: a DELETE would not take out exactly what the INSERT
    put in, and the stored sums would drift.
    """
    return isinstance(node, Aggregate) and any(agg.adds_floats for _, agg in node.aggregates)


def _any(conditions: Iterable[Expr]) -> Expr:
    nothing: Expr = Lit(False, BOOLEAN)
    return joined((nothing, *conditions), lambda left, right: boolean("or", left, right))


def _passed(items: Items) -> Items:
    return tuple((name, Col(name, expr.type)) for name, expr in items)
