"""`dvs verify protocol`: the protocols of refresh and of groups under every interleaving up to a bound."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from campaign.cli import options
from campaign.cli.terminal import print_json, print_table
from campaign.exit_codes import EXIT_CODES, ExitCode
from campaign.files import write_text
from reports.documents import ProtocolDocument
from reports.pages import protocol_page
from workload.outcomes.decision import Decision

if TYPE_CHECKING:
    from campaign.verify.protocol import Broken, Protocol
    from campaign.verify.protocol_world import Line, Planted

QUICK = 3
"""With `--quick` the second process dies at one of its first steps: so many of them are tried."""

FAULT_NAMES = (
    "unfenced",
    "claims-ignored",
    "published-one-by-one",
    "published-blindly",
    "memberships-outlived",
    "heir-unfenced",
)
"""The names of `PROTOCOL_FAULTS` and `PAIR_FAULTS`, which are not imported here; a test compares them."""

BESIDE = "beside"
"""The column of a picture for what happens beside the processes."""


@click.command()
@click.option("--quick", is_flag=True, help=f"The second process dies at its first {QUICK} steps only.")
@click.option(
    "--pairs",
    type=click.Choice(["core", "all"]),
    help="Two disturbances at a time, three processes, a group of three members. core: pairs in which a "
    "process ends or its lease runs out, without commands of colleagues.",
)
@click.option("--every", type=click.IntRange(1), default=1, help="With --pairs: only each n-th of them.")
@click.option("--fault", type=click.Choice(FAULT_NAMES), help="Plant this mistake, which must be found.")
@click.option("--workers", type=click.IntRange(1), default=2, help="With --pairs: worker processes.")
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the shortest interleaving that breaks a law as a page.",
)
@options.as_json
def protocol(
    quick: bool,
    pairs: str | None,
    every: int,
    fault: str | None,
    workers: int,
    html: Path | None,
    as_json: bool,
) -> ExitCode:
    """Refreshes of a group and of a table above it, with something else at every step.

    A process dies, another writer commits, a table is suspended, a lease runs out and a second process works,
    to its end or to its death, before the first goes on. Afterwards every table must hold its query at its
    data timestamp, nothing applied twice, history continuous, groups whole. With --pairs any two of these
    happen. Exit status 0: all hold; 1: one does not, and the first is shown step by step; 3: nothing was
    tried.
    """
    start = time.perf_counter()
    result = run(quick, pairs, every, fault, workers, as_json)
    seconds = time.perf_counter() - start
    if as_json:
        print_json(document(result, seconds))
    else:
        show(result, seconds)
    if html is not None and result.broken:
        first = shortest(result)
        page = protocol_page(str(first.interleaving), first.law, lanes(first.steps), picture(first.steps))
        write_text(html, page)
    return EXIT_CODES[result.decision]


def run(
    quick: bool, pairs: str | None, every: int, fault: str | None, workers: int, silent: bool
) -> Protocol:
    """Runs the interleavings that the options ask for."""
    # Imported here, so that `dvs verify --help` loads neither the engine nor DuckDB.
    from campaign.verify.protocol import verify_protocol
    from campaign.verify.protocol_pairs import Chosen, Extent, verify_pairs
    from campaign.verify.protocol_world import PAIR_FAULTS, PROTOCOL_FAULTS, SOUND

    planted: Planted = SOUND if fault is None else {**PROTOCOL_FAULTS, **PAIR_FAULTS}[fault].model
    shown = 0

    def progress(done: int) -> None:
        nonlocal shown
        if not silent and done - shown >= 200:
            shown = done
            click.echo(f"{done} interleavings", err=True)

    if pairs is None:
        return verify_protocol(planted, depth=QUICK if quick else None, progress=progress)
    chosen = Chosen(planted=planted, extent=Extent(pairs), every=every)
    return verify_pairs(chosen, workers=workers, progress=progress)


def document(result: Protocol, seconds: float) -> ProtocolDocument:
    """Returns the result as JSON data."""
    return {
        "seconds": round(seconds, 1),
        "interleavings": result.interleavings,
        "as_others": result.as_others,
        "left_out": result.left_out,
        "processes": result.processes,
        "steps": result.steps,
        "broken": [
            {
                "interleaving": str(each.interleaving),
                "law": each.law,
                "steps": [str(line) for line in each.steps],
            }
            for each in result.broken
        ],
    }


def show(result: Protocol, seconds: float) -> None:
    """Prints the result, and the shortest interleaving that breaks a law as a picture."""
    if result.decision is Decision.UNDECIDED:
        click.echo("nothing was tried: the refreshes took no step at which something could happen")
        return
    counts = Counter(each.interleaving for each in result.broken)
    if counts:
        click.echo(f"FALSE in {len(counts)} of {result.interleavings} interleavings ({seconds:.0f} s)")
    else:
        click.echo(
            f"{result.interleavings} interleavings of {result.steps} steps: every law holds ({seconds:.0f} s)"
        )
    if result.as_others or result.left_out:
        click.echo(
            f"  {result.as_others:,} more are as one of these, because what happens commutes with the step; "
            f"{result.left_out:,} were not run"
        )
    if counts:
        first = shortest(result)
        click.echo(f"the shortest: {first.interleaving}\n  {first.law}")
        print_table("", lanes(first.steps), picture(first.steps))


def shortest(result: Protocol) -> Broken:
    """Returns the shortest interleaving that breaks a law."""
    return min(result.broken, key=lambda each: len(each.steps))


def lanes(steps: Sequence[Line]) -> Sequence[str]:
    """Returns the columns of a picture: the processes in the order in which they begin, then `BESIDE`."""
    return [*dict.fromkeys(line.of for line in steps if line.of), BESIDE]


def picture(steps: Sequence[Line]) -> Iterator[Sequence[str]]:
    """Yields the rows of a picture: time goes down, and each process has its column."""
    for line in steps:
        yield ["" if column != (line.of or BESIDE) else line.what for column in lanes(steps)]
