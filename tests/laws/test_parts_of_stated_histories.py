"""The part of a history that arrays find has the verdicts of the whole; what is refused, arrays never take.

`DVS_DEPTH=500 python -m pytest tests/laws/test_parts_of_stated_histories.py` compares more.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from dvs_model.analysis.verdict import Present
from dvs_model.checking.check import Checked, check
from dvs_model.errors import HistoryError
from dvs_model.formats import jsonl_columns, notation_columns
from dvs_model.formats.jsonl import line as read_line
from dvs_model.histories.draft import DraftEvent
from dvs_model.histories.history import History
from dvs_model.histories.redraft import redraft
from dvs_model.notation import parse, render
from dvs_model.stated import core
from dvs_model.stated.part import Reduced
from generators.histories import HistoryShape, history_at
from tests.depth import examples

COUNT = examples(75)
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


def found(text: str) -> Reduced | None:
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
        assert part.size == whole.stats, text
        fewer = len(part.history.transactions()) < len(history.transactions())
        outcomes["smaller" if fewer else "as large"] += 1
        outcomes["violated"] += any(isinstance(each, Present) for each in whole.phenomena.values())
    # Deletes, reads of what is made later, and cycles beside derivations are left to the readable code.
    assert outcomes["smaller"] > COUNT / 10, outcomes
    assert name == "derivations" or outcomes["violated"] > COUNT / 10, outcomes


RARE = (
    # G-MSRb: T1 has seen what committed later, z3, and then missed what had committed before.
    "s1 s2 s3 w2(x2) c2 w3(z3) c3 r1(z3) r1(x0) c1",
    "s1 s2 s3 w2(x2) c2 w3(z3) c3 r1(x0) r1(z3) c1",
    # Write dependencies through derived versions alone.
    "w4(x4) d2(u2 | x4) w1(x1) d1(u1 | x1) c4 d3(u3 | x1, u1) c1 c2 c3 [x4 << x1, u1 << u2 << u3]",
    "d3(u3|y0) c3 w1(y1) w1(v1) c1 w2(x2) w2(v2) c2 d4(z4|x2,u3) c4 d5(u5|y1) c5 w6(x6) c6 d7(z7|x6,u5) c7",
    # Reads of what is written later: a cycle, or no history.
    "r1(y2) w1(x1) r2(x1) w2(y2) c1 c2",
    # What is late through a derivation, and what is not.
    "s1 s2 w1(x1) d2(y2 | x1) c2 s3 r3(y2) c3 c1",
    "s1 w1(x1) s2 d2(y2 | x1) c2 s3 w3(z3) s4 d4(y4 | z3) c4 c1 c3",
    "s1 w1(x1) c1 s2 d2(y2 | x1) c2 s3 r3(y2) c3",
    # A long way by sessions, back to who missed a write; and the same without the last step.
    "w1(x1) c1 w2(x2) c2 w4(y4) c4 r5(y4) w5(z5) c5 r3(z5) r3(x1) c3 [session a: 2, 4]",
    "w1(x1) c1 w2(x2) c2 w4(y4) c4 w5(z5) c5 r3(z5) r3(x1) c3 [session a: 2, 4]",
    "w1(x1.1) w1(x1.2) c1 d2(y2 | x1.1) c2 r3(y2) c3",
    "w1(x1) a1 d2(y2 | x1) c2 r3(y2) c3",
    # Names, and values.
    "w1(my_table_1, 5) c1 r2(my_table_1, 5) w2(my_table_2, a b) c2 r3(my_table_1) w3(q3) c3",
    "w10(x10) c10 w1(x_1) c1 r2(x10) r2(x1) c2 [x_10 << x1]",
    "b1 w1(x1) c1 b2 r2(x1) c2",
    "w0(x0) c0 r1(x0) w1(x1) c1 r2(x0) c2",
    "r1(x0) w1(x1) c1 r2(x0) w2(x2) c2 [x0 << x1 << x2]",
    # T0 lies on a cycle, and nothing of the cycle names its version of x.
    "r9(x0) a9 w2(x2) w2(z2) c2 r1(z2) w1(y1) c1 [y1 << y0]",
    "s7 s8 r8(y0.1) r8(y_0) a8 r7(x_0) w7(x_7) w7(y7.1) c7 [x7.1 << x_0]",
    "w1(x1) c1 r2(x1) a2 r3(x1) c3 [session a: 2, 3] [session b: 1]",
)


@pytest.mark.parametrize("text", RARE)
@pytest.mark.parametrize("small", [0, 1000])
def test_what_is_rare_has_the_verdicts_of_the_whole(text: str, small: int) -> None:
    part = notation_columns.quick(text, "", small)
    whole = check(parse(text))
    assert part is None or (kinds(check(part.history)), part.size) == (kinds(whole), whole.stats)


@pytest.mark.parametrize(
    "text",
    [
        "r2(x1) c2 w1(x1) c1",
        "w1(x1) c1 w1(y1)",
        "w1(x1)",
        "w1(x2) c1",
        "w1(x1.2) c1",
        "w1(x1) w1(x1.2) c1",
        "w1(x1) d1(x1 | y0) c1",
        "d1(y1 | y1) c1",
        "w1(x1) s1 c1",
        "w1(x1) w2(x2) c1 c2 [x1]",
        "w1(x1) a1 w2(x2) c2 [x2 << x1]",
        "w1(x1) w2(y2) c1 c2 [x1 << y2]",
        "w1(x1) c1 [session a: 1] [session b: 1]",
        "w1(x1) c1 [session a: 2]",
        "w1(x1) w1(x1) c1",
        "w1(x1.1) r1(x0) w1(x1.2) c1",
        "r1(x0.2) c1",
        "d1(x1 | y0) r2(x0) c1 c2",
        "c1() w2(x2) c2",
        "w1(x1, a;b) c1",
        "w1(x1, a, b) c1",
        "d1(y1 | x0,) c1",
        "d1(y1) c1",
        "w1(x1 | y0) c1",
        "w1(1) c1",
        "w1(x9999999999999999999) c1",
        "w1(x1[session a: 1]) c1",
        "w1(x1, a[x1]) c1",
        "d1(y1 |[session b: 2] ) c1",
        "[session a: 1]",
    ],
)
def test_what_is_no_history_is_left_to_the_readable_code(text: str) -> None:
    with pytest.raises(HistoryError):
        parse(text)
    assert notation_columns.quick(text, "") is None
    line = json.dumps({"text": text}).encode()
    assert jsonl_columns.quick(line, "") is None


@pytest.mark.parametrize(
    "line",
    [
        '{"events": [["w", 1, "x1"], ["c", 1]], "events": [["c", 1]]}',
        '{"events": [["w", 1, "x1"], ["c", 1]], "other": 1}',
        '{"events": [["w", true, "x1"], ["c", 1]]}',
        '{"events": [["w", 1.0, "x1"], ["c", 1]]}',
        '{"events": [["w", -1, "x1"], ["c", -1]]}',
        '{"events": [["w", 1, "x1", "a,b"], ["c", 1]]}',
        '{"events": [["w", 1, null], ["c", 1]]}',
        '{"events": [["w", 1, 5], ["c", 1]]}',
        '{"events": [["w", 1, "x1", 1, 2, 3], ["c", 1]]}',
        '{"events": [["d", 1, "x1", "y0"], ["c", 1]]}',
        '{"events": [["d", 1, "x1", [5]], ["c", 1]]}',
        '{"events": [["c", 1, "x1"]]}',
        '{"events": [["cc", 1], ["", 1]]}',
        '{"events": [["w", 1, "x1"], ["c", 1]], "orders": ["x1"]}',
        '{"events": [["w", 1, "x1"], ["c", 1]], "orders": [[]]}',
        '{"events": [["w", 1, "x1"], ["c", 1]], "sessions": {"a": [1], "a": [1]}}',
        '{"events": [["w", 1, "x1"], ["c", 1]], "sessions": {"a:b": [1]}}',
        '{"events": [["w", 1, "x1"], ["c", 1]], "sessions": {"a": []}}',
        '{"events": [], "name": "a"}',
        '{"name": 5, "events": [["c", 1]]}',
        '{"text": "c1", "events": [["c", 1]]}',
        '{"events": [["w", 1, "x1"], ["c", 1]]} x',
        '{"events": [["w", 1, "x1", NaN], ["c", 1]]}',
        '{"events": [["w", 1, "x1"], ["c", 1]], "sessions": {"a": [9223372036854775808]}}',
        '{"name": "a", "text": ""}',
        '{"name": "a", "text": "   "}',
    ],
)
def test_what_is_no_line_is_left_to_the_readable_code(line: str) -> None:
    with pytest.raises(HistoryError):
        read_line(line, "", 1)
    assert jsonl_columns.quick(line.encode(), "") is None


def kinds(checked: Checked) -> object:
    """By phenomenon and by level the kind of the verdict."""
    phenomena = {phenomenon: type(verdict) for phenomenon, verdict in checked.phenomena.items()}
    return phenomena, {level: type(verdict) for level, verdict in checked.levels.items()}


def one_after_the_other(seed: int) -> str:
    """Transactions mostly one after the other, which mostly read the newest versions."""
    random = Random(seed)
    newest: dict[str, list[int]] = {obj: [] for obj in "xyzuv"[: random.randint(2, 5)]}
    old, overlap = random.choice((0.05, 0.2)), random.choice((0.0, 0.0, 0.1))
    starts, txns = random.random() < 0.4, range(1, random.randint(8, 20))
    texts: list[str] = []
    for txn in txns:
        mine = [f"s{txn}"] * starts
        written = random.sample(sorted(newest), random.randint(0, 2))
        for obj in random.sample(sorted(newest), random.randint(0, 2)):
            if newest[obj]:
                version = random.choice(newest[obj]) if random.random() < old else newest[obj][-1]
                mine.append(f"r{txn}({obj}{version})")
        mine += [f"w{txn}({obj}{txn})" for obj in written]
        for obj in written:
            newest[obj].append(txn)
        # Some begin before the one before has ended.
        at = len(texts) - (random.randint(1, 2) if texts and random.random() < overlap else 0)
        texts[at:at] = mine
        texts.append(f"c{txn}")
    sessions = [[txn for txn in txns if txn % 3 == part] for part in range(3)]
    clauses = [f"[session {n}: {', '.join(map(str, of))}]" for n, of in enumerate(sessions) if of]
    if random.random() < 0.1:
        obj = random.choice(sorted(newest))
        order = random.sample(newest[obj], len(newest[obj]))
        clauses = [f"[{' << '.join(f'{obj}{txn}' for txn in order)}]"] if order else []
        return " ".join([*texts, *clauses])
    return " ".join([*texts, *(clauses if random.random() < 0.3 else ())])


def test_some_cycles_have_the_verdicts_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few anti-dependencies are followed, so that what is left out matters."""
    outcomes: Counter[str] = Counter()
    for index in range(2 * COUNT):
        text = one_after_the_other(index)
        try:
            history = parse(text)
        except HistoryError:
            outcomes["no history"] += 1
            continue
        monkeypatch.setattr(core, "EDGES_TRIED", 1 + index % 3)
        monkeypatch.setattr(core, "STEPS", (3, 12, 1000)[index % 5 // 2])
        all_cycles = notation_columns.quick(text, "")
        some_cycles = notation_columns.quick(text, "", small=0)
        if all_cycles is None or some_cycles is None:
            # A read of what is written later, on a cycle.
            outcomes["left"] += 1
            continue
        sizes = [len(part.history.transactions()) for part in (some_cycles, all_cycles)]
        outcomes["fewer" if sizes[0] < sizes[1] else "all"] += 1
        whole = check(history)
        assert kinds(check(some_cycles.history)) == kinds(whole), text
        assert verdicts(check(all_cycles.history)) == verdicts(whole), text
    assert outcomes["fewer"] > COUNT / 15, outcomes
    assert outcomes["no history"] + outcomes["left"] < COUNT / 4, outcomes


@pytest.mark.parametrize("form", [render, as_line])
def test_arrays_take_nothing_that_is_refused(form: type[str]) -> None:
    """Texts that are damaged in one place: what arrays take is well-formed, and has the same verdicts."""
    random, outcomes, count = Random(5), Counter[str](), 4 * COUNT
    for index in range(count):
        text = form(history_at(8, SHAPES["derivations" if index % 2 else "newest versions"], index))
        text = damaged(random, text)
        part = found(text)
        try:
            whole = read_line(text, "", 1) if form is as_line else parse(text)
        except HistoryError:
            outcomes["refused"] += 1
            assert part is None, text
            continue
        outcomes["read"] += 1
        if part is not None:
            outcomes["taken"] += 1
            assert verdicts(check(part.history)) == verdicts(check(whole)), text
    # Of the lines of JSON, few are still a history.
    assert min(outcomes["refused"], outcomes["read"], outcomes["taken"]) > count / 50, outcomes


def damaged(random: Random, text: str) -> str:
    """The text with one place left out, doubled, or replaced by another piece of it."""
    begin = random.randrange(len(text))
    end = min(len(text), begin + random.choice((1, 1, 1, 2, 6)))
    other = random.randrange(len(text))
    put = random.choice(
        ("", 2 * text[begin:end], text[other : other + end - begin], random.choice("013xyu.,"))
    )
    return text[:begin] + put + text[end:]
