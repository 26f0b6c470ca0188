"""Reads through cursors, rc1(x0): where a history notes them, G-cursor asks for one of them."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from dvs_model.analysis.verdict import Absent, Present, Unknown
from dvs_model.checking.check import Holds, Violated, check
from dvs_model.formats.jsonl import line
from dvs_model.histories.history import Read
from dvs_model.notation import parse, render
from dvs_model.theory.names import Level, Phenomenon
from generators.histories import SMALL, HistoryShape, history_at
from reference.histories import Reference
from tests.depth import examples

TANGLED = HistoryShape(transactions=(2, 4), operations=(1, 4), base=(1, 2))
LOST_UPDATE = "w2(x2) c2 w1(x1) c1 [x0 << x2 << x1]"


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (f"r1(x0) {LOST_UPDATE}", Violated),
        (f"rc1(x0) {LOST_UPDATE}", Violated),
        (f"r1(x0) rc3(y0) c3 {LOST_UPDATE}", Holds),
        (f"rc1(x0) rc3(y0) c3 {LOST_UPDATE}", Violated),
        # Cursor stability keeps the row under the cursor only, where cursors are noted.
        (f"r1(x0) rc1(y0) {LOST_UPDATE}", Holds),
    ],
)
def test_a_lost_update_of_what_a_cursor_read(text: str, verdict: type) -> None:
    assert isinstance(check(parse(text)).levels[Level.PL_CS], verdict)
    assert isinstance(check(parse(text)).levels[Level.PL_3], Violated)


def test_random_histories_with_cursors_are_judged_as_the_definition_says() -> None:
    random, met = Random(79), {True: 0, False: 0}
    for shape in (SMALL, TANGLED):
        for index in range(examples(800)):
            history = history_at(17, shape, index)
            share = random.choice((0.2, 0.5, 0.9))
            events = tuple(
                replace(event, cursor=random.random() < share) if isinstance(event, Read) else event
                for event in history.events
            )
            history = replace(history, events=events)
            due = Reference(history).verdicts()["G-cursor"]
            verdict = check(history, only=[Phenomenon.G_CURSOR]).phenomena[Phenomenon.G_CURSOR]
            assert type(verdict) is {True: Present, False: Absent, None: Unknown}[due], render(history)
            if due is not None:
                met[due] += 1
            assert parse(render(history)).events == history.events
    assert min(met.values()) > 20, met


def test_json_lines_hold_cursors() -> None:
    text = '{"events": [["rc", 1, "x0"], ["c", 1]]}'
    assert render(line(text, "h", 1)) == "rc1(x0) c1"
