"""The process that runs a transaction, by a name that another process can look up.

If a process ends in the middle of a transaction, another one must undo its commits, and must not do so while
the first still runs. The start time is part of the name, because a system gives the number of an ended
process to a new one.
"""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

LEASE_MS = 600_000
"""After this time without a commit a transaction of another machine counts as abandoned, in milliseconds."""


def this_process() -> str:
    """Returns the name of this process: its machine, its number, and when it started."""
    return f"{socket.gethostname()}:{os.getpid()}:{_started(os.getpid())}"


def dead_process() -> str:
    """Returns the name of a process of this machine that has ended, for tests: none has so high a number."""
    return f"{socket.gethostname()}:{1 << 30}:0"


def is_gone(owner: str, last_commit_ms: int) -> bool:
    """Tells whether the owner of a transaction has ended, or has been silent for LEASE_MS.

    For a process of this machine the answer is certain. For another machine the lease decides, by clocks that
    may disagree. A wrong answer loses no data: what a transaction commits after it was undone is refused, by
    the `txn` of the undo.
    """
    machine, _, rest = owner.rpartition(":")[0].partition(":")
    started = owner.rpartition(":")[2]
    if machine == socket.gethostname() and rest.isdigit():
        return _started(int(rest)) != started
    return time.time() * 1000 - last_commit_ms > LEASE_MS


def has_ended(process: str) -> bool:
    """Tells whether a process of this machine has ended; of another machine's only the lease can tell."""
    # With a commit just now, a process of another machine counts as alive.
    return is_gone(process, 1 << 62)


def _started(process: int) -> str:
    """Returns when a process started, in the kernel's count; empty if there is no such process."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return "" if not _runs(process) else "?"
    # Field 22 of /proc/PID/stat is the start time. Field 2, the name of the program, is in parentheses and
    # may hold spaces, so the fields are counted from behind it.
    return text.rpartition(")")[2].split()[19]


def _runs(process: int) -> bool:
    """Tells whether a process of this machine runs: signal 0 is only a question, and does nothing."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        # A process of another user may not be signalled.
        return True
    return True
