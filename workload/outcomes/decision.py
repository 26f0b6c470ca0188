"""The decision whether something is a pass; the exit status of a command follows from it alone."""

from enum import Enum


class Decision(Enum):
    """The decision about a run, or about a stage of a gate. UNDECIDED is no pass."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"
