"""Coverage of scenarios: operators and operator pairs of their queries, and the floors that are not met."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from generators.profiles import Profile
from workload.operators import OPERATORS, Operator, OperatorNode, operator_tree
from workload.outcomes.results import UnmetFloor
from workload.query import Aggregate, Call, ColumnRef, Expr, Query, Select, Window, walk


def operators(query: Query) -> Iterator[Operator]:
    """Yields every operator of a query that coverage counts, outside in; the body of a CTE once per use."""
    return (node.operator for node in operator_tree(query).walk() if _is_counted(node))


def features(query: Query) -> Counter[str]:
    """Counts what an engine may lack of a query: operators, types of expressions, and functions."""
    found = Counter(f"operator: {name}" for name in operators(query))
    for part in walk(query):
        match part:
            case Call(function):
                found[f"function: {function}"] += 1
            case Aggregate(function):
                found[f"function: {function.value}{' DISTINCT' if part.distinct else ''}"] += 1
            case _:
                pass
        if isinstance(part, Expr):
            found[f"type: {part.type.kind.value}"] += 1
    return found


def operator_pairs(query: Query) -> Iterator[tuple[Operator, Operator]]:
    """Yields every (operator, operator directly below it) of a query, among those that coverage counts."""
    for node in operator_tree(query).walk():
        if _is_counted(node):
            yield from ((node.operator, below.operator) for below in _counted(node.inputs))


def _counted(nodes: Iterable[OperatorNode]) -> Iterator[OperatorNode]:
    """Yields the counted operators among some nodes; of another node those below it."""
    for node in nodes:
        yield from (node,) if _is_counted(node) else _counted(node.inputs)


def _is_counted(node: OperatorNode) -> bool:
    """Tells whether coverage counts an operator; a projection counts only if it calculates something."""
    if node.operator is Operator.PROJECTION and isinstance(node.node, Select):
        return not all(isinstance(item.expr, ColumnRef | Aggregate | Window) for item in node.node.items)
    return node.operator in OPERATORS


def unmet_floors(profile: Profile, reached: Mapping[str, int], scenarios: int) -> dict[str, UnmetFloor]:
    """Returns the floors not reached, by name, scaled to the number of scenarios run."""
    unmet = {}
    for name, per_thousand in profile.floors.items():
        floor = UnmetFloor(reached.get(name, 0), scaled(per_thousand, scenarios))
        if floor.reached < floor.wanted:
            unmet[name] = floor
    return unmet


def floors_too_small(profile: Profile, scenarios: int) -> tuple[str, ...]:
    """Returns the names of the floors that are below one in this number of scenarios."""
    return tuple(name for name, wanted in profile.floors.items() if wanted and not scaled(wanted, scenarios))


def scaled(per_thousand: float, scenarios: int) -> int:
    """Returns a floor for this number of scenarios, rounded down."""
    # A tenth has no exact double, and must not lose the last scenario that it needs.
    return math.floor(round(per_thousand * scenarios / 1000, 6))
