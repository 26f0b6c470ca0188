"""Rows that are equal in an order on which a query depends: the query has several right answers then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass

from dynamic_tables.definition import BaseTable, DynamicTable
from dynamic_tables.differentiate.differentiation import At, leaf_name
from dynamic_tables.differentiate.registry import Rules
from dynamic_tables.errors import StoreError, UnsupportedError
from dynamic_tables.plan import nodes
from dynamic_tables.plan.expressions import Agg, Col, Expr, Lit, boolean
from dynamic_tables.plan.time import at_times
from dynamic_tables.plan.types import BIGINT
from dynamic_tables.plan.window_functions import depends_on_places
from dynamic_tables.store.port import Relation, Store


def ensure_no_ties(query: nodes.BoundQuery, store: Store, rules: Rules, now: int) -> None:
    """Raises UnsupportedError: a window function whose order leaves rows equal that are stored now.

    `now`: the current time that the query reads, in microseconds.

    Most orders are total because a column identifies the rows, which no table declares; so the rows are
    asked. Rows that come to be equal later are taken in the order of their ids.
    """
    free = [node for node in nodes.walk(query.plan) if isinstance(node, nodes.Window) and node.free]
    if not free:
        return
    read = {id(node): names for node, names in _windows(query.plan, None)}
    found = {name: _newest(store, name) for name in query.sources}
    sources = {name: relation for name, relation in found.items() if relation is not None}
    try:
        if len(sources) == len(found):
            for node in free:
                timed = at_times(
                    rules.differentiation(identified=False).state(node.child, At.T1, False), None, now
                )
                _ensure_none(node, timed, read[id(node)], sources, store)
    finally:
        store.release(list(sources.values()))


def _newest(store: Store, name: str) -> Relation | None:
    """Returns the newest rows of a source; None for a dynamic table that has none yet."""
    definition = store.definitions()[name]
    assert isinstance(definition, BaseTable | DynamicTable)
    versions = store.history(definition).versions
    return store.snapshot(name, versions[-1].version, ids=False) if versions else None


def _windows(
    plan: nodes.Plan, read: frozenset[str] | None
) -> Iterator[tuple[nodes.Window, frozenset[str] | None]]:
    """Yields the windows of a plan, each with the columns that are read in it or above it; None: all.

    `read`: the same for the plan itself.
    """
    match plan:
        case nodes.Project() | nodes.Aggregate():
            read = frozenset(_named_in(plan))
        case nodes.SetOperation() | nodes.Distinct():
            read = None
        case _:
            read = None if read is None else read.union(_named_in(plan))
    if isinstance(plan, nodes.Window):
        yield plan, read
    for child in nodes.children(plan):
        yield from _windows(child, read)


def _named_in(value: object) -> Iterator[str]:
    """Yields the names of the columns that the expressions of a node read, those below it not counted."""
    match value:
        case Col(name, _):
            yield name
        case tuple():
            for part in value:
                yield from _named_in(part)
        case _ if is_dataclass(value):
            for field in fields(value):
                part = getattr(value, field.name)
                yield from () if isinstance(part, nodes.Plan) else _named_in(part)
        case _:
            pass


def _ensure_none(
    node: nodes.Window,
    rows: nodes.Plan,
    read: frozenset[str] | None,
    sources: dict[str, Relation],
    store: Store,
) -> None:
    """Raises UnsupportedError, with an example: rows are equal in the order of a window, and not alike.

    `rows`: the plan of the window's input. `read`: see `_windows`. `sources`: the newest rows of each source.
    """
    leaves = {leaf_name(name, At.T1): relation for name, relation in sources.items()}
    for _, call in node.calls:
        keys = list(dict.fromkeys((*call.partition, *(key.expr for key in call.order))))
        # Rows that are equal in all columns that are read are alike, so any of them may be first.
        others = [
            column
            for column in nodes.columns(node.child)
            if column not in keys and (read is None or column.name in read)
        ]
        if not depends_on_places(call) or not others:
            continue
        relation = store.compute(_equal_rows(rows, keys, others), leaves, once=True, few=True)
        try:
            examples = relation.rows()
        except StoreError:
            # The query fails on its data, and its refreshes will say so.
            return
        finally:
            store.release([relation])
        if examples:
            shown = ", ".join(map(str, examples[0][:-1]))
            raise UnsupportedError(
                f"{call.function.name.lower()} over an order that is not total",
                f"{examples[0][-1]} rows are equal in it: ({shown}); add keys to ORDER BY until no rows are",
            )


def _equal_rows(rows: nodes.Plan, keys: Sequence[Expr], others: Sequence[Col]) -> nodes.Plan:
    """Returns one example of keys that several rows have which differ otherwise, with their number."""
    count = Col("$COUNT", BIGINT)
    named = [(f"$KEY{place}", key) for place, key in enumerate(keys)] or [("$ALL", Lit(0, BIGINT))]
    different: nodes.Plan = nodes.Project(rows, (*named, *((column.name, column) for column in others)))
    if all(column.type.identifies for column in others):
        different = nodes.Distinct(different)
    by = tuple((name, Col(name, expr.type)) for name, expr in named)
    counted = nodes.Aggregate(different, by, ((count.name, Agg("COUNT", None, False, BIGINT)),))
    return nodes.Limit(nodes.Filter(counted, boolean(">", count, Lit(1, BIGINT))), (), 1)
