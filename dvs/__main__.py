"""The command `dvs`, also as `python -m dvs`."""

from __future__ import annotations

import gc
import os
import sys

from dvs.packages import ensure_packages

MISUSE = 2
"""`campaign.exit_codes.ExitCode.MISUSE`, which cannot be imported before the packages are checked."""


def main() -> None:
    """Runs the command, or says in one line which folder hides a package of this distribution."""
    try:
        ensure_packages()
    except ImportError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(MISUSE)
    from campaign.cli import main as command

    try:
        command()
    except SystemExit as end:
        _end_at_once(end)
        raise


def _end_at_once(end: SystemExit) -> None:
    """Ends the process where a large history was judged: to free its memory takes a tenth of the time."""
    # `dvs check` freezes the objects of such a history.
    if not gc.get_freeze_count() or not isinstance(end.code, int):
        return
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        # Nobody reads the output any more; Python says so in its own way.
        return
    os._exit(end.code)


if __name__ == "__main__":
    main()
