"""Checks what this machine must bring before anything is installed: a Python, and a Java for Spark.

A missing Java is installed where that needs no question (as root, with apt-get). Every Python 3 can read this
file, so that an old Python says that it is too old instead of failing on the syntax.
"""

import os
import sys
from pathlib import Path

MINIMUM = (3, 11)
ROOT = Path(__file__).resolve().parent.parent


def python_problem(version, executable):
    """Returns why this Python is too old, and what to do about it; None when it is new enough."""
    if tuple(version[:2]) >= MINIMUM:
        return None
    return (
        "Python {0}.{1} or newer is needed ({2} is Python {3}.{4}). Install one "
        "(`apt-get install python3.{1} python3.{1}-venv`) and name it: `make PYTHON=python3.{1} setup`."
    ).format(MINIMUM[0], MINIMUM[1], executable, version[0], version[1])


def main():
    """Returns 0 when both are there, without a word; else 2, with one line per problem on stderr."""
    problem = python_problem(sys.version_info[:3], sys.executable)
    if problem is None:
        # Only a Python that is new enough can read these files.
        sys.path[:0] = [str(ROOT), str(ROOT / "setup")]
        import java

        problem = java.ensure(dict(os.environ))
    if problem is None:
        return 0
    sys.stderr.write("error: {0}\n".format(problem))
    return 2


if __name__ == "__main__":
    sys.exit(main())
