"""GROUPING SETS, ROLLUP and CUBE become a UNION ALL of one plain grouping for each set of keys.

`GROUP BY ROLLUP (a, b)` has the sets (a, b), (a) and (). A key that a set leaves out is NULL in its rows. A
subtotal and a group whose key is NULL may be equal rows; the row ids of UNION ALL tell them apart, by the
number of the set. So no operator of its own is needed, and the rules of grouping maintain each set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit
from dynamic_tables.plan.nodes import Aggregate, Plan, Project, UnionAll
from dynamic_tables.plan.types import BIGINT, INT

MOST_SETS = 64
"""Most grouping sets of a query: each is a grouping of its own in every refresh."""

Set = list[exp.Expr]
"""The keys of one grouping set."""

Named = Sequence[tuple[str, Expr]]
"""Expressions with their names."""


def sets_of(group: exp.Expr) -> list[Set] | None:
    """Returns the grouping sets of a GROUP BY as lists of keys; None for a plain one.

    Raises UnsupportedError: too many of them.
    """
    with_all = [name for name in ("rollup", "cube") if group.args.get(name)]
    listed = group.args.get("grouping_sets")
    if listed:
        # `GROUP BY a, b GROUPING SETS (..)`: the keys before GROUPING SETS only name what the sets name.
        alternatives = [_alternatives(each) for each in listed]
    elif with_all:
        units = [[key] for key in group.expressions]
        alternatives = [_rollup(units) if with_all == ["rollup"] else _cube(units)]
    elif any(map(is_list_of_sets, group.expressions)):
        alternatives = [_alternatives(key) for key in group.expressions]
    else:
        return None
    # Several lists in one GROUP BY multiply: `ROLLUP (a), CUBE (b, c)` has 2 * 4 sets. They are counted
    # before they are built.
    count = 1
    for choice in alternatives:
        count *= len(choice)
    if count > MOST_SETS:
        raise UnsupportedError(
            f"{count} grouping sets", f"at most {MOST_SETS}; list the sets that are needed"
        )
    return [[key for part in parts for key in part] for parts in product(*alternatives)]


def keys_as_written(group: exp.Expr) -> Iterator[exp.Expr]:
    """Yields the keys of a GROUP BY from left to right, those of lists of sets one by one."""
    for node in group.expressions:
        yield from _flat(node)


def _flat(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yields the keys in one element of a GROUP BY, at any depth."""
    if is_list_of_sets(node) or isinstance(node, exp.Tuple):
        for each in node.expressions:
            yield from _flat(each)
    else:
        yield node.unnest()


def is_list_of_sets(node: exp.Expr) -> bool:
    """Tells whether an element of GROUP BY stands for several sets of keys."""
    return isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets)


def _alternatives(node: exp.Expr) -> list[Set]:
    """Returns the sets that one element of a GROUP BY stands for; a plain key is one set."""
    match node:
        case exp.Rollup():
            return _rollup([_unit(each) for each in node.expressions])
        case exp.Cube():
            return _cube([_unit(each) for each in node.expressions])
        case exp.GroupingSets():
            return [choice for each in node.expressions for choice in _alternatives(each)]
        case _:
            return [_unit(node)]


def _unit(node: exp.Expr) -> Set:
    """Returns the keys of one element of a list: of `(a, b)` both."""
    return list(node.expressions) if isinstance(node, exp.Tuple) else [node.unnest()]


def _rollup(units: Sequence[Set]) -> list[Set]:
    """Returns all prefixes, the longest first: of (a, b) these are (a, b), (a), ()."""
    return [_joined(units[:length]) for length in range(len(units), -1, -1)]


def _cube(units: Sequence[Set]) -> list[Set]:
    """Returns all subsets, the largest first. Raises UnsupportedError: more than 1,024 of them."""
    if len(units) > 10:
        # Refused before they are built; what has fewer is compared with MOST_SETS later.
        raise UnsupportedError(f"CUBE over {len(units)} keys", "list the sets that are needed")
    lengths = range(len(units), -1, -1)
    return [_joined(chosen) for length in lengths for chosen in combinations(units, length)]


def _joined(units: Sequence[Set]) -> Set:
    return [key for unit in units for key in unit]


def left_out(marker: Fn, keys: Sequence[Expr], present: Sequence[int]) -> Lit:
    """Returns the value of GROUPING or GROUPING_ID in the rows of one set: a bit for each key, 1 if left out.

    Raises DefinitionError: as Spark does, for an argument that is no key, and for GROUPING_ID of some keys.
    """
    args = marker.args or tuple(keys)
    unknown = [arg for arg in args if arg not in keys]
    if unknown or (marker.type == BIGINT and list(args) != list(keys)):
        raise DefinitionError("GROUPING takes one key of the grouping sets, GROUPING_ID all of them in order")
    # The first argument is the highest bit.
    bits = 0
    for arg in args:
        bits = bits * 2 + (keys.index(arg) not in present)
    return Lit(bits, marker.type)


def union_of_sets(
    child: Plan,
    keys: Named,
    aggregates: Sequence[tuple[str, Agg]],
    groupings: Sequence[tuple[str, Fn]],
    sets: Sequence[Sequence[int]],
    fresh: Callable[[str], str],
) -> Plan:
    """Returns one grouping for each set, given by places in `keys`, under the same columns.

    `groupings`: the calls of GROUPING and GROUPING_ID. `fresh`: returns a name that the plan does not have.
    Raises DefinitionError: GROUPING of what is no key.
    """
    branches = []
    for present in sets:
        key_of = {place: (fresh(keys[place][0]), keys[place][1]) for place in present}
        counted = [(fresh(name), agg) for name, agg in aggregates]
        # In Spark the set of no keys has no row over no rows, unless it is the only one. A constant key makes
        # it a grouping with keys, which has no row then.
        all_rows = [] if present or len(sets) == 1 else [(fresh("all"), Lit(0, INT))]
        grouped = Aggregate(child, (*key_of.values(), *all_rows), tuple(counted))
        items: list[tuple[str, Expr]] = []
        for place, (name, key) in enumerate(keys):
            items.append((name, Col(key_of[place][0], key.type) if place in key_of else Lit(None, key.type)))
        for (name, agg), (inner, _) in zip(aggregates, counted, strict=True):
            items.append((name, Col(inner, agg.type)))
        exprs = [key for _, key in keys]
        items += [(name, left_out(marker, exprs, present)) for name, marker in groupings]
        branches.append(Project(grouped, tuple(items)))
    return UnionAll(tuple(branches)) if len(branches) > 1 else branches[0]


def places_in(keys: Sequence[Expr], sets: Sequence[Sequence[Expr]]) -> Iterator[tuple[int, ...]]:
    """Yields each set as places in `keys`, a key that stands twice in it once."""
    for each in sets:
        yield tuple(dict.fromkeys(keys.index(key) for key in each))
