"""Translates queries into ZQL's: trees of tables that hang together by equal columns, with conditions.

`orders JOIN items ON orders.id = items.order_id` is the table `orders` with `items` below it. `gap` names
what has no translation, and `amended` changes a query so that it has one: the limits of `engines.others.zql`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from engines.adapter import Unsupported
from workload import query as ir
from workload.types import BOOLEAN, Kind, SqlType, Value

JOINS = frozenset({ir.JoinKind.INNER, ir.JoinKind.LEFT, ir.JoinKind.SEMI, ir.JoinKind.ANTI})
COMPARED = {"eq": ("=", "!="), "ne": ("!=", "="), "lt": ("<", ">="), "le": ("<=", ">"), "gt": (">", "<=")} | {
    "ge": (">=", "<"),
    "same": ("IS", "IS NOT"),
    "differs": ("IS NOT", "IS"),
    "like": ("LIKE", "NOT LIKE"),
}
"""A function, as ZQL writes that it holds and that it does not; a comparison with NULL does neither."""
TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
"""Comparisons, and what they are with their sides exchanged."""


@dataclass(eq=False, slots=True)
class Source:
    """A table that a query reads, and how it hangs below another one.

    `on`: pairs of columns, its own last. `below`: what hangs below it. ZQL's rows are such trees; an inner
    join is one that must have a match.
    """

    alias: str
    table: str
    where: list[dict[str, Any]] = field(default_factory=list)
    below: list[Source] = field(default_factory=list)
    kind: ir.JoinKind = ir.JoinKind.INNER
    parent: Source | None = None
    on: dict[tuple[str, str], None] = field(default_factory=dict)

    def path(self) -> Iterator[Source]:
        """Yields this table, and those above it."""
        yield self
        if self.parent is not None:
            yield from self.parent.path()

    def require(self, filtered: bool = True) -> None:
        """Leaves out the rows without a match here, as a filter does. Raises Unsupported if it does not."""
        outer = [each for each in self.path() if each.kind is ir.JoinKind.LEFT]
        if outer and not filtered:
            raise Unsupported("a condition that rows of an outer join without a match may pass")
        for each in outer:
            each.kind = ir.JoinKind.INNER

    def ast(self, alias: str, related: bool = True) -> dict[str, Any]:
        """Returns ZQL's own form of the query. `related`: whether what is below is part of its rows."""
        tested = [each.exists() for each in self.below if each.kind is not ir.JoinKind.LEFT]
        node = {"table": self.table, "alias": alias, "where": _all([*self.where, *tested])}
        shown = [each.correlated(each.alias, True) for each in self.shown()] if related else []
        return node | {"related": shown} if shown else node

    def exists(self) -> dict[str, Any]:
        """Returns the condition that there is a match; for an anti join, that there is none.

        `flip`: it is found from the side of the matches, as ZQL's planner also decides; here for inner joins,
        and for semi joins without conditions.
        """
        flip = self.kind is ir.JoinKind.INNER or (self.kind is ir.JoinKind.SEMI and not self.where)
        found = "NOT EXISTS" if self.kind is ir.JoinKind.ANTI else "EXISTS"
        tested = {"type": "correlatedSubquery", "op": found, "flip": flip}
        return tested | {"related": self.correlated(f"zsubq_{self.alias}", False)}

    def correlated(self, alias: str, related: bool) -> dict[str, Any]:
        """Returns this table with the columns that tie it to the one above. Raises Unsupported."""
        above, own = ([*columns] for columns in zip(*self.on, strict=True))
        if len(set(above)) < len(above) or len(set(own)) < len(own):
            raise Unsupported("a column that is joined with two columns")
        correlation = {"parentField": above, "childField": own}
        return {"correlation": correlation, "subquery": self.ast(alias, related)}

    def tree(self) -> dict[str, Any]:
        """Returns the alias of this table, and of those below it that its rows show, as JSON."""
        return {"alias": self.alias, "below": [each.tree() for each in self.shown()]}

    def shown(self) -> list[Source]:
        """Returns the tables below it that are part of its rows: not those of semi and anti joins."""
        return [each for each in self.below if each.kind not in ir.MEMBERSHIP]


def plan_of(query: ir.Query) -> dict[str, Any]:
    """Returns a query as JSON for the script (node/zql.mjs). Raises Unsupported."""
    order: tuple[ir.SortKey, ...] = ()
    limit: dict[str, Any] = {}
    if isinstance(query, ir.Limited):
        if query.offset:
            raise Unsupported("OFFSET")
        order, limit, query = query.order, {"limit": query.count}, query.query
    if not isinstance(query, ir.Select) or query.group_by is not None or query.distinct or query.qualify:
        raise Unsupported("groups, DISTINCT, QUALIFY, a set operation or CTE")
    sources = _sources(query.source)
    for condition in ir.conjuncts(query.where):
        _filter(condition, sources)
    items = {item.name: _item(item.expr) for item in query.items}
    top, tree = sources[0], sources[0].tree()
    if limit:
        if tree["below"] or any(items[key.column][:2] != ["column", top.alias] for key in order):
            raise Unsupported("LIMIT over a join, or by what is no column")
        keys = [[items[key.column][2], "desc" if key.descending else "asc"] for key in order]
        limit["orderBy"] = [key for n, key in enumerate(keys) if key[0] not in [k for k, _ in keys[:n]]]
    return {"ast": top.ast(top.alias) | limit, "tree": tree, "items": [*items.values()]}


def _sources(relation: ir.Relation) -> list[Source]:
    """Returns the tables of a FROM clause whose columns can be read, the topmost first.

    Raises Unsupported.
    """
    match relation:
        case ir.Named(name, alias):
            return [Source(alias, name)]
        case ir.Join(ir.JoinKind.RIGHT, left, right, on):
            return _sources(ir.Join(ir.JoinKind.LEFT, right, left, on))
        case ir.Join(kind, left, right, on) if kind in JOINS and on is not None:
            return _join(kind, _sources(left), _sources(right), on)
        case _:
            raise Unsupported("a sub-query, or a join that ZQL does not have")


def _join(kind: ir.JoinKind, left: list[Source], right: list[Source], on: ir.Expr) -> list[Source]:
    """Hangs the right side below a table of the left one; returns what can be read. Raises Unsupported."""
    joined = right[0]
    above: dict[str, None] = {}
    for condition in ir.conjuncts(on):
        pair = _pair(condition, left, right)
        if pair is not None:
            one, two = pair
            if two.relation != joined.alias:
                raise Unsupported("a join with another table than the first one of its right side")
            above[one.relation] = joined.on[one.name, two.name] = None
        elif _aliases(condition) <= {each.alias for each in right}:
            _filter(condition, right)
        elif kind in (ir.JoinKind.INNER, ir.JoinKind.SEMI):
            _filter(condition, left)
        else:
            raise Unsupported("a condition on the left side of an outer join or anti join")
    if len(above) != 1:
        raise Unsupported("a join without an equality, or with two tables")
    joined.parent = next(each for each in left if each.alias in above)
    if kind is not ir.JoinKind.LEFT:
        joined.parent.require(kind is not ir.JoinKind.ANTI)
    joined.kind = kind
    joined.parent.below.append(joined)
    return left if kind in ir.MEMBERSHIP else [*left, *right]


def _pair(
    condition: ir.Expr, left: list[Source], right: list[Source]
) -> tuple[ir.ColumnRef, ir.ColumnRef] | None:
    match condition:
        case ir.Call("eq", (one, two)):
            one, two = _plain(one), _plain(two)
            if isinstance(one, ir.ColumnRef) and isinstance(two, ir.ColumnRef):
                for pair in ((one, two), (two, one)):
                    if all(
                        any(each.alias == column.relation for each in side)
                        for column, side in zip(pair, (left, right), strict=True)
                    ):
                        return pair
    return None


def _plain(expr: ir.Expr) -> ir.Expr:
    """Returns an expression without a cast that JavaScript's numbers do not need."""
    match expr:
        case ir.Call("cast", (arg,), SqlType(Kind.BIGINT)) if arg.type.kind is Kind.INT:
            return arg
        case _:
            return expr


def _aliases(expr: ir.Expr) -> set[str]:
    return {part.relation for part in ir.subexpressions(expr) if isinstance(part, ir.ColumnRef)}


def _filter(condition: ir.Expr, sources: list[Source]) -> None:
    """Adds a condition to the only table that it reads. Raises Unsupported."""
    aliases = _aliases(condition)
    if len(aliases) > 1 or not aliases <= {each.alias for each in sources}:
        raise Unsupported("a condition over two tables")
    source = next((each for each in sources if each.alias in aliases), sources[0])
    text = _condition(condition, True)
    source.require(not _passes_null(text))
    source.where.append(text)


def _condition(expr: ir.Expr, holds: bool) -> dict[str, Any]:
    """Returns the condition that an expression is TRUE (`holds`) or FALSE. Raises Unsupported.

    ZQL has no third value of truth: NULL is neither.
    """
    match expr:
        case ir.Call("and" | "or" as function, args):
            parts = [_condition(arg, holds) for arg in args]
            return {"type": "and" if (function == "and") == holds else "or", "conditions": parts}
        case ir.Call("between", (arg, low, high)):
            both = (ir.Call("ge", (arg, low), BOOLEAN), ir.Call("le", (arg, high), BOOLEAN))
            return _condition(ir.Call("and", both, BOOLEAN), holds)
        case ir.Call("not", (arg,)):
            return _condition(arg, not holds)
        case ir.Call("is_true" | "is_false" as function, (arg,)) if holds:
            return _condition(arg, function == "is_true")
        case ir.Call("is_null" | "is_not_null" as function, (arg,)):
            return _simple(arg, "IS" if (function == "is_null") == holds else "IS NOT", None)
        case ir.Call(function, (ir.Literal() as value, arg)) if function in COMPARED and function != "like":
            turned = ir.Call(TURNED.get(function, function), (arg, value), BOOLEAN)
            return _condition(turned, holds) if not isinstance(arg, ir.Literal) else _simple(arg, "", None)
        case ir.Call("like", (arg, ir.Literal(str() as pattern))):
            pattern = pattern.replace("\\", "\\\\").replace("$", "\\")
            return _simple(arg, COMPARED["like"][not holds], pattern)
        case ir.Call(function, (arg, ir.Literal(value))) if function in COMPARED:
            return _simple(arg, COMPARED[function][not holds], value)
        case ir.ColumnRef() | ir.Literal():
            return _simple(expr, "IS", holds)
        case _:
            raise Unsupported("a condition that is no comparison of a column with a constant")


def _simple(expr: ir.Expr, op: str, value: Value) -> dict[str, Any]:
    left: dict[str, Value]
    match _plain(expr):
        case ir.ColumnRef(_, name):
            left = {"type": "column", "name": name}
        case ir.Literal(constant) if op == "IS":
            left = {"type": "literal", "value": constant}
        case _:
            raise Unsupported("a condition that is no comparison of a column with a constant")
    return {"type": "simple", "op": op, "left": left, "right": {"type": "literal", "value": value}}


def _passes_null(condition: dict[str, Any]) -> bool:
    """Tells whether a condition on columns of one table may hold where all of them are NULL."""
    if condition["type"] == "simple":
        op, value = condition["op"], condition["right"]["value"]
        constant: bool = condition["left"]["type"] == "literal"
        return constant or op == ("IS" if value is None else "IS NOT")
    passes = [_passes_null(part) for part in condition["conditions"]]
    return all(passes) if condition["type"] == "and" else any(passes)


def _all(conditions: list[dict[str, Any]]) -> dict[str, Any] | None:
    match conditions:
        case []:
            return None
        case [one]:
            return one
        case _:
            return {"type": "and", "conditions": conditions}


def _item(expr: ir.Expr) -> list[Any]:
    match expr:
        case ir.ColumnRef(relation, name):
            return ["column", relation, name]
        case ir.Literal(value):
            return ["literal", value]
        case _:
            raise Unsupported("an output that is computed")


def gap(query: ir.Query) -> str | None:
    """Returns what of a query ZQL cannot say; None: nothing."""
    try:
        plan_of(query)
    except Unsupported as error:
        return str(error)
    return None


def amended(query: ir.Query) -> ir.Query:
    """Returns a query like the given one, with columns as outputs and simpler conditions, as ZQL has them."""
    match query:
        case ir.Limited():
            return replace(query, query=amended(query.query), offset=0)
        case ir.Select():
            items = tuple(replace(item, expr=_amended_item(item.expr)) for item in query.items)
            return replace(
                query,
                items=items,
                source=_amended_source(query.source),
                where=_amended_conditions(query.where),
            )
        case _:
            return query


def _amended_source(relation: ir.Relation) -> ir.Relation:
    if not isinstance(relation, ir.Join):
        return relation
    right = {each.alias for each in ir.relations_of(relation.right) if isinstance(each, ir.Named)}
    on = _amended_conditions(relation.on, right)
    return replace(
        relation, left=_amended_source(relation.left), right=_amended_source(relation.right), on=on
    )


def _amended_conditions(condition: ir.Expr | None, right: set[str] | None = None) -> ir.Expr | None:
    result: ir.Expr | None = None
    for each in ir.conjuncts(condition):
        result = (
            _amended_condition(each, right)
            if result is None
            else ir.both(result, _amended_condition(each, right))
        )
    return result


def _amended_condition(condition: ir.Expr, right: set[str] | None) -> ir.Expr:
    """Returns the condition, an equality in it that joins `right`, or else a test of one of its columns."""
    parts = [*ir.subexpressions(condition)]
    if right is not None:
        for part in parts:
            match part:
                case ir.Call("eq", (one, two)) if (
                    len(_aliases(one) & right) + len(_aliases(two) & right) == 1
                ):
                    return part
    columns = [part for part in parts if isinstance(part, ir.ColumnRef)]
    try:
        _condition(condition, True)
        if len(_aliases(condition)) <= 1:
            return condition
    except Unsupported:
        pass
    column = next(
        (each for each in columns if right and each.relation in right), columns[0] if columns else None
    )
    if column is None:
        return ir.Literal(True, BOOLEAN)
    if column.type.kind not in (Kind.INT, Kind.BIGINT):
        return ir.Call("is_not_null", (column,), BOOLEAN)
    return ir.Call("ge", (column, ir.Literal(1, column.type)), BOOLEAN)


def _amended_item(expr: ir.Expr) -> ir.Expr:
    if isinstance(expr, ir.ColumnRef | ir.Literal | ir.Aggregate | ir.Window):
        return expr
    parts = ir.subexpressions(expr)
    columns = (part for part in parts if isinstance(part, ir.ColumnRef) and part.type == expr.type)
    return next(columns, ir.Literal(None, expr.type))
