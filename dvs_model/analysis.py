"""One history under one reading: everything the detectors share, each part made when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from dvs_model.clock import Clock, stated_clock, text_clock
from dvs_model.dsg import dsg
from dvs_model.edges import Budget, Edge
from dvs_model.facts import Facts, derivations_ignored, facts
from dvs_model.graph import Graph, Kind
from dvs_model.history import History, PredicateRead, Read, Write
from dvs_model.reading import DEFAULT, Derivations, Reading
from dvs_model.scope import Scope, with_sessions, with_time
from dvs_model.verdict import Finding

STEPS = 100_000_000
"""The default budget of one detector on one history."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What may be replaced from outside: the graph's construction and the preparation of the history.

    `prepare`: applied before anything else; the right one changes nothing.
    """

    graph: Callable[[Facts, Reading], Graph] = dsg
    prepare: Callable[[History], History] = lambda history: history


RULES = Rules()


class Analysis:
    """A history as it is read, its graph and clocks."""

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
        self.found: dict[Callable[[Analysis], Finding], Finding] = {}

    @cached_property
    def facts(self) -> Facts:
        """The index of the history."""
        return facts(self.history)

    def once(self, detector: Callable[[Analysis], Finding]) -> Finding:
        """What a detector finds; several phenomena may ask for the same."""
        if detector not in self.found:
            # A budget each: one that runs out must not take the next one's verdict with it.
            self.budget.steps = self.steps
            self.found[detector] = detector(self)
        return self.found[detector]

    @cached_property
    def nodes(self) -> Mapping[int, list[int]]:
        """Per transaction its reads and writes, as numbers of events."""
        nodes: dict[int, list[int]] = {}
        for number, event in enumerate(self.history.events):
            if isinstance(event, Read | PredicateRead | Write):
                nodes.setdefault(event.txn, []).append(number)
        return nodes

    @cached_property
    def graph(self) -> Graph:
        """The DSG."""
        return self.rules.graph(self.facts, self.reading)

    @cached_property
    def plain(self) -> Scope:
        """Dependencies alone."""
        return Scope(self.graph, (), self.budget)

    @cached_property
    def clock(self) -> Clock | None:
        """Time-precedes, where the history states it."""
        return stated_clock(self.history)

    @cached_property
    def text_clock(self) -> Clock | None:
        """Starts and commits in the text."""
        return text_clock(self.history)

    @cached_property
    def starts(self) -> Scope | None:
        """The start-ordered graph, SSG (Adya 1999, section 4.3)."""
        return self._timed(self.clock)

    @cached_property
    def realtime(self) -> Scope | None:
        """Dependencies and the order of the text; None without start events."""
        return self._timed(self.text_clock)

    @cached_property
    def unfolded(self) -> Scope | None:
        """Where cycles of SUSG can lie (Adya 1999, section 4.3.2): commits before the last read or write.

        Wider than any one unfolded graph, in which a start edge enters at one read or write.
        """
        clock = self.text_clock
        if clock is None:
            return None
        last = dict(clock.starts)
        for txn, nodes in self.nodes.items():
            if txn in last:
                last[txn] = float(nodes[-1])
        return self._timed(Clock(last, clock.commits))

    @cached_property
    def sessions(self) -> Scope | None:
        """Dependencies and session order; None where no session is named."""
        if not self.history.sessions:
            return None
        graph = with_sessions(self.graph, list(self.history.sessions.values()))
        return Scope(graph, (Kind.SESSION,), self.budget)

    def _timed(self, clock: Clock | None) -> Scope | None:
        if clock is None:
            return None
        return Scope(with_time(self.graph, clock), (Kind.TIME,), self.budget, clock)

    def missing_match(self, edge: Edge) -> str:
        """Why an edge is only possible."""
        txns = f"T{edge.source} {edge.label} T{edge.target}"
        return f"it is not said which versions of {edge.obj} match {edge.predicate}: {txns} may or may not be"
