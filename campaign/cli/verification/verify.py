"""`dvs verify`: the theorems of the DVS paper on many histories; the rules of the engine in small worlds."""

from __future__ import annotations

import time
from itertools import product

import click

from campaign.cli.verification.evolution import evolution
from campaign.cli.verification.groups import groups
from campaign.cli.verification.protocol import protocol
from campaign.cli.verification.rules import rules
from campaign.exit_codes import EXIT_CODES, ExitCode
from dvs_model.checking import enumeration
from dvs_model.checking.enumeration import small_histories
from dvs_model.checking.theorems import Tally
from dvs_model.graph.reading import DEFAULT, Predicates, Reading
from generators.histories import SMALL, HistoryShape, history_at
from reports.history.text import indented

LARGER = HistoryShape(transactions=(3, 7), operations=(2, 6), base=(2, 3), derived=(1, 2))
"""The shape of random histories larger than those enumerated: more operations, aborts, predicates."""


@click.group()
def command() -> None:
    """Check theorems, the rules of the engine and its protocols in all small worlds."""


command.add_command(rules)
command.add_command(protocol)
command.add_command(groups)
command.add_command(evolution)


@command.command()
@click.option(
    "--operations",
    type=click.IntRange(1, 6),
    default=4,
    show_default=True,
    help="Most operations of a small history.",
)
@click.option(
    "--random",
    "count",
    type=click.IntRange(0),
    default=5000,
    show_default=True,
    help="Number of larger ones.",
)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option(
    "--unbounded",
    "without_bound",
    is_flag=True,
    help="Prove them, and the vertices of the graph, for histories of any length instead, with z3.",
)
def theorems(operations: int, count: int, seed: int, without_bound: bool) -> ExitCode:
    """Theorem 1 (transaction invariance) and corollary 2 (encapsulation) of the DVS paper.

    Exit status 0: no counterexample; 1: there is one, which is shown; 3: the histories were too small to
    hold one. With --unbounded 0: every claim is proved; 1: one is refuted; 3: z3 gave up on one.
    """
    start = time.perf_counter()
    if without_bound:
        return of_any_length()
    click.echo(
        f"every history with at most {operations} operations of at most {enumeration.TRANSACTIONS} "
        f"transactions on {len(enumeration.BASE)} base and {len(enumeration.DERIVED)} derived objects, "
        "under every version order:"
    )
    small = Tally()
    for history in small_histories(operations):
        if not small.check(history):
            break
    report(small)
    larger = Tally()
    if small.failure is None and count:
        click.echo("random larger histories, both readings of predicates:")
        for index, shape in product(range(count), (SMALL, LARGER)):
            if not larger.check(history_at(seed, shape, index), reading_of(index)):
                break
        report(larger)
    click.echo(f"{time.perf_counter() - start:.0f} s")
    if small.failure is not None or larger.failure is not None:
        return ExitCode.FAILED
    if not (small.moves + larger.moves and small.removals + larger.removals):
        click.echo("undecided: no derivation was moved, or none was left out; give more --operations")
        return ExitCode.UNKNOWN
    return ExitCode.OK


def of_any_length() -> ExitCode:
    """Proves the steps of the inductions, prints what each shows, and returns the exit status."""
    # Imported here, so that the theorems on small histories load no plans of the engine.
    from campaign.verify.unbounded.theorems import decision_of_theorems, show_all

    shown = show_all(lambda each: click.echo(f"{each.outcome.value}: {each.claim}"))
    decision = decision_of_theorems(shown)
    click.echo(f"{len(shown)} claims about histories of any length: {decision.value}")
    return EXIT_CODES[decision]


def reading_of(index: int) -> Reading:
    """Returns the reading of predicates for the history of an index; the two take turns."""
    return Reading(predicates=Predicates.THESIS) if index % 2 else DEFAULT


def report(tally: Tally) -> None:
    """Prints the counts, or the counterexample."""
    if tally.failure is not None:
        claim, before, after = tally.failure
        click.echo(
            f"  {claim} is FALSE of this history:\n{indented(before)}\n"
            f"  dependencies differ in:\n{indented(after)}"
        )
        return
    click.echo(f"  {tally.histories:,} histories")
    click.echo(f"  theorem 1: {tally.moves:,} derivations moved, dependencies unchanged every time")
    click.echo(
        f"  corollary 2, with its three conditions: {tally.removals:,} derivations left out, "
        "dependencies unchanged every time"
    )
    click.echo(
        f"  corollary 2 as worded: {tally.as_worded:,} more derivations, "
        f"{tally.false_as_worded:,} of them change dependencies"
    )
