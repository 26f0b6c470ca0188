"""Probes: views over the outer joins of a scenario, which the oracle evaluates and the engine does not see.

For `FROM r LEFT JOIN s ON c` one view has the rows of r, and another one the rows of r without a match in s.
By them `states` counts the refreshes in which a row lost its last match or got its first one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from oracle.delayed_view import DelayedView
from workload import query as ir
from workload.scenario import Scenario, View
from workload.scope import Catalog, relation_scope
from workload.types import BOOLEAN
from workload.wellformed import check_definitions

MARKER = "probe_marker"
"""A column of the padded side that is true in every row, so that NULL in it means a pad."""


@dataclass(frozen=True, slots=True)
class Probe:
    """Two views over an outer join of a dynamic table: its preserved rows, and those without a match."""

    table: str
    preserved: View
    unmatched: View

    def matches_changed(self, truth: DelayedView, before: int, after: int) -> Iterator[str]:
        """Yields the states about matches that the table reached between two data timestamps."""

        def rows(view: View, at: int) -> set[str]:
            return {repr(row) for row in truth.contents(view.name, at)}

        alone_before, alone_after = rows(self.unmatched, before), rows(self.unmatched, after)
        if (alone_after - alone_before) & rows(self.preserved, before):
            yield "outer row lost its last match"
        if (alone_before - alone_after) & rows(self.preserved, after):
            yield "outer row found its first match"


@dataclass(frozen=True, slots=True)
class Probed:
    """A scenario with the views of its probes added."""

    scenario: Scenario
    probes: tuple[Probe, ...]


def with_probes(scenario: Scenario) -> Probed:
    """Returns the scenario with a probe for each dynamic table with an outer join in its outermost FROM."""
    catalog = check_definitions(scenario)
    probes: list[Probe] = []
    for definition in scenario.dynamic_tables:
        if not isinstance(definition.query, ir.Select):
            continue
        for join in ir.relations_of(definition.query.source):
            probe = _probe(definition.name, join, catalog, 2 * len(probes))
            if probe is not None:
                probes.append(probe)
                break
    views = tuple(view for probe in probes for view in (probe.preserved, probe.unmatched))
    return Probed(replace(scenario, definitions=scenario.definitions + views), tuple(probes))


def _probe(table: str, join: ir.Relation, catalog: Catalog, number: int) -> Probe | None:
    """Returns the probe of an outer join whose padded side is a named relation; None for others.

    `number`: that of the probe's first view.
    """
    match join:
        case ir.Join(ir.JoinKind.LEFT | ir.JoinKind.FULL, preserved, ir.Named() as padded, on):
            pass
        case ir.Join(ir.JoinKind.RIGHT, ir.Named() as padded, preserved, on):
            pass
        case _:
            return None
    scopes = relation_scope(preserved, catalog).items()
    columns = [ir.ColumnRef(alias, name, type_) for alias, names in scopes for name, type_ in names.items()]
    items = tuple(ir.Item(column, f"p{i}") for i, column in enumerate(columns))
    padded_columns = relation_scope(padded, catalog)[padded.alias]
    marked = ir.Select(
        (
            *(
                ir.Item(ir.ColumnRef(padded.alias, name, type_), name)
                for name, type_ in padded_columns.items()
            ),
            ir.Item(ir.Literal(True, BOOLEAN), MARKER),
        ),
        padded,
    )
    joined = ir.Join(ir.JoinKind.LEFT, preserved, ir.Derived(marked, padded.alias), on)
    is_pad = ir.Call("is_null", (ir.ColumnRef(padded.alias, MARKER, BOOLEAN),), BOOLEAN)
    return Probe(
        table,
        View(f"probe{number}", ir.Select(items, preserved)),
        View(f"probe{number + 1}", ir.Select(items, joined, is_pad)),
    )
