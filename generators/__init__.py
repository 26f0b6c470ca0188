"""Random test cases: seeded for campaigns, drawn by Hypothesis for property tests.

`scenarios` is the Hypothesis strategy: `@given(scenarios())`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from generators.strategies import scenarios

__all__ = ["scenarios"]


def __getattr__(name: str) -> object:
    # Campaigns draw from seeds and do without Hypothesis.
    if name == "scenarios":
        from generators.strategies import scenarios

        return scenarios
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
