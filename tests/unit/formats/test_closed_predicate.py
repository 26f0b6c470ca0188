"""Elle's closed-predicate workload: reads by predicates over keys that are all known."""

from __future__ import annotations

import io
import json

import pytest

from dvs_model.analysis.verdict import Present, Unknown
from dvs_model.checking.check import (
    Checked,
    Holds,
    Undecided,
    Violated,
    check,
    with_unread,
    with_unselected,
    with_windows,
)
from dvs_model.formats.elle import read_edn, read_json
from dvs_model.formats.reader import Parsed, Refused
from dvs_model.graph.reading import Predicates, Reading
from dvs_model.histories.history import PredicateRead
from dvs_model.notation import render
from dvs_model.theory.names import Level, Phenomenon

CYCLES = (Phenomenon.G0, Phenomenon.G1C, Phenomenon.G_SINGLE, Phenomenon.G2_ITEM, Phenomenon.G2)


def parsed(*operations: str, workload: str | None = None) -> Parsed:
    """Completed transactions, one a process; `init` before the value of the first one."""
    lines = []
    for process, value in enumerate(operations):
        f = ":init" if value.startswith("{") else ":txn"
        lines.append(f"{{:type :ok, :process {process}, :f {f}, :value {value}}}")
    [item] = read_edn(io.BytesIO("\n".join(lines).encode()), "h.edn", workload)
    assert isinstance(item, Parsed), item
    return item


def verdicts(item: Parsed, reading: Reading | None = None) -> Checked:
    checked = check(item.history) if reading is None else check(item.history, reading)
    if item.windows:
        checked = with_windows(checked)
    if item.unselected is not None:
        checked = with_unselected(checked, item.unselected)
    return with_unread(checked, item.unexplained, frozenset()) if item.unexplained else checked


def strongest_cycle(item: Parsed) -> list[str]:
    """The cycles of the history: the first of CYCLES that is present, as Elle names it."""
    checked = verdicts(item)
    return [p.value for p in CYCLES if isinstance(checked.phenomena[p], Present)][:1]


@pytest.mark.parametrize(
    ("operations", "cycle"),
    [
        # Each sees what the other one writes.
        (("[[:w :x 1] [:rp :true {:x 1 :y 2}]]", "[[:w :y 2] [:rp :true {:x 1 :y 2}]]"), "G1c"),
        # Each misses what the other one inserts: the version sets hold what is unborn.
        (("[[:insert :x 1] [:rp :true {:x 1}]]", "[[:insert :y 2] [:rp :true {:y 2}]]"), "G2"),
        # Each deletes a key and misses both: only the other one's delete explains that.
        (("{:x 0 :y 0}", "[[:delete :x] [:rp :true {}]]", "[[:delete :y] [:rp :true {}]]"), "G1c"),
        # A key that is not shown was changed already.
        (
            ("{:x 0 :y 0}", "[[:rp [:= 0] {:x 0}] [:w :x 1]]", "[[:rp [:= 0] {:y 0}] [:w :y 1]]"),
            "G1c",
        ),
        # Nothing matches yet for either.
        (("{:x 0 :y 0}", "[[:rp [:= 1] {}] [:w :x 1]]", "[[:rp [:= 1] {}] [:w :y 1]]"), "G2"),
        # Reads of keys alone; nothing under :x, so it is deleted.
        (
            (
                "{:x 0 :z 0}",
                "[[:r :z 3] [:delete :x]]",
                "[[:r :x nil] [:insert :y 2]]",
                "[[:r :y 2] [:w :z 3]]",
            ),
            "G1c",
        ),
        # Nothing under :z, which was there all the time.
        (("{:x 0 :z 0}", "[[:delete :x] [:insert :y 1]]", "[[:r :y 1] [:r :z nil]]"), "G-single"),
        # Every version of 5 matches, and none is shown.
        (("{5 3}", "[[:rp [:mod 2 1] {}] [:rp [:= 3] {}]]"), "G-single"),
    ],
)
def test_what_a_read_by_a_predicate_does_not_show_tells_what_it_has_selected(
    operations: tuple[str, ...], cycle: str
) -> None:
    item = parsed(*operations)
    assert item.unexplained == ""
    assert strongest_cycle(item) == [cycle]


def test_a_serial_file_keeps_serializability() -> None:
    item = parsed(
        "{1 0}",
        "[[:rp :true {1 0}] [:insert 2 5]]",
        "[[:rp [:= 5] {2 5}] [:delete 1]]",
        "[[:rp :true {2 5}]]",
    )
    assert item.unselected is None
    assert isinstance(verdicts(item).levels[Level.PL_3], Holds)


def test_what_is_inserted_again_after_a_delete_is_another_version() -> None:
    item = parsed("{1 0}", "[[:delete 1]]", "[[:insert 1 7]]", "[[:rp :true {1 7}]]")
    assert isinstance(verdicts(item).levels[Level.PL_3], Holds)
    late = parsed("{1 0}", "[[:delete 1] [:insert 2 1]]", "[[:insert 1 7]]", "[[:r 2 1] [:rp [:= 0] {1 0}]]")
    assert strongest_cycle(late) == ["G-single"]


def test_choices_that_differ_make_unknown_what_they_decide() -> None:
    # Unborn, or deleted again: a read by the predicate shows neither.
    item = parsed("{}", "[[:insert 1 5]]", "[[:delete 1]]", "[[:rp :true {}]]")
    assert item.unselected is not None
    assert item.unselected.changes
    assert "process 3, line 4" in item.unselected.reason
    levels = verdicts(item).levels
    assert isinstance(levels[Level.PL_3], Undecided)
    assert isinstance(levels[Level.PL_1], Holds)


def test_choices_that_match_alike_leave_the_cycles_decided() -> None:
    item = parsed("{1 0}", "[[:w 1 2]]", "[[:rp [:= 9] {}]]")
    assert item.unselected is not None
    assert not item.unselected.changes
    checked = verdicts(item)
    assert isinstance(checked.levels[Level.PL_3], Holds)
    assert isinstance(checked.phenomena[Phenomenon.G1_PREDB], Unknown)
    thesis = verdicts(item, Reading(predicates=Predicates.THESIS))
    assert isinstance(thesis.levels[Level.PL_3], Undecided)


def test_the_version_that_stands_for_several_is_one_that_was_installed() -> None:
    # 2 is replaced by its own writer; 3 and 4 do not match either.
    item = parsed("{1 9}", "[[:w 1 2] [:w 1 3]]", "[[:w 1 4]]", "[[:rp [:= 9] {}]]")
    [read] = [event for event in item.history.events if isinstance(event, PredicateRead)]
    assert [version.number for version in read.versions] == [2]


def test_an_unanswered_transaction_counts_if_a_read_shows_it() -> None:
    operations = (
        "{:type :ok, :process 0, :f :init, :value {1 0}}",
        "{:type :info, :process 1, :f :txn, :value [[:w 1 5]]}",
        "{:type :info, :process 2, :f :txn, :value [[:insert 2 6]]}",
        "{:type :fail, :process 3, :f :txn, :value [[:insert 3 7]]}",
        "{:type :ok, :process 4, :f :txn, :value [[:r 1 5] [:r 3 7]]}",
    )
    [item] = read_edn(io.BytesIO("\n".join(operations).encode()), "h.edn")
    assert isinstance(item, Parsed)
    assert "c1" in render(item.history).split()
    assert "a3" in render(item.history).split()
    assert "k2" not in item.history.orders
    assert isinstance(verdicts(item).phenomena[Phenomenon.G1A], Present)


def of_kinds(*operations: str) -> Parsed:
    """Completed operations, each with its kind before the value."""
    lines = []
    for process, operation in enumerate(operations):
        kind, value = operation.split(" ", 1)
        f = ":init" if value.startswith("{") else ":txn"
        lines.append(f"{{:type :{kind}, :process {process}, :f {f}, :value {value}}}")
    [item] = read_edn(io.BytesIO("\n".join(lines).encode()), "h.edn")
    assert isinstance(item, Parsed), item
    return item


@pytest.mark.parametrize(
    "operations",
    [
        # Either delete explains the first read: with the one without an answer, all is serial.
        (
            "ok {:a 1 :c 0}",
            "info [[:delete :a]]",
            "ok [[:rp :true {:c 0}] [:w :c 2]]",
            "ok [[:r :c 2] [:delete :a]]",
        ),
        # Each of two without an answer explains the read, and each makes the other reader wrong.
        (
            "ok {:x 1}",
            "info [[:delete :x]]",
            "info [[:w :x 4]]",
            "ok [[:rp [:= 1] {}] [:w :y 9]]",
            "ok [[:r :y 9] [:r :x 1]]",
        ),
        # A write without an answer may come after one that was answered later.
        ("ok {:x 0 :y 0}", "info [[:w :x 5]]", "ok [[:w :x 6] [:w :y 1]]", "ok [[:r :x 5] [:r :y 1]]"),
        # Only the delete that failed explains the read.
        ("ok {:x 1}", "fail [[:delete :x]]", "ok [[:rp :true {}]]"),
        ("ok {:x 1}", "fail [[:delete :x]]", "ok [[:r :x nil]]"),
    ],
)
def test_what_transactions_without_an_answer_may_have_done_is_open(operations: tuple[str, ...]) -> None:
    levels = verdicts(of_kinds(*operations)).levels
    assert isinstance(levels[Level.PL_3], Undecided)


def test_who_wrote_only_what_was_replaced_is_not_taken_to_have_committed() -> None:
    item = of_kinds(
        "ok {:x 1}",
        "info [[:w :x 2] [:w :x 1000]]",
        "ok [[:w :x 4] [:w :x 1001]]",
        "ok [[:rp [:mod 2 1] {}]]",
    )
    assert "c1" not in render(item.history).split()


def test_a_key_of_nil_is_not_there() -> None:
    for operations in (
        ("ok {1 nil}", "ok [[:r 1 nil]]"),
        ("ok {:x 0}", "ok [[:w :x nil]]", "ok [[:r :x nil]]"),
    ):
        assert isinstance(verdicts(of_kinds(*operations)).levels[Level.PL_3], Holds)


def test_the_writes_of_a_failed_transaction_may_stand_in_its_completion() -> None:
    lines = (
        "{:type :ok, :process 0, :f :init, :value {:x 0}}",
        "{:type :invoke, :process 1, :f :txn, :value nil}",
        "{:type :fail, :process 1, :f :txn, :value [[:w :x 5]]}",
        "{:type :invoke, :process 2, :f :txn, :value [[:r :x nil]]}",
        "{:type :ok, :process 2, :f :txn, :value [[:r :x 5]]}",
    )
    [item] = read_edn(io.BytesIO("\n".join(lines[1:]).encode()), "h.edn", "closed-predicate")
    assert isinstance(item, Parsed)
    assert isinstance(verdicts(item).phenomena[Phenomenon.G1A], Present)


def test_where_times_go_back_there_is_no_real_time() -> None:
    lines = (
        "{:type :invoke, :process 1, :value [[:insert :x 5]], :time 200}",
        "{:type :ok, :process 1, :value [[:insert :x 5]], :time 300}",
        "{:type :invoke, :process 2, :value [[:r :x nil]], :time 100}",
        "{:type :ok, :process 2, :value [[:r :x nil]], :time 250}",
    )
    [item] = read_edn(io.BytesIO("\n".join(lines).encode()), "h.edn")
    assert isinstance(item, Parsed)
    assert not item.windows
    assert not isinstance(verdicts(item).levels[Level.PL_SS], Violated)


def test_real_time_is_completed_before_invoked() -> None:
    lines = (
        "{:type :invoke, :process 0, :f :init, :value {1 0}}",
        "{:type :ok, :process 0, :f :init, :value {1 0}}",
        "{:type :invoke, :process 0, :value [[:w 1 1]]}",
        "{:type :invoke, :process 1, :value [[:w 2 2]]}",
        "{:type :ok, :process 0, :value [[:w 1 1]]}",
        "{:type :ok, :process 1, :value [[:w 2 2]]}",
        "{:type :invoke, :process 0, :value [[:w 1 3]]}",
        "{:type :ok, :process 0, :value [[:w 1 3]]}",
        "{:type :invoke, :process 1, :value [[:rp [:= 1] nil]]}",
        "{:type :ok, :process 1, :value [[:rp [:= 1] {1 1}]]}",
    )
    [item] = read_edn(io.BytesIO("\n".join(lines).encode()), "h.edn")
    assert isinstance(item, Parsed)
    assert item.windows
    levels = verdicts(item).levels
    assert isinstance(levels[Level.PL_SI], Undecided)
    assert isinstance(levels[Level.PL_3], Holds)
    assert isinstance(levels[Level.PL_SS], Violated)
    assert dict(item.history.sessions) == {"0": (1, 3), "1": (2, 4)}


@pytest.mark.parametrize(
    ("operations", "reason"),
    [
        (("{1 0}", "[[:r 1 9] [:rp :true {1 0}]]"), "reads 9 under key 1, which nobody wrote"),
        (
            ("{1 0}", "[[:w 1 2] [:rp :true {1 0}]]"),
            "does not see its own write of key 1, or sees it too early",
        ),
        (("{1 0}", "[[:r 1 5] [:w 1 5]]"), "does not see its own write of key 1, or sees it too early"),
        (("{1 0}", "[[:rp [:= 7] {1 0}]]"), "shows 0 for is_7, which does not match it"),
        (("{1 0}", "[[:w 1 2] [:rp :true {}]]"), "does not find its own write of key 1 by all"),
    ],
)
def test_a_read_that_no_order_explains_leaves_what_depends_on_reads_unknown(
    operations: tuple[str, ...], reason: str
) -> None:
    item = parsed(*operations)
    assert item.unexplained.endswith(reason)
    levels = verdicts(item).levels
    # A dirty read may be behind it, so PL-2 is open as well.
    assert isinstance(levels[Level.PL_2], Undecided)
    assert isinstance(levels[Level.PL_3], Undecided)


@pytest.mark.parametrize(
    ("operations", "fact"),
    [
        (("{1 0}", "[[:w 1 5]]", "[[:w 1 5]]"), "3: key 1 gets the value 5 here and in process 1, line 2"),
        (("{1 5}", "[[:w 1 5]]"), "2: key 1 gets the value 5 here and in :init"),
        (("[[:insert 1 5]]", "{1 0}"), "2: operation :init comes once"),
        (("{1 0}", "[[:rp [:< 3] {}]]"), "2: a predicate is :true, [:= c] or [:mod m r], not [:< 3]"),
        (("{1 0}", "[[:append 1 2]]"), "2: a micro-operation is [:insert k v]"),
        (("{1 0}", "[[:rp :true 5]]"), "2: what keys hold is a map such as {1 2}, not 5"),
        (("{1 0}", "7"), "2: a transaction is a vector such as [[:w 1 2]], not 7"),
    ],
)
def test_what_is_not_of_the_workload_is_refused(operations: tuple[str, ...], fact: str) -> None:
    with pytest.raises(AssertionError, match="Refused") as caught:
        parsed(*operations)
    refused = caught.value.args[0]
    assert fact in f"{refused}" or fact.split(": ", 1)[1] in f"{refused}"


def test_json_of_elle_cli_is_read_alike() -> None:
    operations = [
        {"type": "ok", "process": 0, "f": "init", "value": {"1": 0, "x": 0, "y": "b"}},
        {
            "type": "ok",
            "process": 1,
            "f": "txn",
            "value": [["rp", "true", {"1": 0, "x": 0, "y": "b"}], ["r", "y", "b"], ["w", 1, 5]],
        },
        {"type": "ok", "process": 2, "f": "txn", "value": [["rp", ["=", 5], {"1": 5}], ["delete", "x"]]},
    ]
    [item] = read_json(io.BytesIO(json.dumps(operations).encode()), "h.json")
    assert isinstance(item, Parsed)
    assert not item.unexplained
    assert item.unselected is None
    assert isinstance(verdicts(item).levels[Level.PL_3], Holds)


def test_the_workload_can_be_named() -> None:
    item = parsed("[[:w 1 5]]", "[[:r 1 5]]", workload="closed-predicate")
    assert isinstance(verdicts(item).levels[Level.PL_3], Holds)


def test_a_file_that_is_empty_of_transactions_is_refused() -> None:
    [item] = read_edn(io.BytesIO(b"{:type :fail, :process 0, :f :init, :value {1 0}}"), "h.edn")
    assert isinstance(item, Refused)
    assert "ends with :fail" in item.error.fact
