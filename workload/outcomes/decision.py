"""Whether something is a pass: the one word that exit statuses follow from."""

from enum import Enum


class Decision(Enum):
    """Whether a run, or a stage of a gate, is a pass."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"
