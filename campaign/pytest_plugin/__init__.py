"""Tests of other engines in pytest: an assertion, seeded scenarios within a budget, a conformance class.

Nothing is loaded before it is used: the plugin is active in every pytest run of its environment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from campaign.pytest_plugin.assertion import DelayedViewViolated, assert_delayed_view_semantics
    from campaign.pytest_plugin.conformance import AdapterConformance

__all__ = ["AdapterConformance", "DelayedViewViolated", "assert_delayed_view_semantics"]


def __getattr__(name: str) -> object:
    match name:
        case "assert_delayed_view_semantics" | "DelayedViewViolated":
            from campaign.pytest_plugin import assertion

            return getattr(assertion, name)
        case "AdapterConformance":
            from campaign.pytest_plugin import conformance

            return conformance.AdapterConformance
        case _:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
