"""An order of transactions that explains what clients saw, searched (Biswas and Enea 2019, section 5).

For serializability transactions are placed one after the other; for prefix consistency and snapshot isolation
the reads of a transaction, its snapshot, are placed before its writes. A transaction may be placed when it
reads what was written last, which is so if nobody still waits to read what its writes replace.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from dvs_model.observed.client import Client, Problem
from dvs_model.observed.recover import INITIAL


@dataclass(slots=True)
class _State:
    """What has been placed. `done`: by session how many steps; a transaction is one step or two.

    `last`: by key who wrote it last. `pending`: by key and writer how many reads of it are still to come.
    `locked`: keys of transactions whose snapshot is taken and whose writes are not placed.
    """

    done: list[int]
    last: dict[str, int] = field(default_factory=dict)
    pending: dict[tuple[str, int], int] = field(default_factory=dict)
    locked: dict[str, int] = field(default_factory=dict)


def order_exists(made: Problem, level: Client, steps: int) -> bool | None:
    """Returns whether an order exists; None: the budget of `steps` is spent."""
    split = level is not Client.SERIALIZABLE
    state = _State([0] * len(made.chains))
    for reads in made.reads.values():
        for version in {(read.key, read.writer) for read in reads}:
            state.pending[version] = state.pending.get(version, 0) + 1
    search = _Search(made, level is Client.SNAPSHOT, split, state)
    for tail, head in made.time:
        search.after.setdefault(head, []).append(tail)
    return search.run(steps)


@dataclass(slots=True)
class _Search:
    """A search. `after`: by transaction those that ended before it began, as far as they say the others."""

    made: Problem
    conflicts: bool
    split: bool
    state: _State
    after: dict[int, list[int]] = field(default_factory=dict)
    undo: list[tuple[int, list[tuple[str, int | None]]]] = field(default_factory=list)

    def run(self, steps: int) -> bool | None:
        """Depth-first; a set of placed steps is tried once, because it alone says what can follow."""
        per = 2 if self.split else 1
        goal = [len(chain) * per for chain in self.made.chains]
        seen: set[tuple[int, ...]] = set()
        stack: list[Iterator[int]] = [self.enabled(goal)]
        while stack:
            if self.state.done == goal:
                return True
            session = next(stack[-1], None)
            if session is None:
                stack.pop()
                if stack:
                    self.back()
                continue
            steps -= 1
            if steps < 0:
                return None
            self.place(session)
            key = tuple(self.state.done)
            if key in seen:
                self.back()
                continue
            seen.add(key)
            stack.append(self.enabled(goal))
        return False

    def enabled(self, goal: list[int]) -> Iterator[int]:
        """Yields the sessions that can take their next step, those with the oldest transaction first."""
        per = 2 if self.split else 1
        chains, done = self.made.chains, self.state.done
        waiting = [at for at in range(len(chains)) if done[at] < goal[at]]
        # A write that can be placed comes first: it is what the recorded order did.
        waiting.sort(key=lambda at: chains[at][done[at] // per])
        # One at a time: most are never asked for. What was placed since is taken back before the next.
        for at in waiting:
            if self.allowed(at):
                yield at

    def step(self, session: int) -> tuple[int, bool, bool]:
        """Returns the next transaction of a session, and whether the step reads and writes."""
        done = self.state.done[session]
        if not self.split:
            return self.made.chains[session][done], True, True
        return self.made.chains[session][done // 2], done % 2 == 0, done % 2 == 1

    def allowed(self, session: int) -> bool:
        index, reads, writes = self.step(session)
        state, keys = self.state, self.made.writes.get(index, ())
        per = 2 if self.split else 1
        made = self.made
        earlier = self.after.get(index, ()) if self.after else ()
        if any(state.done[made.session[t]] < (made.within[t] + 1) * per for t in earlier):
            return False
        mine = {(read.key, read.writer) for read in self.made.reads.get(index, ())}
        if reads and any(state.last.get(key, INITIAL) != writer for key, writer in mine):
            return False
        if reads and self.conflicts and any(key in state.locked for key in keys):
            return False
        if writes:
            for key in keys:
                version = key, state.last.get(key, INITIAL)
                if self.made.before.get((key, index), version[1]) != version[1]:
                    return False
                waiting = state.pending.get(version, 0) - (reads and version in mine)
                if waiting:
                    return False
        return True

    def place(self, session: int) -> None:
        index, reads, writes = self.step(session)
        state, before = self.state, list[tuple[str, int | None]]()
        keys = self.made.writes.get(index, ())
        if reads:
            for version in {(read.key, read.writer) for read in self.made.reads.get(index, ())}:
                state.pending[version] -= 1
            if self.conflicts:
                state.locked.update(dict.fromkeys(keys, index))
        if writes:
            for key in keys:
                before.append((key, state.last.get(key)))
                state.last[key] = index
                state.locked.pop(key, None)
        state.done[session] += 1
        self.undo.append((session, before))

    def back(self) -> None:
        session, before = self.undo.pop()
        state = self.state
        state.done[session] -= 1
        index, reads, writes = self.step(session)
        keys = self.made.writes.get(index, ())
        if writes:
            for key, last in before:
                if last is None:
                    del state.last[key]
                else:
                    state.last[key] = last
            if self.conflicts and not reads:
                state.locked.update(dict.fromkeys(keys, index))
        if reads:
            for version in {(read.key, read.writer) for read in self.made.reads.get(index, ())}:
                state.pending[version] += 1
            if self.conflicts:
                for key in keys:
                    state.locked.pop(key, None)
