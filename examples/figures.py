"""The pictures of histories in the docs, drawn: `python -m examples.figures docs`."""

from __future__ import annotations

import sys
from pathlib import Path

from dvs import Derivations, Reading, check, parse
from reports.history.drawing import draw, standalone

HISTORIES = Path(__file__).parent / "histories"


def figures() -> dict[str, str]:
    """Returns the SVG of each file name.

    Figures 1 and 2 are those of the delayed view semantics paper: derivations ignored and honoured.
    """
    history = parse((HISTORIES / "refresh-hides-read-skew.adya").read_text(encoding="utf-8"))
    groups = parse((HISTORIES / "reader-of-two-dynamic-tables.adya").read_text(encoding="utf-8"))
    return {
        "figure-1.svg": standalone(draw(check(history, Reading(Derivations.IGNORE)))),
        "figure-2.svg": standalone(draw(check(history))),
        "figure-two-tables.svg": standalone(draw(check(groups))),
    }


if __name__ == "__main__":
    for name, svg in figures().items():
        (Path(sys.argv[1]) / name).write_text(svg, encoding="utf-8")
