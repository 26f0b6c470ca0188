"""Anomalies have the names that people know."""

from __future__ import annotations

import pytest

from dvs_model.checking.anomalies import anomalies, sentence
from dvs_model.notation import parse

SHOWN = {
    "long fork": (
        "w0(x0) w0(y0) c0 w1(x1) c1 w2(y2) c2 r3(x1) r3(y0) c3 r4(x0) r4(y2) c4 [x0 << x1, y0 << y2]",
        "T3 saw T1 and not T2; T4 saw T2 and not T1",
    ),
    "read skew": (
        "w0(x0) w0(y0) c0 w1(x1) w1(y1) c1 r2(x0) r2(y1) c2 [x0 << x1, y0 << y1]",
        "T2 read one row as it was before T1, and another one as it was after",
    ),
    # A row, and what was derived from its older version.
    "read skew through a derivation": (
        "w1(x1) c1 d3(y3 | x1) c3 w2(x2) c2 r5(y3) r5(x2) c5 [x1 << x2]",
        "T5 read rows from before T2 and from after it, some of them derived",
    ),
    "read-only anomaly": (
        "w0(x0) w0(y0) c0 r2(y0) r1(y0) w1(y1) c1 r3(x0) r3(y1) c3 w2(x2) c2 [x0 << x2, y0 << y1]",
        "T3, which only reads, saw T1 and not T2; T2 had not seen T1",
    ),
    "write skew": (
        "w0(x0) w0(y0) c0 r1(x0) r1(y0) w1(x1) c1 r2(x0) r2(y0) w2(y2) c2 [x0 << x1, y0 << y2]",
        "T1 and T2 each read what the other one then changed",
    ),
}


@pytest.mark.parametrize("name", SHOWN)
def test_an_anomaly_has_its_name_and_a_sentence(name: str) -> None:
    text, said = SHOWN[name]
    found = anomalies(parse(text))
    assert list(found) == [name]
    assert sentence(name, found[name]) == said


@pytest.mark.parametrize(
    "text",
    [
        # Two tables derived over two steps from the same version.
        "w1(x1) c1 d3(y3 | x1) c3 d4(z4 | y3) c4 w2(x2) c2 r5(y3) r5(z4) c5 [x1 << x2]",
        # One reader after the other.
        "w0(x0) w0(y0) c0 w1(x1) c1 r3(x1) r3(y0) c3 w2(y2) c2 r4(x1) r4(y2) c4 [x0 << x1, y0 << y2]",
        # The reader saw what both writers left, or neither of them.
        "w0(x0) w0(y0) c0 r2(y0) r1(y0) w1(y1) c1 w2(x2) c2 r3(x2) r3(y1) c3 [x0 << x2, y0 << y1]",
        "w0(x0) w0(y0) c0 r2(y0) r3(x0) r3(y0) c3 r1(y0) w1(y1) c1 w2(x2) c2 [x0 << x2, y0 << y1]",
        # The reader derives, and so writes.
        "w0(x0) w0(y0) c0 r2(y0) w1(y1) c1 r3(x0) r3(y1) d3(z3 | x0, y1) c3 w2(x2) c2 [x0 << x2, y0 << y1]",
        # The reader itself changed what matches.
        "r1(Q: y0; y0) w1(y1) r1(Q: y1;) c1 w2(z2) c2",
        # What T1 derived is not what it wrote.
        "d1(u1 | y0) w1(x1) c1 r2(u1) r2(x0) c2 [x0 << x1]",
        # The row matches before and after.
        "r2(P: x0; x0) w1(x1) w1(y1) c1 r2(y1) c2 [P matches x0, x1]",
        # What an aborted refresh derived was read by nobody.
        "w1(x1) c1 d3(y3 | x1) a3 w2(x2) c2 r5(x2) c5 [x1 << x2]",
    ],
)
def test_what_is_right_has_no_name(text: str) -> None:
    assert not anomalies(parse(text))


def test_a_derived_table_over_another_one_shows_the_skew_of_its_base() -> None:
    text = "w1(x1) c1 d3(y3 | x1) c3 d4(z4 | y3) c4 w2(x2) c2 d6(v6 | x2) c6 r5(z4) r5(v6) c5 [x1 << x2]"
    assert anomalies(parse(text)) == {"read skew through a derivation": (5, 2)}


def test_write_skew_that_a_reader_sees_has_one_name() -> None:
    text = "w0(x0) w0(y0) c0 r1(x0) r2(y0) w1(y1) c1 r3(x0) r3(y1) c3 w2(x2) c2 [x0 << x2, y0 << y1]"
    assert anomalies(parse(text)) == {"write skew": (1, 2)}
