"""pytest that is ended by SIGTERM ends all processes that its tests have started."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]

STARTS_ANOTHER = """
import subprocess
from pathlib import Path

def test_it():
    shell = subprocess.Popen(["sh", "-c", "sleep 600 & echo $!; wait"], stdout=subprocess.PIPE, text=True)
    Path("started").write_text(f"{shell.stdout.readline()} {shell.pid}")
    shell.wait()
"""


def test_nothing_that_a_test_started_lives_on(tmp_path: Path) -> None:
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "test_it.py").write_text(STARTS_ANOTHER, encoding="utf-8")
    words = (*("-p", "no:cacheprovider"), *("-n", "1"), *("-o", f"pythonpath={ROOT}"))
    run = subprocess.Popen([sys.executable, "-m", "pytest", *words], cwd=tmp_path, stdout=subprocess.DEVNULL)
    started = tmp_path / "started"
    while not (started.exists() and started.read_text(encoding="utf-8")):
        assert run.poll() is None
        time.sleep(0.05)
    run.send_signal(signal.SIGTERM)
    assert run.wait(60) == -signal.SIGTERM
    processes = [int(word) for word in started.read_text(encoding="utf-8").split()]
    limit = time.monotonic() + 20
    while any(map(runs, processes)):
        assert time.monotonic() < limit
        time.sleep(0.05)


def runs(process: int) -> bool:
    """Whether a process runs; one that was killed and that nobody has waited for does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"
