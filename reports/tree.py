"""A query as the tree of its operators: what is read stands below what reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import assert_never

from workload.errors import WorkloadError
from workload.query import (
    Aggregate,
    ColumnRef,
    Derived,
    Expr,
    Join,
    Named,
    Query,
    Relation,
    Select,
    UnionAll,
    With,
    subexpressions,
)
from workload.sql import Dialect, render_expr


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator: its name, what it does in Spark's SQL, and its inputs."""

    name: str
    detail: str
    inputs: tuple[Operator, ...] = ()


def query_tree(query: Query, ctes: Mapping[str, Operator] | None = None) -> Operator:
    """The operators of a query; the body of a CTE stands wherever it is read."""
    ctes = ctes or {}
    match query:
        case Select():
            return _select(query, ctes)
        case UnionAll(branches):
            return Operator("union all", "", tuple(query_tree(branch, ctes) for branch in branches))
        case With(bound, body):
            for cte in bound:
                ctes = {**ctes, cte.name: Operator("cte", cte.name, (query_tree(cte.query, ctes),))}
            return query_tree(body, ctes)
        case _:
            assert_never(query)


def _select(select: Select, ctes: Mapping[str, Operator]) -> Operator:
    tree = _relation(select.source, ctes)
    if select.where is not None:
        tree = Operator("filter", _text(select.where), (tree,))
    if select.group_by is not None:
        name = "grouped aggregation" if select.group_by else "scalar aggregation"
        by = f"by {', '.join(map(_text, select.group_by))}: " if select.group_by else ""
        tree = Operator(name, by + (", ".join(_aggregates(select)) or "no aggregate"), (tree,))
    if select.having is not None:
        tree = Operator("filter", f"HAVING {_text(select.having)}", (tree,))
    tree = Operator("projection", ", ".join(f"{_text(i.expr)} AS {i.name}" for i in select.items), (tree,))
    return Operator("distinct", "", (tree,)) if select.distinct else tree


def _aggregates(select: Select) -> dict[str, None]:
    exprs = [item.expr for item in select.items] + ([select.having] if select.having is not None else [])
    parts = (part for expr in exprs for part in subexpressions(expr))
    return dict.fromkeys(_text(part) for part in parts if isinstance(part, Aggregate))


def _relation(relation: Relation, ctes: Mapping[str, Operator]) -> Operator:
    match relation:
        case Named(name, alias):
            return (
                ctes[name]
                if name in ctes
                else Operator("scan", name if name == alias else f"{name} AS {alias}")
            )
        case Derived(query, _):
            return query_tree(query, ctes)
        case Join(kind, left, right, on):
            detail = "" if on is None else f"ON {_text(on)}"
            return Operator(kind.value.lower(), detail, (_relation(left, ctes), _relation(right, ctes)))
        case _:
            assert_never(relation)


def _text(expr: Expr) -> str:
    try:
        return (
            f"{expr.relation}.{expr.name}"
            if isinstance(expr, ColumnRef)
            else render_expr(expr, Dialect.SPARK)
        )
    except (WorkloadError, LookupError) as error:
        return f"/* cannot be rendered: {error} */"


def tree_text(tree: Operator) -> str:
    """The tree with lines, one operator each."""
    return "\n".join(_lines(tree, "", ""))


def _lines(tree: Operator, first: str, rest: str) -> Iterator[str]:
    yield f"{first}{tree.name}{f' {tree.detail}' if tree.detail else ''}"
    for number, below in enumerate(tree.inputs, 1):
        last = number == len(tree.inputs)
        yield from _lines(below, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))
