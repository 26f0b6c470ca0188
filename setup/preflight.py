"""What this machine must bring before anything is installed: a Python and a Java.

Any Python 3 can read this file: on an old one it must say so, not fail on its own syntax.
"""

import os
import sys
from pathlib import Path

MINIMUM = (3, 11)


def python_problem(version: "tuple[int, ...]", executable: str) -> "str | None":
    """Why this Python will not do, and what to do about it; None when it will."""
    if tuple(version[:2]) >= MINIMUM:
        return None
    return (
        "Python {0}.{1} or newer is needed ({2} is Python {3}.{4}). Install one "
        "(`apt-get install python3.{1} python3.{1}-venv`) and name it: `make PYTHON=python3.{1} setup`."
    ).format(MINIMUM[0], MINIMUM[1], executable, version[0], version[1])


def java_problem(env: "dict[str, str]", jvm_roots: "tuple[Path, ...] | None" = None) -> "str | None":
    """Why no Java on this machine will do; None when one will. Needs a Python that passed."""
    from dynamic_tables.errors import SessionError
    from dynamic_tables.session.java import JVM_ROOTS, find_java

    try:
        find_java(env, jvm_roots=JVM_ROOTS if jvm_roots is None else jvm_roots)
    except SessionError as error:
        return str(error)
    return None


def main() -> int:
    """Check both; 0 in silence, or 2 with one line per problem on stderr."""
    python = python_problem(tuple(sys.version_info[:3]), sys.executable)
    if python is None:
        sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    problem = python or java_problem(dict(os.environ))
    if problem is None:
        return 0
    sys.stderr.write("error: {0}\n".format(problem))
    return 2


if __name__ == "__main__":
    sys.exit(main())
