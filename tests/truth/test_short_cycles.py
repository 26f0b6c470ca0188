"""The search for a short cycle against networkx, on random graphs with arcs that stand there twice."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import networkx as nx
import numpy as np
import pytest

from dvs_model.columns.versions import Arcs
from dvs_model.graph.cycles import Ways, short_cycle
from tests.depth import examples


def random_arcs(random: Random) -> Arcs:
    """Arcs between a few vertices, numbered with gaps; none leads from a vertex to itself."""
    vertices = random.sample(range(1000), random.randint(2, 9))
    pairs = (random.sample(vertices, 2) for _ in range(random.randint(0, 14)))
    return np.array(list(pairs), np.int64).reshape(-1, 2)


def girth(graph: nx.DiGraph[int]) -> int:
    """The length of a shortest cycle; 0: there is none."""
    return min(map(len, nx.simple_cycles(graph)), default=0)


@pytest.mark.parametrize("seed", range(4))
def test_a_cycle_is_one_and_no_other_is_shorter(seed: int) -> None:
    random, met = Random(seed), set[int]()
    for _ in range(examples(250)):
        arcs = random_arcs(random)
        graph = nx.DiGraph(arcs.tolist())
        cycle = short_cycle(arcs, len(arcs) + 1)
        assert all(graph.has_edge(a, b) for a, b in pairwise([*cycle, *cycle[:1]])), (arcs, cycle)
        assert len(cycle) == len({*cycle}) == girth(graph), (arcs, cycle)
        met.add(len(cycle))
    assert {0, 2, 3} <= met


@pytest.mark.parametrize("seed", range(4))
def test_a_cycle_begins_with_one_of_the_arcs_that_it_must_have(seed: int) -> None:
    random, met = Random(seed), 0
    for _ in range(examples(250)):
        arcs = random_arcs(random)
        through = arcs[: random.randint(0, len(arcs))]
        graph = nx.DiGraph(arcs.tolist())
        due = [
            nx.shortest_path_length(graph, b, a) + 1 for a, b in through.tolist() if nx.has_path(graph, b, a)
        ]
        cycle = short_cycle(arcs, len(arcs) + 1, through)
        assert len(cycle) == min(due, default=0), (arcs, through, cycle)
        if cycle:
            met += 1
            assert cycle[:2] in through.tolist()
            assert all(graph.has_edge(a, b) for a, b in pairwise([*cycle, cycle[0]]))
    assert met > 50


def test_few_tries_find_some_cycle() -> None:
    ring = np.array([(at, (at + 1) % 50) for at in range(50)], np.int64)
    chord = np.concatenate((ring, np.array([(7, 3)], np.int64)))
    assert sorted(short_cycle(chord, 1)) == list(range(50))
    assert sorted(short_cycle(chord, 51)) == [3, 4, 5, 6, 7]


def test_an_arc_that_stands_there_256_times_counts() -> None:
    """The entries of the matrix are added up, in one byte."""
    arcs = np.array([(1, 2)] * 256 + [(2, 1)], np.int64)
    assert short_cycle(arcs, 300) == [1, 2]
    assert Ways(arcs).shortest(1, 2) == [1, 2]


def test_a_way_between_vertices_that_are_not_there() -> None:
    ways = Ways(np.array([(3, 5), (5, 9)], np.int64))
    assert ways.shortest(3, 9) == [3, 5, 9]
    assert [ways.shortest(*ends) for ends in ((9, 3), (3, 4), (4, 9), (3, 99))] == [[], [], [], []]
