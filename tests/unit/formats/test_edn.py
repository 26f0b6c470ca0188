"""EDN as Clojure writes it."""

from __future__ import annotations

import math

import pytest

from dvs_model.errors import HistoryError
from dvs_model.formats.edn import SIMPLE, Members, Pairs, Tagged, forms, shown, simple_lines
from dvs_model.observed.values import Symbol, Text


def one(text: str) -> object:
    [(form, _)] = list(forms(text))
    return form


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("nil", None),
        ("true", True),
        ("-12", -12),
        ("7N", 7),
        ("0x1f", 31),
        ("1.5e3", 1500.0),
        ("2.50M", 2.5),
        ("3/4", Symbol("3/4")),
        ('"a \\"b\\" \\n \\u00e9"', Text('a "b" \n é')),
        ('"two\nlines"', Text("two\nlines")),
        ("\\a", Symbol("\\a")),
        ("\\newline", Symbol("\\newline")),
        ("\\u00e9", Symbol("\\u00e9")),
        (":a.b/c-d?", ":a.b/c-d?"),
        ("jepsen.core/x*", Symbol("jepsen.core/x*")),
        ("[1, 2,,3]", [1, 2, 3]),
        ("(1 [2 ()])", [1, [2, []]]),
        ("#{1 :a}", Members([1, ":a"])),
        ('{:a 1, "b" [2] [1 2] {}}', Pairs([(":a", 1), (Text("b"), [2]), ([1, 2], Pairs())])),
        ("#:ns{:a 1 :b/c 2}", Pairs([(":ns/a", 1), (":b/c", 2)])),
        ('#inst "2020-01-01"', Tagged("inst", Text("2020-01-01"))),
        ("#jepsen.history.Op{:index 4}", Pairs([(":index", 4)])),
        (
            '#object[java.lang.Object 0x7a "text"]',
            Tagged("object", [Symbol("java.lang.Object"), 122, Text("text")]),
        ),
        ("#my/tag [1]", Tagged("my/tag", [1])),
        ("^:meta [1]", [1]),
        ("^{:a 1} {:b 2}", Pairs([(":b", 2)])),
        ("[1 #_2 3 #_ #_ 4 5]", [1, 3]),
        ("; a comment\n[1 ; inside\n 2]", [1, 2]),
    ],
)
def test_forms(text: str, value: object) -> None:
    assert one(text) == value


def test_numbers_that_are_no_numbers() -> None:
    assert one("##Inf") == math.inf
    assert one("##-Inf") == -math.inf
    assert math.isnan(one("##NaN"))  # type: ignore[arg-type]


def test_keyword_string_symbol_and_number_are_four_values() -> None:
    assert len({":1", Text("1"), Symbol("x1"), 1}) == 4


def test_forms_have_lines() -> None:
    assert [line for _, line in forms("; c\n[1]\n\n[2\n3] [4]")] == [2, 4, 5]


@pytest.mark.parametrize(
    ("text", "line", "column", "fact"),
    [
        ("[1 2", 1, 1, "'[' is not closed"),
        ("\n  {:a 1", 2, 3, "'{' is not closed"),
        ("[1 2)", 1, 5, "')' closes the '[' of line 1, column 1"),
        ("]", 1, 1, "']' closes nothing"),
        ("{:a}", 1, 1, "a key without a value"),
        ('{:a "b}', 1, 5, "a string is not closed"),
        ("[#inst]", 1, 2, "#inst has no value"),
        ('"\\q"', 1, 1, "no escape of a string"),
        ("[" * 400, 1, 302, "nested more than 300 deep"),
        ("1x", 1, 1, "no EDN: '1x'"),
    ],
)
def test_what_is_no_edn_is_refused_with_its_place(text: str, line: int, column: int, fact: str) -> None:
    with pytest.raises(HistoryError) as refused:
        list(forms(text))
    assert (refused.value.line, refused.value.column) == (line, column)
    assert fact in refused.value.fact


LINES = [
    "{:type :ok, :f :txn, :value [[:append 5 1] [:r 6 [1 2 3]] [:r 7 nil]], :process 3, :index 9, :time 10}",
    "{:type :invoke, :value [[:w :x -5.5]], :process 4, :index 10, :time 1001}",
]


def test_simple_lines_are_read_as_the_forms_they_are() -> None:
    assert all(SIMPLE.fullmatch(line) for line in LINES)
    quick = simple_lines(LINES)
    assert quick is not None
    assert quick == [dict(one(line)) for line in LINES]  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "line",
    [
        "{:type :ok, :value [[:w 1 007]]}",
        "{:type :ok,  :value [[:w 1 2]]}",
        "{:type :ok, :value [ [ :append 4 1 ] ]}",
        "{:type :ok, :value [[:w x 2]]}",
        "{:type :ok, :value [[:w 1 2N]]}",
        "{:type :ok, :value [[:w 1 36893488147419103233]]}",
        "{:type}",
    ],
)
def test_what_json_would_read_otherwise_takes_the_slow_way(line: str) -> None:
    assert simple_lines([line]) is None


@pytest.mark.parametrize("digits", [1, 15, 16, 18, 19])
def test_integers_of_the_quick_reader_are_exact(digits: int) -> None:
    number = int("1" * digits)
    (line,) = simple_lines([f"{{:value [[:w 1 {number}]]}}"]) or [{}]
    assert line[":value"] == [[":w", 1, number]]


@pytest.mark.parametrize("digits", [20, 21, 33])
def test_longer_integers_take_the_slow_way(digits: int) -> None:
    assert simple_lines([f"{{:value [[:w 1 {'9' * digits}]]}}"]) is None


def test_a_value_is_shown_as_it_was_written() -> None:
    text = '{:a [1 nil true "x"], b #{2}}'
    assert shown(one(text)) == text
