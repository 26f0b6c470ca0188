"""A serial run whose versions are ordered by its commits shows no G0, also through derivations.

T_i -> T_j through a derived object needs that T_j commits after T_i has written (docs/notation.md, rule 7).
In a serial run T_j then comes after T_i, as with a write dependency on one object; so no cycle closes.
"""

from __future__ import annotations

import pytest

from dvs_model.analysis.verdict import Absent, Present
from dvs_model.checking.check import check
from dvs_model.errors import HistoryError
from dvs_model.graph.reading import DerivedWrites, Reading
from dvs_model.graph.wellformed import well_formed
from dvs_model.histories.draft import Draft
from dvs_model.histories.history import Abort, Commit, History
from dvs_model.histories.redraft import redraft
from dvs_model.notation import parse, render
from dvs_model.theory.names import Phenomenon
from generators.histories import HistoryShape, history_at
from tests.depth import examples

MISALIGNED = (
    "d3(u3|y0) c3 w1(y1) w1(v1) c1 w2(x2) w2(v2) c2 d4(z4|x2,u3) c4 d5(u5|y1) c5 w6(x6) c6 d7(z7|x6,u5) c7"
)
SHAPE = HistoryShape(
    transactions=(5, 9), operations=(1, 3), base=(2, 4), derived=(2, 3), newest_percent=70, again_percent=0
)


def serial(history: History) -> History | None:
    """The transactions one after the other, in the order of their commits; None: this is not possible."""
    order = [event.txn for event in history.events if isinstance(event, Commit | Abort)]
    events = [event for txn in order for event in history.events if event.txn == txn]
    draft = redraft(history, events)
    # What was read before it was made cannot be made a serial run.
    try:
        made = well_formed(Draft(events=draft.events, matches=draft.matches))
    except HistoryError:
        return None
    # A dead version is the last one, although an object may be inserted again.
    place = {txn: number for number, txn in enumerate((0, *order))}
    ordered = ([place[v.txn] for v in versions] for versions in made.orders.values())
    return made if all(places == sorted(places) for places in ordered) else None


def test_random_serial_runs_have_no_g0() -> None:
    derived = by_letter = 0
    for index in range(examples(2000)):
        history = serial(history_at(17, SHAPE, index))
        if history is None:
            continue
        derived += any(len(order) > 1 for obj, order in history.orders.items() if obj in "uv")
        found = check(history, only=[Phenomenon.G0]).phenomena[Phenomenon.G0]
        assert isinstance(found, Absent), render(history)
        letter = check(history, Reading(derived_writes=DerivedWrites.LETTER), only=[Phenomenon.G0])
        by_letter += isinstance(letter.phenomena[Phenomenon.G0], Present)
    assert derived > 200
    # The paper's wording does show write cycles in serial runs.
    assert by_letter > 10


@pytest.mark.parametrize("text", [MISALIGNED, MISALIGNED.replace("w6(x6) c6 d7(z7|x6,u5)", "d7(z7|x2,u5)")])
def test_refreshes_of_sources_of_different_age_show_no_g0(text: str) -> None:
    history = parse(text)
    assert isinstance(check(history).phenomena[Phenomenon.G0], Absent)
    assert isinstance(check(history).phenomena[Phenomenon.G1C], Absent)
