"""GROUPING SETS, ROLLUP and CUBE in Spark's SQL as people write them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from workload import query as ir
from workload.writing.style import Style
from workload.writing.window import Writes

Sets = tuple[tuple[int, ...], ...]


def written_sets(clause: Writes, keys: tuple[ir.Expr, ...], sets: Sets) -> tuple[str, list[int]]:
    """Returns the text after GROUP BY, and the places of the keys in the order in which the text names them.

    It is ROLLUP or CUBE where the sets are those, else each set.
    """
    words, texts = clause.style.words, list(map(clause.text, keys))
    short = {frozenset(places) for places in sets}
    once = len(short) == len(sets)
    for name, meant in (("ROLLUP", rollup(len(keys))), ("CUBE", cube(len(keys)))):
        if once and short == set(map(frozenset, meant)) and clause.style.chance(70):
            listed = ", ".join(texts)
            text = (
                f"{listed} {words(f'WITH {name}')}"
                if clause.style.chance(25)
                else f"{words(name)} ({listed})"
            )
            return text, [*range(len(keys))]
    common = set(range(len(keys))).intersection(*map(set, sets))
    if common and len(common) < len(keys) and once and clause.style.chance(40):
        rest = [tuple(place for place in places if place not in common) for places in sets]
        first = ", ".join(texts[place] for place in sorted(common))
        order = [*dict.fromkeys([*sorted(common), *(place for places in rest for place in places)])]
        return f"{first}, {words('GROUPING SETS')} ({_listed(rest, texts)})", order
    prefixed = clause.style.chance(25)
    prefix = f"{', '.join(texts)} " if prefixed else ""
    written = range(len(keys)) if prefixed else (place for places in sets for place in places)
    return f"{prefix}{words('GROUPING SETS')} ({_listed(sets, texts)})", [*dict.fromkeys(written)]


def grouping_id(style: Style, place: int, texts: Sequence[str]) -> str:
    """Returns a text with GROUPING_ID that says what GROUPING says of the key at a place of GROUP BY.

    `texts`: the keys, in the order in which GROUP BY names them: the last one is the lowest bit.
    """
    words, unit = style.words, 2 ** (len(texts) - 1 - place)
    called = f"{words('GROUPING_ID')}({', '.join(texts) if style.chance(60) else ''})"
    if place:
        called = f"{called} % {2 * unit}"
    bit = f"{words('IF')}({called} >= {unit}, 1, 0)" if unit > 1 or style.chance(30) else called
    return f"{words('CAST')}({bit} {words('AS TINYINT')})"


def rollup(count: int) -> Sets:
    """Returns the sets of ROLLUP over so many keys: all of them, then one fewer each time."""
    return tuple(tuple(range(length)) for length in range(count, -1, -1))


def cube(count: int) -> Sets:
    """Returns the sets of CUBE over so many keys: every choice of them."""
    return tuple(each for length in range(count, -1, -1) for each in combinations(range(count), length))


def _listed(sets: Sequence[Sequence[int]], texts: Sequence[str]) -> str:
    return ", ".join(f"({', '.join(texts[place] for place in places)})" for places in sets)
