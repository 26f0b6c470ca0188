"""Search depth-first for an order of transactions that explains the reads (Biswas and Enea 2019, section 5).

It is the fallback of `clients.ordering` where the SAT solver is not installed. For serializability whole
transactions are placed one after the other. For prefix consistency and snapshot isolation a transaction is
two steps: its reads, all from one snapshot, then its writes. A step may be taken if its reads show what was
written last, and if no other transaction still waits to read a version that its writes replace.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from dvs_model.observed.client import Client, Problem
from dvs_model.observed.recover import INITIAL


@dataclass(slots=True)
class _State:
    """What has been placed so far.

    `done`: by session how many steps were taken; a transaction is one step or two. `last`: by key the last
    writer placed. `pending`: by key and writer how many transactions must still read that version. `locked`:
    the keys of transactions whose snapshot is placed and whose writes are not: under snapshot isolation
    nobody else may write them meanwhile.
    """

    done: list[int]
    last: dict[str, int] = field(default_factory=dict)
    pending: dict[tuple[str, int], int] = field(default_factory=dict)
    locked: dict[str, int] = field(default_factory=dict)


def order_exists(problem: Problem, level: Client, steps: int) -> bool | None:
    """Returns whether an order exists; None: the budget of `steps`, placements tried, is spent."""
    split = level is not Client.SERIALIZABLE
    state = _State([0] * len(problem.chains))
    for reads in problem.reads.values():
        for version in {(read.key, read.writer) for read in reads}:
            state.pending[version] = state.pending.get(version, 0) + 1
    search = _Search(problem, level is Client.SNAPSHOT, split, state)
    for tail, head in problem.time:
        search.after.setdefault(head, []).append(tail)
    return search.run(steps)


@dataclass(slots=True)
class _Search:
    """The search for one order.

    `conflicts`: whether two transactions with a common key must not overlap (snapshot isolation). `split`:
    whether a transaction is two steps. `after`: by transaction those that ended before it began; pairs that
    follow from others are left out. `undo`: the steps taken, with what each overwrote in `last`.
    """

    made: Problem
    conflicts: bool
    split: bool
    state: _State
    after: dict[int, list[int]] = field(default_factory=dict)
    undo: list[tuple[int, list[tuple[str, int | None]]]] = field(default_factory=list)

    def run(self, steps: int) -> bool | None:
        """Searches depth-first; returns whether an order exists, or None if the budget is spent.

        Which steps can follow depends on the set of steps placed, not on their order. So a set that failed
        once is not tried again.
        """
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
            # The numbers of steps placed by session say which steps were placed.
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
        # The oldest transaction first: the order of the file is often an order that explains it.
        waiting.sort(key=lambda at: chains[at][done[at] // per])
        # A generator, for most candidates are never asked for. When the next one is, everything placed since
        # has been taken back, so `allowed` sees the same state as for the first one.
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
        """Tells whether the next step of a session may be taken now."""
        index, reads, writes = self.step(session)
        state, keys = self.state, self.made.writes.get(index, ())
        per = 2 if self.split else 1
        problem = self.made
        earlier = self.after.get(index, ()) if self.after else ()
        if any(state.done[problem.session[t]] < (problem.within[t] + 1) * per for t in earlier):
            return False
        mine = {(read.key, read.writer) for read in self.made.reads.get(index, ())}
        if reads and any(state.last.get(key, INITIAL) != writer for key, writer in mine):
            # A read must show the last version placed.
            return False
        if reads and self.conflicts and any(key in state.locked for key in keys):
            return False
        if writes:
            for key in keys:
                # The version that this write replaces. Where the order of versions is known it must be the
                # one before; and nobody else may still have to read it.
                version = key, state.last.get(key, INITIAL)
                if self.made.before.get((key, index), version[1]) != version[1]:
                    return False
                waiting = state.pending.get(version, 0) - (reads and version in mine)
                if waiting:
                    return False
        return True

    def place(self, session: int) -> None:
        """Takes the next step of a session, and notes how to take it back."""
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
        """Takes the last step back: the exact reverse of `place`."""
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
