"""GROUPING SETS, ROLLUP and CUBE in Spark's SQL as people write them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from workload import query as ir
from workload.sql.written_window import Writes

Sets = tuple[tuple[int, ...], ...]


def written_sets(clause: Writes, keys: tuple[ir.Expr, ...], sets: Sets) -> str:
    """Returns what follows GROUP BY: ROLLUP or CUBE where the sets are those, else each set."""
    words, texts = clause.style.words, list(map(clause.text, keys))
    short = {frozenset(places) for places in sets}
    once = len(short) == len(sets)
    for name, meant in (("ROLLUP", rollup(len(keys))), ("CUBE", cube(len(keys)))):
        if once and short == set(map(frozenset, meant)) and clause.style.chance(70):
            return f"{words(name)} ({', '.join(texts)})"
    common = set(range(len(keys))).intersection(*map(set, sets))
    if common and len(common) < len(keys) and once and clause.style.chance(40):
        rest = [tuple(place for place in places if place not in common) for places in sets]
        first = ", ".join(texts[place] for place in sorted(common))
        return f"{first}, {words('GROUPING SETS')} ({_listed(rest, texts)})"
    prefix = f"{', '.join(texts)} " if clause.style.chance(25) else ""
    return f"{prefix}{words('GROUPING SETS')} ({_listed(sets, texts)})"


def rollup(count: int) -> Sets:
    """Returns the sets of ROLLUP over so many keys: all of them, then one fewer each time."""
    return tuple(tuple(range(length)) for length in range(count, -1, -1))


def cube(count: int) -> Sets:
    """Returns the sets of CUBE over so many keys: every choice of them."""
    return tuple(each for length in range(count, -1, -1) for each in combinations(range(count), length))


def _listed(sets: Sequence[Sequence[int]], texts: Sequence[str]) -> str:
    return ", ".join(f"({', '.join(texts[place] for place in places)})" for places in sets)
