"""Cuts a plan into stages: parts that Spark runs first, and whose results the later parts read.

Three things that Spark does not do by itself:
- It computes a common table expression once for each use. Here a shared part of the plan with few rows is a
  stage of its own and is computed once.
- It cannot broadcast the preserved side of an outer join, so it shuffles the other side, with many rows. Here
  that side is reduced by a semi join to the rows that match.
- It expands shared parts inside of shared parts. The changes of a query ten blocks deep are some hundred
  operators, and millions where each use is written out. There every larger shared part is a stage, even with
  many rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from dynamic_tables.plan import nodes
from dynamic_tables.plan.expressions import Expr
from dynamic_tables.plan.rewrites.narrowed import narrowed

FEW_ROWS = 10_000
"""A LIMIT up to this number counts as few rows."""


MOST_OPERATORS = 500
"""Operators of a plan, shared ones counted at each use, that Spark is given in one query."""

LEAST_OPERATORS = 20
"""Operators from which a shared part of a larger plan is a stage of its own."""


@dataclass(frozen=True, slots=True)
class Stages:
    """`steps`: name and plan of each stage, in order; later plans read it as a leaf. `last`: the result."""

    steps: tuple[tuple[str, nodes.Plan], ...]
    last: nodes.Plan


def stages(plan: nodes.Plan, few: Collection[str], most: int = MOST_OPERATORS) -> Stages:
    """Returns a plan with the same rows as stages.

    `few`: the names of the leaves that have few rows. `most`: operators of one stage, shared ones counted at
    each use, above which its shared parts become stages too, even with many rows.
    """
    reduced = _Reduction(frozenset(few)).of(plan)
    sizes = _Sizes(frozenset(few))
    # A part that reads few rows only is cheap to compute again, so it is no stage.
    whole = _cut(
        reduced,
        lambda node, _: sizes.few(node) and sizes.reads_many(node),
        "stage",
        alone={id(side) for side in _groups_beside_many(reduced, sizes)},
    )
    steps: list[tuple[str, nodes.Plan]] = []
    for name, step in (*whole.steps, ("result", whole.last)):
        # Written out, the changes of ten blocks were millions of operators, and Spark planned for minutes.
        if written_out(step) > most:
            parts = _cut(step, lambda _, operators: operators > LEAST_OPERATORS, f"part of {name}")
            steps.extend(parts.steps)
            step = parts.last
        steps.append((name, step))
    return Stages(tuple(steps[:-1]), steps[-1][1])


def _groups_beside_many(plan: nodes.Plan, sizes: _Sizes) -> Iterator[nodes.Plan]:
    """Yields the inputs of inner joins that are made of groups and have few rows, beside many.

    Spark expects many rows of a grouping, and so it reads and shuffles all of the other side. As rows of a
    stage, their keys become a filter of it (`looked_up`).
    """
    for node in nodes.walk(plan):
        if isinstance(node, nodes.Join) and node.kind is nodes.JoinKind.INNER:
            for few, many in ((node.left, node.right), (node.right, node.left)):
                if _is_grouped(few) and sizes.few(few) and not sizes.few(many):
                    yield few


def _is_grouped(plan: nodes.Plan) -> bool:
    """Tells whether rows are those of a grouping, not yet joined with others."""
    match plan:
        case nodes.Project(child, _) | nodes.Filter(child, _):
            return _is_grouped(child)
        case nodes.UnionAll(branches):
            return any(map(_is_grouped, branches))
        case _:
            return isinstance(plan, nodes.Aggregate | nodes.Distinct)


def _cut(
    plan: nodes.Plan,
    wanted: Callable[[nodes.Plan, int], bool],
    name: str,
    *,
    alone: Collection[int] = (),
) -> Stages:
    """Returns a plan whose shared parts become stages where `wanted` says so.

    `wanted`: (part, number of its operators as Spark would see them) -> whether it becomes a stage. A stage
    that is cut out counts as one operator, a leaf, in the parts above it. `alone`: the identities of parts
    that count as shared.
    """
    uses: Counter[int] = Counter()
    for node in nodes.walk(plan):
        uses.update(id(child) for child in nodes.children(node))
    steps: list[tuple[str, nodes.Plan]] = []
    done: dict[int, nodes.Plan] = {}
    written: dict[int, int] = {}
    for node in nodes.children_first(plan):
        part = nodes.rebuilt(node, tuple(done[id(child)] for child in nodes.children(node)))
        written[id(node)] = 1 + sum(written[id(child)] for child in nodes.children(node))
        if (uses[id(node)] > 1 or id(node) in alone) and wanted(node, written[id(node)]):
            steps.append((f"{name} {len(steps)}", part))
            part = nodes.Leaf(steps[-1][0], tuple((column.name, column) for column in nodes.columns(node)))
            written[id(node)] = 1
        done[id(node)] = part
    return Stages(tuple(steps), done[id(plan)])


def written_out(plan: nodes.Plan) -> int:
    """Returns the number of operators of a plan, where a shared one counts at each of its uses."""
    counts: dict[int, int] = {}
    for node in nodes.children_first(plan):
        counts[id(node)] = 1 + sum(counts[id(child)] for child in nodes.children(node))
    return counts[id(plan)]


@dataclass(slots=True)
class _Sizes:
    """Which nodes of a plan are likely to have few rows, if the leaves in `leaves` have few."""

    leaves: frozenset[str]
    known: dict[int, bool] = field(default_factory=dict)
    many: dict[int, bool] = field(default_factory=dict)
    # Results are kept by `id` of a node. A node that is freed could give its id to a new one, so all stay.
    kept: list[nodes.Plan] = field(default_factory=list)

    def few(self, plan: nodes.Plan) -> bool:
        """Tells whether a node likely has few rows.

        It is a guess: one row of a join may match many. A wrong guess costs time, never a wrong result.
        """
        for node in nodes.children_first(plan):
            if id(node) not in self.known:
                self.known[id(node)] = self._few(node)
                self.kept.append(node)
        return self.known[id(plan)]

    def _few(self, plan: nodes.Plan) -> bool:
        """Tells whether one node, whose children are in `known` already, likely has few rows."""
        below = [self.known[id(child)] for child in nodes.children(plan)]
        match plan:
            case nodes.Leaf(name, _):
                return name in self.leaves
            case nodes.Scan():
                return False
            case nodes.Join(nodes.JoinKind.INNER | nodes.JoinKind.CROSS, _, _, _):
                # Changed rows usually find their partners by a key: few of them find few.
                return any(below)
            case nodes.Join(nodes.JoinKind.LEFT, _, _, _):
                return below[0]
            case nodes.Join(nodes.JoinKind.RIGHT, _, _, _):
                return below[1]
            case nodes.Limit(count=count):
                return below[0] or (count is not None and count <= FEW_ROWS)
            case nodes.SemiJoin(_, _, _, anti):
                # Few rows on the right match few on the left, but leave many unmatched.
                return below[0] or (below[1] and not anti)
            case _:
                return all(below)

    def reads_many(self, plan: nodes.Plan) -> bool:
        """Tells whether a node reads a leaf that may have many rows."""
        for node in nodes.children_first(plan):
            if id(node) not in self.many:
                leaf = isinstance(node, nodes.Leaf | nodes.Scan) and not self.few(node)
                self.many[id(node)] = leaf or any(self.many[id(child)] for child in nodes.children(node))
        return self.many[id(plan)]


@dataclass(slots=True)
class _Reduction:
    """Reduces the side with many rows of a join to the rows that the few rows match.

    Of an inner join, which Spark reduces by itself, only groups are reduced: Spark makes all of them first.
    """

    leaves: frozenset[str]
    shared: set[int] = field(default_factory=set)
    """The identities of nodes that several others read."""

    def of(self, plan: nodes.Plan) -> nodes.Plan:
        """Returns the plan with such sides reduced."""
        sizes = _Sizes(self.leaves)
        uses = Counter(id(child) for node in nodes.walk(plan) for child in nodes.children(node))
        done: dict[int, nodes.Plan] = {}
        for node in nodes.children_first(plan):
            done[id(node)] = self._reduced(
                nodes.rebuilt(node, tuple(done[id(child)] for child in nodes.children(node))), sizes
            )
            if uses[id(node)] > 1:
                self.shared.add(id(done[id(node)]))
        return done[id(plan)]

    def _reduced(self, plan: nodes.Plan, sizes: _Sizes) -> nodes.Plan:
        """Returns a node with its side of many rows reduced, if it is a join of few rows with many."""
        match plan:
            case nodes.Join(nodes.JoinKind.INNER, left, right, on) if on:
                sides = (self._side(left, right, on, sizes), self._side(right, left, on, sizes))
                return nodes.rebuilt(plan, sides)
            case nodes.Join(nodes.JoinKind.LEFT, left, right, on) if (
                on and sizes.few(left) and not sizes.few(right)
            ):
                reduced = nodes.SemiJoin(narrowed(right, left, on), left, on)
                return nodes.Join(nodes.JoinKind.LEFT, left, reduced, on)
            case nodes.Join(nodes.JoinKind.RIGHT, left, right, on) if (
                on and sizes.few(right) and not sizes.few(left)
            ):
                reduced = nodes.SemiJoin(narrowed(left, right, on), right, on)
                return nodes.Join(nodes.JoinKind.RIGHT, reduced, right, on)
            case nodes.SemiJoin(left, right, on, anti) if sizes.few(left) and not sizes.few(right):
                reduced = nodes.SemiJoin(narrowed(right, left, on), left, on)
                return nodes.SemiJoin(left, reduced, on, anti)
            case nodes.SemiJoin(left, right, on, False):
                return nodes.rebuilt(plan, (self._side(left, right, on, sizes), right))
            case _:
                return plan

    def _side(self, many: nodes.Plan, few: nodes.Plan, on: Expr, sizes: _Sizes) -> nodes.Plan:
        """Returns an input of a join, its groups reduced by the keys of the other input if that has few rows.

        The other input is read once more then, so it must be cheap to compute again, or a stage anyway: else
        each join of a chain would become one, and be written out in all that follow.
        """
        known = id(few) in self.shared or not sizes.reads_many(few)
        return narrowed(many, few, on) if known and sizes.few(few) and not sizes.few(many) else many
