"""Whether a command's memory grows: the resident memory of its processes while it runs, and its slope.

    python -m benchmarks.memory dvs fuzz --tier spark --budget 30m

The command's own output passes through. The slope is that of a line through the second half of the samples:
the first half holds start, warm-up and caches that fill.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

SAMPLE_EVERY_S = 5.0
"""Seconds between two samples."""

PAGE = os.sysconf("SC_PAGE_SIZE")


def resident(root: int) -> int:
    """Returns the bytes of resident memory of a process and all below it; shared pages count repeatedly."""
    children: dict[int, list[int]] = defaultdict(list)
    pages: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            status = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            pages[int(folder.name)] = int((folder / "statm").read_text().split()[1])
        except (OSError, IndexError):
            continue
        children[int(status[1])].append(int(folder.name))
    total, left = 0, [root]
    while left:
        process = left.pop()
        total += pages.get(process, 0)
        left.extend(children[process])
    return total * PAGE


def main() -> int:
    """Runs the command; its exit status is this one's."""
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    started = time.monotonic()
    samples: list[tuple[float, float]] = []
    with subprocess.Popen(sys.argv[1:]) as running:
        while running.poll() is None:
            samples.append(((time.monotonic() - started) / 60, resident(running.pid) / 2**20))
            time.sleep(SAMPLE_EVERY_S)
    second = samples[len(samples) // 2 :]
    if len(second) > 2:
        slope = statistics.linear_regression(*zip(*second, strict=True)).slope
        sizes = [size for _, size in second]
        print(
            f"memory: {len(samples)} samples in {samples[-1][0]:.1f} min; second half {min(sizes):.0f} to "
            f"{max(sizes):.0f} MiB, {slope:+.1f} MiB/min"
        )
    return running.returncode


if __name__ == "__main__":
    sys.exit(main())
