"""Reads of aborted transactions: judged as those of a twin that commits."""

from __future__ import annotations

import pytest

from dvs_model.checking.check import Checked, Holds, Undecided, Violated, check, with_unread
from dvs_model.checking.executing import executing, with_twin
from dvs_model.histories.history import Abort, Commit
from dvs_model.notation import parse, render
from dvs_model.theory.names import Level
from generators.histories import HistoryShape, history_at
from tests.depth import examples

TANGLED = HistoryShape(transactions=(2, 5), operations=(1, 4), base=(1, 2))


@pytest.mark.parametrize(
    ("text", "level", "verdict"),
    [
        # T1 sees one of T2's writes and misses the other, and aborts: nobody else is wrong.
        ("r1(x0) w2(x2) w2(y2) c2 r1(y2) a1", Level.PL_2_PLUS, Violated),
        ("r1(x0) w2(x2) w2(y2) c2 r1(y2) a1", Level.PL_2, Holds),
        ("r1(x0) r1(y0) w2(x2) w2(y2) c2 a1", Level.PL_3, Holds),
        # It has read what was rolled back.
        ("w1(x1) r2(x1) a1 a2", Level.PL_2, Violated),
        # Its own writes are nobody's.
        ("r1(x0) w1(x1) r1(x1) w2(x2) c2 a1", Level.PL_3, Holds),
        ("w1(x1) r1(P: x1; x1) a1", Level.PL_3, Undecided),
        # Through a refresh.
        ("w1(x1) c1 d2(y2|x1) c2 w3(x3) c3 r4(y2) r4(x3) a4", Level.PL_3, Violated),
    ],
)
def test_what_an_aborted_transaction_has_read(text: str, level: Level, verdict: type) -> None:
    checked = check(parse(text))
    found = executing(checked, [level])
    assert isinstance(checked.levels[level], Holds)
    assert isinstance(found[-1].levels[level], verdict)
    assert bool(found[-1].words.get(level)) == (verdict is Violated)


def test_a_twin_of_a_history_is_the_history_in_which_it_commits() -> None:
    """Where an aborted transaction writes nothing, its abort becomes a commit, and nothing else changes."""
    met = 0
    for index in range(examples(1000)):
        history = history_at(13, TANGLED, index)
        for event in history.events:
            if not isinstance(event, Abort):
                continue
            twin = with_twin(history, event.txn)
            if twin is None:
                continue
            added = max(each.txn for each in twin.events)
            assert [each for each in twin.events if each.txn != added] == list(history.events)
            assert isinstance([each for each in twin.events if each.txn == added][-1], Commit)
            check(twin)
            assert parse(render(twin)).orders == twin.orders
            met += 1
    assert met > 50


def test_the_words_name_the_transaction_that_aborted() -> None:
    (found,) = executing(check(parse("r1(x0) w2(x2) w2(y2) c2 r1(y2) a1")), [Level.PL_3])
    assert found.txn == 1
    assert any("T1 read x" in text for text in found.words[Level.PL_3])
    assert not any("T3" in text for text in found.words[Level.PL_3])


def test_what_a_file_leaves_open_stays_open_for_aborted_transactions() -> None:
    checked = check(parse("r1(x0) r1(y0) w2(x2) w2(y2) c2 a1"))
    plain, left_open = (executing(checked, [Level.PL_3], recorded) for recorded in (lambda c: c, _open))
    assert isinstance(plain[0].levels[Level.PL_3], Holds)
    assert isinstance(left_open[0].levels[Level.PL_3], Undecided)


def _open(checked: Checked) -> Checked:
    return with_unread(checked, "reads are missing in the file", frozenset())
