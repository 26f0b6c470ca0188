"""What a commit of a dynamic table did to its rows, as its store recorded it.

The judge compares it with the refresh action that the engine reported (`AccountAdapter.effective_action`).
"""

from __future__ import annotations

from enum import Enum

from workload.outcomes.trace import Action

WRITTEN_ANEW = (Action.FULL, Action.INITIALIZE, Action.REINITIALIZE)
"""The refresh actions that replace all rows."""


class Operation(Enum):
    """The kinds of commits. TOUCH: a commit that changes no row, such as that of a refresh without data."""

    MERGE = "MERGE"
    OVERWRITE = "OVERWRITE"
    TOUCH = "TOUCH"

    def action(self, reported: Action) -> Action:
        """Returns the refresh action that a commit shows: the reported one, if the commit can be of it."""
        match self:
            case Operation.MERGE:
                return Action.INCREMENTAL
            case Operation.TOUCH:
                return reported if reported in (Action.NO_DATA, Action.INCREMENTAL) else Action.NO_DATA
            case Operation.OVERWRITE:
                return reported if reported in WRITTEN_ANEW else Action.FULL
