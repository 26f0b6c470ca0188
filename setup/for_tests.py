"""Installs what only tests need: chromium, postgresql, mariadb-server as root; `dbt` and `s3` where named.

Elsewhere one line says what is missing, and those tests are skipped.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from apt_get import can_install, install, update

POSTGRESQL = Path("/usr/lib/postgresql")
"""Where Debian keeps the programs of a server, by version."""

PACKAGES = (
    ("chromium", ("chromium", "chromium-browser", "google-chrome"), "tests of the pages"),
    ("postgresql", ("initdb", "*/bin/initdb"), "tests on PostgreSQL"),
    ("mariadb-server", ("mariadbd", "/usr/sbin/mariadbd"), "tests on MariaDB"),
)
"""Package, the programs of which one is enough, what is skipped without it."""

DBT = Path(__file__).resolve().parent.parent / ".venv" / "dbt"
"""The environment of dbt: its own, as a user's dbt is."""

VERSIONS = Path(__file__).resolve().parent / "dbt.txt"

S3 = DBT.with_name("s3")
"""The environment of moto, a server that speaks like S3."""

S3_VERSIONS = VERSIONS.with_name("s3.txt")


def main(apart=()):
    """Returns 0 in any case: without these packages everything else can be tested.

    `apart`: which of the environments `dbt` and `s3` are made.
    """
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
    if "dbt" in apart:
        install_dbt(DBT)
    if "s3" in apart:
        install_apart(S3, S3_VERSIONS, "moto", "tests of accounts on S3")
    return 0


def install_dbt(folder):
    """Makes an environment with dbt, unless it is there."""
    install_apart(folder, VERSIONS, "dbt", "tests of dvs dbt", link_spark)


def link_spark(folder):
    """Links Spark into an environment: it is large, and here already."""
    (libraries,) = folder.glob("lib/python*/site-packages")
    for name in ("pyspark", "py4j"):
        here = Path(sysconfig.get_path("purelib")) / name
        (libraries / name).symlink_to(os.path.relpath(str(here), str(libraries)))


def install_apart(folder, versions, name, tests, then=lambda folder: None):
    """Makes an environment with the packages that a file lists, unless it is there."""
    done = folder / ".installed"
    if done.exists() and done.read_text() == versions.read_text():
        return
    sys.stderr.write("installing {0} for tests ...\n".format(name))
    python = str(folder / "bin" / "python")
    pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", str(versions)]
    for command in ([sys.executable, "-m", "venv", "--clear", str(folder)], pip):
        outcome = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if outcome.returncode:
            lines = outcome.stdout.decode(errors="replace").strip().splitlines() or ["no output"]
            note("{0} is not installed ({1})".format(name, lines[-1]), tests)
            return
    then(folder)
    done.write_text(versions.read_text())


def there(program):
    """Returns whether a program is on the PATH, or fits a pattern of paths in POSTGRESQL."""
    if "*" in program:
        return any(POSTGRESQL.glob(program))
    return shutil.which(program) is not None


def note(problem, tests):
    """Says that tests will be skipped, and why."""
    sys.stderr.write("note: {0}; without it the {1} are skipped\n".format(problem, tests))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
