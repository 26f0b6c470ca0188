"""Large files of Jepsen, read by the shapes of their lines, are read and refused as all others are."""

from __future__ import annotations

import io
from collections import Counter
from random import Random

import pytest

from dvs_model.columns.table import Rows
from dvs_model.formats import elle
from dvs_model.formats.edn_columns import quick
from dvs_model.formats.reader import Refused, Viewed
from tests.depth import examples

COUNT = examples(500)


def text(random: Random) -> str:
    """Returns a file: some clients and a nemesis, answers of all kinds, now and then something unusual."""
    lists = random.random() < 0.6
    values, lines, open_of = iter(range(1, 1000)), list[str](), dict[int, str]()
    state: dict[int, list[int]] = {}
    indexed, timed = random.random() < 0.7, random.random() < 0.7
    back, odd = random.random() < 0.3, random.random() < 0.4

    def line(kind: str, process: object, value: str) -> None:
        number = len(lines)
        more = f", :index {number * 2}" if indexed else ""
        more += f", :time {number * 10 - (random.randint(0, 30) if back else 0) + 50}" if timed else ""
        more += random.choice(["", ", :f :txn", ', :error "n1 3", :node "a"']) if odd else ", :f :txn"
        lines.append(f"{{:type :{kind}, :process {process}, :value {value}{more}}}")

    for _ in range(random.randint(2, 30)):
        process = random.randint(0, 3)
        if odd and random.random() < 0.1:
            lines.append(
                random.choice(["", "; a comment", '{:type :info, :process :nemesis, :value {"n1" #{2}}}'])
            )
        elif process in open_of:
            kind = random.choice(["ok", "ok", "ok", "fail", "info"])
            shown = random.choice([open_of[process], "nil"]) if kind != "ok" else open_of[process]
            line(kind, process, answered(random, shown, state))
            del open_of[process]
        else:
            open_of[process] = asked(random, lists, odd, values)
            line("invoke", process, open_of[process])
    return random.choice(["\n", "\n", "\r\n"]).join(lines) + random.choice(["", "\n"])


def asked(random: Random, lists: bool, odd: bool, values: object) -> str:
    ops = []
    for _ in range(random.randint(0, 3)):
        key: object = random.choice([3, 14, 15])
        key = random.choice([-7, '"a"', "[1 2]", 10**18]) if odd and random.random() < 0.05 else key
        word = random.choice(["append", "append", "w" if odd else "append"]) if lists else "w"
        read = random.choice(["r", "read"]) if odd else "r"
        ops.append(random.choice([f"[:{word} {key} {next(values)}]", f"[:{read} {key} nil]"]))  # type: ignore[call-overload]
    return f"[{' '.join(ops)}]"


def answered(random: Random, shown: str, state: dict[int, list[int]]) -> str:
    """Returns what a client saw, mostly what was there."""
    found = ""
    for part in shown.split(" nil]"):
        key = part.rsplit(" ", 1)[-1]
        held = state.setdefault(hash(key) % 3, [random.randint(1, 30)])
        if ":append" in shown or random.random() < 0.3:
            read = random.choice(["[]", "nil", f"[{' '.join(map(str, held))}]", "[5 6 7]"])
        else:
            read = random.choice(["nil", "7", str(held[-1])])
        found += part + f" {read}]"
    return found[: found.rfind(" ")]


def damaged(random: Random, whole: str) -> str:
    """Returns a file with one character more, less or another one."""
    at = random.randrange(len(whole))
    put = random.choice(
        ["", "[", "]", "{", "}", ",", "-", " ", "0", ":", "\n", "nil", '"', "9" * 20, "#_", ".5"]
    )
    return whole[:at] + put + whole[at + random.randint(0, 1) :]


def read(data: str, large: int, workload: str | None, patch: pytest.MonkeyPatch) -> object:
    patch.setattr(elle, "LARGE_FILE", large)
    (item,) = elle.read_edn(io.BytesIO(data.encode()), "h", workload)
    if isinstance(item, Refused):
        return str(item.error)
    assert isinstance(item, Viewed)
    seen = item.observed
    return list(seen.transactions), seen.records, seen.notes


def test_a_file_is_read_as_operation_by_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    random, met = Random(5), Counter[object]()
    for _ in range(COUNT):
        data, workload = text(random), random.choice([None, None, "list-append", "register"])
        due = read(data, len(data) + 1, workload, monkeypatch)
        assert read(data, 0, workload, monkeypatch) == due, data
        met[quick(data.encode(), "h", workload) is not None] += 1
        met["refused"] += isinstance(due, str)
        met["noted"] += isinstance(due, tuple) and bool(due[2])
    assert min(met[True], met[False], met["refused"], met["noted"]) > 15, met


def test_what_is_wrong_is_said_as_operation_by_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    random, refused = Random(6), 0
    for _ in range(COUNT):
        whole = text(random)
        data = damaged(random, whole) if whole else "x"
        due = read(data, len(data) + 1, None, monkeypatch)
        assert read(data, 0, None, monkeypatch) == due, data
        refused += isinstance(due, str)
    assert refused > COUNT // 4


@pytest.mark.parametrize(
    "value",
    [
        "[[:r true nil]]",
        "[[:r 3 4 nil]]",
        "[[:r 3 [false]]]",
        "[[:r 3 1.5]]",
        "[[:r 3 1/2]]",
        "[[:r 3 0x1f]]",
        "[[:w 3 -1]]",
        "[[:w 3 4 5]]",
        "[[:append 3 [4]]]",
        "[[:w :a1 4]]",
        "{3 4}",
        "#{3}",
        "[3 [[:w 4 5]]]",
    ],
)
def test_a_value_of_another_form_is_not_read_by_its_shape(value: str) -> None:
    lines = [f"{{:type :invoke, :process 0, :value {value}}}", f"{{:type :ok, :process 0, :value {value}}}"]
    assert quick("\n".join(lines).encode(), "h", None) is None


def test_two_numbers_where_one_belongs_are_no_map() -> None:
    lines = [f"{{:type :{kind}, :process 0, :value [], :wall 1 2}}" for kind in ("invoke", "ok")]
    assert quick("\n".join(lines).encode(), "h", None) is None


def test_an_operation_of_no_process_takes_the_way_that_says_so() -> None:
    lines = [f"{{:type :{kind}, :process 0, :value [[:w 1 1]]}}" for kind in ("invoke", "ok")]
    for process, usual in ((":nemesis", True), ("nil", False), ('"a"', False)):
        more = f"{{:type :info, :process {process}, :value [[:w 1 2]]}}"
        assert (quick("\n".join([*lines, more]).encode(), "h", None) is not None) is usual


def test_a_large_file_is_read_by_its_shapes() -> None:
    lines = [
        f"{{:type :{kind}, :process {n % 7}, :value [[:append {n} {n}] [:r {n} {shown}]]}}"
        for n in range(20_000)
        for kind, shown in (("invoke", "nil"), ("ok", f"[{n}]"))
    ]
    (item,) = elle.read_edn(io.BytesIO("\n".join(lines).encode()), "h")
    assert isinstance(item, Viewed)
    assert isinstance(item.observed.transactions, Rows)
    assert item.observed.transactions[2].place == "process 2, line 6"


def test_a_map_whose_key_is_a_vector_is_an_operation_like_others() -> None:
    lines = "".join(
        f"{{:type {kind}, :process 0, :value [[:w 1 1]], [1] 2}}\n" for kind in (":invoke", ":ok")
    )
    (item,) = elle.read_edn(io.BytesIO(lines.encode()), "h")
    assert isinstance(item, Viewed)
    assert len(item.observed.transactions) == 1
