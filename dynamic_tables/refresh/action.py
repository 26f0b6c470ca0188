"""Which action a refresh takes (DVS paper, sections 3.3.2 and 5.4)."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from dynamic_tables.refresh.frontier import Frontier, SourceVersion


class Action(Enum):
    """The closed list of refresh actions."""

    INITIALIZE = "INITIALIZE"
    NO_DATA = "NO_DATA"
    FULL = "FULL"
    INCREMENTAL = "INCREMENTAL"
    REINITIALIZE = "REINITIALIZE"


Readable = Callable[[str, SourceVersion], bool]
"""Whether a source's version can still be read."""


def decide(
    before: Frontier | None, after: Frontier, incremental: bool, readable: Readable
) -> tuple[Action, str]:
    """The action and its reason.

    Order matters: a replaced source may hold other rows under equal versions, so it is looked at before
    asking whether anything changed.
    """
    if before is None:
        return Action.INITIALIZE, "no contents yet"
    evolved = _evolution(before, after)
    if evolved:
        return (Action.REINITIALIZE if incremental else Action.FULL), evolved
    changed = [
        name for name, source in after.sources.items() if source.content != before.sources[name].content
    ]
    if not changed:
        return Action.NO_DATA, "no source changed"
    if not incremental:
        return Action.FULL, "refresh mode FULL"
    for name, source in before.sources.items():
        if not readable(name, source):
            return Action.REINITIALIZE, f"version {source.version} of {name} is no longer readable"
    return Action.INCREMENTAL, f"changed: {', '.join(changed)}"


def _evolution(before: Frontier, after: Frontier) -> str:
    if before.definition != after.definition:
        return "the definition, or a view in it, changed"
    for name, source in after.sources.items():
        if name not in before.sources:
            return f"{name} is a new source"
        if before.sources[name].identity != source.identity:
            return f"{name} was replaced"
    return ""
