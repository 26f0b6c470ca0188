"""Reductions of `Exploded`: the rows without the elements; no OUTER, no positions, fewer elements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from shrink.reduction import Reduction
from shrink.reductions.joins import standing_in
from shrink.rewrite import blocks, put_at
from shrink.substitute import by_column, changed_block, with_relation
from workload import query as ir
from workload.query import relations_of
from workload.scenario import Scenario
from workload.scope import relation_scope


def not_exploded(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with the rows of a relation alone; see `standing_in` for what read the elements."""
    for site, select in blocks(scenario):
        for node in relations_of(select.source):
            if isinstance(node, ir.Exploded):
                elements = {node.alias: node.columns}
                mapping = standing_in(elements, relation_scope(node.relation, site.catalog), None)
                source = with_relation(select.source, node, node.relation)
                yield site.put(changed_block(replace(select, source=source), by_column(mapping)))


def simpler_explode(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates without OUTER, with fewer elements, or without positions: others stand for these."""
    for site, select in blocks(scenario):
        for node in relations_of(select.source):
            if not isinstance(node, ir.Exploded):
                continue
            simpler = [replace(node, outer=False)] if node.outer else []
            if isinstance(node.array, ir.Call) and node.array.function == "array":
                args = node.array.args
                fewer = (
                    replace(node.array, args=put_at(args, n)) for n in range(len(args) * (len(args) > 1))
                )
                simpler += [replace(node, array=array) for array in fewer]
            for new in simpler:
                yield site.put(replace(select, source=with_relation(select.source, node, new)))
            if node.position:
                new = replace(node, position=False)
                mapping = standing_in(
                    {node.alias: {ir.POSITION: node.columns[ir.POSITION]}}, {new.alias: new.columns}, None
                )
                source = with_relation(select.source, node, new)
                yield site.put(changed_block(replace(select, source=source), by_column(mapping)))


REDUCTIONS = (
    Reduction("rows instead of elements", not_exploded),
    Reduction("simpler explode", simpler_explode),
)
