"""`dvs verify rules`: the rules of the engine proven in every small world."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from campaign.cli import options
from campaign.cli.terminal import print_json, print_table
from campaign.cli.verification.unbounded import each_fault as try_each_fault, unbounded
from campaign.exit_codes import EXIT_CODES, ExitCode
from reports.documents import FiguresDocument, RulesDocument
from workload.outcomes.decision import Decision

if TYPE_CHECKING:
    from campaign.verify.verify import Verified

DEFINITIONS_SHOWN = 3
"""Failing definitions whose least worlds are printed."""

FIGURES = ("definitions", "worlds", "changes", "checks", "amplification", "seconds")


@click.command()
@click.option("--quick", is_flag=True, help="Less than a minute: smaller bounds, which are printed.")
@click.option(
    "--unbounded",
    "without_bound",
    is_flag=True,
    help="Prove them for every number of rows instead, with z3.",
)
@click.option(
    "--each-fault",
    is_flag=True,
    help="Plant each fault of a rule by itself, or those given, and say whether the proof refutes it.",
)
@click.option(
    "--operator",
    "chosen",
    multiple=True,
    help="Only this operator, alone and in pairs; may be repeated.",
)
@options.fault
@click.option("--workers", type=click.IntRange(1), default=2, help="Worker processes.")
@options.as_json
def rules(
    quick: bool,
    without_bound: bool,
    each_fault: bool,
    chosen: tuple[str, ...],
    faults: tuple[str, ...],
    workers: int,
    as_json: bool,
) -> ExitCode:
    """Every operator and every pair of nested operators, in all small worlds up to the bounds printed.

    A world is contents of all tables and a change of them. The changes by the engine's rules are compared
    with recomputation by the engine and by the oracle, row ids included. Exit status 0: all hold; 1: one does
    not, and its least world is shown; 3: nothing was compared. With --unbounded the numbers of rows are
    symbols: 0: every rule that can be expressed so is proved; 1: one is refuted; 3: z3 gave up on one.
    """
    if each_fault:
        return try_each_fault(faults, workers, as_json)
    if without_bound:
        return unbounded(quick, chosen, faults, workers, as_json)
    # Imported here, so that `dvs verify --help` loads neither sqlglot nor DuckDB.
    from campaign.verify.definitions import (
        FULL_PAIRS,
        QUICK_PAIRS,
        chosen_definitions,
        over_time,
        pairs,
        singles,
    )
    from campaign.verify.running import decision_of, verify_all

    start = time.perf_counter()
    bound = QUICK_PAIRS if quick else FULL_PAIRS
    every = [*singles(quick=quick), *over_time(bound), *pairs(bound)]
    definitions = chosen_definitions(every, chosen)
    results = verify_all(
        definitions, faults=faults, workers=workers, progress=_progress(len(definitions), as_json)
    )
    seconds = time.perf_counter() - start
    if as_json:
        print_json(document(results, seconds))
    else:
        print_results(results, seconds)
    decision = decision_of(results)
    if decision is Decision.UNDECIDED and not as_json:
        click.echo("undecided: nothing was compared")
    return EXIT_CODES[decision]


def _progress(count: int, silent: bool) -> Callable[[Verified], None]:
    """Returns a function that prints each failure, and now and then how many of `count` are done."""
    done = 0

    def progress(result: Verified) -> None:
        nonlocal done
        done += 1
        if result.failures:
            click.echo(f"FALSE: {result.definition.name}: {result.failures[0].message}", err=True)
        elif done % 50 == 0 and not silent:
            click.echo(f"{done} of {count} definitions", err=True)

    return progress


def document(results: Sequence[Verified], seconds: float) -> RulesDocument:
    """Returns the results as JSON data."""
    return {
        "seconds": round(seconds, 1),
        "totals": figures(results),
        "definitions": [
            {
                "name": result.definition.name,
                "outer": result.definition.outer.value,
                "inner": result.definition.inner.value if result.definition.inner else None,
                "bound": str(result.definition.bound),
                "tables": [len(table.columns) for table in result.definition.tables],
                "way": result.way,
                "note": result.note,
                "roads": result.roads,
                **figures([result]),
                "failures": [
                    {
                        "road": failure.road,
                        "check": failure.check.value,
                        "message": failure.message,
                        "worlds": failure.worlds,
                        "world": failure.world,
                    }
                    for failure in result.failures
                ],
            }
            for result in results
        ],
    }


def figures(results: Sequence[Verified]) -> FiguresDocument:
    """Returns the sums over some definitions."""
    return {
        "definitions": len(results),
        "worlds": sum(result.worlds for result in results),
        "changes": sum(result.changes for result in results),
        "checks": sum(result.checks for result in results),
        "amplification": sum(result.amplification for result in results),
        "seconds": round(sum(result.seconds for result in results), 1),
    }


def print_results(results: Sequence[Verified], seconds: float) -> None:
    """Prints a table for operators alone and one for pairs, the bounds, the totals, and what is false."""
    alone = [result for result in results if result.definition.inner is None]
    nested = [result for result in results if result.definition.inner is not None]
    for title, some in (("every operator alone", alone), ("every operator over every operator", nested)):
        if some:
            print_table(title, ("operator", *FIGURES), rows(some), numbers=FIGURES, one_line=("operator",))
    for line in bounds(results):
        click.echo(line)
    total = figures(results)
    click.echo(
        f"{total['definitions']:,} definitions, {total['worlds']:,} worlds, {total['changes']:,} changes, "
        f"{total['checks']:,} checks; amplification {total['amplification']:,}; {seconds:.0f} s"
    )
    print_failures(results)


def rows(results: Sequence[Verified]) -> Iterator[Sequence[str]]:
    """Yields a row for each outer operator, and one with the sums of all."""
    for operator in dict.fromkeys(result.definition.outer for result in results):
        some = [result for result in results if result.definition.outer is operator]
        yield operator.value, *cells(figures(some))
    yield "all", *cells(figures(results))


def cells(sums: Mapping[str, Any]) -> Iterator[str]:
    """Returns the figures as text, in the order of FIGURES."""
    return (f"{sums[name]:,}" for name in FIGURES)


def bounds(results: Iterable[Verified]) -> Iterator[str]:
    """Yields lines on what was enumerated, one for each bound, on how, and on notes of definitions."""
    yield "every column over NULL, 0, 1; all worlds within these bounds (columns of the tables: definitions):"
    counts: dict[str, Counter[str]] = {}
    notes: Counter[str] = Counter()
    ways: Counter[str] = Counter()
    for result in results:
        layout = " x ".join("kv"[: len(table.columns)] for table in result.definition.tables)
        kind = "alone" if result.definition.inner is None else "pairs"
        counts.setdefault(f"{kind}, {result.definition.bound}", Counter())[layout] += 1
        ways[result.way or "refused"] += 1
        if result.note:
            notes[result.note] += 1
    for bound, layouts in counts.items():
        yield f"  {bound}: " + ", ".join(f"{layout}: {count}" for layout, count in layouts.items())
    yield "evaluated " + ", ".join(f"{way}: {count}" for way, count in ways.items())
    for note, count in notes.items():
        yield f"  {count} definitions: {note}"


def print_failures(results: Iterable[Verified]) -> None:
    """Prints the least world of the first failing definitions."""
    failing = [result for result in results if result.failures]
    for result in failing[:DEFINITIONS_SHOWN]:
        click.echo(f"\n{result.definition.name} is FALSE:")
        for failure in result.failures:
            click.echo(
                f"  {failure.road}: {failure.message} ({failure.check.value}), in {failure.worlds:,} worlds"
            )
        click.echo("\n".join(f"  {line}" for line in result.failures[0].world.splitlines()))
    if failing:
        names = ", ".join(result.definition.name for result in failing[DEFINITIONS_SHOWN:])
        click.echo(f"\n{len(failing)} definitions are FALSE{f'; the others: {names}' if names else ''}")
