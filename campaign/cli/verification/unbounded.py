"""`dvs verify rules --unbounded`: the rules of the engine proved for every number of rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from campaign.cli.terminal import print_json
from campaign.exit_codes import EXIT_CODES, ExitCode
from reports.documents import ProofDocument, ProofsDocument, TriedDocument
from reports.figures import plural

if TYPE_CHECKING:
    from campaign.verify.unbounded.prove import Proof
    from campaign.verify.unbounded.tried import Tried

DEFINITIONS_SHOWN = 3
"""Refuted definitions whose least worlds are printed."""

ASSUMED = (
    "assumed: values outside of the domain behave as those in it where a rule only compares them "
    "(docs/proofs.md); sums are exact; the parts of row ids tell different values apart"
)


def unbounded(
    quick: bool, chosen: tuple[str, ...], faults: tuple[str, ...], workers: int, as_json: bool
) -> ExitCode:
    """Proves the rules of the chosen operators, prints the result, and returns the exit status."""
    from campaign.verify.definitions import chosen_definitions
    from campaign.verify.unbounded.running import decision_of, provable, prove_all

    start = time.perf_counter()
    definitions = chosen_definitions(provable(quick=quick), chosen)
    proofs = prove_all(
        definitions,
        quick=quick,
        faults=faults,
        workers=workers,
        progress=_progress(len(definitions), as_json),
    )
    seconds = time.perf_counter() - start
    if as_json:
        print_json(document(proofs, seconds))
    else:
        click.echo("\n".join(text(proofs, seconds)))
    return EXIT_CODES[decision_of(proofs)]


def each_fault(chosen: tuple[str, ...], workers: int, as_json: bool) -> ExitCode:
    """Tries to refute the planted faults of rules, all if none is chosen; prints a table."""
    from campaign.verify.running import rules_with
    from campaign.verify.unbounded.tried import decision_of_tried, faults_of_rules, try_all

    for name in chosen:
        # Raises for a name that is no fault of a rule, before anything runs.
        rules_with((name,))

    def progress(tried: Tried) -> None:
        if not as_json:
            click.echo(tried_line(tried), err=True)

    tried = try_all(chosen or faults_of_rules(), workers=workers, progress=progress)
    if as_json:
        print_json([tried_document(each) for each in tried])
    else:
        click.echo("\n".join(tried_table(tried)))
    return EXIT_CODES[decision_of_tried(tried)]


def tried_document(tried: Tried) -> TriedDocument:
    """Returns what refutes a planted fault, as JSON data."""
    from campaign.verify.unbounded.tried import refuted_by

    refutation = None if tried.refuted is None else tried.refuted.refutation
    return {
        "fault": tried.fault,
        "found": refuted_by(tried).value,
        "refuted": "" if tried.refuted is None else tried.refuted.definition.name,
        "rows": 0 if refutation is None else sum(map(len, refutation.world)),
        "enumerated": tried.enumerated,
        "forms": tried.forms,
        "open": dict(tried.open),
    }


def tried_line(tried: Tried) -> str:
    """Returns what refutes a planted fault, in a line."""
    from campaign.verify.unbounded.tried import refuted_by

    by = [] if tried.refuted is None else [tried.refuted.definition.name]
    by += [tried.enumerated] if tried.enumerated else []
    return f"{tried.fault}: {refuted_by(tried).value}{': ' if by else ''}{' / '.join(by)}"


def tried_table(tried: Sequence[Tried]) -> Iterator[str]:
    """Yields the lines of the table in docs/proofs.md."""
    from campaign.verify.unbounded.tried import RefutedBy, refuted_by

    yield "| outcome | faults |"
    yield "|---|---|"
    for outcome in RefutedBy:
        names = [f"`{each.fault}`" for each in tried if refuted_by(each) is outcome]
        if names:
            yield f"| {outcome.value} ({len(names)}) | {', '.join(names)} |"


def _progress(count: int, silent: bool) -> Callable[[Proof], None]:
    """Returns a function that prints now and then how many of `count` definitions are done."""
    done = 0

    def progress(proof: Proof) -> None:
        nonlocal done
        done += 1
        if done % 20 == 0 and not silent:
            click.echo(f"{done} of {count} definitions", err=True)

    return progress


def document(proofs: Sequence[Proof], seconds: float) -> ProofsDocument:
    """Returns the results as JSON data."""
    return {
        "seconds": round(seconds, 1),
        "assumed": ASSUMED,
        "definitions": [_one(proof) for proof in proofs],
    }


def _one(proof: Proof) -> ProofDocument:
    refutation, failure = proof.refutation, proof.failure
    return {
        "name": proof.definition.name,
        "outer": proof.definition.outer.value,
        "outcome": proof.outcome.value,
        "reason": proof.reason,
        "not_compared": proof.not_compared,
        "not_shown": proof.not_shown,
        "domain": domain(proof),
        "roads": list(proof.roads),
        "cases": proof.cases,
        "formulas": proof.formulas,
        "seconds": round(proof.seconds, 2),
        "road": "" if refutation is None else refutation.road,
        "check": "" if refutation is None else refutation.check.value,
        "world": "" if failure is None else failure.world,
    }


def domain(proof: Proof) -> str:
    """Returns the values of each column, as text: `k: NULL 0 1, v: 0 1`."""
    names = sorted({column.name for table in proof.definition.tables for column in table.columns})
    values = {name: " ".join("NULL" if v is None else str(v) for v in proof.domain[name]) for name in names}
    return ", ".join(f"{name}: {listed}" for name, listed in values.items())


def text(proofs: Sequence[Proof], seconds: float) -> Iterator[str]:
    """Yields lines for a terminal: one for each form of an operator, the sums, and the least worlds."""
    width = max(len(proof.definition.name) for proof in proofs)
    for proof in proofs:
        yield f"{proof.definition.name.ljust(width)}  {line(proof)}"
    counts = {proof.outcome: 0 for proof in proofs}
    for proof in proofs:
        counts[proof.outcome] += 1
    sums = ", ".join(f"{count} {outcome.value}" for outcome, count in counts.items())
    cases, formulas = sum(proof.cases for proof in proofs), sum(proof.formulas for proof in proofs)
    yield f"{plural(len(proofs), 'definition')}: {sums}; {cases:,} cases, {formulas:,} by z3; {seconds:.0f} s"
    yield ASSUMED
    refuted = [proof for proof in proofs if proof.refutation and proof.failure]
    for proof in refuted[:DEFINITIONS_SHOWN]:
        assert proof.failure is not None
        yield f"\n{proof.definition.name} is FALSE:"
        yield f"  {proof.failure.road}: {proof.failure.message} ({proof.failure.check.value})"
        yield from (f"  {row}" for row in proof.failure.world.splitlines())


def line(proof: Proof) -> str:
    """Returns the result for one definition in a line."""
    if proof.reason:
        return f"{proof.outcome.value}: {proof.reason}"
    if proof.refutation is not None:
        world = sum(map(len, proof.refutation.world))
        return f"refuted {proof.refutation.road}, by {plural(world, 'row')}"
    apart = f"; first contents are not compared: {proof.not_compared}" if proof.not_compared else ""
    if proof.not_shown:
        apart += f"; changes from the contents are not expressible: {proof.not_shown}"
    return (
        f"proved for every number of rows over {domain(proof)}; {plural(len(proof.roads), 'road')}, "
        f"{proof.cases:,} cases, {proof.formulas:,} by z3, {proof.seconds:.1f} s{apart}"
    )
