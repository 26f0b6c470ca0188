"""How much memory there is for the processes of this machine, or of its container."""

from __future__ import annotations

import os
from pathlib import Path

CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
"""Where Linux tells a container how much memory it may use; `max` where nothing limits it."""


def memory_of_machine(limit: Path = CONTAINER_LIMIT) -> int:
    """Returns the bytes of memory of this machine, or those that its container may use if that is less.

    A container sees all memory of its host, but a process that takes more than the limit is killed. The
    engine asks for itself (`dynamic_tables.session.settings`); `dvs check` must start without the engine.
    """
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        allowed = limit.read_text(encoding="ascii").strip()
    except OSError:
        return physical
    return min(physical, int(allowed)) if allowed.isdecimal() else physical
