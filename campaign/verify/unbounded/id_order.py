"""The order of the ids of rows, of which nothing is known but that it is one order.

Ids are texts of any form, so of a row of one place any number of the rows of another place may come before
it: that number is a symbol of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from campaign.verify.unbounded.bags import Alike
from campaign.verify.unbounded.cells import Cell, NotExpressibleError
from campaign.verify.unbounded.counts import ONE, Count
from campaign.verify.unbounded.keys import key_of
from campaign.verify.unbounded.terms import Truth, equal, negated, variable


@dataclass(slots=True)
class IdOrder:
    """The order of the ids of rows. `laws`: what holds of the symbols that were made, by their names."""

    laws: dict[str, Truth] = field(default_factory=dict)

    def before(self, other: Alike, other_id: Cell, entry: Alike, own_id: Cell) -> Count:
        """Returns how many rows of another entry have a lesser id than one row of an entry."""
        theirs, mine = _name(other, other_id), _name(entry, own_id)
        if not other.places and not entry.places:
            if theirs == mine:
                return Count(0, False)
            places = variable(f"place of {theirs}"), variable(f"place of {mine}")
            self.laws[f"{theirs} and {mine}"] = negated(equal(*places))
            return other.count.only(places[0] < places[1])
        name = f"{theirs} before {mine}"
        number = variable(name)
        rows = ONE
        for place in other.places:
            rows = rows * place.rows
        # The row itself is one of those of its own entry.
        most = rows.value - 1 if theirs == mine else rows.value
        self.laws[name] = number <= most
        return (other.count * Count(number, number > 0)).only(number > 0)


def _name(entry: Alike, row_id: Cell) -> str:
    form, cells = key_of(entry, (row_id,))
    if not all(cell.known for cell in cells) or row_id.null is not False:
        raise NotExpressibleError("ids that depend on the number of rows are ordered")
    return f"{form} {[None if cell.null else cell.value for cell in cells]}"
