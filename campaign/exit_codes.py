"""What the exit status of `dvs` tells a script."""

from enum import IntEnum


class ExitCode(IntEnum):
    """Four outcomes, so that a script never takes "could not tell" for "all is well"."""

    OK = 0
    """Done, and nothing is wrong."""
    FAILED = 1
    """Done, and something is wrong: a failure was found, a level is violated, a gate is shut."""
    MISUSE = 2
    """Not done: the request or the set-up is at fault. Click exits with it too."""
    UNKNOWN = 3
    """Not decided within the limits given."""
