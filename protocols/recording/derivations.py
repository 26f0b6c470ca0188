"""What a run with materialized views saw, as a history with derivations in PostgreSQL's own order."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from dvs_model.graph.wellformed import well_formed
from dvs_model.histories.draft import Chain, Draft, DraftEvent, Name
from dvs_model.histories.history import History
from protocols.recording.views import READERS, Seen, Views

Place = tuple[float, int, int]
"""The place of an event: after how many commits, then commits before starts, then in the order of ends."""


def history_of(views: Views, readers: Collection[str] = tuple(READERS), *, delayed: bool = False) -> History:
    """Returns the writers, the refreshes, and the readers of some kinds.

    A transaction starts after all commits that its snapshot shows, and before all others: that is the order
    of PostgreSQL, and not that of the clients. `delayed`: the readers of one view are judged alone. Each
    starts where the refresh of the view did, because delayed view semantics promises it that past snapshot;
    what writers have read is left out, and each of them starts where it ends.
    """
    return well_formed(_Ordered(views, delayed).draft(readers))


@dataclass(slots=True)
class _Ordered:
    """The transactions of a run in PostgreSQL's order. `delayed`: as in `history_of`."""

    views: Views
    delayed: bool

    def draft(self, readers: Collection[str]) -> Draft:
        seen = [each for each in self.views.seen if each.kind in readers or each.xid]
        maker = {each.refreshed.xid: each for each in seen if each.refreshed is not None}
        commits = [each.xid for each in seen if each.committed and each.xid]
        shown = {each.number: sum(map(each.snapshot.shows, commits)) for each in self.views.seen}
        ranks = self._ranks(seen, shown)
        events: list[tuple[Place, DraftEvent]] = []
        for each in seen:
            start = shown[each.number]
            if self.delayed and not each.xid:
                start = min((shown[maker[view.xid].number] for view in each.views), default=start)
            begin: Place = (start, 1, each.ended)
            end = ranks[each.number] if each.xid else max(
                [begin, *(ranks[maker[view.xid].number] for view in each.views),
                 *(ranks[row.writer] for row in each.rows if row.writer in ranks)]
            )  # fmt: skip
            end = (end[0], end[1] if each.xid else 2, each.ended)
            alone = self.delayed and each.xid
            events.append((end if alone else min(begin, end), DraftEvent("s", each.number)))
            events += [(end, event) for event in self._body(each, maker)]
        ordered = [event for _, event in sorted(events, key=lambda pair: pair[0])]
        return Draft(name="views", events=ordered, chains=list(self._chains(seen)))

    def _ranks(self, seen: list[Seen], shown: dict[int, int]) -> dict[int, Place]:
        """Returns the ends of those that wrote: before the first snapshot that shows them, or else last."""
        return {
            each.number: (
                min((shown[o.number] for o in self.views.seen if o.snapshot.shows(each.xid)), default=1e9),
                0,
                each.ended,
            )
            for each in seen
            if each.xid
        }

    def _body(self, seen: Seen, maker: dict[int, Seen]) -> Iterator[DraftEvent]:
        number = seen.number
        if seen.committed:
            for row in seen.rows if not (self.delayed and seen.xid) else ():
                yield DraftEvent("r", number, (Name(row.obj, row.writer),), value=str(row.amount))
            for view in seen.views:
                name = Name(view.view, maker[view.xid].number)
                yield DraftEvent("r", number, (name,), value=str(view.total))
        if seen.refreshed is not None and seen.committed:
            sources = tuple(Name(obj, writer) for obj, writer in seen.refreshed.sources)
            yield DraftEvent("d", number, (Name(seen.refreshed.view, number),), sources)
        for row, _ in seen.written:
            yield DraftEvent("w", number, (Name(row.obj, number),), value=str(row.amount))
        yield DraftEvent("c" if seen.committed else "a", number)

    def _chains(self, seen: list[Seen]) -> Iterator[Chain]:
        """Yields the orders of versions, as PostgreSQL has counted them, and refreshes have waited."""
        orders: dict[str, list[tuple[int, int]]] = {}
        for each in seen:
            if each.committed:
                for row, place in each.written:
                    orders.setdefault(row.obj, []).append((place, each.number))
                if each.refreshed is not None:
                    orders.setdefault(each.refreshed.view, []).append((each.order, each.number))
        for obj, versions in orders.items():
            first = [] if obj in ("stock_total", "sold_total") else [Name(obj, 0)]
            yield Chain((*first, *(Name(obj, number) for _, number in sorted(versions))))
