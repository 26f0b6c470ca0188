"""Reductions of window functions and grouping sets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from shrink.reduction import Reduction
from shrink.reductions.clauses import ungrouped
from shrink.rewrite import blocks, expressions, put_at
from shrink.substitute import without_groupings
from workload import query as ir
from workload.scenario import Scenario
from workload.types import INT


def simplify_windows(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with an argument of the type for a window function, or with a simpler function."""
    for place in expressions(scenario):
        window = place.site.node
        if isinstance(window, ir.Window):
            for new in (each for each in window.args if each.type == window.type):
                yield place.site.put(new)
            for simpler in simpler_windows(window):
                yield place.site.put(simpler)


def simpler_windows(window: ir.Window) -> Iterator[ir.Window]:
    """Yields the window functions of the same type that are simpler, simplest first."""
    if window.type == INT and window.function is not ir.WindowFunction.RANK and window.order:
        yield replace(window, function=ir.WindowFunction.RANK, args=(), frame=None, ignores_nulls=False)
    match window.function:
        case ir.AggregateFunction.COUNT:
            yield replace(window, function=ir.AggregateFunction.COUNT_STAR, args=())
        case ir.AggregateFunction() if window.args and window.args[0].type == window.type:
            if window.function is not ir.AggregateFunction.MIN:
                yield replace(window, function=ir.AggregateFunction.MIN)
        case _:
            pass
    if window.frame is not None:
        yield replace(window, frame=None)
        yield from (replace(window, frame=frame) for frame in smaller_frames(window.frame))
    if window.ignores_nulls:
        yield replace(window, ignores_nulls=False)
    yield from (replace(window, partition=put_at(window.partition, n)) for n in range(len(window.partition)))
    yield from (replace(window, order=put_at(window.order, n)) for n in range(len(window.order)))
    for number, key in enumerate(window.order):
        if key.descending:
            yield replace(window, order=put_at(window.order, number, replace(key, descending=False)))


def smaller_frames(frame: ir.Frame) -> Iterator[ir.Frame]:
    """Yields the frames with an end at the current row, or nearer to it."""
    if frame.start:
        yield from (replace(frame, start=nearer) for nearer in _nearer(frame.start))
    if frame.end:
        yield from (replace(frame, end=nearer) for nearer in _nearer(frame.end))


def _nearer(distance: int) -> Iterator[int]:
    yield 0
    if abs(distance) > 1:
        yield 1 if distance > 0 else -1


def simplify_sets(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with single rows or a plain grouping for grouping sets, or with a set less."""
    for site, select in blocks(scenario):
        if select.sets is None or select.group_by is None:
            continue
        plain = without_groupings(select)
        yield site.put(ungrouped(plain))
        yield site.put(replace(plain, sets=None))
        for number in range(len(select.sets)):
            yield site.put(without_unnamed(replace(select, sets=put_at(select.sets, number))))


def without_unnamed(select: ir.Select) -> ir.Select:
    """Returns the block without keys that no grouping set names; an output that shows one becomes NULL."""
    keys = select.group_by or ()
    named = sorted({place for places in select.sets or () for place in places})
    gone = {keys[place] for place in range(len(keys)) if place not in named}
    places = {old: new for new, old in enumerate(named)}
    sets = tuple(tuple(places[place] for place in each) for each in select.sets or ())

    def null(node: ir.Node) -> ir.Node | None:
        return (
            ir.Literal(None, node.type) if isinstance(node, ir.ColumnRef | ir.Call) and node in gone else None
        )

    items = tuple(ir.changed(item, null) for item in select.items)
    kept = tuple(keys[place] for place in named)
    return without_groupings(replace(select, items=items, group_by=kept, sets=sets), kept)


REDUCTIONS = (
    Reduction("simplify windows", simplify_windows),
    Reduction("simplify grouping sets", simplify_sets),
)
