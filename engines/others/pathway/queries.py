"""Translates queries into tables of Pathway, which calls of its library build (`query_table`).

`gap` names what has no translation; `engines.others.pathway.tables` declares it among its limits.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from engines.adapter import Unsupported
from engines.errors import EngineError
from workload import query as ir
from workload.types import Kind, SqlType

CALLS: Mapping[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "neg": operator.neg,
    "concat": operator.add,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "same": operator.eq,
    "differs": operator.ne,
    "and": operator.and_,
    "or": operator.or_,
    "not": operator.invert,
    "is_true": lambda arg: arg,
    "is_false": operator.invert,
    "between": lambda arg, low, high: (arg >= low) & (arg <= high),
}
METRICS = {
    ir.AggregateFunction.SUM: "sum",
    ir.AggregateFunction.AVG: "avg",
    ir.AggregateFunction.MIN: "min",
    ir.AggregateFunction.MAX: "max",
}
INNER = ir.JoinKind.INNER
JOINS = {
    INNER: "join_inner",
    ir.JoinKind.CROSS: "join_inner",
    ir.JoinKind.LEFT: "join_left",
    ir.JoinKind.RIGHT: "join_right",
    ir.JoinKind.FULL: "join_outer",
    ir.JoinKind.SEMI: "join_inner",
    ir.JoinKind.ANTI: "join_left",
}
OUTER = {
    ir.JoinKind.LEFT: (False, True),
    ir.JoinKind.RIGHT: (True, False),
    ir.JoinKind.FULL: (True, True),
}
"""Whether an outer join makes the columns of its left and of its right side optional."""


def library() -> Any:
    """Returns the module of Pathway. Raises EngineError where it is not installed."""
    try:
        import pathway
    except ImportError as error:
        raise EngineError("Pathway is not installed; pip install 'dvs-harness[pathway]'") from error
    return pathway


@dataclass(frozen=True, slots=True)
class Built:
    """Rows as a table of Pathway. `columns`: its name for a column of an alias, a key or an aggregate.

    `optional`: those of its columns that may hold None, since an outer join made them.
    """

    table: Any
    columns: Mapping[Any, str]
    optional: frozenset[str] = frozenset()

    def filtered(self, condition: ir.Expr) -> Built:
        """Returns the rows for which a condition holds."""
        return replace(self, table=self.table.filter(self.value(condition)))

    def value(self, expr: ir.Expr) -> Any:
        """Returns an expression over the rows. Raises Unsupported."""
        if (name := self.columns.get(_key(expr))) is not None:
            return self.table[name]
        match expr:
            case ir.Literal(value) if value is not None:
                return value
            case ir.Call("is_null", (ir.ColumnRef() as column,)):
                return self.value(column).is_none()
            case ir.Call("is_not_null", (ir.ColumnRef() as column,)):
                return self.value(column).is_not_none()
            case ir.Call("coalesce", args):
                return library().coalesce(*map(self.value, args))
            case ir.Call("cast", (arg,), SqlType(Kind.BIGINT)) if arg.type.kind is Kind.INT:
                return self.value(arg)
            case ir.Call(function, args) if function in CALLS:
                if any(self.may_be_none(arg) for arg in args):
                    raise Unsupported("a function of what may be NULL")
                if not any(isinstance(part, ir.ColumnRef) for part in ir.subexpressions(expr)):
                    raise Unsupported("a function of constants")
                return CALLS[function](*map(self.value, args))
            case _:
                raise Unsupported("an expression that the adapter does not translate")

    def may_be_none(self, expr: ir.Expr) -> bool:
        """Tells whether an expression that `value` translates may be None."""
        name = self.columns.get(_key(expr))
        match expr:
            case _ if name is not None:
                return name in self.optional
            case ir.Call("coalesce", args):
                return all(map(self.may_be_none, args))
            case ir.Call("cast", (arg,)):
                return self.may_be_none(arg)
            case _:
                return False


def _key(expr: ir.Expr) -> Any:
    """Returns the key of an expression among the columns of a `Built`."""
    return (expr.relation, expr.name) if isinstance(expr, ir.ColumnRef) else expr


Tables = Mapping[str, Built]
"""What queries read, by name. The columns of these are under the alias ""."""


def query_table(query: ir.Query, tables: Tables) -> Built:
    """Returns the rows of a query. Raises Unsupported."""
    match query:
        case ir.With(ctes, body):
            for cte in ctes:
                tables = {**tables, cte.name: query_table(cte.query, tables)}
            return query_table(body, tables)
        case ir.Union(branches) | ir.UnionAll(branches) | ir.Except(branches) | ir.Intersect(branches):
            return _set_operation(query, [query_table(branch, tables) for branch in branches])
        case ir.Select():
            return _block(query, tables)
        case _:
            raise Unsupported("a query that its tables cannot say")


def _set_operation(query: ir.Query, branches: Sequence[Built]) -> Built:
    first = branches[0]
    tables = [
        each.table.select(**{new: each.table[old] for new, old in _paired(first, each)}) for each in branches
    ]
    optional = frozenset(
        new for each in branches for new, old in _paired(first, each) if old in each.optional
    )
    match query:
        case ir.UnionAll():
            table = tables[0].concat_reindex(*tables[1:])
        case ir.Union():
            table = _distinct(tables[0].concat_reindex(*tables[1:]))
        case ir.Except():
            table = _distinct(tables[0]).difference(_distinct(tables[1]))
        case _:
            table = _distinct(tables[0]).intersect(_distinct(tables[1]))
    return Built(table, first.columns, optional)


def _paired(first: Built, other: Built) -> Iterator[tuple[str, str]]:
    return zip(first.columns.values(), other.columns.values(), strict=True)


def _distinct(table: Any) -> Any:
    columns = [table[name] for name in table.column_names()]
    return table.groupby(*columns).reduce(*columns)


def _block(select: ir.Select, tables: Tables) -> Built:
    rows = _relation(select.source, tables)
    if select.where is not None:
        rows = rows.filtered(select.where)
    if select.group_by is not None:
        rows = _grouped(select, select.group_by, rows)
    if select.having is not None:
        rows = rows.filtered(select.having)
    values = {f"c_{item.name}": rows.value(item.expr) for item in select.items}
    optional = frozenset(f"c_{item.name}" for item in select.items if rows.may_be_none(item.expr))
    table = rows.table.select(**values)
    columns = {("", item.name): f"c_{item.name}" for item in select.items}
    return Built(_distinct(table) if select.distinct else table, columns, optional)


def _grouped(select: ir.Select, keys: Sequence[ir.Expr], rows: Built) -> Built:
    exprs = [*(item.expr for item in select.items), *((select.having,) if select.having is not None else ())]
    parts = (part for expr in exprs for part in ir.subexpressions(expr))
    aggregates = [*dict.fromkeys(part for part in parts if isinstance(part, ir.Aggregate))]
    if not keys or select.sets is not None:
        raise Unsupported("one group of all rows, or grouping sets")
    reducers = library().reducers
    of = {f"k{n}": rows.value(key) for n, key in enumerate(keys)}
    of |= {f"a{n}": rows.value(each.arg) for n, each in enumerate(aggregates) if each.arg is not None}
    table = rows.table.select(**of)
    outputs = {f"k{n}": table[f"k{n}"] for n in range(len(keys))}
    for n, each in enumerate(aggregates):
        plain = each.arg is None or not rows.may_be_none(each.arg)
        match each:
            case ir.Aggregate(ir.AggregateFunction.COUNT | ir.AggregateFunction.COUNT_STAR, _, False) if (
                plain
            ):
                outputs[f"m{n}"] = reducers.count()
            case ir.Aggregate(ir.AggregateFunction.COUNT, _, True) if plain:
                outputs[f"m{n}"] = reducers.count_distinct(table[f"a{n}"])
            case ir.Aggregate(function, arg, False) if arg is not None and plain and function in METRICS:
                if METRICS[function] in ("sum", "avg") and arg.type.kind is not Kind.INT:
                    raise Unsupported("sums that may overflow")
                outputs[f"m{n}"] = getattr(reducers, METRICS[function])(table[f"a{n}"])
            case _:
                raise Unsupported("an aggregate that the adapter does not translate, or of what may be NULL")
    columns = {_key(key): f"k{n}" for n, key in enumerate(keys)}
    columns |= {each: f"m{n}" for n, each in enumerate(aggregates)}
    optional = frozenset(f"k{n}" for n, key in enumerate(keys) if rows.may_be_none(key))
    group = table.groupby(*(table[f"k{n}"] for n in range(len(keys))))
    return Built(group.reduce(**outputs), columns, optional)


def _relation(relation: ir.Relation, tables: Tables) -> Built:
    match relation:
        case ir.Named(name, alias):
            return _aliased(tables[name], alias)
        case ir.Derived(query, alias):
            return _aliased(query_table(query, tables), alias)
        case ir.Join(kind, left, right, on):
            return _joined(kind, _relation(left, tables), _relation(right, tables), [*ir.conjuncts(on)])
        case _:
            raise Unsupported("a relation that the adapter does not translate")


def _aliased(rows: Built, alias: str) -> Built:
    named = {(alias, name): f"{alias}_{column}" for (_, name), column in rows.columns.items()}
    pairs = [*zip(named.values(), rows.columns.values(), strict=True)]
    optional = frozenset(new for new, old in pairs if old in rows.optional)
    return Built(rows.table.select(**{new: rows.table[old] for new, old in pairs}), named, optional)


def _joined(kind: ir.JoinKind, left: Built, right: Built, on: Sequence[ir.Expr]) -> Built:
    parts = _parts(kind, on, {alias for alias, _ in left.columns}, {alias for alias, _ in right.columns})
    left, right = reduce(Built.filtered, parts.left, left), reduce(Built.filtered, parts.right, right)
    if any(left.may_be_none(one) or right.may_be_none(two) for one, two in parts.pairs):
        raise Unsupported("a join by what may be NULL")
    if kind in ir.MEMBERSHIP:
        # A semi join is an inner join with distinct keys; an anti join keeps the rows without a match.
        keys = [*dict.fromkeys(two for _, two in parts.pairs)]
        values = [right.value(two) for two in keys]
        right = replace(right, table=right.table.groupby(*values).reduce(*values))
    conditions = [left.value(one) == right.value(two) for one, two in parts.pairs]
    join = getattr(left.table, JOINS[kind])(right.table, *conditions)
    if kind in ir.MEMBERSHIP:
        shown = {name: left.table[name] for name in left.columns.values()}
        if kind is ir.JoinKind.SEMI:
            return replace(left, table=join.select(**shown))
        marked = join.select(**shown, dvs_match=right.value(parts.pairs[0][1]))
        return replace(left, table=marked.filter(marked.dvs_match.is_none()).without("dvs_match"))
    shown_ = {name: side.table[name] for side in (left, right) for name in side.columns.values()}
    optional = {*left.optional, *right.optional}
    for side, some in zip((left, right), OUTER.get(kind, (False, False)), strict=True):
        optional |= {*side.columns.values()} if some else set()
    result = Built(join.select(**shown_), {**left.columns, **right.columns}, frozenset(optional))
    return reduce(Built.filtered, parts.rest, result)


@dataclass(frozen=True, slots=True)
class Parts:
    """The condition of a join: pairs of columns, what filters one side before it, and `rest`, after it."""

    pairs: list[tuple[ir.ColumnRef, ir.ColumnRef]] = field(default_factory=list)
    left: list[ir.Expr] = field(default_factory=list)
    right: list[ir.Expr] = field(default_factory=list)
    rest: list[ir.Expr] = field(default_factory=list)


def _parts(kind: ir.JoinKind, on: Sequence[ir.Expr], left: set[str], right: set[str]) -> Parts:
    """Returns the parts of a join's condition. Raises Unsupported: Pathway joins by equal columns only."""
    parts = Parts()
    for each in on:
        match each:
            case ir.Call("eq", (ir.ColumnRef() as one, ir.ColumnRef() as two)) if (
                _over(each) & left and _over(each) & right
            ):
                parts.pairs.append((one, two) if one.relation in left else (two, one))
            case _ if _over(each) <= right and kind not in (ir.JoinKind.RIGHT, ir.JoinKind.FULL):
                parts.right.append(each)
            case _ if _over(each) <= left and kind in (INNER, ir.JoinKind.SEMI, ir.JoinKind.RIGHT):
                parts.left.append(each)
            case _ if kind is INNER:
                parts.rest.append(each)
            case _:
                raise Unsupported("a join by more than equal columns")
    if not parts.pairs and kind is not ir.JoinKind.CROSS:
        raise Unsupported("a join without equal columns")
    return parts


def _over(expr: ir.Expr) -> set[str]:
    """Returns the aliases whose columns an expression reads."""
    return {part.relation for part in ir.subexpressions(expr) if isinstance(part, ir.ColumnRef)}


def gap(query: ir.Query) -> str | None:
    """Returns what of a query has no translation; None: nothing."""
    try:
        for block in ir.blocks(query):
            optional = _checked(block.source)[1]
            for expr in ir.expressions_of(replace(block, source=ir.Named("", ""))):
                for part in ir.subexpressions(expr):
                    _check(part, optional)
    except Unsupported as error:
        return str(error)
    return None


def _checked(relation: ir.Relation) -> tuple[set[str], set[str]]:
    """Returns the aliases of a relation, and those that an outer join makes optional. Raises Unsupported."""
    match relation:
        case ir.Named(_, alias) | ir.Derived(_, alias):
            return {alias}, set()
        case ir.Join(kind, left, right, on):
            (one, some), (two, others) = _checked(left), _checked(right)
            parts = _parts(kind, [*ir.conjuncts(on)], one, two)
            for pair in parts.pairs:
                if {column.relation for column in pair} & (some | others):
                    raise Unsupported("a join by what may be NULL")
            for expr in (*parts.left, *parts.right, *parts.rest):
                for part in ir.subexpressions(expr):
                    _check(part, some | others)
            if kind in ir.MEMBERSHIP:
                return one, some
            none_left, none_right = OUTER.get(kind, (False, False))
            return one | two, some | others | (one if none_left else set()) | (two if none_right else set())
        case _:
            raise Unsupported("a relation that the adapter does not translate")


def _check(part: ir.Expr, optional: set[str]) -> None:
    """Checks one part of an expression. Raises Unsupported."""
    match part:
        case ir.ColumnRef():
            return
        case ir.Literal(value):
            if value is None:
                raise Unsupported("NULL as a constant")
        case ir.Aggregate(function, arg, distinct):
            counted = function in (ir.AggregateFunction.COUNT, ir.AggregateFunction.COUNT_STAR)
            summed = function in (ir.AggregateFunction.SUM, ir.AggregateFunction.AVG)
            if part.extra or (not counted and (distinct or function not in METRICS)):
                raise Unsupported("an aggregate that the adapter does not translate")
            if arg is not None and (_over(arg) & optional or (summed and arg.type.kind is not Kind.INT)):
                raise Unsupported("an aggregate of what may be NULL or overflow")
        case ir.Call("is_null" | "is_not_null", (ir.ColumnRef(),)) | ir.Call("coalesce"):
            return
        case ir.Call("cast", (arg,), SqlType(Kind.BIGINT)) if arg.type.kind is Kind.INT:
            return
        case ir.Call(function, args) if function in CALLS and _over(part):
            if any(_over(arg) & optional for arg in args):
                raise Unsupported("a function of what may be NULL")
        case _:
            raise Unsupported("an expression that the adapter does not translate")
