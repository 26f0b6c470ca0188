"""Installs Debian packages without asking the user: as root, on a machine with apt-get."""

import os
import shutil
import subprocess

LIMIT_S = 600
"""Seconds that one call of apt-get may take."""


def can_install():
    """Returns whether this user can install packages here without being asked for a password."""
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def update():
    """Loads the lists of packages; returns one line that says what went wrong, or an empty text."""
    return run(("apt-get", "update", "-qq"))


def install(package):
    """Installs a package; returns one line that says what went wrong, or an empty text."""
    return run(("apt-get", "install", "-y", "-qq", "--no-install-recommends", package))


def run(command):
    """Runs a command; returns one line that says what went wrong, or an empty text."""
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
