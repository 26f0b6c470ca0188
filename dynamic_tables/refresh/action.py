"""Which action a refresh takes (DVS paper, sections 3.3.2 and 5.4).

The action follows from two frontiers, those of the last refresh and of this one, and from whether the old
versions can still be read. No row is looked at.
"""

from __future__ import annotations

from collections.abc import Callable

from dynamic_tables.own_functions import changed_functions
from dynamic_tables.store.port import Action
from dynamic_tables.versions import Frontier, SourceVersion

Readable = Callable[[str, SourceVersion], bool]
"""Tells whether the rows of a source, given by name, can still be read at a version."""


def decide(
    before: Frontier | None, after: Frontier, incremental: bool, readable: Readable
) -> tuple[Action, str]:
    """Returns the action of a refresh between two frontiers, and the reason for it.

    `before` is None for a table without contents. The order of the checks matters: a replaced source is
    looked for before it is asked whether anything changed, because it may hold other rows under the same
    version numbers. Whether old versions are readable is asked last, and only if they are needed: VACUUM may
    have removed them.
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
    """Returns what makes the old contents useless as a start for an interval; empty if nothing does."""
    changed = changed_functions(before.definition, after.definition)
    if changed:
        return f"function {changed[0]} changed"
    if before.definition != after.definition:
        return "the definition, or a view in it, changed"
    for name, source in after.sources.items():
        if name not in before.sources:
            return f"{name} is a new source"
        if before.sources[name].identity != source.identity:
            return f"{name} was replaced"
    return ""
