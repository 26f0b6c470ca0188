"""One campaign a folder: a lock that goes with the process that holds it."""

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
    """Holds an existing folder for this campaign. Raises CampaignError where another one has it.

    The system gives the lock back when the process ends, however it ends; the file itself stays and means
    nothing.
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
