"""Rows that are equal in an order on which a query depends: the query has several right answers then."""

from __future__ import annotations

from collections.abc import Sequence

from dynamic_tables.definition import BaseTable, DynamicTable
from dynamic_tables.differentiate.differentiation import At, Differentiation, leaf_name
from dynamic_tables.differentiate.registry import Rules
from dynamic_tables.errors import StoreError, UnsupportedError
from dynamic_tables.plan.expressions import Agg, Col, Expr, Lit, boolean
from dynamic_tables.plan.nodes import Aggregate, BoundQuery, Filter, Limit, Plan, Window, columns, walk
from dynamic_tables.plan.types import BIGINT
from dynamic_tables.plan.window_functions import depends_on_places
from dynamic_tables.store.port import Relation, Store


def ensure_no_ties(query: BoundQuery, store: Store, rules: Rules) -> None:
    """Raises UnsupportedError: a window function whose order leaves rows equal that are stored now.

    Most orders are total because a column identifies the rows, which no table declares; so the rows are
    asked. Rows that come to be equal later are taken in the order of their ids.
    """
    free = [node for node in walk(query.plan) if isinstance(node, Window) and node.free]
    if not free:
        return
    found = {name: _newest(store, name) for name in query.sources}
    sources = {name: relation for name, relation in found.items() if relation is not None}
    try:
        if len(sources) == len(found):
            for node in free:
                _ensure_none(node, sources, store, rules)
    finally:
        store.release(list(sources.values()))


def _newest(store: Store, name: str) -> Relation | None:
    """Returns the newest rows of a source; None for a dynamic table that has none yet."""
    definition = store.definitions()[name]
    assert isinstance(definition, BaseTable | DynamicTable)
    versions = store.history(definition).versions
    return store.snapshot(name, versions[-1].version, ids=False) if versions else None


def _ensure_none(node: Window, sources: dict[str, Relation], store: Store, rules: Rules) -> None:
    leaves = {leaf_name(name, At.T1): relation for name, relation in sources.items()}
    d = Differentiation(rules.operators, rules.row_ids, identified=False)
    rows = d.state(node.child, At.T1, False)
    for _, call in node.calls:
        keys = dict.fromkeys((*call.partition, *(key.expr for key in call.order)))
        if not depends_on_places(call) or {*columns(node.child)} <= {*keys}:
            # Rows that are equal in all columns are alike, so any of them may be first.
            continue
        relation = store.compute(_equal_rows(rows, list(keys)), leaves, once=True, few=True)
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


def _equal_rows(rows: Plan, keys: Sequence[Expr]) -> Plan:
    """Returns one example of keys that several rows have, with the number of the rows."""
    count = Col("$COUNT", BIGINT)
    named = tuple((f"$KEY{place}", key) for place, key in enumerate(keys)) or (("$ALL", Lit(0, BIGINT)),)
    counted = Aggregate(rows, named, ((count.name, Agg("COUNT", None, False, BIGINT)),))
    return Limit(Filter(counted, boolean(">", count, Lit(1, BIGINT))), (), 1)
