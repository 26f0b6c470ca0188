"""Few rows that are joined with many rows: the keys of the few become a filter of the many.

Spark broadcasts the few rows, but it still reads all of the many. With the keys as constants in a filter,
Delta and Parquet skip the files and row groups whose least and greatest values rule the keys out. Example:
10 changed orders, joined with all customers by `k`, become `... JOIN (customers WHERE k IN (3, 17, ..))`.

Rows that a key rounds together lie near to each other. So the rows of a changed day, `date_trunc('DAY', ts)`,
are found between a day before the first changed `ts` and a day after the last one.

A filter may keep too many rows, because the join itself still decides; it must not lose one that matches.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from dynamic_tables.plan import nodes
from dynamic_tables.plan.expressions import (
    FALSE,
    Col,
    Expr,
    Fn,
    Lit,
    Scalar,
    boolean,
    conjunction,
    conjuncts,
    replace_columns,
)
from dynamic_tables.plan.functions import IN
from dynamic_tables.plan.rewrites.rounded import around, rounded, undone
from dynamic_tables.plan.types import BOOLEAN

MOST_LISTED = 100
"""Most keys that a filter lists one by one; for more keys it has `BETWEEN least AND greatest`."""

KeysOf = Callable[[str, str], Collection[Scalar] | None]
"""(leaf with few rows, column) -> its values, NULL included; None where Python cannot hold them."""

SAME = "is not distinct from"
"""The comparison that is true for two NULLs."""


def with_keys(plan: nodes.Plan, few: Collection[str], keys_of: KeysOf) -> nodes.Plan:
    """Returns a plan with the same rows, whose joins read only the rows that the keys of few rows allow.

    `few`: the names of the leaves that have few rows. A filter by a flag that none of them has becomes FALSE.
    """
    keys = _Keys(frozenset(few), keys_of)
    done: dict[int, nodes.Plan] = {}
    for node in nodes.children_first(plan):
        done[id(node)] = _reduced(
            nodes.rebuilt(node, tuple(done[id(child)] for child in nodes.children(node))), keys
        )
    return done[id(plan)]


def _reduced(plan: nodes.Plan, keys: _Keys) -> nodes.Plan:
    """Returns a node whose inputs are filtered by the keys of the other input, where it is a join."""
    # A row that matches no row of the other side has no effect, unless its side is preserved: a LEFT JOIN
    # and an anti join also return left rows without a match, so their left side is not filtered.
    match plan:
        case nodes.Join(nodes.JoinKind.INNER, left, right, on) if on:
            return nodes.rebuilt(plan, (keys.filtered(left, right, on), keys.filtered(right, left, on)))
        case nodes.Join(nodes.JoinKind.LEFT, left, right, on) if on:
            return nodes.rebuilt(plan, (left, keys.filtered(right, left, on)))
        case nodes.Join(nodes.JoinKind.RIGHT, left, right, on) if on:
            return nodes.rebuilt(plan, (keys.filtered(left, right, on), right))
        case nodes.SemiJoin(left, right, on, anti):
            reduced = left if anti else keys.filtered(left, right, on)
            return nodes.rebuilt(plan, (reduced, keys.filtered(right, left, on)))
        case nodes.Filter(child, Col() as flag) if keys.never(child, flag.name):
            return nodes.Filter(child, FALSE)
        case _:
            return plan


@dataclass(frozen=True, slots=True)
class _Keys:
    """The values in the leaves with few rows. `few`: the names of these leaves. `of_leaf`: reads values."""

    few: frozenset[str]
    of_leaf: KeysOf

    def never(self, plan: nodes.Plan, flag: str) -> bool:
        """Tells whether a column is known to be true in no row of a node."""
        values = self.of(plan, flag)
        return values is not None and True not in values

    def filtered(self, many: nodes.Plan, few: nodes.Plan, on: Expr) -> nodes.Plan:
        """Returns the rows of `many` that may match a row of `few`, by the keys that `on` compares."""
        if all(leaf.name in self.few for leaf in nodes.walk(many) if isinstance(leaf, nodes.Leaf)):
            return many
        if isinstance(many, nodes.SemiJoin) and many.right is few:
            # The stages have reduced these rows to those that match, and so they are filtered already.
            return many
        conditions = []
        for column, other, null_safe in _equal_columns(on, many, few):
            found = self.of(few, other)
            if found is not None:
                conditions.append(_among(column, found, null_safe=null_safe))
                many = _read_near(many, column.name, found)
        # Both ends of a window of time say the same.
        conditions += dict.fromkeys(self._near(many, few, on))
        bounds = (self._bound(part, many, few) for part in conjuncts(on))
        conditions += [bound for bound in bounds if bound is not None]
        return nodes.Filter(many, conjunction(conditions)) if conditions else many

    def _near(self, many: nodes.Plan, few: nodes.Plan, on: Expr) -> Iterator[Expr]:
        """Yields conditions on columns of `many` that `on` rounds, by what the same rounding has in `few`."""
        for condition in conjuncts(on):
            match condition:
                case Fn("=" | "is not distinct from" as sign, (left, right), _):
                    for mine, other in ((left, right), (right, left)):
                        known = rounded(mine)
                        if known is not None and _has(many, known[0].name):
                            values = self._before(few, other, mine) or ()
                            near = around(*known, values, null_safe=sign == SAME)
                            yield from () if near is None else (near,)
                case _:
                    pass

    def _before(self, plan: nodes.Plan, expr: Expr, like: Expr) -> set[Scalar] | None:
        """Returns values among which are all that an expression over a node rounds, as `like` does.

        None: they are not known, or the expression is no such rounding.
        """
        match plan, expr:
            case _, Fn():
                own, other = rounded(expr), rounded(like)
                if own is None or other is None or not _has(plan, own[0].name):
                    return None
                column = own[0]
                alike = column.type == other[0].type and replace_columns(like, lambda _: column) == expr
                return self.of(plan, column.name) if alike else None
            case nodes.Project(child, items), Col(name):
                return self._before(child, dict(items)[name], like)
            case ((nodes.Distinct(child) | nodes.Filter(child, _)), Col()):
                return self._before(child, expr, like)
            case _:
                return None

    def _bound(self, condition: Expr, many: nodes.Plan, few: nodes.Plan) -> Expr | None:
        """Returns a condition on `many` that each row which matches some row of `few` meets; None if unknown.

        It understands comparisons by order as the tails of windows have them (`window_tail`):
        `many.day >= few.first` with the firsts 3 and 7 becomes `many.day >= 3`, and a flag of `few` before
        OR is left out if it is true in none of its rows.
        """
        match condition:
            case Fn("is true", (inner,), _):
                return self._bound(inner, many, few)
            case Fn("is null", (Col() as column,), _) if _has(many, column.name):
                return condition
            case Fn("or", (Col() as flag, other), _) if _has(few, flag.name):
                values = self.of(few, flag.name)
                return None if values is None or True in values else self._bound(other, many, few)
            case Fn("or", (left, right), _):
                sides = [self._bound(side, many, few) for side in (left, right)]
                bounds = [side for side in sides if side is not None]
                return boolean("or", *bounds) if len(bounds) == len(sides) else None
            case Fn("<=" | ">=" as sign, (Col() as mine, Col() as other), _) if mine.type == other.type:
                if not (_has(many, mine.name) and _has(few, other.name)):
                    return None
                values = self.of(few, other.name)
                # Python's order of floats is not Spark's: NaN is the greatest value there.
                if values is None or any(isinstance(value, float) for value in values):
                    return None
                reached = [value for value in values if value is not None]
                if not reached:
                    # A comparison with NULL is never true.
                    return Lit(False, BOOLEAN)
                # The values are of one type, which has an order.
                outermost: Scalar = max(reached) if sign == "<=" else min(reached)
                return boolean(sign, mine, Lit(outermost, mine.type))
            case _:
                return None

    def of(self, plan: nodes.Plan, name: str) -> set[Scalar] | None:
        """Returns values among which are all that a column of a node has; None if they are not known.

        It follows the column down to a leaf with few rows. Operators that only drop or repeat rows keep the
        set valid. An outer join is not followed: it adds NULLs.
        """
        match plan:
            case nodes.Leaf(leaf, pairs):
                (stored,) = (stored for stored, column in pairs if column.name == name)
                found = self.of_leaf(leaf, stored) if leaf in self.few else None
                return None if found is None else set(found)
            case nodes.Project(child, items):
                return self._of_expression(child, dict(items).get(name))
            case nodes.Aggregate(child, keys, aggregates):
                extremes = {key: agg.arg for key, agg in aggregates if agg.name in ("MIN", "MAX")}
                found = self._of_expression(child, {**dict(keys), **extremes}.get(name))
                # Of no rows, or of NULL alone, an extreme is NULL.
                return found | {None} if found is not None and name in extremes else found
            case (
                nodes.Filter(child, _)
                | nodes.Distinct(child)
                | nodes.Numbered(child, _, _)
                | nodes.Window(child)
                | nodes.SemiJoin(child, _, _, _)
            ):
                return self.of(child, name) if _has(child, name) else None
            case nodes.Explode(child):
                return self.of(child, name) if _has(child, name) else None
            case nodes.Join(nodes.JoinKind.INNER | nodes.JoinKind.CROSS, left, right, _):
                return self.of(left if _has(left, name) else right, name)
            case nodes.UnionAll(branches):
                parts = [self.of(branch, name) for branch in branches]
                sets = [part for part in parts if part is not None]
                return set().union(*sets) if len(sets) == len(parts) else None
            case _:
                return None

    def _of_expression(self, plan: nodes.Plan, expr: Expr | None) -> set[Scalar] | None:
        """Returns values among which are all that an expression has over a node; None if they are unknown."""
        match expr:
            case Col():
                return self.of(plan, expr.name)
            case Fn("is null", (Col() as column,), _):
                values = self.of(plan, column.name)
                return None if values is None else {value is None for value in values}
            case _:
                return None


def _read_near(plan: nodes.Plan, name: str, results: Collection[Scalar]) -> nodes.Plan:
    """Returns a node that reads only rows near to those of which a column of groups has one of some results.

    It still has all groups with these results, and of others some or a part, which a condition on the column
    drops. Example: of the groups by `date_trunc('DAY', ts)` that of one day, from the rows of three.
    """
    match plan:
        case nodes.Filter(child, _):
            return nodes.rebuilt(plan, (_read_near(child, name, results),))
        case nodes.Project(child, items) if isinstance(column := dict(items)[name], Col):
            return nodes.rebuilt(plan, (_read_near(child, column.name, results),))
        case nodes.Aggregate(child, keys, _) if (key := dict(keys).get(name)) is not None:
            known = rounded(key)
            if known is None or not _has(child, known[0].name):
                return plan
            near = around(*known, undone(key, results), null_safe=True)
            return plan if near is None else nodes.rebuilt(plan, (nodes.Filter(child, near),))
        case _:
            return plan


def _has(plan: nodes.Plan, name: str) -> bool:
    """Tells whether a plan has a column of a name."""
    return any(column.name == name for column in nodes.columns(plan))


def _equal_columns(on: Expr, many: nodes.Plan, few: nodes.Plan) -> Iterator[tuple[Col, str, bool]]:
    """Yields the columns that a condition compares for equality: (in many, name in few, null-safe or not)."""
    for condition in conjuncts(on):
        match condition:
            case Fn("=" | "is not distinct from" as sign, (Col() as left, Col() as right), _):
                if left.type != right.type:
                    # The join compares after a cast; the values of one type are no constants of the other.
                    continue
                for mine, other in ((left, right), (right, left)):
                    if _has(many, mine.name) and _has(few, other.name):
                        yield mine, other.name, sign == SAME
            case _:
                pass


def _among(column: Col, values: Collection[Scalar], *, null_safe: bool) -> Expr:
    """Returns the condition that a column has one of some values, or lies between their bounds."""
    present = [value for value in values if value is not None]
    if not present:
        return boolean("is null", column) if null_safe and None in values else Lit(False, BOOLEAN)
    if len(present) <= MOST_LISTED:
        listed = sorted(present, key=repr)
        among = boolean(IN, column, *(Lit(value, column.type) for value in listed))
    else:
        # The values are of one type, which has an order.
        least, greatest = min(present), max(present)
        among = boolean("between", column, Lit(least, column.type), Lit(greatest, column.type))
    return boolean("or", among, boolean("is null", column)) if null_safe and None in values else among
