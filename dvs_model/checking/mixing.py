"""Histories whose transactions run at different levels (Adya 1999, section 5.2; ICDE 2000, section 5.4).

Such a history is *mixing-correct* if each transaction gets what its own level promises, whatever the others
run at: the graph of the dependencies that matter to somebody has no cycle, and no transaction from PL-2 up
has an aborted or intermediate read. A write dependency matters to all, a read dependency to a reader from
PL-2 up, an anti-dependency on an item to a reader from PL-2.99 up, one on a predicate to a reader at PL-3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from dvs_model.analysis.analysis import Analysis
from dvs_model.analysis.search import smallest_cycle, web
from dvs_model.analysis.verdict import ABSENT, Cycle, DirtyRead, PhenomenonVerdict, Present, Unknown
from dvs_model.checking.sentences import Sentences
from dvs_model.graph.cycles import strong_labels
from dvs_model.graph.edges import BudgetSpent, Edge, doubt
from dvs_model.graph.graph import Kind
from dvs_model.phenomena.cycles import SPENT
from dvs_model.phenomena.registry import DETECTORS
from dvs_model.theory.names import Level, Phenomenon

MIXED = (Level.PL_1, Level.PL_2, Level.PL_2_99, Level.PL_3)
"""The levels that can be mixed, the weaker first."""


@dataclass(frozen=True, slots=True)
class Mixed:
    """The verdict on a history of several levels; Present: it is not mixing-correct.

    `levels`: by transaction its level; `others`: the level of all others. `words`: the evidence in sentences.
    """

    levels: Mapping[int, Level]
    others: Level
    verdict: PhenomenonVerdict
    words: tuple[str, ...] = ()


def mixing(analysis: Analysis, levels: Mapping[int, Level], others: Level) -> Mixed:
    """Returns the verdict whether a history is mixing-correct, with a cycle or a read that shows why not."""
    verdict = _Mixing(analysis, levels, others).verdict()
    found = verdict.evidence if isinstance(verdict, Present | Unknown) else ()
    words = chain.from_iterable(map(Sentences(analysis).evidence, found))
    return Mixed(levels, others, verdict, tuple(words))


@dataclass(frozen=True, slots=True)
class _Mixing:
    analysis: Analysis
    levels: Mapping[int, Level]
    others: Level

    def verdict(self) -> PhenomenonVerdict:
        """Returns the verdict: present if some transaction did not get what its own level promises."""
        dirty = tuple(self.dirty_reads())
        if dirty:
            return Present(dirty)
        scope = self.analysis.scope(None)
        assert scope is not None, "without an order there is always a graph"
        try:
            for certain in (True, False):
                edges = self.on_cycles([edge for edge in scope.edges(certain=certain) if self.matters(edge)])
                cycle = smallest_cycle(edges, web(edges), scope.budget) if edges else None
                if cycle is not None:
                    found = (Cycle(cycle),)
                    return Present(found) if certain else Unknown(doubt(cycle), found)
        except BudgetSpent:
            return Unknown(SPENT)
        return ABSENT

    def on_cycles(self, edges: Sequence[Edge]) -> list[Edge]:
        """Returns the edges that lie on a cycle of some edges."""
        number = self.analysis.graph.number
        tails = [number[edge.source] for edge in edges]
        heads = [number[edge.target] for edge in edges]
        labels = strong_labels(tails, heads, len(number))
        return [
            edge for edge, tail, head in zip(edges, tails, heads, strict=True) if labels[tail] == labels[head]
        ]

    def dirty_reads(self) -> list[DirtyRead]:
        """Returns the aborted and intermediate reads of transactions that may have none."""
        verdicts = [self.analysis.once(DETECTORS[p]) for p in (Phenomenon.G1A, Phenomenon.G1B)]
        found = [item for verdict in verdicts if isinstance(verdict, Present) for item in verdict.evidence]
        return [item for item in found if isinstance(item, DirtyRead) and self.has(item.reader, Level.PL_2)]

    def matters(self, edge: Edge) -> bool:
        """Tells whether the level of the reader promises something about a dependency, or all levels do."""
        match edge.kind:
            case Kind.WR:
                return self.has(edge.target, Level.PL_2)
            case Kind.RW if edge.predicate is not None:
                return self.has(edge.source, Level.PL_3)
            case Kind.RW:
                return self.has(edge.source, Level.PL_2_99)
            case _:
                return True

    def has(self, txn: int, least: Level) -> bool:
        """Tells whether a transaction runs at a level or above it."""
        return MIXED.index(self.levels.get(txn, self.others)) >= MIXED.index(least)
