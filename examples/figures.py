"""The pictures of histories in the docs, drawn: `python -m examples.figures docs`."""

from __future__ import annotations

import sys
from pathlib import Path

from campaign.faults.intents import INTENT_FAULTS
from dvs import Derivations, History, Reading, check, parse
from protocols.data_plane.histories import history_of
from protocols.data_plane.intents import intents_of
from protocols.data_plane.resolve import resolve
from protocols.data_plane.workloads import BANK
from protocols.read_committed.evaluate.duck import DuckEvaluator
from protocols.read_committed.run import run
from protocols.read_committed.script import script_of
from reports.history.drawing import draw, standalone

HISTORIES = Path(__file__).parent / "histories"
SCRIPTS = Path(__file__).parent / "protocols"
UNFENCED = "w1(counter1) c1 r2(counter1) r3(counter1) w2(counter2) c2 w3(counter3) c3"
"""The log of two unfenced overwrites, by its rows."""


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
        "figure-lost-update.svg": standalone(draw(check(_scripted("lost-update.txt")))),
        "figure-two-dynamic-tables.svg": standalone(draw(check(_scripted("two-dynamic-tables.txt")))),
        "figure-aborted-read.svg": standalone(draw(check(_bank("intents-one-pass")))),
        "figure-unfenced.svg": standalone(draw(check(parse(UNFENCED)))),
    }


def _scripted(name: str) -> History:
    return run(script_of((SCRIPTS / name).read_text(encoding="utf-8")), DuckEvaluator()).history


def _bank(fault: str) -> History:
    """The bank of McSherry's article, resolved with a mistake."""
    intents = intents_of(list(BANK))
    return history_of(intents, resolve(intents, clauses=INTENT_FAULTS[fault].model).to_rollback)


if __name__ == "__main__":
    for name, svg in figures().items():
        (Path(sys.argv[1]) / name).write_text(svg, encoding="utf-8")
