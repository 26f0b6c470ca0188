"""The analysis of one history under one reading of the definitions.

It holds what the detectors of phenomena share (the DSG, the clocks, the index of events), each built on first
use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from dvs_model.analysis.scope import Scope, with_sessions, with_time
from dvs_model.analysis.verdict import PhenomenonVerdict
from dvs_model.graph.dsg import dsg
from dvs_model.graph.edges import Budget
from dvs_model.graph.facts import Facts, derivations_ignored, facts
from dvs_model.graph.graph import Graph, Kind
from dvs_model.graph.reading import DEFAULT, Derivations, Reading
from dvs_model.histories.clock import Clock, stated_clock, text_clock
from dvs_model.histories.history import History, PredicateRead, Read, Write
from dvs_model.theory.definitions import Order

STEPS = 100_000_000
"""The default budget of one detector on one history, in steps of `graph.edges.Budget`."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The parts of the analysis that planted faults replace.

    `graph`: the construction of the DSG. `prepare`: applied to the history first; the right one changes
    nothing.
    """

    graph: Callable[[Facts, Reading], Graph] = dsg
    prepare: Callable[[History], History] = lambda history: history


RULES = Rules()
"""The rules without a planted fault."""


class Analysis:
    """A history under a reading, with its graph and clocks.

    `history`: as it is judged, with derivations as reads and writes if the reading ignores them. `steps`: the
    budget of each detector.
    """

    def __init__(
        self, history: History, reading: Reading = DEFAULT, *, steps: int = STEPS, rules: Rules = RULES
    ) -> None:
        prepared = rules.prepare(history)
        ignored = reading.derivations is Derivations.IGNORE
        self.history = derivations_ignored(prepared) if ignored else prepared
        self.reading = reading
        self.rules = rules
        self.steps = steps
        self.budget = Budget(steps)
        self._verdicts: dict[Callable[[Analysis], PhenomenonVerdict], PhenomenonVerdict] = {}
        self._scopes: dict[tuple[Order | None, bool], Scope | None] = {}

    def once(self, detector: Callable[[Analysis], PhenomenonVerdict]) -> PhenomenonVerdict:
        """Returns the verdict of a detector, which runs only the first time."""
        if detector not in self._verdicts:
            # Each detector has its own budget: a spent one must not change the verdict of the next.
            self.budget.steps = self.steps
            self._verdicts[detector] = detector(self)
        return self._verdicts[detector]

    @cached_property
    def facts(self) -> Facts:
        """The index of the history."""
        return facts(self.history)

    @cached_property
    def nodes(self) -> Mapping[int, list[int]]:
        """The reads and writes of each transaction, as event numbers in ascending order."""
        nodes: dict[int, list[int]] = {}
        for number, event in enumerate(self.history.events):
            if isinstance(event, Read | PredicateRead | Write):
                nodes.setdefault(event.txn, []).append(number)
        return nodes

    @cached_property
    def graph(self) -> Graph:
        """The Direct Serialization Graph (Adya 1999, section 3.1.4)."""
        return self.rules.graph(self.facts, self.reading)

    @cached_property
    def clock(self) -> Clock | None:
        """When transactions start and commit, by time-precedes items or by the text; None: not stated."""
        return stated_clock(self.history) if self.history.precedes else self.text_clock

    @cached_property
    def text_clock(self) -> Clock | None:
        """When transactions start and commit in the text; None unless every committed one has a start."""
        return text_clock(self.history)

    def scope(self, order: Order | None = None, *, unfolded: bool = False) -> Scope | None:
        """Returns the DSG with the edges of an order added; None: the history does not state the order.

        STARTS gives the start-ordered graph SSG (Adya 1999, section 4.3). `unfolded`: an edge of time ends at
        the last read or write of a transaction, not at its start. So the scope covers every unfolded graph
        SUSG (section 4.3.2), in which such an edge ends at one read or write.
        """
        # Without time-precedes items both orders are that of the text, so one graph serves both.
        if order is Order.STARTS and not self.history.precedes:
            order = Order.REALTIME
        key = order, unfolded and order is not None
        if key not in self._scopes:
            self._scopes[key] = self._scope(*key)
        return self._scopes[key]

    def _scope(self, order: Order | None, unfolded: bool) -> Scope | None:
        """Builds what `scope` returns and keeps for the next call."""
        if order is None:
            return Scope(self.graph, (), self.budget)
        if order is Order.SESSIONS:
            sessions = self.history.sessions.values()
            return (
                Scope(with_sessions(self.graph, sessions), (Kind.SESSION,), self.budget) if sessions else None
            )
        clock = self.clock if order is Order.STARTS else self.text_clock
        if clock is None:
            return None
        if unfolded:
            ends = {txn: float(self.nodes[txn][-1]) for txn in clock.starts if txn in self.nodes}
            clock = replace(clock, starts={**clock.starts, **ends})
        return Scope(with_time(self.graph, clock), (Kind.TIME,), self.budget, clock)
