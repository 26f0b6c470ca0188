"""A browser for the tests of the pages: Debian's chromium, installed where that can be done without asking.

Only as root and with apt-get; elsewhere a line says what to do, and the tests say that they were skipped.
"""

import os
import shutil
import subprocess
import sys

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
LIMIT_S = 300
COMMANDS = (
    ("apt-get", "update", "-qq"),
    ("apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"),
)


def main() -> int:
    """Always 0: without a browser everything else can be tested."""
    if any(map(shutil.which, BROWSERS)):
        return 0
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        say("there is no chromium; install one")
        return 0
    sys.stderr.write("installing chromium for the tests of the pages ...\n")
    for command in COMMANDS:
        problem = failure(command)
        if problem:
            say(f"chromium is not installed ({problem})")
            return 0
    return 0


def say(found: str) -> None:
    """What the tests will say of it, beforehand."""
    sys.stderr.write(f"note: {found}; without it the tests of the pages are skipped\n")


def failure(command: tuple[str, ...]) -> str:
    """Runs a command; what went wrong in one line, or nothing."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return ""
    lines = (done.stderr.strip() or done.stdout.strip() or "no reason given").splitlines()
    return next((line for line in lines if line.startswith("E:")), lines[-1])


if __name__ == "__main__":
    sys.exit(main())
