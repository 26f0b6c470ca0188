"""The speed of two checkouts of this program, side by side: `python -m benchmarks.pairs OTHER --tier rules`.

Both run the same campaign in turns, each time in a process of its own, so that what else the machine does
falls on both. Each runs with this checkout's libraries. Printed: dynamic tables and refreshes per second of
each round, and the ratio of the medians (above 1: this checkout is faster).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import click

HERE = Path(__file__).resolve().parents[1]
PROGRAM = "from campaign.cli import main; main()"


@dataclass(frozen=True, slots=True)
class Rate:
    """How many dynamic tables and refreshes one run did per second."""

    tables: float
    refreshes: float


def rate(checkout: Path, options: list[str]) -> Rate:
    """Runs a campaign of a checkout. Raises CalledProcessError: if the campaign is no pass."""
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-c", PROGRAM, "fuzz", *options, "--out", out]
        subprocess.run(command, cwd=checkout, check=True, capture_output=True)
        summary = json.loads((Path(out) / "summary.json").read_text(encoding="utf-8"))
    seconds = summary["seconds"]
    return Rate(summary["definitions"] / seconds, summary["refreshes"] / seconds)


@click.command()
@click.argument("other", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--tier", default="rules", show_default=True)
@click.option("--profile", default="smoke", show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--seconds", default=30, show_default=True, help="Of each run.")
@click.option("--rounds", default=3, show_default=True)
def main(other: Path, tier: str, profile: str, seed: int, seconds: int, rounds: int) -> None:
    """Compares the speed of this checkout with that of the checkout OTHER."""
    options = ["--tier", tier, "--profile", profile, "--seed", str(seed)]
    options += ["--budget", f"{seconds}s", "--workers", "1"]
    measured: dict[Path, list[Rate]] = {other: [], HERE: []}
    for number in range(rounds):
        for checkout, rates in measured.items():
            rates.append(rate(checkout, options))
            last = rates[-1]
            click.echo(f"{number}: {checkout}: {last.tables:.2f} tables/s, {last.refreshes:.1f} refreshes/s")
    for name in ("tables", "refreshes"):
        there, here = (median(getattr(one, name) for one in rates) for rates in measured.values())
        click.echo(f"{name}: {here:.2f}/s here, {there:.2f}/s there, ratio {here / there:.2f}")


if __name__ == "__main__":
    main()
