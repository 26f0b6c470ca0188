"""The pictures in docs/ are those of the history in examples/."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from examples.figures import figures


@pytest.mark.parametrize(("name", "svg"), figures().items())
def test_a_figure_is_up_to_date(name: str, svg: str) -> None:
    assert (Path("docs") / name).read_text(encoding="utf-8") == svg
    ET.fromstring(svg)


def test_the_cycle_is_seen_only_where_derivations_are_honoured() -> None:
    in_cycle = {name: re.findall(r'class="edge (\w+) strong', svg) for name, svg in figures().items()}
    assert sorted(in_cycle["figure-2.svg"]) == ["rw", "wr"]
    assert in_cycle["figure-1.svg"] == []
