"""A from-scratch evaluator of queries over plain rows: slow, and simple enough to check by reading.

It is the reference for the oracle: no database, no optimizer, no code shared with the renderer. A row is a
dictionary from (alias, column) to value; a join is two loops; a group is a list of rows. The cost is the
product of the joined tables' sizes, so it suits tables of a few dozen rows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple, assert_never

from tests.truth.aggregate_forms import form_value
from tests.truth.scalar_functions import call_value
from tests.truth.values import EXACT, canonical, fit, order_key
from tests.truth.window_values import window_values
from workload import query as ir
from workload.aggregates import FORMS
from workload.query import (
    Aggregate,
    AggregateFunction,
    Call,
    ColumnRef,
    Expr,
    JoinKind,
    Literal,
    Query,
    Select,
    changed,
)
from workload.schema import Column
from workload.types import Kind, Row, Value

Scoped = Mapping[tuple[str, str], Value]
"""One row of a FROM clause: (alias, column) -> value."""


class Relation(NamedTuple):
    """A bag of rows under a column list."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


class Source(NamedTuple):
    """The rows of a FROM clause, and its column names, which outer joins need to pad even without rows."""

    names: tuple[tuple[str, str], ...]
    rows: list[Scoped]


@dataclass(frozen=True, slots=True)
class Group:
    """The rows that agree on the keys, and the values they agree on. `left_out`: keys not of this set."""

    keys: tuple[Expr, ...]
    key_values: Row
    rows: Sequence[Scoped]
    left_out: frozenset[int] = frozenset()


def evaluate(query: Query, relations: Mapping[str, Relation]) -> Relation:
    """The columns and rows (in no particular order) of a query.

    Raises EvaluationError: Spark would fail on the data too (overflow, division by zero, a bad cast).
    """
    match query:
        case Select():
            return _select(query, relations)
        case ir.UnionAll(branches):
            results = [evaluate(branch, relations) for branch in branches]
            return Relation(results[0].columns, tuple(row for result in results for row in result.rows))
        case ir.Union(branches):
            all_rows = evaluate(ir.UnionAll(branches), relations)
            once = {tuple(map(canonical, row)): row for row in reversed(all_rows.rows)}
            return Relation(all_rows.columns, tuple(once.values()))
        case ir.ExceptAll(branches) | ir.IntersectAll(branches):
            first, second = (evaluate(branch, relations) for branch in branches)
            return _matched_copies(first, second, kept=isinstance(query, ir.IntersectAll))
        case ir.Except(branches) | ir.Intersect(branches):
            first, second = (evaluate(ir.Union((branch,)), relations) for branch in branches)
            return _matched_copies(first, second, kept=isinstance(query, ir.Intersect))
        case ir.Limited(limited, order, count, offset):
            whole = evaluate(limited, relations)
            names = [column.name for column in whole.columns]
            rows = list(whole.rows)
            for key in reversed(order):
                place = names.index(key.column)
                rows.sort(key=lambda row: nulls_least(row[place]), reverse=key.descending)
            return Relation(whole.columns, tuple(rows[offset : offset + count]))
        case ir.With(ctes, body):
            for cte in ctes:
                relations = {**relations, cte.name: evaluate(cte.query, relations)}
            return evaluate(body, relations)
        case ir.Verbatim():
            raise ValueError("the reference evaluates no text")
        case _:
            assert_never(query)


def nulls_least(value: Value) -> tuple[bool, Any]:
    """The place of a value in an order; Python's sort is stable, so later keys are sorted by first."""
    return (value is not None, None if value is None else order_key(value))


def _matched_copies(first: Relation, second: Relation, *, kept: bool) -> Relation:
    """The rows of the first relation that meet a copy in the second, or those that meet none."""
    others = Counter(tuple(map(canonical, row)) for row in second.rows)
    result = []
    for row in first.rows:
        key = tuple(map(canonical, row))
        met = others[key] > 0
        others[key] -= met
        if met == kept:
            result.append(row)
    return Relation(first.columns, tuple(result))


def _select(select: Select, relations: Mapping[str, Relation]) -> Relation:
    rows = [row for row in source_rows(select.source, relations).rows if holds(select.where, row)]
    if select.group_by is None:
        output = _outputs(select, rows, row_value)
    else:
        groups = [g for g in _groups(select, select.group_by, rows) if group_holds(select.having, g)]
        output = _outputs(select, groups, group_value)
    if select.distinct:
        output = list({tuple(map(canonical, row)): row for row in output}.values())
    return Relation(tuple(Column(item.name, item.expr.type) for item in select.items), tuple(output))


def _outputs(select: Select, rows: Sequence[Any], value: Callable[[Expr, Any], Value]) -> list[Row]:
    """The rows of a block, from those of its FROM clause or its groups: windows, QUALIFY, select list."""
    windows = {repr(window): window for window in ir.windows_of(select)}
    values = {text: window_values(w, rows, value, _over_window) for text, w in windows.items()}

    def at(expr: Expr, place: int) -> Value:
        return value(
            changed(
                expr,
                lambda node: (
                    Literal(values[repr(node)][place], node.type) if isinstance(node, ir.Window) else None
                ),
            ),
            rows[place],
        )

    kept = (n for n in range(len(rows)) if select.qualify is None or at(select.qualify, n) is True)
    return [tuple(at(item.expr, n) for item in select.items) for n in kept]


def _over_window(window: ir.Window, arguments: Sequence[Value]) -> Value:
    if window.function is AggregateFunction.COUNT_STAR:
        return len(arguments)
    assert isinstance(window.function, AggregateFunction)
    return aggregate_value(Aggregate(window.function, window.args[0], False, window.type), arguments)


def _groups(select: Select, keys: tuple[Expr, ...], rows: Sequence[Scoped]) -> list[Group]:
    """The groups of a block; of grouping sets one after another, keys that are left out being NULL."""
    if select.sets is None:
        return grouped(keys, rows)
    result = []
    for places in select.sets:
        for group in grouped(tuple(keys[place] for place in places), rows):
            known = dict(zip(places, group.key_values, strict=True))
            values = tuple(known.get(place) for place in range(len(keys)))
            if group.rows:
                result.append(Group(keys, values, group.rows, frozenset(range(len(keys))) - set(places)))
    return result


# FROM


def source_rows(relation: ir.Relation, relations: Mapping[str, Relation]) -> Source:
    """The rows of a FROM clause."""
    match relation:
        case ir.Named(name, alias):
            return _under_alias(alias, relations[name])
        case ir.Derived(query, alias):
            return _under_alias(alias, evaluate(query, relations))
        case ir.Join():
            return _join(relation, relations)
        case ir.Exploded():
            return _exploded(relation, relations)
        case _:
            assert_never(relation)


def _under_alias(alias: str, relation: Relation) -> Source:
    names = tuple((alias, column.name) for column in relation.columns)
    return Source(names, [dict(zip(names, row, strict=True)) for row in relation.rows])


def _join(join: ir.Join, relations: Mapping[str, Relation]) -> Source:
    left, right = source_rows(join.left, relations), source_rows(join.right, relations)
    if join.kind in ir.MEMBERSHIP:
        wanted = join.kind is JoinKind.SEMI
        members = (any(holds(join.on, {**row, **other}) for other in right.rows) for row in left.rows)
        return Source(
            left.names, [r for r, member in zip(left.rows, members, strict=True) if member == wanted]
        )
    rows: list[Scoped] = []
    matched_right: set[int] = set()
    for left_row in left.rows:
        matches = [i for i, right_row in enumerate(right.rows) if holds(join.on, {**left_row, **right_row})]
        rows += [{**left_row, **right.rows[i]} for i in matches]
        matched_right.update(matches)
        if not matches and join.kind in (JoinKind.LEFT, JoinKind.FULL):
            rows.append({**left_row, **dict.fromkeys(right.names)})
    if join.kind in (JoinKind.RIGHT, JoinKind.FULL):
        unmatched = [row for i, row in enumerate(right.rows) if i not in matched_right]
        rows += [{**dict.fromkeys(left.names), **row} for row in unmatched]
    return Source(left.names + right.names, rows)


def _exploded(node: ir.Exploded, relations: Mapping[str, Relation]) -> Source:
    rows = source_rows(node.relation, relations)
    names = tuple((node.alias, name) for name in node.columns)
    result: list[Scoped] = []
    for row in rows.rows:
        elements = row_value(node.array, row)
        assert elements is None or isinstance(elements, tuple)
        pairs = list(enumerate(elements or ()))
        if not pairs and node.outer:
            result.append({**row, **dict.fromkeys(names)})
        for place, element in pairs:
            values = {ir.POSITION: place, ir.ELEMENT: element}
            result.append({**row, **{(alias, name): values[name] for alias, name in names}})
    return Source(rows.names + names, result)


def holds(condition: Expr | None, row: Scoped) -> bool:
    """Whether a row meets a condition: there is none, or it is true (NULL is not true)."""
    return condition is None or row_value(condition, row) is True


# Expressions


def row_value(expr: Expr, row: Scoped) -> Value:
    """The value of an expression over one row."""
    match expr:
        case ColumnRef(relation, name, _):
            return row[relation, name]
        case Literal(value, type_):
            return fit(value, type_)
        case Call():
            return call_value(expr, lambda arg: row_value(arg, row))
        case Aggregate() | ir.Grouping() | ir.Window():
            raise TypeError("an aggregate or a window function has no value over one row")
        case _:
            assert_never(expr)


def group_value(expr: Expr, group: Group) -> Value:
    """The value of an expression over a group: its keys, aggregates, and calls of these."""
    for key, value in zip(group.keys, group.key_values, strict=True):
        if repr(key) == repr(expr):  # not ==: a NaN literal is the same key, 0.0 and -0.0 are not
            return value
    match expr:
        case Aggregate(function, arg, _, _, extra):
            if arg is None:
                return len(group.rows)
            if function in FORMS or extra:
                args = (arg, *extra)
                return form_value(expr, [tuple(row_value(a, row) for a in args) for row in group.rows])
            return aggregate_value(expr, [row_value(arg, row) for row in group.rows])
        case ir.Grouping(key, _):
            return int(group.keys.index(key) in group.left_out)
        case Call():
            return call_value(expr, lambda arg: group_value(arg, group))
        case Literal():
            return row_value(expr, {})
        case _:
            raise TypeError(f"{expr} is neither grouped by nor aggregated")


def grouped(keys: tuple[Expr, ...], rows: Iterable[Scoped]) -> list[Group]:
    """The groups of the rows; without keys there is one group, even of no rows."""
    members: dict[Row, list[Scoped]] = {} if keys else {(): []}
    values: dict[Row, Row] = {(): ()}
    for row in rows:
        value = tuple(row_value(key, row) for key in keys)
        identity = tuple(map(canonical, value))
        values.setdefault(identity, value)
        members.setdefault(identity, []).append(row)
    return [Group(keys, values[identity], group) for identity, group in members.items()]


def group_holds(condition: Expr | None, group: Group) -> bool:
    """Whether a group meets a HAVING condition: there is none, or it is true."""
    return condition is None or group_value(condition, group) is True


def aggregate_value(aggregate: Aggregate, arguments: Iterable[Value]) -> Value:
    """An aggregate over the argument's value on each row; NULLs never count."""
    if aggregate.function in FORMS:
        return form_value(aggregate, [(value,) for value in arguments])
    values: list[Any] = [value for value in arguments if value is not None]
    if aggregate.distinct:
        values = list({canonical(value): value for value in values}.values())
    if aggregate.function is AggregateFunction.COUNT:
        return len(values)
    if not values:
        return None
    match aggregate.function:
        case AggregateFunction.SUM:
            return fit(_total(values), aggregate.type)
        case AggregateFunction.AVG:
            return fit(_mean(values, aggregate.type.kind), aggregate.type)
        case AggregateFunction.MIN:
            smallest: Value = min(values, key=order_key)
            return smallest
        case AggregateFunction.MAX:
            greatest: Value = max(values, key=order_key)
            return greatest
        case _:
            raise TypeError(f"no aggregate {aggregate.function}")


def _total(values: Sequence[Any]) -> Any:
    match values[0]:
        case Decimal():
            total = Decimal(0)
            for value in values:
                total = EXACT.add(total, value)
            return total
        case float():
            return math.fsum(values) if all(map(math.isfinite, values)) else sum(values)
        case _:
            return sum(values)


def _mean(values: Sequence[Any], kind: Kind) -> Value:
    total = _total(values)
    return EXACT.divide(total, Decimal(len(values))) if kind is Kind.DECIMAL else float(total) / len(values)
