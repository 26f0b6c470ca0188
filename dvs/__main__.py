"""The command `dvs`, also as `python -m dvs`."""

from __future__ import annotations

import sys

from dvs.packages import require_packages

MISUSE = 2
"""`campaign.exit_codes.ExitCode.MISUSE`, which cannot be imported before the packages are checked."""


def main() -> None:
    """Runs the command, or says in one line which folder hides a package of this distribution."""
    try:
        require_packages()
    except ImportError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(MISUSE)
    from campaign.cli import main as command

    command()


if __name__ == "__main__":
    main()
