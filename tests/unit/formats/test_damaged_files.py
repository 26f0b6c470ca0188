"""Files with bytes left out, changed or doubled: read as another history, or refused in words."""

from __future__ import annotations

import io
import json
from pathlib import Path
from random import Random

import pytest
import yaml

from dvs_model.checking.check import check
from dvs_model.clients.judge import judge
from dvs_model.errors import HistoryError
from dvs_model.formats import cobra
from dvs_model.formats.reader import Item, Parsed, Refused
from dvs_model.formats.registry import FORMATS
from tests.depth import examples
from tests.unit.formats.test_other_formats import SESSIONS, WRITER, bincode, event, record, timed, transaction

EDN = b"""{:type :invoke, :f :txn, :value [[:append 1 1] [:r 2 nil]], :process 0, :index 0, :time 10}
{:type :info, :f :kill, :value {"n1" #{"n2"}}, :process :nemesis, :index 1, :time 11}
{:type :ok, :f :txn, :value [[:append 1 1] [:r 2 nil]], :process 0, :index 2, :time 20}
#jepsen.history.Op{:index 3, :time 25, :type :invoke, :process 1, :f :txn, :value [[:append 1 2] [:r 1 nil]]}
{:type :ok, :value [[:append 1 2] [:r 1 [1 2]]], :process 1, :index 4, :time 30 :error [:a \\a "x" 3/4 1.5M]}
"""
JSON = json.dumps(
    [
        {"type": kind, "f": "txn", "process": 0, "index": at, "value": [["append", 1, 1], ["r", 2, None]]}
        for at, kind in enumerate(("invoke", "ok"))
    ]
).encode()
TIMES = json.dumps(
    [
        timed(4, 90, 95, {"t": "w", "k": 7, "v": 3}),
        timed(5, 91, 97, {"t": "r", "k": 7, "v": None}, {"t": "w", "k": 7, "v": 4}, sid=2),
    ]
).encode()
PREDICATES = b"""{:type :ok, :process 0, :f :init, :value {1 0, 2 0}}
{:type :invoke, :process 0, :f :txn, :value [[:rp [:= 0] nil] [:w 1 5] [:insert 3 1]]}
{:type :ok, :process 0, :f :txn, :value [[:rp [:= 0] {1 0, 2 0}] [:w 1 5] [:insert 3 1]]}
{:type :invoke, :process 1, :f :txn, :value [[:rp [:mod 2 1] nil] [:delete 2] [:r 3 nil]]}
{:type :ok, :process 1, :f :txn, :value [[:rp [:mod 2 1] {1 5, 3 1}] [:delete 2] [:r 3 1]]}
"""
FILES = {
    ("elle", "h.edn"): EDN,
    ("elle", "h.json"): JSON,
    ("plume", "h.txt"): b"w(7,1,0,5)\nr(7,1,3,12)\nw(7,2,3,-1)\nr(8,0,3,12)\nr(7,2,0,6)",
    ("dbcop", "h.hist"): b"// one\n[x:=1 y:=1] [x==1]\n[y:=2]!\n---\n[y==? x==1]\n",
    ("dbcop", "h.json"): json.dumps(SESSIONS).encode(),
    ("dbcop", "h.yaml"): yaml.safe_dump(SESSIONS).encode(),
    ("elle", "predicates.edn"): PREDICATES,
    ("dbcop", "h.bincode"): bincode([transaction(1, event(1, 1, 1))], [transaction(0, event(0, 1, 1))]),
    ("awdit", "h.txt"): b"w 5 0\n=====\nr 5 0\n-----\nw 5 1\nr 6 0",
    ("timekiller", "h.json"): TIMES,
}


def damaged(data: bytes, random: Random) -> bytes:
    at = random.randrange(len(data))
    until = at + random.randint(1, 12)
    match random.randrange(4):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + data[until:]
        case 2:
            return data[:until] + data[at:]
        case _:
            return data[:at] + bytes([random.randrange(256)]) + data[at + 1 :]


def judged(items: list[Item]) -> str:
    """How the items of a file end."""
    assert items
    for item in items:
        if isinstance(item, Refused):
            assert item.error.fact
            return "refused"
        if isinstance(item, Parsed):
            check(item.history)
            continue
        try:
            judge(item.observed)
        except HistoryError:
            return "refused"
    return "judged"


@pytest.mark.parametrize(("format_", "name"), FILES)
def test_a_damaged_file(format_: str, name: str) -> None:
    random, data = Random(5), FILES[format_, name]
    ends = {"judged": 0, "refused": 0}
    for _ in range(examples(400)):
        file = io.BufferedReader(io.BytesIO(damaged(data, random)))
        ends[judged(list(FORMATS[format_].read(file, name, None)))] += 1
    assert min(ends.values()) > 0, ends


def test_damaged_logs_of_cobra(tmp_path: Path) -> None:
    random = Random(7)
    reader = record("S", 6) + record("R", 5, 42, -7, 9) + record("W", 43, 8, 1) + record("C", 6)
    (tmp_path / "T1.log").write_bytes(WRITER)
    ends = {"judged": 0, "refused": 0}
    for _ in range(examples(300)):
        (tmp_path / "T2.log").write_bytes(damaged(reader, random))
        ends[judged(list(cobra.read(tmp_path, "logs")))] += 1
    assert min(ends.values()) > 0, ends
