"""Histories written to Parquet and read again: nothing is lost."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dvs_model.formats import dbcop, elle, jsonl, plume, table, timekiller
from dvs_model.formats.reader import Item, Parsed, Refused, Viewed
from dvs_model.formats.registry import FORMATS, recognised
from dvs_model.observed.seen import Kind, Observed, Op, Records, Status, Transaction

APPENDS = """{:type :invoke, :process 0, :value [[:append 1 1] [:r 2 nil]], :time 5}
{:type :ok, :process 0, :value [[:append 1 1] [:r 2 []]], :time 9}
{:type :invoke, :process 1, :value [[:r 1 nil]], :time 7}
{:type :info, :process 1, :value [[:r 1 nil]], :time 8}
{:type :invoke, :process 3, :value [[:append 3 3] [:append 3 "3"] [:append 3 true] [:append 3 :k] [:r 4 nil]]}
{:type :ok, :process 3, :value [[:append 3 3] [:append 3 "3"] [:append 3 true] [:append 3 :k] [:r 4
[nil 12345678901234567890]]]}
{:type :invoke, :process 2, :value []}
{:type :ok, :process 2, :value []}
"""
STAMPED = """[
{"tid": 4, "sid": "a", "sts": {"p": 1, "l": 0}, "cts": {"p": 2, "l": 1},
 "ops": [{"t": "w", "k": 7, "v": 3}]},
{"tid": 5, "sid": "b", "sts": {"p": 3, "l": 0}, "cts": {"p": 3, "l": 0},
 "ops": [{"t": "r", "k": 7, "v": null}]}]"""
TEXT = "w1(x1, 3) r2(P: x1; x1) w2(x2) d3(y3 | x1) c1 c2 c3 [x1 << x2] [session a: 1, 3]"
NOTATION = f"""{{"name": "first", "text": "{TEXT}"}}
{{"name": "first", "text": "s1 w1(x1) a1"}}
"""
HIST = b"[x:=1 y:=1] [x==1]\n[y:=2]!\n---\n[y==? x==1]\n"


def read_again(items: list[Item], path: Path) -> list[Item]:
    table.write_parquet(path, (item for item in items if not isinstance(item, Refused)))
    with path.open("rb") as file:
        return list(recognised(path.name, b"").read(file, str(path), None))


def sources() -> Iterator[tuple[str, list[Item]]]:
    yield "elle", list(elle.read_edn(io.BytesIO(APPENDS.encode()), "h.edn"))
    yield "timekiller", list(timekiller.read(io.BytesIO(STAMPED.encode()), "h.json"))
    yield "plume", list(plume.read(io.BytesIO(b"w(7,1,0,5)\nr(7,1,3,12)\nw(7,2,3,-1)"), "h.txt"))
    yield (
        "dbcop",
        list(dbcop.read_hist(io.BytesIO(HIST), "h.hist")),
    )
    wrote = Transaction(1, "a", Status.COMMITTED, [Op(Kind.WRITE, "x", 7, (0, 40))], "a.log byte 0")
    ops = [Op(Kind.READ, "x", 7, (1, 40)), Op(Kind.READ, "y", None)]
    read = Transaction(2, "b", Status.COMMITTED, ops, "b.log byte 0")
    nothing = Transaction(3, "b", Status.ABORTED, [], "b.log byte 90")
    observed = Observed("logs", [wrote, read, nothing], Records(aborts=True), [], [(1, 2)])
    yield "cobra", [Viewed(observed, 1)]
    yield "notation", list(jsonl.read(io.BytesIO(NOTATION.encode()), "h.jsonl"))


@pytest.mark.parametrize(("name", "items"), list(sources()))
def test_nothing_is_lost(name: str, items: list[Item], tmp_path: Path) -> None:
    again = read_again(items, tmp_path / "h.parquet")
    assert_same(items, again)


def assert_same(items: list[Item], again: list[Item]) -> None:
    assert len(again) == len(items) > 0
    for one, other in zip(items, again, strict=True):
        assert not isinstance(one, Refused), one
        match one, other:
            case Viewed(), Viewed():
                assert other.observed == one.observed
            case Parsed(), Parsed():
                assert (other.history, other.unread) == (one.history, one.unread)
            case _:
                raise AssertionError(other)


def test_two_files_are_one_table(tmp_path: Path) -> None:
    items = [item for _, each in sources() for item in each]
    assert_same(items, read_again(items, tmp_path / "all.parquet"))


def test_a_table_of_nothing_holds_nothing(tmp_path: Path) -> None:
    assert read_again([], tmp_path / "none.parquet") == []


def test_other_tables_are_no_histories(tmp_path: Path) -> None:
    path = tmp_path / "other.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    for data, fact in (
        (
            path.read_bytes(),
            "no table of operations: it has no column transaction; its columns are a",
        ),
        (path.read_bytes()[:-9], "no Parquet that can be read"),
        (b"", "no Parquet that can be read"),
    ):
        (item,) = FORMATS["parquet"].read(io.BytesIO(data), "x", None)
        assert isinstance(item, Refused)
        assert fact in item.error.fact


@pytest.mark.parametrize("about", ["[]", "5", '{"first": []}', "{"])
def test_metadata_that_is_none_of_ours_is_refused(about: str, tmp_path: Path) -> None:
    file = tmp_path / "h.parquet"
    rows = pa.table({"history": pa.array([], pa.string())})
    pq.write_table(rows.replace_schema_metadata({table.ABOUT: about}), file)
    (item,) = table.read(io.BytesIO(file.read_bytes()), "h.parquet")
    assert isinstance(item, Refused)
