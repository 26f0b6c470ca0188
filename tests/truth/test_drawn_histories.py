"""Floors for random histories, as for scenarios: what a fault needs to be seen is drawn often enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from dvs_model.analysis.verdict import Absent, Present
from dvs_model.checking.check import check
from dvs_model.histories.history import Abort, Commit, Derive, History, PredicateRead, Read, Start, Version
from dvs_model.theory.names import Phenomenon
from generators.choices import SeededChoices
from generators.histories import HISTORY_GENERATOR_VERSION, STORIES, history_at, random_history
from tests.depth import examples

DRAWN = examples(600)
NEAR = examples(250)
"""Histories that are judged with and without a read."""

FLOORS = {
    "more than three derivations, one over another": 100,
    "a version is read through two derivations or more": 150,
    "a version is read through two ways of derivations": 10,
    "aborted between two committed ones of a session": 20,
    "starts of some transactions": 40,
    "starts of all committed transactions, not of one that aborted": 8,
    "starts of all": 40,
    "reads through cursors": 40,
    "a read by a predicate of a derived row": 60,
    "a read of what an aborted transaction is behind": 20,
}
"""In so many of the drawn histories."""

EDGE_AWAY = (
    Phenomenon.G1A, Phenomenon.G1C, Phenomenon.G_SINGLE, Phenomenon.G2, Phenomenon.G2_ITEM,
    Phenomenon.G_MONOTONIC, Phenomenon.G_UPDATE, Phenomenon.G_SIB, Phenomenon.G_SINGLE_SESSION,
    Phenomenon.G2_SESSION,
)  # fmt: skip
"""Phenomena that are absent in some history where one read more makes them present."""


def told(history: History) -> Iterator[str]:
    """Yields what a history has, of `FLOORS`."""
    events = history.events
    sources = {e.version: e.sources for e in events if isinstance(e, Derive)}
    read = {e.version for e in events if isinstance(e, Read)}
    depths = {version: depth(version, sources) for version in sources}
    committed = {e.txn for e in events if isinstance(e, Commit)}
    aborted = {e.txn for e in events if isinstance(e, Abort)}
    if any(each > 3 for each in depths.values()):
        yield "more than three derivations, one over another"
    if any(depths.get(version, 0) > 1 for version in read):
        yield "a version is read through two derivations or more"
    if any(len(ways) > len(set(ways)) for ways in (behind(version, sources) for version in read)):
        yield "a version is read through two ways of derivations"
    if any({v.txn for v in behind(version, sources)} & aborted for version in read if version in sources):
        yield "a read of what an aborted transaction is behind"
    for members in history.sessions.values():
        inner = [at for at, txn in enumerate(members) if txn in aborted]
        if any({*members[:at]} & committed and {*members[at:]} & committed for at in inner):
            yield "aborted between two committed ones of a session"
    started = {e.txn for e in events if isinstance(e, Start)}
    if started:
        ended = (committed | aborted) - {0}
        alone = "starts of all committed transactions, not of one that aborted"
        some = alone if committed - {0} <= started else "starts of some transactions"
        yield "starts of all" if ended <= started else some
    if any(isinstance(e, Read) and e.cursor for e in events):
        yield "reads through cursors"
    if any(version in sources for e in events if isinstance(e, PredicateRead) for version in e.versions):
        yield "a read by a predicate of a derived row"


def depth(version: Version, sources: dict[Version, tuple[Version, ...]]) -> int:
    return (
        1 + max((depth(each, sources) for each in sources[version]), default=0) if version in sources else 0
    )


def behind(version: Version, sources: dict[Version, tuple[Version, ...]]) -> list[Version]:
    return [version] if version not in sources else [v for s in sources[version] for v in behind(s, sources)]


def test_what_is_rare_is_drawn_often_enough() -> None:
    met = Counter(text for index in range(DRAWN) for text in told(history_at(1, STORIES, index)))
    assert all(met[text] >= floor for text, floor in FLOORS.items()), met


@pytest.mark.slow
def test_phenomena_are_absent_by_one_read() -> None:
    """One read less makes them absent, or one derivation behind it is seen no more: an edge away."""
    flips = Counter[Phenomenon]()
    for index in range(NEAR):

        def drawn(percent: int, index: int = index) -> History:
            choices = SeededChoices(1, HISTORY_GENERATOR_VERSION, STORIES, index)
            return random_history(choices, replace(STORIES, near_percent=percent))

        full, near = check(drawn(0)).phenomena, check(drawn(100)).phenomena
        flips.update(p for p in EDGE_AWAY if isinstance(full[p], Present) and isinstance(near[p], Absent))
    assert all(flips[phenomenon] > 2 for phenomenon in EDGE_AWAY), flips
