"""What the adapter of Flink takes; without Flink."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engines.others.flink import gap, stores
from tests.ir import call, columns, named, select, table, window
from workload.query import Frame, FrameUnit, OrderKey, Window
from workload.types import BIGINT, DOUBLE, INT

r = columns(table("r", k=INT, a=BIGINT))
UP_TO_THIS = Frame(FrameUnit.ROWS, None, 0)
AROUND = Frame(FrameUnit.ROWS, -1, 1)
number = window("row_number", order=[r["a"], r["k"]])


@pytest.mark.parametrize(
    "taken",
    [
        window("rank", partition=[r["k"]], order=[r["a"]]),
        window("SUM", r["a"], order=[r["a"]]),
        window("SUM", r["a"], order=[r["a"]], frame=UP_TO_THIS),
    ],
)
def test_a_window_of_the_rows_up_to_this_one_by_one_ascending_key_is_taken(taken: Window) -> None:
    assert gap(select({"x": taken}, named("r"))) is None


@pytest.mark.parametrize(
    "refused",
    [
        window("SUM", r["a"], partition=[r["k"]]),
        window("SUM", r["a"], order=[r["a"]], frame=AROUND),
        window("lead", r["a"], order=[r["a"]]),
        number,
        replace(window("rank"), order=(OrderKey(r["a"], descending=True),)),
    ],
)
def test_another_window_is_refused(refused: Window) -> None:
    assert gap(select({"x": refused}, named("r"))) is not None


def test_first_rows_are_taken_by_any_order_and_two_kinds_of_windows_are_not() -> None:
    assert gap(replace(select({"k": r["k"]}, named("r")), qualify=call("le", number, 2))) is None
    one, other = window("rank", order=[r["a"]]), window("rank", order=[r["k"]])
    assert gap(select({"x": one, "y": one}, named("r"))) is None
    assert gap(select({"x": one, "y": other}, named("r"))) is not None


def test_flink_has_two_zeros() -> None:
    assert stores(0.0, DOUBLE)
    assert not stores(-0.0, DOUBLE)
