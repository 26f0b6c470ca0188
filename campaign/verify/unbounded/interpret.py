"""The interpreter of plans over symbolic bags: what each node means, written from docs/semantics.md.

It shares nothing with `plan.written`, which makes SQL of the same nodes for Spark and DuckDB.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from campaign.verify.unbounded.aggregates import aggregate
from campaign.verify.unbounded.bags import Alike, Bag, Copies, with_cells
from campaign.verify.unbounded.cells import NULL, Atom, Cell, NotExpressibleError, Text, of
from campaign.verify.unbounded.counts import ONE, Count, summed
from campaign.verify.unbounded.expressions import evaluate, holds
from campaign.verify.unbounded.joins import joined, matched
from campaign.verify.unbounded.keys import IdOrder, groups, key_of
from campaign.verify.unbounded.orders import limited, windowed
from campaign.verify.unbounded.terms import both, greater, less
from dynamic_tables.plan import nodes
from dynamic_tables.plan.expressions import Col


@dataclass(slots=True)
class Interpreter:
    """An evaluation of plans. `leaves`: the rows of leaves, and of sources, by name.

    `done`: the rows of each node by its identity; with the node, so that no other one gets its identity.
    """

    leaves: Mapping[str, Bag]
    ids: IdOrder
    done: dict[int, tuple[nodes.Plan, Bag]] = field(default_factory=dict)

    def rows(self, plan: nodes.Plan) -> Bag:
        """Returns the rows of a plan. Raises NotExpressibleError."""
        for node in nodes.children_first(plan):
            if id(node) not in self.done:
                self.done[id(node)] = (node, self._node(node))
        return self.done[id(plan)][1]

    def _rows_of(self, plan: nodes.Plan) -> Bag:
        return self.done[id(plan)][1]

    def _node(self, plan: nodes.Plan) -> Bag:
        names = tuple(column.name for column in nodes.columns(plan))
        match plan:
            case nodes.Scan(source, pairs) | nodes.Leaf(source, pairs):
                return _renamed(self._leaf(source), pairs)
            case nodes.Values(_, rows):
                return Bag(names, tuple(Alike(tuple(map(of, row))) for row in rows))
            case nodes.Project(child, items):
                below = self._rows_of(child)
                made = (
                    one
                    for entry in below.entries
                    for one in with_cells(entry, [evaluate(expr, below, entry) for _, expr in items])
                )
                return Bag(names, tuple(made))
            case nodes.Filter(child, predicate):
                below = self._rows_of(child)
                kept = (entry.only(holds(predicate, below, entry)) for entry in below.entries)
                return Bag(names, _with_rows(kept))
            case nodes.Explode():
                return self._exploded(plan, names)
            case nodes.UnionAll(branches):
                return Bag(
                    names, tuple(e for b in branches for e in _in_order(self._rows_of(b), names).entries)
                )
            case _:
                return self._of_many_rows(plan, names)

    def _of_many_rows(
        self,
        plan: nodes.Join
        | nodes.SemiJoin
        | nodes.Mark
        | nodes.ExceptAll
        | nodes.IntersectAll
        | nodes.Distinct
        | nodes.Aggregate
        | nodes.Numbered
        | nodes.Window
        | nodes.Limit,
        names: tuple[str, ...],
    ) -> Bag:
        """Returns the rows of a node each of whose rows depends on more than one row below."""
        match plan:
            case nodes.Join(kind, left, right, on):
                return joined(kind, self._rows_of(left), self._rows_of(right), on)
            case nodes.SemiJoin(left, right, on, anti):
                return matched(self._rows_of(left), self._rows_of(right), on, anti=anti)
            case nodes.Mark():
                return self._marked(plan, names)
            case nodes.ExceptAll(branches) | nodes.IntersectAll(branches):
                sides = [_in_order(self._rows_of(branch), names) for branch in branches]
                return _copies(sides[0], sides[1], difference=isinstance(plan, nodes.ExceptAll))
            case nodes.Distinct(child):
                return aggregate(self._rows_of(child), [(c.name, c) for c in nodes.columns(child)], ())
            case nodes.Aggregate(child, keys, aggregates):
                return aggregate(self._rows_of(child), keys, aggregates)
            case nodes.Numbered(child, partition, _):
                return _numbered(
                    self._rows_of(child), [e.name for e in partition if isinstance(e, Col)], names
                )
            case nodes.Window(child, calls):
                return windowed(self._rows_of(child), calls, self.ids)
            case nodes.Limit(child, order, count, offset):
                return limited(self._rows_of(child), order, count, offset, self.ids)
            case _:
                assert_never(plan)

    def _leaf(self, name: str) -> Bag:
        if name not in self.leaves:
            raise NotExpressibleError(f"the rows of {name}")
        return self.leaves[name]

    def _marked(self, plan: nodes.Mark, names: tuple[str, ...]) -> Bag:
        left, right = self._rows_of(plan.left), self._rows_of(plan.right)
        members = matched(left, right, plan.on, anti=False)
        rest = matched(left, right, plan.on, anti=True)
        marked = [(members, of(True))]
        if plan.perhaps is None:
            marked.append((rest, of(False)))
        else:
            marked.append((matched(rest, right, plan.perhaps, anti=False), NULL))
            marked.append((matched(rest, right, plan.perhaps, anti=True), of(False)))
        return Bag(
            names, tuple(replace(e, cells=(*e.cells, mark)) for bag, mark in marked for e in bag.entries)
        )

    def _exploded(self, plan: nodes.Explode, names: tuple[str, ...]) -> Bag:
        below, result = self._rows_of(plan.child), []
        for entry in below.entries:
            array = evaluate(plan.array, below, entry)
            if array.null is not True and (array.null is not False or not isinstance(array.value, tuple)):
                raise NotExpressibleError("an array that depends on the number of rows")
            elements = () if array.null is True else array.value
            pairs = [(of(number), element) for number, element in enumerate(elements)]
            if plan.outer and not pairs:
                pairs = [(NULL, NULL)]
            result += [replace(entry, cells=(*entry.cells, *pair)) for pair in pairs]
        return Bag(names, tuple(result))


def _with_rows(entries: Iterable[Alike]) -> tuple[Alike, ...]:
    """Returns the entries that may have rows."""
    return tuple(entry for entry in entries if entry.count.some is not False)


def _renamed(bag: Bag, pairs: Sequence[tuple[str, Col]]) -> Bag:
    at = [bag.at(name) for name, _ in pairs]
    entries = (one for entry in bag.entries for one in with_cells(entry, [entry.cells[i] for i in at]))
    return Bag(tuple(column.name for _, column in pairs), tuple(entries))


def _in_order(bag: Bag, names: tuple[str, ...]) -> Bag:
    if bag.columns == names:
        return bag
    at = [bag.at(name) for name in names]
    return Bag(names, tuple(replace(e, cells=tuple(e.cells[i] for i in at)) for e in bag.entries))


def _copies(left: Bag, right: Bag, *, difference: bool) -> Bag:
    """Returns EXCEPT ALL or INTERSECT ALL by definition: of each row max(l - r, 0) or min(l, r) copies."""
    rows = [(entry, side) for side, bag in enumerate((left, right)) for entry in bag.entries]
    counts = [entry.all_rows for entry, _ in rows]
    keys = [key_of(entry, entry.cells) for entry, _ in rows]
    result = []
    for first, is_first, members in groups(keys, [count.some for count in counts]):
        sums = [
            summed(counts[n].only(condition) for n, condition in members if rows[n][1] == side)
            for side in (0, 1)
        ]
        size = greater(sums[0].value - sums[1].value, 0) if difference else less(sums[0].value, sums[1].value)
        some = sums[0].value > sums[1].value if difference else both(sums[0].some, sums[1].some)
        result.append(Alike(rows[first][0].cells, Count(size, some).only(is_first)))
    return Bag(left.columns, _with_rows(result))


def _numbered(bag: Bag, partition: Sequence[str], names: tuple[str, ...]) -> Bag:
    """Returns each row once for each of its copies, with the number of the copy."""
    if {*partition} != {*bag.columns} or any(entry.places for entry in bag.entries):
        raise NotExpressibleError("rows that are not equal are numbered in no order")
    counts = [entry.all_rows for entry in bag.entries]
    keys = [key_of(entry, entry.cells) for entry in bag.entries]
    result = []
    for first, is_first, members in groups(keys, [count.some for count in counts]):
        size = summed(counts[n].only(condition) for n, condition in members)
        cells = (*bag.entries[first].cells, Cell(False, Text((Atom(0),))))
        result.append(Alike(cells, ONE.only(is_first), (Copies(0, size.value),)))
    return Bag(names, _with_rows(result))
