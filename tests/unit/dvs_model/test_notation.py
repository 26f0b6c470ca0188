"""The text notation: what is read, and what is refused, where."""

from __future__ import annotations

import pytest

from dvs_model.errors import HistoryError
from dvs_model.histories.history import Version, unborn
from dvs_model.notation import parse, render


def error(text: str) -> HistoryError:
    with pytest.raises(HistoryError) as caught:
        parse(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("w1(x1 c1", 1, 1, "is not closed"),
        ("w1(x1) c1 r2(x1", 1, 11, "is not closed"),
        ("w1(x1) c1\n[x1 << x2", 2, 1, "is not closed"),
        ("w1(x1) c1 ]", 1, 11, "neither an event"),
        ("w1(x1) c1\n  w2(y2) c", 2, 10, "neither an event"),
        ("SELECT * FROM t", 1, 1, "'SELECT' is neither an event"),
        ("w1(x) c1", 1, 4, "is no version"),
        ("w1(a1b) c1", 1, 4, "is no version"),
        ("w1(x2) c1", 1, 1, "makes versions of its own"),
        ("r2(x1) c2", 1, 1, "nobody makes x1"),
        ("r2(x1) w1(x1) c1 c2", 1, 1, "x1 is used before it is made by w1(x1) (line 1, column 8)"),
        ("r2(x1) w1(x1) c1 a2", 1, 1, "x1 is used before it is made by w1(x1)"),
        ("r1(y2) r3(x1) w1(x1) r2(x1) w2(y2) c1 c2 c3", 1, 8, "x1 is used before it is made by w1(x1)"),
        ("w1(x1) c1 w1(y1)", 1, 11, "T1 has already ended, by c1 (line 1, column 8)"),
        ("w1(x1) c1 c1", 1, 11, "T1 has already ended"),
        ("w1(x1)", 1, 1, "T1 neither commits nor aborts"),
        ("w1(x1.2) c1", 1, 1, "count from 1 without gaps"),
        ("w1(x1.1) w1(x1.3) c1", 1, 10, "count from 1 without gaps"),
        ("w1(x1) w1(x1.2) c1", 1, 8, "the final version has been made before, by w1(x1)"),
        ("w1(x1) c1 w2(x2) c2 [x1 << x2 << x1]", 1, 22, "twice"),
        ("w1(x1) c1 w2(x2) c2 [x2]", 1, 22, "is missing"),
        ("w1(x1) c1 w2(x2) a2 [x1 << x2]", 1, 22, "made no committed final version"),
        ("w1(x1) c1 w2(y2) c2 [x1 << y2]", 1, 22, "of one object"),
        ("w1(x1) c1 [x1 << x_init]", 1, 12, "unborn version comes first"),
        ("w1(x1) c1 [x1] [x1]", 1, 17, "has a version order already"),
        ("w1(x1) d2(x2 | y0) c1 c2", 1, 8, "x is either written or derived"),
        ("d1(u1 | v2) d2(v2 | u1) c1 c2", 1, 1, "v2 is used before it is made by d2(v2 | u1)"),
        ("r1(P: x0, x_init) c1", 1, 1, "two versions of x in one version set"),
        ("r1(P: x0; y0) c1", 1, 1, "matches but is not in the version set"),
        ("r1(P: x0; x0) c1 [P matches]", 1, 1, "states the contrary for x0"),
        ("r1(P: x0; x0) r2(P: x0;) c1 c2", 1, 15, "is stated differently by r1(P: x0; x0)"),
        ("r1(P: x_init; x_init) c1", 1, 1, "matches nothing"),
        ("w1(x_dead) c1 r2(x1) c2", 1, 15, "a dead version cannot be read"),
        ("r1(x_init) c1", 1, 1, "cannot be read"),
        ("w1(x1) r1(x0) c1", 1, 8, "a transaction sees its own latest version of x"),
        ("w1(x1) r1(P: y0) r2(P: x0, y0) c1 c2", 1, 8, "of x, which is left out here, made by w1(x1)"),
        ("s1 w1(x1) c1 r2(x1) c2 [c1 < s2]", 1, 25, "beside the start event s1"),
        ("w1(x1) c1 r2(x1) c2 [c1 < s2, c2 < s1]", 1, 22, "no clock can"),
        ("w1(x1) c1 r2(x1) c2 c3 c4 [c3 < s4, c1 < s2, c2 < s1, c2 < s3]", 1, 37, "T2 would precede itself"),
        (
            "w1(x1) c1 w2(y2) c2 r3(x1) c3 r4(y2) c4 [c1 < s3, c2 < s4]",
            1,
            51,
            "no clock can satisfy both and neither c1 < s4 nor c2 < s3",
        ),
        ("w1(x1) a1 r2(y0) c2 [c1 < s2]", 1, 22, "T1 does not commit"),
        ("w1(x1) s1 c1", 1, 8, "a start is the first event"),
        ("w1(x1) c1 [session a: 1, 3]", 1, 12, "there is no T3"),
        ("w1(x1) c1 w2(y2) c2 [session a: 1] [session b: 2, 1]", 1, 37, "is in session a already"),
        ("w1(x1) c1 []", 1, 12, "an empty item"),
    ],
)
def test_what_is_refused(text: str, line: int, column: int, message: str) -> None:
    refusal = error(text)
    assert message in refusal.fact
    assert (refusal.line, refusal.column) == (line, column)


def test_names_of_versions() -> None:
    history = parse("w1(my_table_1) w1(t2_1) w2(x2.1) w2(x2) r2(x2.2) c1 r3(x_2) c2 c3")
    assert Version("my_table", 1, 1) in history.orders["my_table"]
    assert Version("t2", 1, 1) in history.orders["t2"]
    assert history.orders["x"] == (Version("x", 2, 2),)
    assert "r3(x2.2)" in render(history)


def test_the_default_order_is_that_of_commits_with_the_dead_version_last() -> None:
    history = parse("w1(x1) w2(x2) w3(x_dead) c3 c2 c1 r4(P: x_init; ) c4")
    assert [version.txn for version in history.orders["x"]] == [2, 1, 3]
    assert unborn("x") not in history.orders["x"]


def test_an_implicit_first_transaction() -> None:
    history = parse("r1(x0) c1 [y0]")
    assert history.implicit_initial
    assert set(history.orders) == {"x", "y"}
    assert parse("w0(x0) c0 r1(x0) c1").implicit_initial is False


def test_a_predicate_may_be_called_anything() -> None:
    history = parse("r1(a matches b: x0; x0) c1 [a matches b matches x0]")
    assert set(history.matches) == {"a matches b"}
    assert parse(render(history)) == history


def test_comments_values_and_white_space() -> None:
    assert parse("# nothing\nw1(x1, 5 apples) # here\n\n c1") == parse("w1( x1 ,5 apples )c1")
