"""The part of a history that arrays find has the verdicts of the whole; what is refused, arrays never take.

`DVS_HISTORIES=50000 python -m pytest tests/laws/test_parts_of_stated_histories.py` compares more.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from dvs_model.check import Checked, check
from dvs_model.draft import DraftEvent
from dvs_model.errors import HistoryError
from dvs_model.formats import jsonl_columns, notation_columns
from dvs_model.formats.jsonl import line
from dvs_model.history import History
from dvs_model.notation import parse, render
from dvs_model.redraft import redraft
from dvs_model.stated.part import Part
from dvs_model.verdict import Present
from generators.histories import HistoryShape, history_at
from reports.history.json_object import stats

COUNT = int(os.environ.get("DVS_HISTORIES", "1500"))
PLAIN = HistoryShape(
    transactions=(2, 9), derived=(0, 0), predicate_percent=0, precedes_percent=0, sessions_percent=35
)
SHAPES = {
    "one version of each object by a transaction": replace(PLAIN, again_percent=0, abort_percent=0),
    "intermediate and aborted versions": PLAIN,
    "newest versions": replace(PLAIN, newest_percent=100, reordered_percent=5, anomaly_percent=0),
    "derivations": replace(PLAIN, derived=(1, 2), newest_percent=85, anomaly_percent=20, abort_percent=3),
}


def verdicts(checked: Checked) -> object:
    """By phenomenon the verdict, and of whom it is; by level the verdict."""
    phenomena = {
        phenomenon: (type(verdict), *sorted({item.subject for item in verdict.evidence}))
        if isinstance(verdict, Present)
        else verdict
        for phenomenon, verdict in checked.phenomena.items()
    }
    return phenomena, checked.levels


def as_line(history: History) -> str:
    """The history as a line of JSON with its events as arrays."""
    draft = redraft(history)
    value: dict[str, object] = {"name": history.name, "events": list(map(event, draft.events))}
    if draft.chains:
        value["orders"] = [list(map(str, chain.names)) for chain in draft.chains]
    if draft.sessions:
        value["sessions"] = {session.name: list(session.txns) for session in draft.sessions}
    return json.dumps(value)


def event(event: DraftEvent) -> list[object]:
    """An event as an array."""
    array: list[object] = [event.kind, event.txn, *map(str, event.names)]
    if event.kind == "d":
        array.append(list(map(str, event.others or ())))
    return array if event.value is None else [*array, event.value]


def found(text: str) -> Part | None:
    """The part of a history that is a line of JSON, or else a text of the notation."""
    if text.startswith("{"):
        return jsonl_columns.quick(text.encode(), "")
    return notation_columns.quick(text, "")


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("form", [render, as_line])
def test_a_part_has_the_verdicts_of_the_whole(name: str, form: type[str]) -> None:
    outcomes: Counter[str] = Counter()
    for index in range(COUNT):
        history = history_at(7, SHAPES[name], index)
        part = found(text := form(history))
        if part is None:
            outcomes["left"] += 1
            continue
        whole, judged = check(history), check(part.history)
        assert verdicts(judged) == verdicts(whole), text
        assert part.size == stats(whole), text
        fewer = len(part.history.transactions()) < len(history.transactions())
        outcomes["smaller" if fewer else "as large"] += 1
        outcomes["violated"] += any(isinstance(each, Present) for each in whole.phenomena.values())
    # Deletes, reads of what is made later, and cycles beside derivations are left to the readable code.
    assert outcomes["smaller"] > COUNT / 10, outcomes
    assert name == "derivations" or outcomes["violated"] > COUNT / 10, outcomes


@pytest.mark.parametrize("form", [render, as_line])
def test_arrays_take_nothing_that_is_refused(form: type[str]) -> None:
    """Texts that are damaged in one place: what arrays take is well-formed, and has the same verdicts."""
    random, outcomes = Random(5), Counter[str]()
    for index in range(COUNT):
        text = form(history_at(8, SHAPES["derivations" if index % 2 else "newest versions"], index))
        text = damaged(random, text)
        part = found(text)
        try:
            whole = line(text, "", 1) if form is as_line else parse(text)
        except HistoryError:
            outcomes["refused"] += 1
            assert part is None, text
            continue
        outcomes["read"] += 1
        if part is not None:
            outcomes["taken"] += 1
            assert verdicts(check(part.history)) == verdicts(check(whole)), text
    assert min(outcomes["refused"], outcomes["read"], outcomes["taken"]) > COUNT / 50, outcomes


def damaged(random: Random, text: str) -> str:
    """The text with one place left out, doubled, or replaced by another piece of it."""
    begin = random.randrange(len(text))
    end = min(len(text), begin + random.choice((1, 1, 1, 2, 6)))
    other = random.randrange(len(text))
    put = random.choice(
        ("", 2 * text[begin:end], text[other : other + end - begin], random.choice("013xyu.,"))
    )
    return text[:begin] + put + text[end:]
