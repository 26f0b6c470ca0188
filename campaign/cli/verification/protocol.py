"""`dvs verify protocol`: the protocols of refresh and of groups under every interleaving up to a bound."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

import click

from campaign.cli import options
from campaign.cli.terminal import print_json
from campaign.exit_codes import EXIT_CODES, ExitCode
from reports.documents import ProtocolDocument
from workload.outcomes.decision import Decision

if TYPE_CHECKING:
    from campaign.verify.protocol import Protocol

QUICK = 3
"""Steps of the second process at which it dies, with `--quick`."""

FAULT_NAMES = (
    "unfenced",
    "claims-ignored",
    "published-one-by-one",
    "published-blindly",
    "memberships-outlived",
)
"""The names of `PROTOCOL_FAULTS`, which is not imported here; a test compares the two."""


@click.command()
@click.option("--quick", is_flag=True, help=f"The second process dies at its first {QUICK} steps only.")
@click.option("--fault", type=click.Choice(FAULT_NAMES), help="Plant this mistake, which must be found.")
@options.as_json
def protocol(quick: bool, fault: str | None, as_json: bool) -> ExitCode:
    """Refreshes of a group and of a table above it, with something else at every step.

    A process dies, another writer commits, a table is suspended, a lease runs out and a second process works,
    to its end or to its death, before the first goes on. Afterwards every table must hold its query at its
    data timestamp, nothing applied twice, history continuous, groups whole. Exit status 0: all hold; 1: one
    does not, and the first is shown step by step; 3: nothing was tried.
    """
    # Imported here, so that `dvs verify --help` loads neither the engine nor DuckDB.
    from campaign.verify.protocol import verify_protocol
    from campaign.verify.protocol_world import PROTOCOL_FAULTS, SOUND

    start = time.perf_counter()
    planted = SOUND if fault is None else PROTOCOL_FAULTS[fault].model

    def progress(done: int) -> None:
        if not as_json and done % 200 == 0:
            click.echo(f"{done} interleavings", err=True)

    result = verify_protocol(planted, depth=QUICK if quick else None, progress=progress)
    seconds = time.perf_counter() - start
    if as_json:
        print_json(document(result, seconds))
    else:
        click.echo(text(result, seconds))
    return EXIT_CODES[result.decision]


def document(result: Protocol, seconds: float) -> ProtocolDocument:
    """The result as JSON data."""
    return {
        "seconds": round(seconds, 1),
        "interleavings": result.interleavings,
        "steps": result.steps,
        "broken": [
            {"interleaving": str(each.interleaving), "law": each.law, "steps": list(each.steps)}
            for each in result.broken
        ],
    }


def text(result: Protocol, seconds: float) -> str:
    """The result for a terminal."""
    if result.decision is Decision.UNDECIDED:
        return "nothing was tried: the refreshes took no step at which something could happen"
    if not result.broken:
        return (
            f"{result.interleavings} interleavings of {result.steps} steps: every law holds ({seconds:.0f} s)"
        )
    first = min(result.broken, key=lambda each: len(each.steps))
    counts = Counter(each.interleaving for each in result.broken)
    lines = [
        f"FALSE in {len(counts)} of {result.interleavings} interleavings ({seconds:.0f} s)",
        f"the shortest: {first.interleaving}",
        f"  {first.law}",
        *(f"    {step}" for step in first.steps),
    ]
    return "\n".join(lines)
