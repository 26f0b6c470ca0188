"""A query as the tree of its operators: what is read stands below what reads it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reports.describe import expression_sql
from workload.operators import Operator, OperatorNode, operator_tree
from workload.query import Aggregate, Cte, Join, Named, Query, Select, subexpressions


@dataclass(frozen=True, slots=True)
class DescribedOperator:
    """One operator: its name, its details in Spark's SQL, and its inputs."""

    name: str
    detail: str
    inputs: tuple[DescribedOperator, ...]


def query_tree(query: Query) -> DescribedOperator:
    """Returns the operators of a query with their details; the body of a CTE stands wherever it is read."""
    return _described(operator_tree(query))


def _described(node: OperatorNode) -> DescribedOperator:
    return DescribedOperator(node.operator, _detail(node), tuple(map(_described, node.inputs)))


def _detail(node: OperatorNode) -> str:
    match node.node:
        case Select() as select:
            return _clause(select, node)
        case Named(name, alias):
            return name if name == alias else f"{name} AS {alias}"
        case Cte(name, _):
            return name
        case Join(_, _, _, on):
            return "" if on is None else f"ON {expression_sql(on)}"
        case _:
            return ""


def _clause(select: Select, node: OperatorNode) -> str:
    match node.operator:
        case Operator.FILTER:
            condition = select.having if node.is_having else select.where
            text = "" if condition is None else expression_sql(condition)
            return f"HAVING {text}" if node.is_having else text
        case Operator.GROUPED_AGGREGATION | Operator.SCALAR_AGGREGATION:
            keys = ", ".join(map(expression_sql, select.group_by or ()))
            return (f"by {keys}: " if keys else "") + (", ".join(_aggregates(select)) or "no aggregate")
        case Operator.PROJECTION:
            return ", ".join(f"{expression_sql(item.expr)} AS {item.name}" for item in select.items)
        case _:
            return ""


def _aggregates(select: Select) -> dict[str, None]:
    """Returns the texts of a block's aggregates, each once, in order of appearance."""
    exprs = [item.expr for item in select.items] + ([select.having] if select.having is not None else [])
    parts = (part for expr in exprs for part in subexpressions(expr))
    return dict.fromkeys(expression_sql(part) for part in parts if isinstance(part, Aggregate))


def tree_text(tree: DescribedOperator) -> str:
    """Returns the tree as text: one operator a line, with lines that lead to its inputs."""
    return "\n".join(_lines(tree, "", ""))


def _lines(tree: DescribedOperator, first: str, rest: str) -> Iterator[str]:
    yield f"{first}{tree.name}{f' {tree.detail}' if tree.detail else ''}"
    for number, below in enumerate(tree.inputs, 1):
        last = number == len(tree.inputs)
        yield from _lines(below, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))
