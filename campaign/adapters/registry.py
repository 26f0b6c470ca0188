"""The adapters that come with the harness, and how others are named."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass

from campaign.adapters.contract import Adapter
from campaign.errors import CampaignError


@dataclass(frozen=True, slots=True)
class LazyAdapter:
    """An adapter not loaded yet: where its class is, as `module:class`, and what it is."""

    target: str
    summary: str


ADAPTERS: Mapping[str, LazyAdapter] = {
    "built-in": LazyAdapter("campaign.adapters.builtin:BuiltIn", "dynamic_tables, in memory"),
    "pg_ivm": LazyAdapter("campaign.adapters.pg_ivm:PgIvm", "PostgreSQL with pg_ivm, as PGlite on Node.js"),
}


def find_adapter(name: str) -> type[Adapter]:
    """The adapter of a registered name, or of `module:class`. Raises CampaignError."""
    target = ADAPTERS[name].target if name in ADAPTERS else name
    module, _, attribute = target.partition(":")
    if not attribute:
        known = ", ".join(ADAPTERS)
        raise CampaignError(f"no adapter {name!r}; there are: {known}; for your own write module:class")
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except ImportError as error:
        raise CampaignError(f"adapter {name!r}: {error}; is its folder in PYTHONPATH?") from error
    if not (isinstance(found, type) and issubclass(found, Adapter)):
        raise CampaignError(f"adapter {name!r}: {module} has no class {attribute} derived from Adapter")
    return found
