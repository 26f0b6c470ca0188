"""Build `.venv`: the environment, the locked libraries, this project in place. Standard library only."""

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
    """The environment cannot be built; the text is one line with the remedy."""


def create_venv() -> None:
    """Make `.venv` unless a working one is there.

    Raises:
        SetupError: this Python lacks the venv module, which Debian packages apart.
    """
    if PYTHON.exists() and subprocess.run([PYTHON, "-c", USABLE], capture_output=True).returncode == 0:
        return
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        major, minor = sys.version_info[:2]
        raise SetupError(
            f"Python's venv module is missing ({sys.executable} has none). "
            f"Install it: `apt-get install python{major}.{minor}-venv`."
        )
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], capture_output=True, text=True)
    if made.returncode != 0:
        said = (made.stderr or made.stdout).strip().splitlines() or ["no output"]
        raise SetupError(
            f"{VENV.name} cannot be created ({said[-1]}). See that the disk has room and the folder is yours."
        )


def pip_install(*what: str) -> None:
    """Install at the locked versions, keeping pip's words in a log.

    Raises:
        SetupError: pip failed; the text tells a missing network from anything else.
    """
    command = [str(PYTHON), "-m", "pip", "install", "--retries", "2", "--progress-bar", "off"]
    command += ["--disable-pip-version-check", "--constraint", "constraints.txt", *what]
    with LOG.open("a") as log:
        outcome = subprocess.run(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)
    if outcome.returncode != 0:
        raise SetupError(diagnose(LOG.read_text(errors="replace")))


def diagnose(log: str) -> str:
    """One line from a failed pip's log: what went wrong and the remedy."""
    where = LOG.relative_to(ROOT)
    if any(sign in log for sign in NO_NETWORK):
        return (
            f"The package index cannot be reached (pip's log: {where}). Connect this machine to PyPI, or set "
            "https_proxy, or PIP_INDEX_URL to a mirror, and run make again."
        )
    errors = [line.strip() for line in log.splitlines() if line.lstrip().startswith("ERROR:")]
    told = errors[0].removeprefix("ERROR:").strip() if errors else "no reason given"
    return f"pip cannot install the libraries ({told}). Read {where}, put it right and run make again."


def main() -> int:
    """Build the environment; 0, or 2 with one line on stderr."""
    print("Setting up .venv; the first time this downloads about 700 MB.", flush=True)
    try:
        create_venv()
        LOG.unlink(missing_ok=True)
        # Built without isolation, so that the build too is at locked versions.
        pip_install("setuptools")
        pip_install("--no-build-isolation", "--editable", ".[dev]")
    except SetupError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    STAMP.touch()
    return 0


if __name__ == "__main__":
    sys.exit(main())
