"""The events of transactions in one order, where each comes after what it depends on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from dvs_model.histories.history import Event, Start, Write, versions_read


def placed(bodies: Mapping[int, Sequence[Event]], moments: Iterable[tuple[int, Event]]) -> Iterator[Event]:
    """Yields the starts and ends of transactions in order, and before each end what the transaction did.

    A write that another transaction reads earlier comes before that read, with all that its own transaction
    did before it. Reads in a circle stand where they are, since no order has each after its write.
    `bodies`: by transaction its reads and writes. `moments`: transactions with their starts and ends.
    """
    writer = {
        event.version: (n, at)
        for n, events in bodies.items()
        for at, event in enumerate(events)
        if isinstance(event, Write)
    }
    done = dict.fromkeys(bodies, 0)

    def until(n: int, end: int) -> Iterator[Event]:
        """Yields the events of a transaction up to a place that it has not reached, and what they need."""
        goals = {n: end}
        while goals:
            current = next(reversed(goals))
            if done[current] >= goals[current]:
                del goals[current]
                continue
            event = bodies[current][done[current]]
            needed = [writer[version] for version in versions_read(event) if version in writer]
            missing = next(((w, at) for w, at in needed if done[w] <= at and w not in goals), None)
            if missing is None:
                yield event
                done[current] += 1
            else:
                goals[missing[0]] = missing[1] + 1

    for n, moment in moments:
        if not isinstance(moment, Start):
            yield from until(n, len(bodies[n]))
        yield moment
