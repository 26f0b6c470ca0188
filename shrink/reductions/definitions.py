"""Reductions of definitions: only what one dynamic table needs, none that nothing reads, smaller texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

from shrink.reduction import Reduction
from shrink.rewrite import definition_queries, put_at
from workload.query import Verbatim, names_read, with_sources
from workload.scenario import Create, Drop, DynamicTable, Redefine, Refresh, Scenario, renamed
from workload.scope import Catalog


class SmallerTexts(Protocol):
    """A function that makes texts of queries smaller, given by the caller: this package reads no texts."""

    def __call__(self, query: Verbatim, known: Catalog, /, *, columns: bool) -> Iterator[Verbatim]:
        """Yields the query with one part less, once for each part. `columns`: an output column may go."""


def without_definitions(scenario: Scenario, names: frozenset[str]) -> Scenario:
    """Returns the scenario without some definitions, their creations and refreshes. Readers stay the same."""
    return replace(
        scenario,
        definitions=tuple(d for d in scenario.definitions if d.name not in names),
        steps=tuple(
            step
            for step in scenario.steps
            if not (isinstance(step, Create | Drop) and step.name in names)
            and not (isinstance(step, Redefine) and names.intersection(step.names))
            and not (isinstance(step, Refresh) and step.table in names)
        ),
    )


def never_replaced(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates without a replacement of definitions: the old ones stay, also in later steps."""
    for number, step in enumerate(scenario.steps):
        if isinstance(step, Redefine):
            old = {
                new: old
                for old, new in scenario.replaced(step, scenario.live_after(scenario.steps[:number])).items()
            }
            kept = (d for d in scenario.definitions if d.name not in old)
            later = (renamed(each, old) for each in scenario.steps[number + 1 :])
            yield replace(
                scenario,
                definitions=tuple(replace(d, query=with_sources(d.query, old)) for d in kept),
                steps=(*scenario.steps[:number], *later),
            )


def needed_by(scenario: Scenario, name: str) -> frozenset[str]:
    """Returns a definition and everything it reads, at any depth."""
    definitions = {definition.name: definition for definition in scenario.definitions}
    needed: set[str] = set()
    waiting = [name]
    while waiting:
        current = waiting.pop()
        if current in definitions and current not in needed:
            needed.add(current)
            waiting.extend(names_read(definitions[current].query))
    return frozenset(needed)


def read_by_none(scenario: Scenario) -> tuple[str, ...]:
    """Returns the definitions that no other reads."""
    read = {name for definition in scenario.definitions for name in names_read(definition.query)}
    return tuple(definition.name for definition in scenario.definitions if definition.name not in read)


def keep_one(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with one dynamic table and what it reads, the one with the fewest needs first."""
    names = frozenset(definition.name for definition in scenario.definitions)
    needs = [needed_by(scenario, table.name) for table in scenario.dynamic_tables]
    for needed in sorted(needs, key=len):
        if needed != names:
            yield without_definitions(scenario, names - needed)


def drop_unread(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates without one definition that nothing reads."""
    for name in reversed(read_by_none(scenario)):
        yield without_definitions(scenario, frozenset({name}))


def drop_lag(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with a dynamic table without a target lag: DOWNSTREAM."""
    for position, definition in enumerate(scenario.definitions):
        if isinstance(definition, DynamicTable) and definition.target_lag is not None:
            changed = replace(definition, target_lag=None)
            yield replace(scenario, definitions=put_at(scenario.definitions, position, changed))


def own_names(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates where definitions, all or one, no longer take the name of a dropped one."""
    places = [place for place, definition in enumerate(scenario.definitions) if definition.known_as]
    for chosen in ([places] if len(places) > 1 else []) + [[place] for place in places]:
        definitions = scenario.definitions
        for place in chosen:
            definitions = put_at(definitions, place, replace(definitions[place], known_as=""))
        yield replace(scenario, definitions=definitions)


def plain_text(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with definitions, all or one, in the text with each operator in parentheses."""
    styled = [place for place, definition in enumerate(scenario.definitions) if definition.style]
    for places in ([styled] if len(styled) > 1 else []) + [[place] for place in styled]:
        definitions = scenario.definitions
        for place in places:
            definitions = put_at(definitions, place, replace(definitions[place], style=0))
        yield replace(scenario, definitions=definitions)


def other_style(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with a definition in a style of small number.

    A style draws by the parts of a query, so the text of a smaller query may no longer show the failure.
    """
    for place, definition in enumerate(scenario.definitions):
        for style in range(1, min(definition.style, FEW_STYLES + 1)):
            changed = replace(definition, style=style)
            yield replace(scenario, definitions=put_at(scenario.definitions, place, changed))


FEW_STYLES = 8
"""How many styles `other_style` tries at most, from number 1 on."""


def cutting(smaller: SmallerTexts) -> Reduction:
    """Returns the reduction that takes parts from definitions given as text, as `smaller` offers them."""

    def candidates(scenario: Scenario) -> Iterator[Scenario]:
        read = {name for definition in scenario.definitions for name in names_read(definition.query)}
        sites = zip(definition_queries(scenario), reversed(scenario.definitions), strict=True)
        for site, definition in sites:
            if isinstance(site.node, Verbatim):
                others = {name: columns for name, columns in site.catalog.items() if name != definition.name}
                yield from map(site.put, smaller(site.node, others, columns=definition.name not in read))

    return Reduction("cut the text of a definition", candidates)


REDUCTIONS = (
    Reduction("plain text", plain_text, cheap=True),
    Reduction("never replaced", never_replaced, cheap=True),
    Reduction("own names", own_names, cheap=True),
    Reduction("keep one dynamic table", keep_one, cheap=True),
    Reduction("drop a definition nobody reads", drop_unread, cheap=True),
)
"""Those that cut much for an attempt."""

DETAILS = (
    Reduction("drop a target lag", drop_lag),
    Reduction("another style", other_style),
)
"""Those that change little, tried when the scenario is small."""
