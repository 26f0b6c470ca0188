"""Detects dirty reads (G1a, G1b), also through derivations (Adya 1999, 3.2.2; DVS paper, section 4.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dvs_model.analysis.analysis import Analysis
from dvs_model.analysis.verdict import ABSENT, DirtyRead, PhenomenonVerdict, Present
from dvs_model.graph.facts import Facts
from dvs_model.histories.history import Derive, Version, versions_read

Bad = Callable[[Version], int | None]
"""From a version to the transaction that makes it a dirty one; None: it is clean."""


def aborted_read(analysis: Analysis) -> PhenomenonVerdict:
    """Returns the verdict on G1a: one read a version of an aborted transaction, or what derives from it."""
    facts = analysis.facts
    if not facts.aborts:
        return ABSENT
    return _verdict(facts, lambda version: version.txn if version.txn in facts.aborts else None)


def intermediate_read(analysis: Analysis) -> PhenomenonVerdict:
    """Returns the verdict on G1b: one read an intermediate version of another, or what derives from it."""
    facts = analysis.facts
    if all(number == 1 for number in facts.last.values()):
        return ABSENT
    return _verdict(facts, lambda version: version.txn if facts.intermediate(version) else None)


def _verdict(facts: Facts, bad: Bad) -> PhenomenonVerdict:
    """Returns Present with the first dirty read of each reader, the shortest path first; else Absent."""
    behind = _behind(facts, bad)
    evidence: dict[int, DirtyRead] = {}
    for number, event in enumerate(facts.history.events):
        if event.txn not in facts.commits or event.txn in evidence:
            continue
        for version in versions_read(event):
            for maker, first in behind.get(version, {}).items():
                if maker != event.txn:
                    path = tuple(_path(facts, behind, version, maker, first))
                    evidence.setdefault(event.txn, DirtyRead(event.txn, number, path))
    ordered = sorted(evidence.values(), key=lambda item: (len(item.path), item.event))
    return Present(tuple(ordered)) if ordered else ABSENT


def _behind(facts: Facts, bad: Bad) -> dict[Version, dict[int, Version | None]]:
    """Maps a version to up to two guilty transactions at or behind it, with the next version towards each.

    Two are enough to have one that is not the reader itself.
    """
    behind: dict[Version, dict[int, Version | None]] = {}
    for version in facts.created:
        maker = bad(version)
        if maker is not None:
            behind[version] = {maker: None}
    for event in facts.history.events:
        if isinstance(event, Derive):
            mine = behind.get(event.version, {})
            for source in event.sources:
                for maker in behind.get(source, {}):
                    if maker not in mine and len(mine) < 2:
                        mine = {**mine, maker: source}
            if mine:
                behind[event.version] = mine
    return behind


def _path(
    facts: Facts,
    behind: dict[Version, dict[int, Version | None]],
    version: Version,
    maker: int,
    following: Version | None,
) -> Iterator[Version]:
    """Yields the versions from one down to the dirty one of `maker`. `following`: the second of them."""
    yield version
    while following is not None:
        yield following
        following = behind[following][maker]
