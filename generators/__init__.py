"""Random scenarios: drawn from a seed in campaigns, by Hypothesis in property tests.

`generate.scenario_at` draws one from a seed. `scenarios` is the Hypothesis strategy: `@given(scenarios())`.
"""

from __future__ import annotations

from pkgutil import extend_path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from generators.strategies import scenarios

__all__ = ["scenarios"]

# A folder of this name in a user's project, without an __init__.py, keeps its own modules importable.
__path__ = extend_path(__path__, __name__)


def __getattr__(name: str) -> object:
    # Imported on first use: campaigns draw from seeds and need not load Hypothesis.
    if name == "scenarios":
        from generators.strategies import scenarios

        return scenarios
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
