"""Blocks over blocks: each operator over each other one, and queries that are ten blocks deep."""

from __future__ import annotations

from generators.choices import SeededChoices
from generators.coverage import operator_pairs
from generators.queries.queries import QueryGenerator, QueryWeights
from generators.queries.relations import OutputColumn, Source, read
from generators.queries.stacked import LAYERS, layer, stacked
from workload.operators import OPERATORS, Operator, operator_tree
from workload.query import Derived, Query, row_sources
from workload.types import INT, STRING, array_of

SOURCES = (
    Source("r", (OutputColumn("k", INT, 3), OutputColumn("a", INT, 3), OutputColumn("b", STRING, 0)), 6),
    Source("s", (OutputColumn("k", INT, 3), OutputColumn("x", array_of(INT), 3, key=False)), 6),
)


def generator(seed: int) -> QueryGenerator:
    return QueryGenerator(SeededChoices(f"stacked {seed}"), QueryWeights())


def drawn(count: int) -> list[Query]:
    return [stacked(generator(seed), SOURCES).query for seed in range(count)]


def depth(query: Query) -> int:
    return sum(isinstance(node, Derived) for node in row_sources(query)) + 1


def test_every_operator_may_be_a_block_but_the_projection_which_each_block_has() -> None:
    assert set(LAYERS) == OPERATORS - {Operator.PROJECTION}
    tops: set[Operator] = set()
    for seed in range(600):
        draw = generator(seed)
        block = layer(draw, SOURCES, read(SOURCES[seed % 2], draw.alias()))
        tops.update(node.operator for node in operator_tree(block.query).walk())
    assert tops >= set(LAYERS)


def test_most_pairs_of_operators_come_up_in_two_thousand_queries() -> None:
    pairs = {pair for query in drawn(2_000) for pair in operator_pairs(query)}
    wanted = {(outer, inner) for outer in LAYERS for inner in LAYERS}
    assert len(pairs & wanted) > 0.9 * len(wanted)
    assert {outer for outer, _ in pairs} >= set(LAYERS)
    assert {inner for _, inner in pairs} >= set(LAYERS)
    above_windows = {outer for outer, inner in pairs if inner is Operator.WINDOW}
    assert len(above_windows) > 15, "a window is right below what reads it"


def test_some_queries_are_ten_blocks_deep() -> None:
    depths = [depth(query) for query in drawn(200)]
    assert max(depths) >= 10
    assert sorted(depths)[100] <= 4
