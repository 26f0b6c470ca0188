"""The pictures in docs/ are those of the history in examples/."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from dvs import check, parse
from examples.figures import figures
from reports.history.drawing import draw, standalone


@pytest.mark.parametrize(("name", "svg"), figures().items())
def test_a_figure_is_up_to_date(name: str, svg: str) -> None:
    assert (Path("docs") / name).read_text(encoding="utf-8") == svg
    ET.fromstring(svg)


def test_the_cycle_is_seen_only_where_derivations_are_honoured() -> None:
    in_cycle = {name: re.findall(r'class="edge (\w+) strong', svg) for name, svg in figures().items()}
    assert sorted(in_cycle["figure-2.svg"]) == ["rw", "wr"]
    assert in_cycle["figure-1.svg"] == []


def test_a_read_from_an_aborted_transaction_is_drawn() -> None:
    svg = figures()["figure-aborted-read.svg"]
    assert "wr x (aborted)" in svg
    assert svg.count('class="node aborted"') == 1
    intermediate = standalone(draw(check(parse("w1(x1.1) r2(x1.1) w1(x1.2) c1 c2"))))
    assert "wr x (intermediate)" in intermediate
    assert 'aborted"' not in intermediate


def test_of_a_long_history_the_aborted_writer_is_drawn_too() -> None:
    long = " ".join(f"w{txn}(y{txn}) c{txn}" for txn in range(3, 30))
    svg = standalone(draw(check(parse(f"w1(x1) r2(x1) a1 c2 {long}"))))
    assert re.findall(r">T(\d+)<", svg) == ["1", "2"]
