"""Predicate pushdown: conditions are evaluated as near to the sources as they can be.

Spark does this within one query. But a refresh cuts the plan of the changes into stages, and a stage whose
result several others read would hold all rows, of all years, without the conditions that stand above it. So
the engine pushes conditions down before it differentiates a query.

Two rules keep this sound. A condition moves only if it cannot fail (`is_safe`), because below a join it
meets rows that the join would have dropped. And row ids must not change: the id of a filtered row is that of
its input, and no operator that a condition passes makes ids from rows that the condition removes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dynamic_tables.plan.branches import Branch, Met, unrecorded
from dynamic_tables.plan.expressions import (
    FALSE,
    Col,
    Expr,
    Fn,
    Lit,
    conjunction,
    conjuncts,
    replace_columns,
    walk,
)
from dynamic_tables.plan.functions import CAST, FAIL, IN, NOW, SHIFTED
from dynamic_tables.plan.nodes import (
    Aggregate,
    Distinct,
    Explode,
    Filter,
    Join,
    JoinKind,
    Mark,
    Plan,
    Project,
    SemiJoin,
    UnionAll,
    Window,
    added,
    children,
    children_first,
    columns,
    rebuilt,
    walk as nodes_of,
)
from dynamic_tables.plan.time import holds_time
from dynamic_tables.plan.types import NUMERIC, TEMPORAL, Kind, Type
from dynamic_tables.reading.values.typed import COMPARISONS

LOGIC = frozenset({"and", "or", "not", "is null", "is true", "is false"})
"""Functions, beside the comparisons, that fail on no value."""

PUSHED_BELOW: Mapping[type[Plan], Branch] = {
    **dict.fromkeys((Join, SemiJoin, Mark), Branch.PUSHED_BELOW_JOIN),
    Aggregate: Branch.PUSHED_BELOW_GROUPING,
    Window: Branch.PUSHED_BELOW_WINDOW,
    UnionAll: Branch.PUSHED_BELOW_UNION,
    Distinct: Branch.PUSHED_BELOW_DISTINCT,
    Explode: Branch.PUSHED_BELOW_EXPLODE,
}
"""The branch that is recorded when a condition moves below an operator.

Projections are not listed: nearly every condition passes one, so the branch would say nothing."""

WIDEST = 18
"""Most digits of a DECIMAL in a comparison that moves. Spark casts both sides of a comparison to a common
type, and with more digits that cast may overflow and fail."""


def pushed(plan: Plan, met: Met = unrecorded) -> Plan:
    """Returns a plan with the same rows and row ids, whose conditions stand as low as they can.

    A node with several readers stays shared: the condition of one reader stays above it, because the other
    readers need the rows that it removes.
    """
    uses: Counter[int] = Counter()
    for node in nodes_of(plan):
        uses.update(id(child) for child in children(node))
    done: dict[int, Plan] = {}
    shared: set[int] = set()
    for node in children_first(plan):
        result = rebuilt(node, tuple(done[id(child)] for child in children(node)))
        if isinstance(result, Filter):
            result = _Pushing(shared, met).filtered(result.child, list(conjuncts(result.predicate)))
        done[id(node)] = result
        if uses[id(node)] > 1:
            shared.add(id(result))
    return done[id(plan)]


@dataclass(frozen=True, slots=True)
class _Pushing:
    """Pushes conditions down one plan.

    `shared`: the identities of nodes that have several readers. `met`: receives the branch of each move.
    """

    shared: set[int]
    met: Met

    def filtered(self, plan: Plan, conditions: Iterable[Expr]) -> Plan:
        """Returns the rows of a plan that meet the conditions; each moves down alone as far as it can."""
        left: list[Expr] = []
        # Two filters, one above the other, become one, except where the lower one makes the query fail.
        if isinstance(plan, Filter) and id(plan) not in self.shared and not _is_check(plan.predicate):
            left += conjuncts(plan.predicate)
            plan = plan.child
        for condition in conditions:
            truth = _constant(condition)
            # `'a' = 'b'` appears where a column is replaced by its constant, as in a UNION ALL of branches
            # that each say what they are. A branch that no row can pass is left out of the plan.
            if truth is not None:
                left += [] if truth else [FALSE]
                continue
            movable = is_safe(condition) and id(plan) not in self.shared
            below = self._below(plan, condition) if movable else None
            if below is None:
                left.append(condition)
            else:
                self._record(plan)
                plan = below
        if FALSE in left:
            # FALSE stands alone, because `without_empty` looks for exactly this filter.
            return Filter(plan, FALSE)
        return Filter(plan, conjunction(left)) if left else plan

    def _record(self, plan: Plan) -> None:
        """Records that a condition moves below an operator."""
        branch = PUSHED_BELOW.get(type(plan))
        if branch is not None:
            self.met(branch)

    def _below(self, plan: Plan, condition: Expr) -> Plan | None:
        """Returns a plan whose input is filtered by a condition; None if it must stand above."""
        read = {part.name for part in walk(condition) if isinstance(part, Col)}
        match plan:
            case Project(child, items):
                return self._below_items(plan, child, dict(items), condition)
            case Aggregate(child, keys, _) if read <= {name for name, _ in keys}:
                # A condition on keys drops whole groups. One that reads no column must stay above: without
                # keys there is a row even if no row is left below.
                return self._below_items(plan, child, dict(keys), condition) if read else None
            case Join() | SemiJoin() | Mark():
                return self._below_sides(plan, read, condition)
            case UnionAll(branches):
                return replace(plan, branches=tuple(self.filtered(each, [condition]) for each in branches))
            case Distinct(child):
                return replace(plan, child=self.filtered(child, [condition]))
            case Explode(child) if not read & {column.name for column in added(plan)}:
                return replace(plan, child=self.filtered(child, [condition]))
            # A condition on keys of the partition drops whole partitions; any other one would change the
            # rows that the functions see.
            case Window(child) if read and read <= {
                key.name for key in plan.partition if isinstance(key, Col)
            }:
                return replace(plan, child=self.filtered(child, [condition]))
            case _:
                return None

    def _below_items(
        self, plan: Project | Aggregate, child: Plan, items: Mapping[str, Expr], condition: Expr
    ) -> Plan | None:
        """Returns a plan with a condition below its items; None if it must stand above."""
        # The condition reads outputs; below, each is replaced by its expression, which may be unsafe.
        over = replace_columns(condition, lambda column: items[column.name])
        return replace(plan, child=self.filtered(child, [over])) if is_safe(over) else None

    def _below_sides(self, plan: Join | SemiJoin | Mark, read: set[str], condition: Expr) -> Plan | None:
        """Returns a join with a condition moved to the side that it reads; None if it must stay above."""
        left = read <= {column.name for column in columns(plan.left)}
        right = read <= {column.name for column in columns(plan.right)}
        # A condition may move to a side that the join preserves, or to any side of an inner join. On the
        # other side of an outer join it would turn rows that it drops into pads.
        kind = plan.kind if isinstance(plan, Join) else JoinKind.LEFT
        if left and kind in (JoinKind.INNER, JoinKind.CROSS, JoinKind.LEFT):
            return replace(plan, left=self.filtered(plan.left, [condition]))
        if right and kind in (JoinKind.INNER, JoinKind.CROSS, JoinKind.RIGHT):
            return replace(plan, right=self.filtered(plan.right, [condition]))
        return None


def _is_check(condition: Expr) -> bool:
    """Tells whether a condition makes the query fail, as that of a scalar subquery with two rows does.

    It must see all rows: a condition that moved below it could hide the failure.
    """
    return any(isinstance(part, Fn) and part.name == FAIL for part in walk(condition))


def _constant(condition: Expr) -> bool | None:
    """Returns the value of a condition that compares two texts or two integers; None for any other."""
    match condition:
        case Fn("=", (Lit(left, kind), Lit(right, other)), _) if kind == other:
            return left == right if {type(left), type(right)} <= {int, str} else None
        case _:
            return None


def is_safe(condition: Expr) -> bool:
    """Tells whether a condition compares columns and constants, so that it fails on no row."""
    match condition:
        case Col() | Lit():
            return True
        case Fn(name, args, _) if name in COMPARISONS or name == IN:
            return _meet([arg.type for arg in args]) and all(map(is_safe, args))
        case Fn(name, args, _) if name in (NOW, CAST, SHIFTED) and holds_time(condition):
            # The current time, as a date, or moved by a fixed interval.
            return all(map(is_safe, args))
        case Fn(name, args, _):
            return name in LOGIC and all(map(is_safe, args))
        case _:
            return False


def _meet(types: Sequence[Type]) -> bool:
    """Tells whether values can be compared without a cast that may fail, as that of a text to a number."""
    kinds = {each.kind for each in types}
    narrow = all(each.kind is not Kind.DECIMAL or each.precision <= WIDEST for each in types)
    return narrow and (len(kinds) == 1 or kinds <= {*NUMERIC} or kinds <= {*TEMPORAL})
