"""The verdicts on client-side levels, and what registers show without a version order."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise

from dvs_model.names import Phenomenon
from dvs_model.observed.client import Answer, Client, Problem, decide, problem
from dvs_model.observed.graph import Edges, Orders, Pair
from dvs_model.observed.layers import layered_cycle
from dvs_model.observed.recover import Finding, Recovered
from dvs_model.observed.search import order_exists

SEARCH_STEPS = 200_000
"""Steps of the search for an order that explains a history; four for each transaction of a large one."""

REFUTED_OF = 400
"""Transactions up to which a serial order without sessions is searched for."""

CHAIN = tuple(level for level in Client if level is not Client.PARALLEL)
"""The client-side levels of which each one but SNAPSHOT is below the next ones."""


class Order(Enum):
    """The order of transactions that a level keeps, beside the dependencies."""

    NONE = "without sessions"
    SESSIONS = "sessions"
    REAL_TIME = "strict"


CYCLES: Mapping[Order, Sequence[Phenomenon]] = {
    Order.NONE: (Phenomenon.G1C, Phenomenon.G_SINGLE),
    Order.SESSIONS: (Phenomenon.G1C_SESSION, Phenomenon.G_SINGLE_SESSION),
    Order.REAL_TIME: (Phenomenon.G1C_REALTIME, Phenomenon.G_SINGLE_REALTIME),
}
"""What parallel snapshot isolation with an order excludes: cycles with one anti-dependency at most."""

EVERY_LEVEL = ("incompatible orders",)
FROM_PL_2 = ("internal", "future read", "duplicate elements", "wrong writer")
"""Findings that no level from PL-2 up allows; of the first, not even PL-1."""


@dataclass(slots=True)
class Answers:
    """What the levels of clients are decided from. `lost`: lost updates where no version order is known."""

    found: Recovered
    orders: Orders
    edges: Edges
    lost: list[Finding] = field(init=False)

    def __post_init__(self) -> None:
        self.lost = self.lost_updates()

    def client(self, present: Collection[Phenomenon], *, acyclic: bool) -> dict[Client, Answer]:
        """Returns the verdicts on the client-side levels.

        `present`: the phenomena that are. `acyclic`: whether sessions and dependencies close no cycle.
        """
        excluded = self.excluded()
        if excluded is not None:
            return dict.fromkeys(Client, excluded)
        if acyclic and not self.orders.unknown:
            # A serial order that keeps sessions and version orders: every weaker level holds too.
            return dict.fromkeys(Client, Answer(True))
        return self.with_order(Order.SESSIONS, present, ())

    def excluded(self, *, sessions: bool = True) -> Answer | None:
        """Returns the verdict that all levels share; None if nothing decides or hides all of them.

        `sessions`: the levels keep the order of sessions.
        """
        if self.found.missing:
            return Answer(None, self.missing())
        wrong = [f for f in self.found.findings if f.name in (*EVERY_LEVEL, *FROM_PL_2)]
        dirty = [f for f in self.found.findings if f.name in ("aborted read", "intermediate read")]
        if wrong or dirty:
            return Answer(False, (wrong or dirty)[0].text)
        if sessions and not self.found.observed.records.sessions:
            return Answer(None, "the file does not say which transactions are of one session")
        return None

    def with_order(
        self, order: Order, present: Collection[Phenomenon], time: Sequence[Pair]
    ) -> dict[Client, Answer]:
        """Returns the verdicts on the levels if an order of transactions is kept, decided one by one.

        `time`: who ended right before whom began, for Order.REAL_TIME.
        """
        made = problem(self.found, self.orders, sessions=order is not Order.NONE, time=time)
        serial = self.searched(made, Client.SERIALIZABLE)
        if serial.holds:
            return dict.fromkeys(Client, Answer(True))
        answers = {Client.SERIALIZABLE: serial, Client.SNAPSHOT: self.searched(made, Client.SNAPSHOT)}
        known = answers[Client.SNAPSHOT]
        answers[Client.PREFIX] = known if known.holds else self.searched(made, Client.PREFIX)
        for level in (Client.CAUSAL, Client.READ_ATOMIC, Client.READ_COMMITTED):
            # Each level holds where the next stronger one does.
            stronger = answers[CHAIN[CHAIN.index(level) + 1]]
            answers[level] = stronger if stronger.holds else decide(made, level)
        for level, other in pairwise(CHAIN):
            # Snapshot isolation and serializability are apart: neither is below the other one.
            if answers[level].holds is False and level is not Client.SNAPSHOT:
                answers[other] = answers[level]
        if answers[Client.PREFIX].holds is False:
            answers[Client.SERIALIZABLE] = answers[Client.PREFIX]
        answers[Client.PARALLEL] = self.parallel(answers, present, order)
        return {level: answers[level] for level in Client}

    def parallel(
        self, answers: Mapping[Client, Answer], present: Collection[Phenomenon], order: Order
    ) -> Answer:
        """Returns the verdict on parallel snapshot isolation: so, wr and ww, then at most one rw."""
        if answers[Client.CAUSAL].holds is False:
            return answers[Client.CAUSAL]
        if self.lost:
            return Answer(False, self.lost[0].text)
        for phenomenon in CYCLES[order]:
            if phenomenon in present:
                return Answer(False, f"{phenomenon.value} is present")
        if not self.orders.unknown or answers[Client.SNAPSHOT].holds:
            return Answer(True)
        return Answer(None, "the order of versions is not recorded, and no snapshots explain the history")

    def searched(self, made: Problem, level: Client) -> Answer:
        """Returns the verdict on a level that needs an order: by cycles where version orders are known."""
        if not self.orders.unknown:
            order = {"before in its session": made.so, "ended before the beginning of": made.time}
            cycle = layered_cycle(self.found, self.edges, level, order)
            return Answer(True) if cycle is None else Answer(False, cycle)
        steps = max(SEARCH_STEPS, 4 * made.count)
        exists = order_exists(made, level, steps)
        if exists is None:
            return Answer(None, f"no order was found in {steps:,} steps, and none was excluded")
        return (
            Answer(True) if exists else Answer(False, "no order of the transactions explains what was read")
        )

    def refuted(self) -> bool:
        """Whether no serial order explains the reads, sessions left aside (PL-3 knows none)."""
        if not self.orders.unknown or self.found.missing or self.found.findings:
            return False
        if len(self.found.taken) > REFUTED_OF:
            return False
        made = problem(self.found, self.orders, sessions=False)
        return order_exists(made, Client.SERIALIZABLE, SEARCH_STEPS // 10) is False

    def lost_updates(self) -> list[Finding]:
        """Returns two writers of a key that read one version of it, where no version order is known.

        Whichever wrote first, the other one overwrote what it had not read.
        """
        readers: dict[tuple[str, int], list[int]] = {}
        for read in self.found.reads:
            if read.key in self.orders.unknown and read.reader in self.found.installed[read.key]:
                readers.setdefault((read.key, read.writer), []).append(read.reader)
        found = []
        for (key, _), indexes in readers.items():
            both = [self.found.number(index) for index in dict.fromkeys(indexes)]
            if len(both) > 1:
                text = f"T{both[0]} and T{both[1]} read the same version of key {key}, and both overwrote it"
                found.append(Finding("lost update", (both[0], both[1]), text))
        return found

    def missing(self) -> str:
        """Returns why reads of values that nobody wrote leave levels open."""
        count = self.found.missing
        reads = "a read shows a value" if count == 1 else f"{count:,} reads show values"
        return f"{reads} whose writer is not in the file"
