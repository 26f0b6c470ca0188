"""Builds `.venv`: the environment, the locked libraries, and this project as an editable install.

Uses the standard library only.
"""

import importlib.util
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOG = VENV / "install.log"
STAMP = VENV / ".installed"

USABLE = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
NO_NETWORK = ("NewConnectionError", "ConnectTimeout", "ProxyError", "Name or service", "name resolution")


class SetupError(Exception):
    """The environment cannot be built. The message is one line with the remedy."""


def create_venv() -> None:
    """Makes `.venv`, unless there is one that works.

    Raises SetupError where this Python lacks the module venv (Debian packages it separately), or where the
    folder cannot be written.
    """
    if PYTHON.exists() and subprocess.run([PYTHON, "-c", USABLE], capture_output=True).returncode == 0:
        return
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        major, minor = sys.version_info[:2]
        raise SetupError(
            f"Python's venv module is missing ({sys.executable} has none). "
            f"Install it: `apt-get install python{major}.{minor}-venv`."
        )
    outcome = subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], capture_output=True, text=True)
    if outcome.returncode != 0:
        lines = (outcome.stderr or outcome.stdout).strip().splitlines() or ["no output"]
        raise SetupError(
            f"{VENV.name} cannot be created ({lines[-1]}). Is the disk full, or the folder write-protected?"
        )


def pip_install(*what: str) -> None:
    """Installs packages at the locked versions; pip's output goes to a log.

    Raises SetupError where pip fails. The message tells a missing network from other causes.
    """
    command = [str(PYTHON), "-m", "pip", "install", "--retries", "2", "--progress-bar", "off"]
    command += ["--disable-pip-version-check", "--constraint", "constraints.txt", *what]
    with LOG.open("a") as log:
        outcome = subprocess.run(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)
    if outcome.returncode != 0:
        raise SetupError(diagnose(LOG.read_text(errors="replace")))


def diagnose(log: str) -> str:
    """Returns one line from the log of a failed pip: what went wrong, and the remedy."""
    where = LOG.relative_to(ROOT)
    if any(sign in log for sign in NO_NETWORK):
        return (
            f"The package index cannot be reached (pip's log: {where}). Connect this machine to PyPI, or set "
            "https_proxy, or PIP_INDEX_URL to a mirror, and run make again."
        )
    errors = [line.strip() for line in log.splitlines() if line.lstrip().startswith("ERROR:")]
    reason = errors[0].removeprefix("ERROR:").strip() if errors else "no reason given"
    return f"pip cannot install the libraries ({reason}). Read {where}, remove the cause and run make again."


def main() -> int:
    """Builds the environment; returns 0, or 2 after one line on stderr."""
    print("Setting up .venv; the first time this downloads about 700 MB.", flush=True)
    try:
        create_venv()
        LOG.unlink(missing_ok=True)
        # Without isolation the build, too, uses the locked versions.
        pip_install("setuptools")
        pip_install("--no-build-isolation", "--editable", ".[dev]")
    except SetupError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    STAMP.touch()
    return 0


if __name__ == "__main__":
    sys.exit(main())
