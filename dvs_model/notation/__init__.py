"""The text notation of histories: Adya's in one line, with derivations. See docs/notation.md."""

from __future__ import annotations

from dvs_model.history import History
from dvs_model.notation.render import render
from dvs_model.notation.scan import scan
from dvs_model.wellformed import well_formed

__all__ = ["parse", "render"]


def parse(text: str, name: str = "") -> History:
    """The history that a text says. Raises HistoryError with line and column."""
    return well_formed(scan(text, name))
