"""The pictures in docs/ are those of the history in examples/."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from examples.figures import figures


@pytest.mark.parametrize(("name", "svg"), figures().items())
def test_a_figure_is_up_to_date(name: str, svg: str) -> None:
    assert (Path("docs") / name).read_text(encoding="utf-8") == svg
    ET.fromstring(svg)


def test_the_cycle_is_seen_only_where_derivations_are_honoured() -> None:
    drawn = figures()
    assert "edge rw strong" in drawn["figure-2.svg"]
    assert "strong" not in drawn["figure-1.svg"].partition("</style>")[2].replace(
        'class="strong"', ""
    ).replace('id="strong"', "")
