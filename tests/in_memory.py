"""The built-in engine in memory, for tests that run it without a lane."""

from __future__ import annotations

from engines.engine import Engine
from engines.in_memory import InMemoryPlatform
from engines.variant import Variant


def in_memory(variant: Variant | None = None) -> Engine:
    """The engine of the tier `rules`, with the rules and the refresh protocol of a variant."""
    return Engine.started(lambda: InMemoryPlatform(variant or Variant()))
