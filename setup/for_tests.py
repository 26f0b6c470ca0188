"""Installs the Debian packages that only tests need, as root with apt-get: chromium and postgresql.

Elsewhere one line says what is missing, and those tests are skipped.
"""

import shutil
import sys
from pathlib import Path

from apt_get import can_install, install, update

POSTGRESQL = Path("/usr/lib/postgresql")
"""Where Debian keeps the programs of a server, by version."""

PACKAGES = (
    ("chromium", ("chromium", "chromium-browser", "google-chrome"), "tests of the pages"),
    ("postgresql", ("initdb", "*/bin/initdb"), "tests on PostgreSQL"),
)
"""Package, the programs of which one is enough, what is skipped without it."""


def main():
    """Returns 0 in any case: without these packages everything else can be tested."""
    missing = [(package, tests) for package, programs, tests in PACKAGES if not any(map(there, programs))]
    if missing and can_install():
        sys.stderr.write("installing for tests: {0} ...\n".format(", ".join(name for name, _ in missing)))
        update()
        for package, tests in missing:
            problem = install(package)
            if problem:
                note("{0} is not installed ({1})".format(package, problem), tests)
    else:
        for package, tests in missing:
            note("there is no {0}; install it: `sudo apt-get install {0}`".format(package), tests)
    return 0


def there(program):
    """Returns whether a program is on the PATH, or fits a pattern of paths in POSTGRESQL."""
    if "*" in program:
        return any(POSTGRESQL.glob(program))
    return shutil.which(program) is not None


def note(problem, tests):
    """Says that tests will be skipped, and why."""
    sys.stderr.write("note: {0}; without it the {1} are skipped\n".format(problem, tests))


if __name__ == "__main__":
    sys.exit(main())
