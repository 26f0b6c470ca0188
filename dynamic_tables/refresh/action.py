"""Which action a refresh takes (DVS paper, sections 3.3.2 and 5.4)."""

from __future__ import annotations

from collections.abc import Callable

from dynamic_tables.store.port import Action
from dynamic_tables.versions import Frontier, SourceVersion

Readable = Callable[[str, SourceVersion], bool]
"""Tells whether the rows of a source, given by name, can still be read at a version."""


def decide(
    before: Frontier | None, after: Frontier, incremental: bool, readable: Readable
) -> tuple[Action, str]:
    """Returns the action of a refresh between two frontiers, and the reason for it.

    `before` is None for a table without contents. A replaced source is looked for before asking whether
    anything changed: it may hold other rows under equal version numbers.
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
