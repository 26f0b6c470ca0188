"""Decide variants of the client-side levels by name, and the session guarantees (Terry and others 1994).

A level keeps the order of each session. Its *strict* variant keeps real time: who ended before another one
began comes before it, and is visible to it (strict serializability, for one). *Without sessions* a level
keeps neither; that is what Elle and Adya call serializable.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from dvs_model.clients.answers import Answers
from dvs_model.clients.basis import KeptOrder, arcs_of, verdict
from dvs_model.columns.forced import RULES, Forced
from dvs_model.observed.client import TOO_MANY, Answer, Client, problem
from dvs_model.observed.guarantees import Guarantee, forced, order
from dvs_model.observed.time import time_pairs
from dvs_model.theory.names import Phenomenon

DIRTY = ("aborted read", "intermediate read")

MOST_TRANSACTIONS = 200_000
"""Transactions up to which guarantees and strict levels are decided: they need objects for each read."""

DISAGREE = "the order of the file and :time do not agree on when transactions began and ended"

Named = Guarantee | tuple[Client, KeptOrder]

VARIANTS: Mapping[str, Named] = {
    **{level.value: (level, KeptOrder.SESSIONS) for level in Client},
    **{f"strict {level.value}": (level, KeptOrder.REAL_TIME) for level in Client},
    **{f"{level.value} without sessions": (level, KeptOrder.NONE) for level in Client},
    **{guarantee.value: guarantee for guarantee in Guarantee},
}
"""What a user can ask for, by name."""


@dataclass(slots=True)
class Variants:
    """The verdicts on variants of one history.

    `plain`: the verdicts on the levels as such, which keep sessions. `present`: the phenomena that are
    present. `serial`: whether dependencies, sessions and real time are known to close no cycle. `known`: the
    verdicts so far, by the order that is kept.
    """

    answers: Answers
    plain: Mapping[Client, Answer]
    present: Collection[Phenomenon]
    serial: bool = False
    known: dict[KeptOrder, Mapping[Client, Answer]] = field(default_factory=dict)

    def answer(self, name: str) -> Answer:
        """Returns the verdict on a level by its name in `VARIANTS`."""
        match VARIANTS[name]:
            case Guarantee() as guarantee:
                return self.answers.hidden(self.guarantee(guarantee))
            case (level, order):
                if order not in self.known:
                    self.known[order] = self.of(order)
                return self.answers.hidden(self.known[order][level])

    def of(self, order: KeptOrder) -> Mapping[Client, Answer]:
        """Returns the verdicts on all levels if they keep `order`, real time by both of its sources."""
        if order is KeptOrder.NONE:
            return self.without_sessions()
        if order is KeptOrder.SESSIONS:
            return self.plain
        excluded = self.answers.excluded()
        if excluded is None:
            return self.in_real_time()
        if excluded.holds is False or not self.answers.basis.observed.records.real_time:
            return self.plain
        # Sessions are not known, and to keep them is a further demand: only violations are certain.
        return {
            level: each if each.holds is False else self.plain[level]
            for level, each in self.in_real_time().items()
        }

    def in_real_time(self) -> Mapping[Client, Answer]:
        """Returns the verdicts on all levels if they keep real time by both of its sources."""
        answers = self.answers
        if not answers.basis.observed.records.real_time:
            return self.implied(Answer(None, "the file does not say when transactions began and ended"))
        if self.serial and answers.basis.unordered is None:
            return dict.fromkeys(Client, Answer(True))
        if len(answers.basis.observed.transactions) > MOST_TRANSACTIONS:
            return self.implied(Answer(None, "there are too many transactions for it"))
        timed = answers.basis.windows(timed=True)
        by_file, by_time = (time_pairs(each) for each in (answers.basis.windows(timed=False), timed))
        found = answers.with_order(KeptOrder.REAL_TIME, self.present, by_file)
        # A file whose transactions all overlap by its times has times, too, and no pairs.
        if np.isnan(timed[:, 0]).all() or set(by_time) == set(by_file):
            return found
        other = answers.with_order(KeptOrder.REAL_TIME, self.present, by_time)
        both = {level: self.agreed(level, found[level], other[level]) for level in Client}
        # Phenomena of real time decide it, and `present` has those that both orders show, not those of one.
        # So it is taken from snapshot isolation, which is stronger: if that holds, this holds as well.
        both[Client.PARALLEL] = both[Client.SNAPSHOT]
        if both[Client.SNAPSHOT].holds is False:
            both[Client.PARALLEL] = Answer(None, DISAGREE)
        return both

    def without_sessions(self) -> Mapping[Client, Answer]:
        """Returns the verdicts on all levels if they keep no order of transactions.

        Less is demanded then, so what holds with sessions holds without them.
        """
        excluded = self.answers.excluded(sessions=False)
        if excluded is not None:
            return dict.fromkeys(Client, excluded)
        if all(each.holds for each in self.plain.values()):
            return self.plain
        found = self.answers.with_order(KeptOrder.NONE, self.present, ())
        return {
            level: each if not self.plain[level].holds else self.plain[level] for level, each in found.items()
        }

    def agreed(self, level: Client, first: Answer, second: Answer) -> Answer:
        """Returns the verdict where the order of the file and its times differ.

        Real time is what both say, so fewer pairs than each of them has. So the level holds if it holds by
        one of them, and is violated if it is violated without real time; else it stays open.
        """
        for each in (first, second):
            if each.holds:
                return each
        if self.plain[level].holds is False:
            return self.plain[level]
        return Answer(None, DISAGREE)

    def implied(self, unknown: Answer) -> Mapping[Client, Answer]:
        """Returns the verdicts where real time is not known: what is violated without it is with it, too."""
        return {level: each if each.holds is False else unknown for level, each in self.plain.items()}

    def guarantee(self, guarantee: Guarantee) -> Answer:
        """Returns the verdict on a session guarantee."""
        excluded = self.answers.excluded()
        if excluded is not None:
            dirty = {finding.name for finding in self.answers.basis.findings} <= {*DIRTY}
            # An aborted or intermediate read says nothing about the order that a session sees: unknown.
            return Answer(None, excluded.because) if dirty else excluded
        if self.plain[Client.CAUSAL].holds:
            # Causal consistency implies all four guarantees.
            return self.plain[Client.CAUSAL]
        if len(self.answers.basis.observed.transactions) > MOST_TRANSACTIONS:
            return Answer(None, "there are too many transactions for it")
        basis = self.answers.basis
        task = problem(*basis.whole(), sessions=True)
        found, keys = forced(task, guarantee), {key: code for code, key in enumerate(task.writers)}
        if found is None:
            return TOO_MANY
        codes = np.array([keys[key] for key in found.values()], np.int64)
        arrays = Forced(arcs_of(found), codes, np.full(len(found), RULES.index(guarantee.value)))
        return verdict(basis, arcs_of(order(task, guarantee)), arrays, list(keys))
