"""Figures 1 and 2 of the delayed view semantics paper, drawn: `python -m examples.figures docs`."""

from __future__ import annotations

import sys
from pathlib import Path

from dvs import Derivations, Reading, check, parse
from reports.history.drawing import draw, standalone

HISTORY = Path(__file__).parent / "histories" / "refresh-hides-read-skew.adya"


def figures() -> dict[str, str]:
    """Returns the SVG of each file name: derivations ignored (figure 1) and honoured (figure 2)."""
    history = parse(HISTORY.read_text(encoding="utf-8"))
    return {
        "figure-1.svg": standalone(draw(check(history, Reading(Derivations.IGNORE)))),
        "figure-2.svg": standalone(draw(check(history))),
    }


if __name__ == "__main__":
    for name, svg in figures().items():
        (Path(sys.argv[1]) / name).write_text(svg, encoding="utf-8")
