"""The styles in which the queries of a scenario are written; what a query means does not depend on them."""

from __future__ import annotations

from dataclasses import replace

from generators.choices import Choices
from workload.scenario import Scenario

STYLES = 1_000_000
"""The number of styles; each decides some twenty choices of a text (`workload.writing.writer`)."""


def with_styles(choices: Choices, scenario: Scenario, percent: int) -> Scenario:
    """Returns the scenario with that percentage of its definitions written in styles of their own.

    A definition that has its style already keeps it.
    """
    definitions = tuple(
        replace(definition, style=choices.integer(1, STYLES))
        if choices.chance(percent) and not definition.style
        else definition
        for definition in scenario.definitions
    )
    return replace(scenario, definitions=definitions)
