"""Plume, Cobra, dbcop, AWDIT and TimeKiller: what each format says, and what it cannot say."""

from __future__ import annotations

import io
import json
import re
import struct
from pathlib import Path

import pytest
import yaml

from dvs_model.analysis.verdict import Present, Unknown
from dvs_model.checking.check import Checked, Holds, Undecided, Violated
from dvs_model.clients.judge import judge
from dvs_model.errors import HistoryError
from dvs_model.formats import awdit, cobra, dbcop, plume, timekiller
from dvs_model.formats.reader import Form, Item, Refused, Viewed
from dvs_model.formats.registry import FORMATS, recognised
from dvs_model.formats.written.registry import WRITERS
from dvs_model.formats.written.timekiller import timekiller as as_timekiller
from dvs_model.observed.seen import Kind, Observed, Op, Records, Status, Transaction
from dvs_model.theory.names import Level, Phenomenon


def viewed(items: list[Item]) -> Observed:
    [item] = items
    assert isinstance(item, Viewed), item
    return item.observed


def refusal(items: list[Item]) -> str:
    [item] = items
    assert isinstance(item, Refused), item
    return f"{item.error.line}: {item.error.fact}"


def levels(checked: Checked) -> dict[str, str]:
    assert checked.seen is not None
    return {name: verdict for name, (verdict, _) in checked.seen.client.items()}


# Plume


def of_plume(text: str, name: str = "h.txt") -> list[Item]:
    return list(plume.read(io.BytesIO(text.encode()), name))


def test_plume() -> None:
    observed = viewed(of_plume("w(7,1,0,5)\r\nr(7,1,3,12)\nw(7,2,3,-1)\nr(8,0,3,12)"))
    assert [(each.number, each.session, each.status) for each in observed.transactions] == [
        (5, "0", Status.COMMITTED),
        (12, "3", Status.COMMITTED),
        (13, "3", Status.ABORTED),
    ]
    assert set(levels(judge(observed)).values()) == {"holds"}


def test_an_explicit_write_of_0_wins_over_the_initial_version() -> None:
    checked = judge(viewed(of_plume("w(7,0,1,1)\nw(8,1,1,1)\nr(7,0,2,2)\nr(8,0,2,2)")))
    assert levels(checked)["read committed"] == "violated"
    assert isinstance(checked.phenomena[Phenomenon.G_SINGLE], Present)


def test_the_first_transaction_of_isovista_is_what_was_there_before() -> None:
    text = "w(1,5,0,0)\nw(2,6,0,0)\nw(1,7,1,1)\nr(1,7,2,2)\nr(2,6,2,2)\nr(1,5,2,3)"
    observed = viewed(of_plume(text))
    assert [each.number for each in observed.transactions] == [1, 2, 3]
    # A session that has seen the write cannot see what was there before it.
    assert levels(judge(observed))["causal"] == "violated"
    # A session 0 with more than that, or without every key, is one like the others.
    assert len(viewed(of_plume(text + "\nr(1,7,0,9)")).transactions) == 5
    assert len(viewed(of_plume(text + "\nw(3,1,2,9)")).transactions) == 5


def test_a_lost_update_is_no_snapshot() -> None:
    checked = judge(viewed(of_plume("r(1,0,0,1)\nw(1,1,0,1)\nr(1,0,1,2)\nw(1,2,1,2)")))
    assert levels(checked) == {
        "read committed": "holds",
        "read atomic": "holds",
        "causal": "holds",
        "parallel snapshot": "violated",
        "prefix": "holds",
        "snapshot isolation": "violated",
        "serializable": "violated",
    }
    # Whichever version came first, no serial order explains both reads.
    assert isinstance(checked.levels[Level.PL_3], Violated)
    assert isinstance(checked.levels[Level.PL_CS], Violated)
    assert isinstance(checked.levels[Level.PL_1], Undecided)


def test_two_values_of_a_key_in_one_transaction_are_explained_by_no_order() -> None:
    checked = judge(viewed(of_plume("w(1,1,0,1)\nw(1,2,1,2)\nr(1,1,2,3)\nr(1,2,2,3)")))
    assert levels(checked)["read committed"] == "holds"
    assert levels(checked)["read atomic"] == "violated"
    assert isinstance(checked.levels[Level.PL_3], Violated)


def test_write_skew_is_a_snapshot_and_not_serializable() -> None:
    checked = judge(
        viewed(of_plume("r(1,0,0,1)\nr(2,0,0,1)\nw(1,1,0,1)\nr(1,0,1,2)\nr(2,0,1,2)\nw(2,2,1,2)"))
    )
    assert levels(checked)["snapshot isolation"] == "holds"
    assert levels(checked)["serializable"] == "violated"


def test_a_long_fork_is_no_prefix() -> None:
    text = "w(1,1,0,1)\nw(2,2,1,2)\nr(1,1,2,3)\nr(2,0,2,3)\nr(1,0,3,4)\nr(2,2,3,4)"
    checked = judge(viewed(of_plume(text)))
    assert levels(checked)["causal"] == "holds"
    assert levels(checked)["prefix"] == "violated"


def test_without_a_version_order_no_level_of_adyas_holds() -> None:
    checked = judge(viewed(of_plume("w(1,1,0,1)\nw(1,2,1,2)\nr(1,2,2,3)")))
    assert levels(checked)["serializable"] == "holds"
    assert isinstance(checked.levels[Level.PL_3], Undecided)
    assert isinstance(checked.phenomena[Phenomenon.G_SIA], Unknown)


def test_the_companion_of_isovista_gives_write_dependencies(tmp_path: Path) -> None:
    file = tmp_path / "h.txt"
    text = "w(1,1,0,1)\nw(1,2,1,2)\nr(1,1,2,3)\nr(2,9,2,3)\nw(2,9,1,2)"
    alone = judge(viewed(of_plume(text, str(file))))
    assert levels(alone)["serializable"] == "holds"
    # T3 has read T2's write of key 2, and T1's of key 1: by the companion the version before T2's.
    (tmp_path / "h.txt_ww").write_text("1 -> 2\n")
    observed = viewed(of_plume(text, str(file)))
    assert observed.follows == [(1, 2)]
    checked = judge(observed)
    assert isinstance(checked.phenomena[Phenomenon.G_SINGLE], Present)
    assert levels(checked)["serializable"] == "violated"
    assert isinstance(checked.levels[Level.PL_2_PLUS], Violated)


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("w(1,1,0,1)\nw(1, 2,0,1)", "2: a line is r(key,value,session,txn)"),
        ("w(1,1,0,1)\nr(1,1,1,1)", "2: transaction 1 is of session 1 here, and of 0 in line 1"),
        ("", "1: there is no operation"),
    ],
)
def test_what_is_no_plume_text(text: str, fact: str) -> None:
    assert fact in refusal(of_plume(text))


# Cobra


def record(tag: str, *fields: int) -> bytes:
    return tag.encode() + struct.pack(f">{len(fields)}q", *fields)


def of_cobra(folder: Path, **logs: bytes) -> list[Item]:
    folder.mkdir()
    for name, data in logs.items():
        (folder / f"{name}.log").write_bytes(data)
    (folder / "T1.debug").write_bytes(b"no log")
    return list(cobra.read(folder, str(folder)))


WRITER = record("S", 5) + record("W", 42, -7, 9) + record("C", 5)


def test_cobra(tmp_path: Path) -> None:
    loaded = record("R", 0xBEBEEBEE, 0xBEBEEBEE, 8, 1) + record("R", 0xDEADBEEF, 0xDEADBEEF, 9, 0)
    collected = record("R", 0xBEBEEBEE, 0x23332333, 3, 0)
    reader = record("S", 6) + record("R", 5, 42, -7, 9) + loaded + collected + record("C", 6)
    observed = viewed(of_cobra(tmp_path / "logs", T2=reader, T10=WRITER, T1=b""))
    assert [each.session for each in observed.transactions] == ["T2", "T10"]
    assert [op.value for op in observed.transactions[0].ops] == [42, None, None]
    checked = judge(observed)
    assert set(levels(checked).values()) == {"holds"}
    assert isinstance(checked.levels[Level.PL_3], Holds)


def test_a_read_from_outside_of_the_log_leaves_pl_2_open(tmp_path: Path) -> None:
    checked = judge(
        viewed(of_cobra(tmp_path / "x", T1=record("S", 6) + record("R", 99, 50, 7, 2) + record("C", 6)))
    )
    assert isinstance(checked.levels[Level.PL_2], Undecided)
    assert checked.seen is not None
    assert checked.seen.anomalies[0][0] == "unwritten value read"


def test_reads_from_outside_of_the_log_are_told_as_such(tmp_path: Path) -> None:
    log = record("S", 6) + record("R", 99, 50, 7, 2) + record("C", 6)
    checked = judge(viewed(of_cobra(tmp_path / "x", T1=log)))
    assert checked.seen is not None
    assert "which transaction 99 wrote, and that one is outside of the log" in checked.seen.anomalies[0][2]


def reader(*numbers: int) -> bytes:
    return record("S", 6) + record("R", *numbers) + record("C", 6)


@pytest.mark.parametrize(
    ("log", "fact"),
    [
        (reader(5, 42, -7, 10), "with another key or value hash"),
        (reader(5, 42, -8, 9), "with another key or value hash"),
        (reader(5, 43, -7, 9), "a read names write 43 of transaction 5, whose log has no such write"),
        (record("S", 6) + record("W", 42, 8, 9) + record("C", 6), "write id 42 is in session T1"),
        (WRITER, "transaction 5 is in T1.log too"),
    ],
)
def test_a_log_that_contradicts_another_one_is_refused(tmp_path: Path, log: bytes, fact: str) -> None:
    assert fact in refusal(of_cobra(tmp_path / "x", T1=WRITER, T2=log))


def test_records_of_cobra_that_rarely_occur(tmp_path: Path) -> None:
    aborted = record("S", 5) + record("W", 42, -7, 9) + record("A", 5)
    checked = judge(viewed(of_cobra(tmp_path / "a", T1=aborted, T2=reader(5, 42, -7, 9))))
    assert isinstance(checked.phenomena[Phenomenon.G1A], Present)
    other = record("S", 7) + record("W", 43, -7, 9) + record("C", 7)
    checked = judge(viewed(of_cobra(tmp_path / "b", T1=WRITER, T2=other, T3=reader(5, 43, -7, 9))))
    assert checked.seen is not None
    assert checked.seen.anomalies[0][0] == "wrong writer"
    own = record("S", 5) + record("W", 42, -7, 9) + record("R", 5, 42, -7, 9) + record("C", 5)
    assert set(levels(judge(viewed(of_cobra(tmp_path / "c", T1=own)))).values()) == {"holds"}
    before = record("S", 5) + record("R", 5, 42, -7, 9) + record("W", 42, -7, 9) + record("C", 5)
    checked = judge(viewed(of_cobra(tmp_path / "d", T1=before)))
    assert checked.seen is not None
    assert checked.seen.anomalies[0][0] == "future read"


def test_milliseconds_are_real_time(tmp_path: Path) -> None:
    first = record("S", 5, 1000) + record("W", 42, -7, 9) + record("C", 5, 1001)
    loaded = record("R", 0xBEBEEBEE, 0xBEBEEBEE, -7, 0)
    for begin, verdict in ((2000, Violated), (1001, Holds)):
        second = record("S", 6, begin) + loaded + record("C", 6, 2001)
        checked = judge(viewed(of_cobra(tmp_path / str(begin), T1=first, T2=second)))
        assert isinstance(checked.levels[Level.PL_SS], verdict)
        assert isinstance(checked.levels[Level.PL_3], Holds)


def test_milliseconds_after_the_ids_of_begin_and_commit(tmp_path: Path) -> None:
    data = record("S", 5, 1000) + record("W", 42, 7, 9) + record("C", 5, 1001)
    assert len(viewed(of_cobra(tmp_path / "x", T1=data)).transactions) == 1


@pytest.mark.parametrize(
    ("data", "fact"),
    [
        (WRITER[:-3], "T1.log byte 34: a record C of 8 bytes is cut off after 5"),
        (record("S", 5), "the file ends inside of transaction 5"),
        (b"x" + WRITER, "byte 0x78 is no record"),
        (record("S", 5) + record("C", 6), "transaction 6 ends inside 5"),
        (
            record("S", 5, 9) + record("W", 42, 7, 9) + record("C", 5, 8),
            "byte 42: transaction 5 ends before it begins",
        ),
        (record("W", 42, 7, 9), "a record W outside of a transaction"),
        (record("S", 5) + record("W", 0xABCDEFAB, 7, 0) + record("C", 5), "all deletes share one write id"),
        (b"", "there is no transaction"),
    ],
)
def test_damaged_logs(tmp_path: Path, data: bytes, fact: str) -> None:
    assert fact in refusal(of_cobra(tmp_path / "x", T1=data))


# dbcop


def integers(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


def words(text: str) -> bytes:
    return integers(len(text.encode())) + text.encode()


def event(write: int, variable: int, value: int, success: int = 1) -> bytes:
    return bytes([write]) + integers(variable, value) + bytes([success])


def transaction(success: int, *events: bytes) -> bytes:
    return integers(len(events)) + b"".join(events) + bytes([success])


def bincode(*sessions: list[bytes]) -> bytes:
    head = integers(1, 9, 9, 9, 9) + words("a database") + words("2019-01-01") + words("2019-01-02")
    return head + integers(len(sessions)) + b"".join(integers(len(s)) + b"".join(s) for s in sessions)


def of_bincode(data: bytes) -> list[Item]:
    return list(dbcop.read_bincode(io.BytesIO(data), "history.bincode"))


def test_bincode_success_of_the_transaction_decides() -> None:
    observed = viewed(
        of_bincode(
            bincode(
                [transaction(1, event(1, 1, 1), event(0, 2, 0), event(1, 2, 9, 0))],
                [transaction(0, event(1, 2, 5)), transaction(1, event(0, 1, 1), event(0, 3, 7, 0))],
            )
        )
    )
    assert [(each.status, len(each.ops)) for each in observed.transactions] == [
        (Status.COMMITTED, 2),
        (Status.ABORTED, 1),
        (Status.ABORTED, 1),
        (Status.COMMITTED, 1),
    ]
    assert set(levels(judge(observed)).values()) == {"holds"}


def test_clauses_of_bincode() -> None:
    failed = bincode([transaction(1, event(1, 1, 1, 0), event(1, 2, 2))], [transaction(1, event(0, 1, 1))])
    aborted = bincode([transaction(0, event(1, 1, 1))], [transaction(1, event(0, 1, 1))])
    for data in (failed, aborted):
        assert isinstance(judge(viewed(of_bincode(data))).phenomena[Phenomenon.G1A], Present)
    large = bincode([transaction(1, event(1, 2**64 - 1, 2**64 - 1))], [])
    assert viewed(of_bincode(large)).transactions[0].ops[0].value == 2**64 - 1
    empty = bincode([transaction(1), transaction(1, event(0, 1, 0))], [])
    assert len(viewed(of_bincode(empty)).transactions) == 2
    twice = bincode([transaction(0, event(1, 1, 5)), transaction(1, event(1, 1, 5))])
    with pytest.raises(HistoryError, match="written twice"):
        judge(viewed(of_bincode(twice)))


@pytest.mark.parametrize(
    ("data", "fact"),
    [
        (bincode([transaction(1, event(1, 1, 1))])[:-4], "byte"),
        (bincode([transaction(1, event(1, 1, 1))]) + b"x", "the history ends here, and 1 bytes follow"),
        (bincode([transaction(3, event(1, 1, 1))]), "a boolean is 0 or 1, not 0x03"),
        (bincode(), "there is no transaction"),
        (b"", "byte 0: the file ends inside of a number"),
        (integers(1, 1, 1, 1, 1, 2**60), "elements do not fit"),
    ],
)
def test_damaged_bincode(data: bytes, fact: str) -> None:
    assert fact in refusal(of_bincode(data))


SESSIONS = [
    [{"events": [{"Write": {"variable": 3, "version": 0}}, ["w", 4, 1]], "committed": True}],
    [
        {"events": [["r", 3, 0], {"Read": {"variable": 4, "version": None}}], "committed": True},
        {"events": [["w", 3, 10]], "committed": False},
    ],
]


@pytest.mark.parametrize("whole", [True, False])
def test_dbcop_json(whole: bool) -> None:
    document = (
        {"params": {"id": 0}, "info": "", "start": "", "end": "", "data": SESSIONS} if whole else SESSIONS
    )
    observed = viewed(list(dbcop.read_json(io.BytesIO(json.dumps(document).encode()), "h.json")))
    assert [each.status for each in observed.transactions][-1] is Status.ABORTED
    assert levels(judge(observed))["read atomic"] == "violated"


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("[[", "1: no JSON"),
        ("3", "1: a history is a list of sessions"),
        ('[[{"events": [["w", 1, -1]], "committed": true}]]', "numbers from 0"),
        ('[[{"events": [["w", 1, null]], "committed": true}]]', "numbers from 0"),
        ('[[{"events": []}]]', "committed is true or false"),
        ("[[]]", "there is no transaction"),
    ],
)
def test_what_is_no_dbcop_json(text: str, fact: str) -> None:
    assert fact in refusal(list(dbcop.read_json(io.BytesIO(text.encode()), "h.json")))


YAML = """
params: {id: 0}
data:
- - events:
    - {write: true, variable: 3, value: 1, success: true}
    - {write: true, variable: 4, value: 1, success: false}
    success: true
- - events:
    - {write: false, variable: 3, value: 1, success: true}
    - {write: false, variable: 4, value: 7, success: false}
    success: true
  - events: [{write: true, variable: 5, value: 1, success: false}]
    success: false
"""


@pytest.mark.parametrize("text", [YAML, YAML.split("data:\n")[1]], ids=["whole", "bare"])
def test_dbcop_yaml_and_the_success_of_each_event(text: str) -> None:
    observed = viewed(list(dbcop.read_yaml(io.BytesIO(text.encode()), "h.yaml")))
    assert [
        (each.session, each.status is Status.ABORTED, len(each.ops)) for each in observed.transactions
    ] == [
        ("0", False, 1),
        ("0 failed", True, 1),
        ("1", False, 1),
        ("1", True, 1),
    ]
    as_json = json.dumps(yaml.safe_load(text)).encode()
    assert viewed(list(dbcop.read_json(io.BytesIO(as_json), "h.yaml"))) == observed
    assert levels(judge(observed))["serializable"] == "holds"


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("- - events: [", "no YAML"),
        ("- - events: &a [*a]\n    success: true", "an event is"),
        ("params: 3", "1: a history is a list of sessions"),
        ("!!python/object:os.system {}", "no YAML"),
        ("[" * 30_000 + "]" * 30_000, "no YAML"),
        ("start: !!timestamp foo", "no YAML"),
        ("- - committed: !!bool foo", "no YAML"),
        ("- - variable: !!int ''", "no YAML"),
    ],
)
def test_what_is_no_dbcop_yaml(text: str, fact: str) -> None:
    assert fact in refusal(list(dbcop.read_yaml(io.BytesIO(text.encode()), "h.yaml")))


def test_hist() -> None:
    text = "// client one\n[x:=1 y:=1] [x==1]\n\n[y:=2]![_a:=3]\r\n  ---  \n[y==? x==1]\n-\n-\n[x==0]"
    observed = viewed(list(dbcop.read_hist(io.BytesIO(text.encode()), "h.hist")))
    assert [(each.session, each.status is Status.ABORTED) for each in observed.transactions] == [
        ("0", False),
        ("0", False),
        ("0", True),
        ("0", False),
        ("1", False),
        ("3", False),
    ]
    checked = judge(observed)
    assert levels(checked)["read atomic"] == "violated"
    assert checked.seen is not None
    assert "read skew" in [name for name, _, _ in checked.seen.anomalies]


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("[x:=1", "1: a transaction is [x:=1 y==2]"),
        ("[x:=a]", "1: an event is x:=1"),
        ("[ x:=1]", "no blanks beside its brackets"),
        ("[]", "a transaction has an event"),
        ("// nothing", "there is no transaction"),
    ],
)
def test_what_is_no_hist(text: str, fact: str) -> None:
    assert fact in refusal(list(dbcop.read_hist(io.BytesIO(text.encode()), "h.hist")))


# AWDIT


def of_awdit(text: str) -> list[Item]:
    return list(awdit.read(io.BytesIO(text.encode()), "h"))


def test_awdit() -> None:
    observed = viewed(of_awdit("w 5 0\n=====\n\nr\t5 0\n-----\nw 5 1\n-----\n=====\n====="))
    assert [(each.session, each.place) for each in observed.transactions] == [
        ("0", "session 0, line 1"),
        ("1", "session 1, line 4"),
        ("1", "session 1, line 6"),
    ]


def test_awdit_has_no_initial_version() -> None:
    checked = judge(viewed(of_awdit("w 5 1\n=====\nr 6 0")))
    assert isinstance(checked.levels[Level.PL_2], Undecided)


@pytest.mark.parametrize("text", ["w 5", "w 5 1 more", "x 5 1", ""])
def test_what_is_no_awdit_text(text: str) -> None:
    assert "KEY VALUE" in refusal(of_awdit(text)) or "no operation" in refusal(of_awdit(text))


# TimeKiller


def of_timekiller(*transactions: dict[str, object]) -> list[Item]:
    return list(timekiller.read(io.BytesIO(json.dumps(transactions).encode()), "h.json"))


def timed(
    tid: object, start: int, commit: int, *ops: dict[str, object], sid: object = 1
) -> dict[str, object]:
    stamps = {"sts": {"p": str(start), "l": 0}, "cts": {"p": commit, "l": 0}}
    return {"tid": tid, "sid": sid, **stamps, "ops": list(ops)}


def test_timestamps_give_the_version_order_and_snapshots() -> None:
    checked = judge(
        viewed(
            of_timekiller(
                timed(4, 90, 95, {"t": "w", "k": 7, "v": 3}),
                timed("b", 91, 97, {"t": "R", "k": 7, "v": None}, {"t": "W", "k": 7, "v": 4}, sid=2),
            )
        )
    )
    assert isinstance(checked.levels[Level.PL_SI], Violated)
    assert isinstance(checked.phenomena[Phenomenon.G_CURSOR], Present)
    assert checked.seen is not None
    assert checked.seen.anomalies[0][0] == "lost update"


def test_a_commit_at_the_time_of_a_start_is_before_it() -> None:
    checked = judge(
        viewed(
            of_timekiller(
                timed(1, 1, 5, {"t": "a", "k": 7, "v": 3}),
                timed(2, 5, 5, {"t": "r", "k": 7, "v": [3]}, sid=2),
                timed(3, 6, 9, {"t": "r", "k": 8}, sid=2),
            )
        )
    )
    assert isinstance(checked.levels[Level.PL_SI], Holds)
    assert isinstance(checked.levels[Level.PL_SS], Undecided)


def test_lists_that_contradict_the_timestamps_leave_the_order_open() -> None:
    checked = judge(
        viewed(
            of_timekiller(
                timed(1, 1, 5, {"t": "a", "k": 7, "v": 3}),
                timed(2, 6, 8, {"t": "a", "k": 7, "v": 4}),
                timed(3, 9, 9, {"t": "r", "k": 7, "v": [4, 3]}),
            )
        )
    )
    verdict = checked.phenomena[Phenomenon.G0]
    assert isinstance(verdict, Unknown)
    assert "another order than the commit timestamps" in verdict.reason


def test_two_writers_with_one_timestamp_leave_the_order_open() -> None:
    checked = judge(
        viewed(
            of_timekiller(
                timed(1, 1, 5, {"t": "w", "k": 7, "v": 3}), timed(2, 2, 5, {"t": "w", "k": 7, "v": 4})
            )
        )
    )
    verdict = checked.phenomena[Phenomenon.G0]
    assert isinstance(verdict, Unknown)
    assert "the same commit timestamp" in verdict.reason


@pytest.mark.parametrize(
    ("transaction", "fact"),
    [
        (timed(1, 9, 5), "is before sts"),
        ({"tid": 1, "ops": []}, "sts is"),
        (timed(1, 1, 5, {"t": "x", "k": 1}), "an operation is"),
        (timed(1, 1, 5, {"t": "w", "k": -1, "v": 1}), "k is a number from 0"),
        (timed(1, 1, 5, {"t": "w", "k": 1}), "a write has a value"),
        (timed(None, 1, 5), "tid is a number or text"),
    ],
)
def test_what_is_no_timekiller_history(transaction: dict[str, object], fact: str) -> None:
    assert fact in refusal(of_timekiller(transaction))


# All


def test_a_value_written_twice_is_refused_with_both_places() -> None:
    from dvs_model.errors import HistoryError

    observed = viewed(of_plume("w(7,1,0,5)\nw(7,1,1,6)"))
    with pytest.raises(
        HistoryError, match="1 is written twice to key 7: in session 0, line 1 and in session 1, line 2"
    ):
        judge(observed)


@pytest.mark.parametrize(
    ("name", "head", "format_"),
    [
        ("h", "w(1,2,0,3)\n", "plume"),
        ("h.txt", "r 5 0\n-----", "awdit"),
        ("h.txt", "=====\nw 5 0\n", "awdit"),
        ("h.txt", "[x:=1 y==2]", "dbcop"),
        ("h.hist", "", "dbcop"),
        ("history.bincode", "\0\1", "dbcop"),
        ("h.json", '{"params": {"id": 0}', "dbcop"),
        ("h.json", '[[{"events": []', "dbcop"),
        ("h.yaml", "", "dbcop"),
        ("h", "---\n- - events:\n    - write: true", "dbcop"),
        ("h", "params:\n  id: 0", "dbcop"),
        ("h", "\n- - events: []", "dbcop"),
        ("h.json", '[{"tid":4,"sid":1,"sts":{"p":1', "timekiller"),
        ("h.json", '[{"type":"invoke","f":"txn"', "elle"),
        ("h.json", '{"text": "w1(x1) c1"}', "jsonl"),
        ("h", '{"events": [["w", 1', "jsonl"),
        ("h.edn", "", "elle"),
        ("h", "; c\n{:type :ok", "elle"),
        ("h", "[{:type :ok", "elle"),
        ("h", "#jepsen.history.Op{:index 0", "elle"),
        ("history.txt", "0\t:invoke\t:txn\t[[", "elle"),
        ("h.txt", "w1(x1) c1 r2(x1) c2", "adya"),
        ("h", "# a comment\nw1(x1) c1", "adya"),
    ],
)
def test_formats_are_recognised(name: str, head: str, format_: str) -> None:
    assert recognised(name, head.encode()) is FORMATS[format_]


@pytest.mark.parametrize(
    ("name", "text", "fact"),
    [
        (
            "h.json",
            "[]",
            "the file holds no operations; if this is a file of another checker, name its format",
        ),
        ("h.json", "null\n", "the file holds no operations; if"),
        (
            "h.txt",
            "w( 1, 2 ,3,4 )",
            "is neither an event, .*; if this is a file of another checker",
        ),
        ("h.txt", "w 5 -1", r"with --format \(jsonl, parquet, adya, elle, plume, .*awdit, cobra\)$"),
        ("h.txt", "w1(x1) c1 r2[x1", r"as \[x1 << x2\]$"),
    ],
)
def test_a_file_that_is_not_recognised_may_be_of_another_format(name: str, text: str, fact: str) -> None:
    file = io.BufferedReader(io.BytesIO(text.encode()))
    assert re.search(fact, refusal(list(recognised(name, text.encode()).read(file, name))))


INITIAL = b'{"tid": 0, "sid": 0, "ops": [{"t": "w", "k": 7, "v": 0}]}'
READS_0 = b"""[
{"tid": 4, "sid": 1, "sts": {"p": 9, "l": 0}, "cts": {"p": 9, "l": 1}, "ops": [{"t": "w", "k": 7, "v": 3}]},
{"tid": 5, "sid": 2, "sts": {"p": 9, "l": 2}, "cts": {"p": 9, "l": 2}, "ops": [{"t": "r", "k": 7, "v": 0}]}
]"""


def test_the_initial_state_of_timekiller_is_a_transaction_before_all() -> None:
    observed = viewed(list(timekiller.read(io.BytesIO(READS_0), "h.json")))
    assert levels(judge(observed))["read committed"] == "unknown", "nobody wrote what was read"
    begun = timekiller.with_initial(observed, INITIAL, "i.json")
    checked = judge(begun)
    assert levels(checked)["snapshot isolation"] == "holds"
    # By the stamps of the database the read is stale.
    assert isinstance(checked.levels[Level.PL_SI], Violated)


@pytest.mark.parametrize(
    ("data", "fact"),
    [
        (b"[]", "i.json: the initial state is one transaction"),
        (b'{"ops": [{"t": "r", "k": 7, "v": 0}]}', "i.json: the initial state has writes alone"),
        (b"{", "no JSON"),
    ],
)
def test_what_is_no_initial_state(data: bytes, fact: str) -> None:
    observed = viewed(list(timekiller.read(io.BytesIO(READS_0), "h.json")))
    with pytest.raises(HistoryError, match=fact):
        timekiller.with_initial(observed, data, "i.json")
    with pytest.raises(HistoryError, match="--initial is for histories of TimeKiller"):
        timekiller.with_initial(viewed(of_plume("w(7,1,0,5)")), INITIAL, "i.json")


def test_timekillers_json_is_written_as_it_is_read() -> None:
    observed = viewed(list(timekiller.read(io.BytesIO(READS_0), "h.json")))
    again = viewed(list(timekiller.read(io.BytesIO(as_timekiller(observed)), "h.json")))
    assert [(t.number, t.start, t.commit, list(t.ops)) for t in again.transactions] == [
        (t.number, t.start, t.commit, list(t.ops)) for t in observed.transactions
    ]
    with pytest.raises(HistoryError, match="committed transactions with the database's timestamps"):
        as_timekiller(viewed(of_plume("w(7,1,0,5)")))


@pytest.mark.parametrize("value", [0, 7])
@pytest.mark.parametrize("form", [Form.PLUME, Form.AWDIT, Form.HIST])
def test_a_text_of_registers_holds_no_list(form: Form, value: int) -> None:
    """An append of 0 was written as a read."""
    ops = [Op(Kind.APPEND, "1", value), Op(Kind.READ_LIST, "1", (value,))]
    observed = Observed(
        "h", [Transaction(1, "0", Status.COMMITTED, ops, "line 1")], Records(aborts=True, lists=True)
    )
    with pytest.raises(HistoryError, match="no lists"):
        WRITERS[form].write(observed)
