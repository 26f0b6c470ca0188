"""Texts of given definitions in failures: smaller texts to shrink to, and the operators in a text.

A smaller text has a condition, a join, a column or a clause less. No cut changes the type of a column that
stays, for the types are not asked for again: sides of UNION and branches of CASE are left alone. A cut may
leave a text without meaning; whoever judges it refuses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from given.dialect import WrittenSpark
from given.translation import conjuncts, duckdb_text, qualified
from workload.operators import Operator
from workload.query import Derived, Named, Verbatim
from workload.scope import Catalog

Edit = Callable[[exp.Expr], object]
"""A function that takes a part away from a node of sqlglot, in place."""


def smaller_texts(query: Verbatim, known: Catalog, *, columns: bool) -> Iterator[Verbatim]:
    """Yields the query with one part less, once for each part, from the outside in.

    `known`: the columns of the relations that it may read. `columns`: whether an output column may go,
    because nothing else reads the table.
    """
    try:
        tree = sqlglot.parse_one(query.text, read=WrittenSpark)
    except SqlglotError:
        return
    names = {name: [column.name for column in of] for name, of in known.items()}
    # A star shows all columns of its relations, so no column may go, and no relation.
    starred = any(block.is_star for block in tree.find_all(exp.Select))
    for number, node in enumerate(tree.walk()):
        for edit in _edits(node, names, starred):
            yield from _edited(query, tree, partial(_at, number, edit), names)
    if columns and not starred and 1 < len(query.columns) == len(getattr(tree, "selects", ())):
        for place in reversed(range(len(query.columns))):
            fewer = replace(query, columns=(*query.columns[:place], *query.columns[place + 1 :]))
            yield from _edited(fewer, tree, partial(_drop, "expressions", place), names)


def operators_in(text: str) -> list[Operator]:
    """Returns the operators of a text, each as often as it occurs; none if sqlglot cannot read the text."""
    try:
        tree = sqlglot.parse_one(text, read=WrittenSpark)
    except SqlglotError:
        return []
    return [operator for node in tree.walk() for operator in _operators(node)]


OPERATOR_OF_CLASS: Mapping[type[exp.Expr], Operator] = {
    exp.Where: Operator.FILTER,
    exp.Having: Operator.FILTER,
    exp.Qualify: Operator.FILTER,
    exp.Window: Operator.WINDOW,
    exp.Limit: Operator.LIMIT,
    exp.Explode: Operator.EXPLODE,
    exp.Posexplode: Operator.EXPLODE,
}
"""The operator of the nodes of a class, for classes whose nodes are one operator whatever they hold."""


def _operators(node: exp.Expr) -> Iterator[Operator]:
    """Yields the operators of one node, without those of the nodes below it."""
    if type(node) in OPERATOR_OF_CLASS:
        yield OPERATOR_OF_CLASS[type(node)]
    match node:
        case exp.Join(kind="SEMI" | "ANTI" | "CROSS" as kind):
            yield Operator(f"{kind.lower()} join")
        case exp.Join():
            yield Operator(f"{(node.side or 'inner').lower()} join")
        case exp.Exists() | exp.In() if isinstance(node, exp.Exists) or node.args.get("query"):
            yield Operator.ANTI_JOIN if isinstance(node.parent, exp.Not) else Operator.SEMI_JOIN
        case exp.SetOperation():
            yield Operator(f"{type(node).__name__.lower()}{'' if node.args.get('distinct') else ' all'}")
        case exp.Group():
            several = node.find(exp.Rollup, exp.Cube, exp.GroupingSets)
            yield Operator.GROUPING_SETS if several else Operator.GROUPED_AGGREGATION
        case exp.Select() if not node.args.get("group") and any(map(_has_aggregate, node.selects)):
            yield Operator.SCALAR_AGGREGATION
        case exp.Distinct() if isinstance(node.parent, exp.Select):
            yield Operator.DISTINCT
        case _:
            return


def _has_aggregate(item: exp.Expr) -> bool:
    """Tells whether an item has an aggregate of its own block, and not only of a window or a subquery."""
    stops = (exp.Window, exp.Subquery)
    return any(
        isinstance(each, exp.AggFunc) for each in item.walk(prune=lambda each: isinstance(each, stops))
    )


def _edited(
    query: Verbatim, tree: exp.Expr, edit: Edit, names: Mapping[str, Sequence[str]]
) -> Iterator[Verbatim]:
    """Yields the query with the text that an edit leaves, if that can be parsed again."""
    cut = tree.copy()
    edit(cut)
    with suppress(SqlglotError):
        text = cut.sql("databricks", comments=False)
        again = sqlglot.parse_one(text, read=WrittenSpark)
        read = {table.name.lower() for table in again.find_all(exp.Table)}
        sources = tuple(each for each in query.sources if _name(each) in read)
        yield replace(query, text=text, translated=duckdb_text(qualified(again, names)[1]), sources=sources)


def _name(source: Named | Derived) -> str:
    return source.name if isinstance(source, Named) else source.alias


def _at(number: int, edit: Edit, tree: exp.Expr) -> None:
    """Applies an edit to one node of a tree; `number`: its place in the order of `walk`."""
    edit(list(tree.walk())[number])


def _edits(node: exp.Expr, names: Mapping[str, Sequence[str]], starred: bool) -> Iterator[Edit]:
    """Yields the edits that a node allows. `starred`: some block of the text has a star."""
    match node:
        case exp.Where() | exp.Having() | exp.Qualify():
            yield lambda clause: clause.pop()
        case exp.And() | exp.Or():
            yield lambda connected: connected.replace(connected.this)
            yield lambda connected: connected.replace(connected.expression)
        case exp.With():
            for place in range(len(node.expressions)):
                yield partial(_drop_cte, place)
        case exp.Group():
            for place in range(len(node.expressions) if len(node.expressions) > 1 else 0):
                yield partial(_drop, "expressions", place)
        case exp.Select():
            yield from _edits_of_block(node, names, starred)
        case _:
            return


def _edits_of_block(select: exp.Select, names: Mapping[str, Sequence[str]], starred: bool) -> Iterator[Edit]:
    """Yields the edits that take a join, DISTINCT, ORDER BY, or a column of a sub-select."""
    for place, join in enumerate(select.args.get("joins") or ()):
        # A column that USING or NATURAL merges has the type in which both sides meet.
        if starred or join.args.get("using") or join.method:
            continue
        yield partial(_drop_join, place, tuple(names.get(join.this.name.lower(), ())))
    if select.args.get("distinct"):
        yield lambda block: block.set("distinct", None)
    if select.args.get("order") and not select.args.get("limit"):
        yield lambda block: block.set("order", None)
    # Columns of the whole query have names and types outside the text: `smaller_texts` takes these.
    if select.parent is not None and not starred:
        for place in range(len(select.expressions) if len(select.expressions) > 1 else 0):
            yield partial(_drop, "expressions", place)


def _drop(part: str, place: int, node: exp.Expr) -> None:
    node.set(part, [each for n, each in enumerate(node.args[part]) if n != place])


def _drop_cte(place: int, node: exp.Expr) -> None:
    if len(node.expressions) > 1:
        _drop("expressions", place, node)
    else:
        node.pop()


def _drop_join(place: int, columns: Sequence[str], select: exp.Expr) -> None:
    """Drops a join, and the conditions of WHERE that read its relation."""
    alias = select.args["joins"][place].alias_or_name
    _drop("joins", place, select)
    where = select.args.get("where")
    if where is None:
        return
    remaining = [each for each in conjuncts(where.this) if not _reads(each, alias, columns)]
    select.set("where", exp.Where(this=exp.and_(*remaining, copy=False)) if remaining else None)


def _reads(condition: exp.Expr, alias: str, columns: Sequence[str]) -> bool:
    """Tells whether a condition reads a relation: by its alias, or by one of its columns without an alias."""
    return any(
        column.table == alias if column.table else column.name.lower() in columns
        for column in condition.find_all(exp.Column)
    )
