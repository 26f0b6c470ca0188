"""Random GROUPING SETS, ROLLUP and CUBE: one block grouped by several sets of its keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from generators.choices import Choices
from generators.queries import expressions
from generators.queries.aggregates import beside_texts
from generators.queries.expressions import Term, call, matchable
from generators.queries.relations import COUNT_STAR, FromClause, Generated, select
from generators.queries.windows import DrawsAggregates
from workload.query import Expr, Grouping, Select
from workload.types import BOOLEAN, TINYINT

Sets = tuple[tuple[int, ...], ...]
"""Sets of keys, each as the positions of its keys."""


def grouping_sets(
    draw: DrawsAggregates, source: FromClause, where: Expr | None, keys: Sequence[Term]
) -> Generated:
    """Returns a block grouped by several sets of keys; GROUPING tells a subtotal from a key that is NULL."""
    choices = draw.choices
    aggregates = beside_texts([draw.aggregate(source) for _ in range(choices.integer(1, 2))])
    groupings = [Term(Grouping(choices.pick(keys).expr, TINYINT), 1)] if choices.chance(50) else []
    shown = keys if choices.chance(80) else keys[1:]
    having = None
    if choices.chance(25):
        # Spark finds GROUPING in HAVING only where the key is an output under its own name.
        tested = choices.pick(matchable(aggregates) or [Term(COUNT_STAR)])
        bound = expressions.literal(choices, tested.type)
        having = call(choices.pick(("eq", "ge", "le", "ne")), BOOLEAN, tested, bound).expr
    block = select(source, [*shown, *aggregates, *groupings], where, group_by=keys, having=having)
    assert isinstance(block.query, Select)
    sets = some_sets(choices, len(keys))
    return replace(block, query=replace(block.query, sets=sets), rows=source.rows * len(sets))


def some_sets(choices: Choices, keys: int) -> Sets:
    """Returns the sets of a ROLLUP or CUBE of so many keys, or some sets that together name all keys."""
    every = tuple(range(keys))
    match choices.weighted(((4, "rollup"), (2, "cube"), (4, "sets"))):
        case "rollup":
            return tuple(every[:length] for length in range(keys, -1, -1))
        case "cube":
            return tuple(places for length in range(keys, -1, -1) for places in combinations(every, length))
        case _:
            drawn = [tuple(choices.subset(every, 0, keys)) for _ in range(choices.integer(1, 3))]
            missing = [place for place in every if all(place not in places for places in drawn)]
            return (tuple(missing), *drawn) if missing else tuple(drawn)
