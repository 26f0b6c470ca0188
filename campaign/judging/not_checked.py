"""The checks that cannot be made because an engine does not show what they need, such as its row ids."""

from __future__ import annotations

from collections.abc import Mapping

from workload.outcomes.results import Check
from workload.outcomes.trace import EVERYTHING, Shown

CHECKS_THAT_NEED: Mapping[Shown, tuple[str, ...]] = {
    Shown.COLUMNS: ("column names and types",),
    Shown.ROW_IDS: (Check.ROW_IDS.value,),
    Shown.FRESH_IDS: ("row ids against a fresh initialization",),
    Shown.CHANGE_SETS: tuple(
        check.value
        for check in (
            *(Check.INVARIANT_1, Check.INVARIANT_2, Check.INVARIANT_3, Check.INVARIANT_6, Check.COUNTS),
        )
    ),
    Shown.FRONTIER: (Check.FRONTIER.value, Check.HISTORY.value),
    Shown.ACTIONS: (Check.REFRESH_MODE.value,),
}
"""By the part of a refresh that an engine may show, the checks that need it."""

SIGN_OF_ZEROS = "the sign of zeros"
"""What is not checked where the base tables of an engine do not keep it."""


def not_checked(shown: frozenset[Shown]) -> tuple[str, ...]:
    """Returns the checks that are not made of a refresh; they count as not checked, never as passed.

    `shown`: the parts of a refresh that the engine shows.
    """
    return tuple(check for part in Shown if part in EVERYTHING - shown for check in CHECKS_THAT_NEED[part])
