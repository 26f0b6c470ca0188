"""Installs Debian's chromium for the tests of the pages, as root with apt-get.

Elsewhere one line says what is missing, and those tests are skipped.
"""

import shutil
import sys

from apt_get import can_install, install, update

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main():
    """Returns 0 in any case: without a browser everything else can be tested."""
    if any(map(shutil.which, BROWSERS)):
        return 0
    if not can_install():
        note("there is no chromium; install one: `sudo apt-get install chromium`")
        return 0
    sys.stderr.write("installing chromium for the tests of the pages ...\n")
    update()
    problem = install("chromium")
    if problem:
        note("chromium is not installed ({0})".format(problem))
    return 0


def note(problem):
    """Says that tests will be skipped, and why."""
    sys.stderr.write("note: {0}; without it the tests of the pages are skipped\n".format(problem))


if __name__ == "__main__":
    sys.exit(main())
