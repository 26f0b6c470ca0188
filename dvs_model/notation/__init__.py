"""The text notation of histories: Adya's in one line of text, with derivations. See docs/notation.md."""

from __future__ import annotations

from dvs_model.graph.wellformed import well_formed
from dvs_model.histories.history import History
from dvs_model.histories.redraft import redraft
from dvs_model.notation.scan import scan


def parse(text: str, name: str = "") -> History:
    """Returns the history that a text in the notation describes.

    Raises HistoryError, with line and column: the text is not in the notation, or what it describes is not
    well-formed (Adya 1999, section 3.1.2).

    >>> history = parse("w1(x1) c1 d2(y2 | x1) c2 r3(y2) c3")
    >>> history.transactions()
    (1, 2, 3)
    >>> history.events[2]
    Derive(txn=2, version=Version(obj='y', txn=2, number=1), sources=(Version(obj='x', txn=1, number=1),))
    >>> parse("r2(x1) c2")
    Traceback (most recent call last):
        ...
    dvs_model.errors.HistoryError: line 1, column 1: r2(x1): nobody makes x1; T1 neither writes nor derives x
    """
    return well_formed(scan(text, name))


def render(history: History) -> str:
    """Returns a history in the text notation: its events in one line, then its clauses.

    `parse(render(history), history.name) == history`.
    """
    return str(redraft(history))
