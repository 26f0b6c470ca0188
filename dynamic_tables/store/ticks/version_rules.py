"""How commits to base tables become the versions of data timestamps: the steps as one argument."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass

from dynamic_tables.store.log.active_files import ActiveFiles
from dynamic_tables.store.log.log import TableLog
from dynamic_tables.store.log.own_commit import Actions
from dynamic_tables.store.log.undo import inverse
from dynamic_tables.store.ticks.base_log import at_ticks
from dynamic_tables.store.ticks.cut import Start, cut
from dynamic_tables.store.ticks.ledger import TableVersion, Tick
from dynamic_tables.versions import SourceVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRules:
    """Three steps, each of which a test can replace; the functions of these names say what they do.

    `cut`: chooses the versions of a new tick. `at_ticks`: reads the versions that ticks name. `inverse`: the
    actions that undo what an unfinished transaction committed to a table.
    """

    cut: Callable[[Mapping[str, TableLog], Start, Set[str], Collection[str]], Mapping[str, TableVersion]] = (
        cut
    )
    at_ticks: Callable[[TableLog, Sequence[Tick]], tuple[SourceVersion, ...]] = at_ticks
    inverse: Callable[[TableLog, Sequence[int], ActiveFiles], Actions] = inverse


VERSION_RULES = VersionRules()
"""The engine's own steps."""
