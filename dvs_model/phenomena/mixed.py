"""Detects G1-predA and G1-predB: a predicate read saw a part of a transaction (Adya 1999, section 3.2.2).

Derived versions in a version set count for nobody: who computed them must not matter (DVS paper, theorem 1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dvs_model.analysis.analysis import Analysis
from dvs_model.analysis.verdict import ABSENT, MixedVersions, PhenomenonVerdict, Present
from dvs_model.graph.facts import Facts
from dvs_model.histories.history import PredicateRead, Version, Write


def mixed_predicate_write(analysis: Analysis) -> PhenomenonVerdict:
    """Returns the verdict on G1-predA: as G1-predB, and one predicate write generated both writes."""
    generated = _generated(analysis.facts)
    return _verdict(_from_one_statement(analysis.facts, generated))


def mixed_writes(analysis: Analysis) -> PhenomenonVerdict:
    """Returns the verdict on G1-predB: a predicate read saw one write of a transaction and missed another."""
    return _verdict(_from_any(analysis.facts))


def _verdict(items: Iterator[MixedVersions]) -> PhenomenonVerdict:
    """Returns Present with the first piece of evidence of each reader, or Absent without evidence."""
    first: dict[int, MixedVersions] = {}
    for item in items:
        first.setdefault(item.reader, item)
    return Present(tuple(first.values())) if first else ABSENT


def _generated(facts: Facts) -> dict[tuple[int, str], set[int]]:
    """Maps transaction and object to the transaction's earlier predicate writes that matched the object."""
    open_writes: dict[tuple[int, str], set[int]] = {}
    generated_by: dict[tuple[int, str], set[int]] = {}
    for number, event in enumerate(facts.history.events):
        match event:
            case PredicateRead(txn, predicate, _, _, True):
                for version in facts.version_set(event):
                    if facts.matches(predicate, version):
                        open_writes.setdefault((txn, version.obj), set()).add(number)
            case Write(txn, version):
                generated_by.setdefault((txn, version.obj), set()).update(
                    open_writes.get((txn, version.obj), ())
                )
            case _:
                pass
    return generated_by


@dataclass(frozen=True, slots=True)
class WriterPart:
    """The part of one writer in a version set: versions it installed, and versions older than its own."""

    reader: int
    event: int
    writer: int
    new: tuple[Version, ...]
    old: tuple[Version, ...]


def _from_any(facts: Facts) -> Iterator[MixedVersions]:
    """Yields a version that was seen and one that was missed, of each writer of which a part was seen."""
    for part in _parts(facts):
        yield MixedVersions(part.reader, part.event, part.writer, part.new[0], part.old[0])


def _from_one_statement(
    facts: Facts, generated: Mapping[tuple[int, str], set[int]]
) -> Iterator[MixedVersions]:
    """Yields the same only where one predicate write of the writer generated both versions."""
    for part in _parts(facts):
        of_new = {s: v for v in part.new for s in generated.get((part.writer, v.obj), ())}
        of_old = {s: v for v in part.old for s in generated.get((part.writer, v.obj), ())}
        for statement in of_new.keys() & of_old.keys():
            new, old = of_new[statement], of_old[statement]
            yield MixedVersions(part.reader, part.event, part.writer, new, old)
            break


def _parts(facts: Facts) -> Iterator[WriterPart]:
    """Yields each writer of which a version set has both its versions and older ones."""
    installed: dict[int, dict[str, Version]] = {}
    for version in facts.rank:
        if version.obj in facts.derived:
            continue
        installed.setdefault(version.txn, {})[version.obj] = version
    for number, event in enumerate(facts.history.events):
        if not isinstance(event, PredicateRead) or event.txn not in facts.commits:
            continue
        selected = [v for v in facts.version_set(event) if v.obj not in facts.derived]
        new: dict[int, list[Version]] = {}
        for version in selected:
            if version.txn != event.txn and version in facts.rank:
                new.setdefault(version.txn, []).append(version)
        for writer, versions in new.items():
            final = installed[writer]
            old = tuple(
                v for v in selected if v.obj in final and v != final[v.obj] and _older(facts, v, final[v.obj])
            )
            if old:
                yield WriterPart(event.txn, number, writer, tuple(versions), old)


def _older(facts: Facts, old: Version, than: Version) -> bool:
    """Tells whether a version comes before another one in the version order of their object."""
    return old.unborn or (old in facts.rank and facts.rank[old] < facts.rank[than])
