"""The lock file that lets only one campaign or gate at a time write into a folder."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from campaign.errors import CampaignError

LOCK_FILE = ".lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Locks an existing folder until the end of the block. Raises CampaignError: another process has it.

    The operating system releases the lock when the process ends, however it ends. So the file may stay: it is
    the lock on the file that counts, not that the file exists.
    """
    path = folder / LOCK_FILE
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise CampaignError(f"cannot write {path}: {error.strerror}; choose another --out") from error
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(file, 20).decode("ascii", "replace").strip()
            raise CampaignError(
                f"{folder} is in use by another campaign (process {holder or 'unknown'}); "
                "wait for it to end, or choose another --out"
            ) from error
        os.ftruncate(file, 0)
        os.pwrite(file, f"{os.getpid()}\n".encode("ascii"), 0)
        yield
    finally:
        os.close(file)
