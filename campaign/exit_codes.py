"""The exit statuses of `dvs`, by which scripts decide."""

from collections.abc import Mapping
from enum import IntEnum

from workload.outcomes.decision import Decision


class ExitCode(IntEnum):
    """Four exit statuses, so that a script never takes an undecided run for a pass."""

    OK = 0
    """Done, and nothing is wrong."""
    FAILED = 1
    """Done, and something is wrong: a failure was found, a level is violated, a gate is shut."""
    MISUSE = 2
    """Not done: the request or the set-up is at fault. Click exits with this status too."""
    UNKNOWN = 3
    """Done, and not decided: the limits given were reached first."""


EXIT_CODES: Mapping[Decision, ExitCode] = {
    Decision.PASSED: ExitCode.OK,
    Decision.FAILED: ExitCode.FAILED,
    Decision.UNDECIDED: ExitCode.UNKNOWN,
}
"""The exit status of a run or gate, by its decision."""
