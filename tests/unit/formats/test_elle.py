"""Histories of Jepsen and Elle."""

from __future__ import annotations

import io
import json

import pytest

from dvs_model.analysis.verdict import Present, Unknown
from dvs_model.checking.check import Checked, Holds, Undecided, Violated
from dvs_model.clients.judge import judge
from dvs_model.errors import RequestError
from dvs_model.formats.elle import read_edn, read_json
from dvs_model.formats.reader import Refused, Viewed
from dvs_model.judging.options import CheckOptions
from dvs_model.observed.seen import Kind, Observed, Status
from dvs_model.theory.names import Level, Phenomenon


def read(text: str, workload: str | None = None) -> Observed:
    [item] = list(read_edn(io.BytesIO(text.encode()), "h.edn", workload))
    assert isinstance(item, Viewed), item
    return item.observed


def refused(text: str) -> str:
    [item] = list(read_edn(io.BytesIO(text.encode()), "h.edn"))
    assert isinstance(item, Refused), item
    return f"{item.error.line}: {item.error.fact}"


def ops(*pairs: str) -> str:
    """Operations one a line, from `process type value`."""
    lines = []
    for index, pair in enumerate(pairs):
        process, kind, value = pair.split(" ", 2)
        lines.append(f"{{:type :{kind}, :process {process}, :value {value}, :index {index}, :time {index}}}")
    return "\n".join(lines)


def names(checked: Checked) -> list[str]:
    assert checked.seen is not None
    return [name for name, _, _ in checked.seen.anomalies]


def test_operations_are_paired_by_process_and_the_nemesis_is_left_out() -> None:
    observed = read(
        """{:type :invoke, :f :txn, :value [[:append 1 1]], :process 0, :index 0, :time 10}
{:type :info, :f :kill, :value {"n1" #{"n2"}}, :process :nemesis, :index 1, :time 11}
{:type :invoke, :f :txn, :value [[:r 1 nil]], :process 1, :index 5, :time 12}
{:type :ok, :f :txn, :value [[:append 1 1]], :process 0, :index 6, :time 13}
{:type :ok, :f :txn, :value [[:r 1 [1]]], :process 1, :index 7, :time 14}"""
    )
    first, second = observed.transactions
    assert (first.session, first.place, first.window) == ("0", "process 0, line 4", (0, 6))
    assert second.ops == [(Kind.READ_LIST, "1", (1,), None)]
    assert observed.records.real_time


@pytest.mark.parametrize(
    ("process", "named"),
    [(":process nil,", "nil"), ("", "missing"), (':process "a",', '"a"'), (":process 1.5,", "1.5")],
)
@pytest.mark.parametrize(("write", "shown"), [(":w", "2"), (":append", "[1 2]")])
def test_operations_of_a_process_without_a_number_leave_open_what_they_may_decide(
    process: str, named: str, write: str, shown: str
) -> None:
    observed = read(
        f"""{{:type :invoke, :process 0, :value [[{write} 1 1]]}}
{{:type :ok, :process 0, :value [[{write} 1 1]]}}
{{:type :invoke, {process} :value [[{write} 1 2]]}}
{{:type :ok, {process} :value [[{write} 1 2]]}}
{{:type :invoke, :process 1, :value [[:r 1 nil]]}}
{{:type :ok, :process 1, :value [[:r 1 {shown}]]}}"""
    )
    assert observed.notes == [
        f"operations are left out, because :process is a number for each client: 2 of {named}"
    ]
    checked = CheckOptions().judge(Viewed(observed, 1))
    assert {type(verdict) for verdict in checked.levels.values()} == {Undecided}
    assert checked.seen is not None
    assert {answer for answer, _ in checked.seen.client.values()} == {"unknown"}
    assert not any("--complete" in note for note in checked.seen.notes)
    with pytest.raises(RequestError, match=r"--complete: of .*, operations of processes"):
        CheckOptions(complete=True).apply_to(Viewed(observed, 1))


def test_an_operation_of_no_process_may_be_on_an_independent_key() -> None:
    text = "{:type :ok, :process 0, :value [7 [[:w 1 1]]]}\n{:type :ok, :process nil, :value [7 [[:w 1 2]]]}"
    assert len(read(text).notes) == 1


def test_reads_by_predicates_need_the_operations_of_all_processes() -> None:
    init = "{:type :ok, :process 0, :f :init, :value {1 0}}"
    assert refused(f"{init}\n{{:type :ok, :process nil, :value [[:w 1 5]]}}").startswith(
        "2: operations are left"
    )


@pytest.mark.parametrize("layout", ["[{a}\n{b}]", "({a} {b})", "{a}{b}", "\n{a}\n\n;c\n{b}"])
def test_layouts_of_one_history(layout: str) -> None:
    a = "{:type :invoke, :process 0\n :value [[:w 1 2]]}"
    b = "{:type :ok, :process 0, :value [[:w 1 2]]}"
    assert read(layout.format(a=a, b=b)).transactions[0].status is Status.COMMITTED


def test_blanks_inside_brackets_and_records_and_long_names() -> None:
    observed = read(
        "{:type :invoke :process 1 :value [ [ :append 4 1 ] [:read 5 nil] ] :index 1}\n"
        "#jepsen.history.Op{:index 2, :type :ok, :process 1, :value [ [ :append 4 1 ] [:read 5 [] ] ]}"
    )
    assert [op.kind for op in observed.transactions[0].ops] == [Kind.APPEND, Kind.READ_LIST]


def test_failed_and_unanswered_transactions() -> None:
    observed = read(
        ops(
            "0 invoke [[:append 1 1]]",
            "0 fail [[:append 1 1]]",
            "1 invoke [[:append 1 2] [:r 1 nil]]",
            "1 info :timeout",
            "2 invoke [[:append 1 3]]",
        )
    )
    assert [each.status for each in observed.transactions] == [Status.ABORTED, Status.UNKNOWN, Status.UNKNOWN]
    # What it read is not known.
    assert observed.transactions[1].ops == [(Kind.APPEND, "1", 2, None)]


@pytest.mark.parametrize(("count", "words"), [(1, "1 transaction got"), (2, "2 transactions got")])
def test_a_note_counts_what_got_no_answer(count: int, words: str) -> None:
    lines = [each for n in range(count) for each in (f"{n} invoke [[:append {n} 1]]", f"{n} info nil")]
    checked = judge(read(ops(*lines, "7 invoke [[:append 7 1]]", "7 ok [[:append 7 1]]")))
    assert checked.seen is not None
    assert any(note.startswith(f"{words} no answer") for note in checked.seen.notes)


@pytest.mark.parametrize(("count", "words"), [(1, "1 key ends in"), (2, "2 keys end in")])
def test_a_note_counts_keys_with_appends_that_no_read_shows(count: int, words: str) -> None:
    lines = [f"{n} {kind} [[:append {n % count} {n}]]" for n in range(2 * count) for kind in ("invoke", "ok")]
    checked = judge(read(ops(*lines)))
    assert checked.seen is not None
    assert any(note.startswith(words) for note in checked.seen.notes)


def test_an_unanswered_transaction_that_was_read_has_committed() -> None:
    checked = judge(
        read(ops("0 invoke [[:append 1 1]]", "0 info nil", "1 invoke [[:r 1 nil]]", "1 ok [[:r 1 [1]]]"))
    )
    assert isinstance(checked.levels[Level.PL_3], Holds)
    assert isinstance(checked.phenomena[Phenomenon.G1A], type(checked.phenomena[Phenomenon.G1B]))


def test_a_read_of_a_failed_append_is_an_aborted_read() -> None:
    checked = judge(
        read(ops("0 invoke [[:append 1 1]]", "0 fail nil", "1 invoke [[:r 1 nil]]", "1 ok [[:r 1 [1]]]"))
    )
    assert isinstance(checked.phenomena[Phenomenon.G1A], Present)
    assert names(checked) == ["aborted read"]
    assert isinstance(checked.levels[Level.PL_2], Violated)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("[[:append 1 5] [:r 1 [4]]]", "internal"),
        ("[[:r 1 [5]] [:append 1 5]]", "future read"),
        ("[[:r 1 []] [:r 1 [9]]]", "non-repeatable read"),
        ("[[:r 1 [9 9]]]", "duplicate elements"),
        ("[[:r 1 [8]]]", "unwritten value read"),
    ],
)
def test_what_one_transaction_shows(value: str, name: str) -> None:
    checked = judge(
        read(ops("0 invoke [[:append 1 9]]", "0 ok [[:append 1 9]]", f"1 invoke {value}", f"1 ok {value}"))
    )
    assert name in names(checked)
    assert not isinstance(checked.levels[Level.PL_3], Holds)


def test_reads_that_contradict_each_other() -> None:
    checked = judge(
        read(
            ops(
                "0 invoke [[:append 1 1] [:append 1 2]]",
                "0 ok [[:append 1 1] [:append 1 2]]",
                "1 invoke [[:r 1 nil]]",
                "1 ok [[:r 1 [1 2]]]",
                "2 invoke [[:r 1 nil]]",
                "2 ok [[:r 1 [2]]]",
            )
        )
    )
    assert "incompatible orders" in names(checked)
    assert isinstance(checked.levels[Level.PL_1], Violated)


def test_a_stale_read_violates_strict_serializability_only() -> None:
    checked = judge(
        read(
            ops(
                "0 invoke [[:append 1 1]]",
                "0 ok [[:append 1 1]]",
                "1 invoke [[:r 1 nil]]",
                "1 ok [[:r 1 []]]",
            )
        )
    )
    assert isinstance(checked.levels[Level.PL_3], Holds)
    assert isinstance(checked.levels[Level.PL_SS], Violated)
    assert isinstance(checked.levels[Level.PL_SI], Undecided)


def test_times_that_go_back_make_real_time_what_both_orders_say() -> None:
    text = """{:type :invoke, :process 0, :value [[:append 1 1]], :time 100}
{:type :ok, :process 0, :value [[:append 1 1]], :time 200}
{:type :invoke, :process 1, :value [[:r 1 nil]], :time 150}
{:type :ok, :process 1, :value [[:r 1 []]], :time 250}"""
    checked = judge(read(text))
    assert isinstance(checked.levels[Level.PL_SS], Holds)
    assert checked.seen is not None
    assert any(":time goes back 1 times" in note for note in checked.seen.notes)


def test_transactions_that_overlap_by_their_times_have_no_order() -> None:
    text = """{:type :invoke, :process 0, :value [[:append 1 1]], :time 100}
{:type :ok, :process 0, :value [[:append 1 1]], :time 200}
{:type :invoke, :process 1, :value [[:r 1 nil]], :time 150}
{:type :ok, :process 1, :value [[:r 1 []]], :time 250}"""
    seen = judge(read(text), wanted=("strict serializable",)).seen
    assert seen is not None
    assert seen.client["strict serializable"][0] == "holds"


def test_appends_whose_every_order_closes_a_cycle_leave_weak_levels_open() -> None:
    """In the order 1, 2 the transactions are G1c, in the other one G-single: PL-2 holds in one of them."""
    first, second = "[[:r :x []] [:append :y 1] [:r :x [3]]]", "[[:append :y 2] [:append :x 3]]"
    lines = [f"{{:type :ok, :process {n}, :value {value}}}" for n, value in enumerate((first, second))]
    levels = judge(read("\n".join(lines))).levels
    assert isinstance(levels[Level.PL_1], Holds)
    assert isinstance(levels[Level.PL_2], Undecided)
    assert isinstance(levels[Level.PL_2_PLUS], Violated)
    lines.append("{:type :ok, :process 2, :value [[:r :y [1 2]]]}")
    assert isinstance(judge(read("\n".join(lines))).levels[Level.PL_2], Violated)


def test_what_no_order_of_registers_explains_is_violated() -> None:
    writes = ("0 invoke [[:w 1 1]]", "0 ok [[:w 1 1]]", "1 invoke [[:w 1 2]]", "1 ok [[:w 1 2]]")
    twice = judge(read(ops(*writes, "2 invoke [[:r 1 nil] [:r 1 nil]]", "2 ok [[:r 1 1] [:r 1 2]]")))
    for level in (Level.PL_2_PLUS, Level.PL_SI, Level.PL_2_99, Level.PL_3):
        assert isinstance(twice.levels[level], Violated), level
    for level in (Level.PL_1, Level.PL_2, Level.PL_CS):
        assert not isinstance(twice.levels[level], Violated), level
    stale = judge(read(ops(*writes, "2 invoke [[:r 1 nil]]", "2 ok [[:r 1 1]]")))
    assert isinstance(stale.levels[Level.PL_SS], Violated)
    assert not isinstance(stale.levels[Level.PL_3], Violated)


def test_without_processes_sessions_and_real_time_are_unknown() -> None:
    checked = judge(read("{:type :ok, :value [[:append 1 1]]}\n{:type :ok, :value [[:r 1 [1]]]}"))
    assert isinstance(checked.levels[Level.PL_3], Holds)
    for phenomenon in (Phenomenon.G1C_SESSION, Phenomenon.G2_REALTIME):
        assert isinstance(checked.phenomena[phenomenon], Unknown)


def test_independent_keys_are_histories_of_their_own() -> None:
    text = ops(
        "0 invoke [7 [[:w 1 1]]]", "0 ok [7 [[:w 1 1]]]", "1 invoke [8 [[:w 1 1]]]", "1 ok [8 [[:w 1 1]]]"
    )
    items = list(read_edn(io.BytesIO(text.encode()), "h"))
    assert [item.observed.name for item in items if isinstance(item, Viewed)] == ["h key 7", "h key 8"]


def test_history_txt() -> None:
    observed = read(
        "0\t:invoke\t:txn\t[[:w 1 2]]\n:nemesis\t:info\t:kill\tnil\n0\t:ok\t:txn\t[[:w 1 2]]\t:x y"
    )
    assert [each.status for each in observed.transactions] == [Status.COMMITTED]


def test_json_of_elle_cli() -> None:
    value = [
        {
            "type": "invoke",
            "f": "txn",
            "process": 0,
            "index": 0,
            "value": [["append", "a", 1], ["r", "b", None]],
        },
        {"type": "ok", "f": "txn", "process": 0, "index": 1, "value": [["append", "a", 1], ["r", "b", None]]},
        {"type": "info", "f": "start", "process": "nemesis", "index": 2, "value": "x"},
    ]
    [item] = list(read_json(io.BytesIO(json.dumps(value).encode()), "h"))
    assert isinstance(item, Viewed)
    assert [(op.kind, op.key) for op in item.observed.transactions[0].ops] == [
        (Kind.APPEND, '"a"'),
        (Kind.READ_LIST, '"b"'),
    ]


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("", "1: an empty file"),
        ("JEPSEN\0\0", "1: a binary file of Jepsen"),
        ("{:type :ok, :value [[:w 1 2]]", "1: '{' is not closed"),
        ("[1 2]", "1: an operation is a map"),
        ("{:type :done}", "1: :type is :invoke, :ok, :fail or :info, not :done"),
        (ops("0 ok [[:w 1 2]]", "0 invoke [[:w 1 3]]"), "1: process 0 ends what it has not invoked"),
        (ops("0 invoke [[:w 1 2]]", "0 invoke [[:w 1 3]]"), "2: process 0 invokes again before line 1"),
        (
            "{:type :invoke, :process 0, :value [[:w 1 2]], :index 3}\n{:type :ok, :process 0}",
            "2: an operation without",
        ),
        (
            "{:type :invoke, :process 0, :value [[:w 1 2]], :index 3}\n"
            "{:type :ok, :process 0, :value [[:w 1 2]], :index 2}",
            "2: :index 2 comes after 3",
        ),
        (
            ops("0 invoke [[:w 1]]", "0 ok [[:w 1]]"),
            "2: a write has a key and a value, as in [:w 1 1]; [:w 1] has none",
        ),
        (ops("0 invoke {:from 1}", "0 ok {:from 1}"), "is no transaction"),
        (
            ops("0 invoke [[:w 1 2]]", "0 ok [[:w 1 2]]", "0 invoke [[:append 1 3]]", "0 ok [[:append 1 3]]"),
            "key 1 holds a list here and a single value in line 2",
        ),
    ],
)
def test_what_is_no_history_is_refused(text: str, fact: str) -> None:
    assert fact in refused(text)


def test_a_workload_that_is_not_that_of_the_file_is_refused() -> None:
    for text, workload in (
        (ops("0 invoke [[:append 1 1]]", "0 ok [[:append 1 1]]"), "register"),
        (ops("0 invoke [[:w 1 1]]", "0 ok [[:w 1 1]]"), "list-append"),
    ):
        [item] = list(read_edn(io.BytesIO(text.encode()), "h", workload))
        assert isinstance(item, Refused)
        assert f"--workload {workload}" in item.error.fact


def test_a_read_of_what_was_replaced_in_its_own_transaction() -> None:
    writes = "[[:append 1 1] [:append 1 2]]"
    checked = judge(
        read(ops(f"0 invoke {writes}", f"0 ok {writes}", "1 invoke [[:r 1 nil]]", "1 ok [[:r 1 [1]]]"))
    )
    assert isinstance(checked.phenomena[Phenomenon.G1B], Present)
    assert names(checked) == ["intermediate read"]


def test_appends_that_no_read_shows_come_after_the_longest_list() -> None:
    """2 and 3 come after 1 in an order that nobody saw; T2 wrote before T1, which has read from T2."""
    checked = judge(
        read(
            ops(
                "0 invoke [[:append 1 1] [:r 2 nil]]",
                "1 invoke [[:append 1 2] [:append 2 5]]",
                "1 ok [[:append 1 2] [:append 2 5]]",
                "0 ok [[:append 1 1] [:r 2 [5]]]",
                "2 invoke [[:r 1 nil]]",
                "2 ok [[:r 1 [1]]]",
                "3 invoke [[:append 1 3]]",
                "3 ok [[:append 1 3]]",
            )
        )
    )
    assert isinstance(checked.phenomena[Phenomenon.G1C], Present)
    assert checked.seen is not None
    assert any("ends in several appends that no read shows" in note for note in checked.seen.notes)
