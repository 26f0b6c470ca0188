"""Tests of any engine in pytest: an assertion, a fixture with random scenarios, and a conformance class.

A module is imported only when it is used, because pytest loads the plugin in every run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from campaign.pytest_plugin.assertion import DelayedViewViolated, assert_delayed_view_semantics
    from campaign.pytest_plugin.conformance import AdapterConformance

__all__ = ["AdapterConformance", "DelayedViewViolated", "assert_delayed_view_semantics"]


def __getattr__(name: str) -> object:
    """Returns one of the names above, and imports its module only now."""
    match name:
        case "assert_delayed_view_semantics" | "DelayedViewViolated":
            from campaign.pytest_plugin import assertion

            return getattr(assertion, name)
        case "AdapterConformance":
            from campaign.pytest_plugin import conformance

            return conformance.AdapterConformance
        case _:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
