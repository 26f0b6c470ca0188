"""The engine as an argument."""

from __future__ import annotations

from dataclasses import dataclass, field

from campaign.observe.recording import RECORDING, Recording
from dynamic_tables.differentiate.registry import RULES, Rules
from dynamic_tables.refresh.execute import PROTOCOL, RefreshProtocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """The engine's rules and refresh protocol, and how its runs are recorded: what a fault replaces."""

    rules: Rules = field(default_factory=lambda: RULES)
    protocol: RefreshProtocol = field(default_factory=lambda: PROTOCOL)
    recording: Recording = field(default_factory=lambda: RECORDING)
