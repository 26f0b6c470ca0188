"""What transactions see while they run, also those that abort in the end (Adya 1999, section 5.3, EPL).

A level promises something to committed transactions only. Its executing variant, EPL-3 for PL-3, promises the
same to each transaction at every moment: what a transaction has read until it aborted must be what it could
have read if it had committed. So the reads of an aborted transaction are given to a twin that commits, and
the history with the twin is judged. The writes of the aborted one stay aborted: nobody may read them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from dvs_model.analysis.verdict import Present
from dvs_model.checking.check import Checked, Executing, Undecided, Violated, check
from dvs_model.checking.sentences import Sentences
from dvs_model.histories.history import Abort, Commit, Event, History, PredicateRead, Read, Start
from dvs_model.theory.names import Level, Phenomenon

OWN = (
    "it has read its own writes by a predicate, and the history does not say what it would have read without"
)


def executing(
    checked: Checked, levels: Sequence[Level], recorded: Callable[[Checked], Checked] = lambda plain: plain
) -> tuple[Executing, ...]:
    """Returns the verdicts on every aborted transaction of a history that has read something.

    `recorded`: returns verdicts as far as the file of the history allows them.
    """
    history = checked.history
    aborted = [event.txn for event in history.events if isinstance(event, Abort)]
    twins = ((txn, with_twin(history, txn)) for txn in aborted)
    return tuple(_judged(checked, txn, twin, levels, recorded) for txn, twin in twins if twin is not None)


def with_twin(history: History, txn: int) -> History | None:
    """Returns the history with a twin that commits what an aborted transaction has read; None: nothing.

    The twin has the next free number, the reads of others' versions where they stand, and its commit after
    the abort.
    """
    twin = 1 + max(event.txn for event in history.events)
    events: list[Event] = []
    for event in history.events:
        events.append(event)
        if event.txn == txn:
            events += _of_twin(event, txn, twin)
    if not any(isinstance(event, Read | PredicateRead) and event.txn == twin for event in events):
        return None
    numbers = {txn: (txn, twin)}
    return replace(
        history,
        events=tuple(events),
        sessions={
            name: tuple(each for member in members for each in numbers.get(member, (member,)))
            for name, members in history.sessions.items()
        },
        precedes=(
            *history.precedes,
            *(
                (twin if i == txn else i, twin if j == txn else j)
                for i, j in history.precedes
                if txn in (i, j)
            ),
        ),
    )


def _of_twin(event: Event, txn: int, twin: int) -> list[Event]:
    """Returns the event of the twin that follows an event of the aborted transaction, if it has one."""
    match event:
        case Start():
            return [Start(twin)]
        case Read(_, version) if version.txn != txn:
            return [replace(event, txn=twin)]
        case PredicateRead(_, predicate, versions, matched, _):
            kept = tuple(version for version in versions if version.txn != txn)
            matching = None if matched is None else tuple(v for v in matched if v.txn != txn)
            return [PredicateRead(twin, predicate, kept, matching)]
        case Abort():
            return [Commit(twin)]
        case _:
            return []


def _judged(
    checked: Checked,
    txn: int,
    history: History,
    levels: Sequence[Level],
    recorded: Callable[[Checked], Checked],
) -> Executing:
    """Returns the verdicts on what an aborted transaction read. `history`: from `with_twin`."""
    reads = [e for e in checked.history.events if isinstance(e, PredicateRead) and e.txn == txn]
    if any(version.txn == txn for event in reads for version in event.versions):
        return Executing(txn, {level: Undecided(Phenomenon.G2, OWN) for level in levels}, {})
    judged = recorded(check(history, checked.reading))
    sentences = Sentences(judged.analysis)
    twin = 1 + max(event.txn for event in checked.history.events)
    words = {}
    for level in levels:
        verdict = judged.levels[level]
        present = [judged.phenomena[p] for p in (verdict.by if isinstance(verdict, Violated) else ())]
        found = [item for each in present if isinstance(each, Present) for item in each.evidence[:1]]
        sentences_of = (text for item in found[:1] for text in sentences.evidence(item))
        # The reader of a report knows no twin: the sentences are about the aborted transaction.
        words[level] = tuple(re.sub(rf"\bT{twin}\b", f"T{txn}", text) for text in sentences_of)
    return Executing(txn, {level: judged.levels[level] for level in levels}, words)
