"""The options by which a history is judged, and the verdicts under them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from dvs_model.analysis.analysis import STEPS
from dvs_model.analysis.verdict import Cycle, Present, Unknown
from dvs_model.checking.check import (
    Checked,
    check,
    with_least,
    with_unread,
    with_unselected,
    with_windows,
    without_holds,
)
from dvs_model.checking.executing import executing
from dvs_model.checking.explain import LevelStatus, explanations, requested_with
from dvs_model.checking.mixing import mixing
from dvs_model.checking.reduction import Reduction, fewer
from dvs_model.checking.smallest import CALLS, smallest
from dvs_model.clients.answers import SEARCH_STEPS
from dvs_model.clients.judge import judge
from dvs_model.columns.shares import Listed
from dvs_model.errors import HistoryError, RequestError
from dvs_model.formats.reader import Parsed, Pieces, Viewed
from dvs_model.formats.timekiller import with_initial
from dvs_model.graph.reading import DEFAULT, Reading
from dvs_model.judging.files import opened
from dvs_model.observed.history import UNRECORDED
from dvs_model.observed.seen import Assumption, Observed, RealTime
from dvs_model.theory.names import Level, Phenomenon

TRIED_OF = 1_000
"""The most transactions of a history for which other options are tried, to say what they would decide."""

PARTIAL = "operations of processes without a number are left out"
"""Why nothing holds in a history of which transactions are left out."""


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """What is asked of histories, as `dvs check` has an option for each.

    `requested`: levels of Adya's. `clients`: client-side ones. `forbidden`: phenomena. `mixed`: the levels
    by transaction, if they have their own; `others`: that of all others. `executing`: levels by which reads
    of aborted transactions are judged. `initial`: one more value that clients read where nobody wrote.
    `complete`: every committed write is in the file. `converted`: the order inside a transaction is lost.
    `assumed`: what is assumed of versions. `initial_state`: a file with what there was before. `order`:
    what tells who was over before whom began. `least`: committed transactions below which nothing holds.
    `search_steps`: of the search for an order of transactions.
    """

    requested: tuple[Level, ...] = (Level.PL_3,)
    clients: tuple[str, ...] = ()
    forbidden: tuple[Phenomenon, ...] = ()
    mixed: Mapping[int, Level] | None = None
    others: Level = Level.PL_3
    executing: tuple[Level, ...] = ()
    reading: Reading = DEFAULT
    steps: int = STEPS
    initial: int | None = None
    complete: bool = False
    converted: bool = False
    assumed: tuple[str, ...] = ()
    initial_state: Path | None = None
    order: RealTime = RealTime.BOTH
    least: int = 1
    search_steps: int = SEARCH_STEPS

    def judge(self, item: Parsed | Viewed) -> Checked:
        """Returns the verdicts on a history, as far as enough of it committed.

        Raises HistoryError: values are not unique. Raises RequestError: something is wanted that such a
        history cannot tell, such as client-side levels of a history that no clients recorded.
        """
        return with_least(self._judged(item), self.least)

    def _judged(self, item: Parsed | Viewed) -> Checked:
        """Returns the verdicts on one history, with those that the options ask for besides its levels."""
        checked = self._observed(item) if isinstance(item, Viewed) else self._stated(item)
        checked = replace(checked, forbidden=self.forbidden)
        if self.executing and checked.seen is None:
            assert isinstance(item, Parsed)
            asked = executing(checked, self.executing, lambda plain: _as_recorded(plain, item))
            checked = replace(checked, executing=asked)
        if self.mixed is None:
            return checked
        left_open = item.left_open if isinstance(item, Parsed) else ""
        return _with_mixed(checked, self.mixed, self.others, left_open)

    def apply_to(self, item: Parsed | Viewed) -> Parsed | Viewed:
        """Returns a history with the facts that options add to it, such as the state before the run.

        Raises HistoryError: the file of that state is none. Raises RequestError: it cannot be read.
        """
        if not isinstance(item, Viewed):
            # The verdicts of the default reading on all phenomena depend on a part; other ones may not.
            other = self.reading != DEFAULT or self.mixed is not None or self.executing
            return replace(item, history=item.whole.read(), whole=None) if item.whole and other else item
        observed = item.observed
        if self.initial_state is not None:
            with opened(self.initial_state, str(self.initial_state)) as file:
                observed = with_initial(observed, file.read(), str(self.initial_state))
        if self.assumed and isinstance(observed.transactions, Listed):
            raise RequestError(
                f"--assume: {observed.name} is larger than --memory, or on a cluster; assumptions need the "
                "whole history in the memory of one machine"
            )
        if self.complete and observed.records.partial:
            raise RequestError(f"--complete: of {observed.name}, {PARTIAL}; give each client a number")
        observed = observed.in_real_time(self.order)
        more = frozenset() if self.initial is None else frozenset({self.initial})
        initial = observed.records.initial | more
        records = replace(
            observed.records,
            initial=initial,
            loaded=more,
            complete=self.complete,
            converted=self.converted,
            assumed=self.assumed,
        )
        return replace(item, observed=replace(observed, records=records))

    def smallest(self, observed: Observed, checked: Checked) -> Observed:
        """Returns the smallest part found that violates the first level that a history violates."""
        name = requested_with(checked, self.requested, LevelStatus.VIOLATED)[0][0]

        def judged(part: Observed) -> Checked:
            return self._judge(part)

        def wrong(part: Observed) -> bool:
            try:
                found = requested_with(judged(part), self.requested, LevelStatus.VIOLATED)
            except HistoryError:
                return False
            return name in [each for each, _ in found]

        # Where a value without its writer is an aborted read, whatever is left out would be wrong.
        plain = replace(observed, records=replace(observed.records, complete=False))
        return smallest(plain if wrong(plain) else observed, _shown(checked), wrong)

    def fewest(self, pieces: Pieces, checked: Checked) -> list[int]:
        """Returns the places of the fewest operations found that show what first violates a level.

        Others are left out while the same transactions depend on each other in the same way.
        """
        name = requested_with(checked, self.requested, LevelStatus.VIOLATED)[0][0]
        cycle = _first(checked)

        def same(places: list[int]) -> bool:
            try:
                judged = self.judge(pieces.read(sorted([*pieces.fixed, *places])))
            except HistoryError:
                return False
            found = requested_with(judged, self.requested, LevelStatus.VIOLATED)
            return name in [each for each, _ in found] and _first(judged) == cycle

        others = Reduction([at for at in range(pieces.count) if at not in pieces.fixed], same, CALLS)
        fewer(others)
        return sorted([*pieces.fixed, *others.current])

    def _observed(self, item: Viewed) -> Checked:
        """Returns the verdicts on a history that clients recorded, and which option would decide more."""
        checked = self._judge(item.observed)
        hints = tuple(self._hints(item.observed, checked))
        if not hints or checked.seen is None:
            return checked
        return replace(checked, seen=replace(checked.seen, notes=(*checked.seen.notes, *hints)))

    def _judge(self, observed: Observed) -> Checked:
        """Returns the verdicts on a history of what clients observed."""
        found = judge(
            observed,
            self.reading,
            steps=self.steps,
            wanted=self.clients,
            search_steps=self.search_steps,
        )
        return without_holds(found, PARTIAL) if observed.records.partial else found

    def _hints(self, observed: Observed, checked: Checked) -> Iterator[str]:
        """Yields the options that would decide unknown levels, each in a sentence with these levels."""
        unknown = dict(requested_with(checked, self.requested, LevelStatus.UNKNOWN))
        records = observed.records
        follows = Assumption.WRITES_FOLLOW_READS.value
        options = {
            f"--assume {follows}": replace(records, assumed=(*records.assumed, follows)),
            "--complete": replace(records, complete=True),
        }
        for option, assumed in options.items():
            if not unknown or records.partial or assumed == records or not _may_decide(option, checked):
                continue
            if len(observed.transactions) > TRIED_OF:
                yield f"{option} may decide it; that is not tried on more than {TRIED_OF:,} transactions"
                continue
            with suppress(HistoryError):
                other = self._judge(replace(observed, records=assumed))
                for verdict in (LevelStatus.VIOLATED, LevelStatus.HOLDS):
                    decided = [
                        name for name, _ in requested_with(other, self.requested, verdict) if name in unknown
                    ]
                    if decided:
                        yield f"with {option}, {', '.join(decided)} {verdict.value}"

    def _stated(self, item: Parsed) -> Checked:
        """Returns the verdicts on a history in the notation, or of a log."""
        if self.clients:
            name = item.history.name or "the history"
            raise RequestError(
                f"{name} has version orders of its own: the notation, a log, or reads by predicates; a level "
                f"such as {self.clients[0]} is for what clients recorded: files of Jepsen, Plume, Cobra, "
                "dbcop, AWDIT and TimeKiller, and tables of operations"
            )
        checked = check(item.history, self.reading, steps=self.steps)
        size = None if item.whole is None else item.whole.size
        return _as_recorded(replace(checked, places=item.places, size=size), item)


def _may_decide(option: str, checked: Checked) -> bool:
    """Tells whether an option says something of what a history leaves open."""
    found = () if checked.seen is None else checked.seen.anomalies
    if option == "--complete":
        return any(name == "unwritten value read" for name, _, _ in found)
    return any(
        isinstance(verdict, Unknown) and UNRECORDED in verdict.reason
        for verdict in checked.phenomena.values()
    )


def _as_recorded(checked: Checked, item: Parsed) -> Checked:
    """Returns the verdicts on a history, unknown where they depend on what the file leaves open."""
    if item.windows:
        checked = with_windows(checked)
    if item.unselected is not None:
        checked = with_unselected(checked, item.unselected)
    if item.unexplained:
        checked = with_unread(checked, item.unexplained, frozenset())
    return with_unread(checked, item.unread) if item.unread else checked


def _first(checked: Checked) -> list[tuple[object, ...]]:
    """Returns the steps of the first explanation: who depends on whom, and in what way."""
    explained = explanations(checked, minimised=False)
    lines = explained[0].lines if explained else ()
    return [
        (line.text,) if line.edge is None else (line.edge.kind, line.edge.source, line.edge.target)
        for line in lines
    ]


def _shown(checked: Checked) -> list[int]:
    """Returns the transactions of the evidence."""
    found = [v.evidence for v in checked.phenomena.values() if isinstance(v, Present)]
    edges = [edge for each in found for item in each if isinstance(item, Cycle) for edge in item.edges]
    of_anomalies = (
        [] if checked.seen is None else [txn for _, txns, _ in checked.seen.anomalies for txn in txns]
    )
    return [*(txn for edge in edges for txn in (edge.source, edge.target)), *of_anomalies]


def _with_mixed(checked: Checked, levels: Mapping[int, Level], others: Level, left_open: str) -> Checked:
    """Returns the verdicts with the one on a history of several levels, unknown where something is left open.

    Raises RequestError: the history was recorded by clients, or has no such transaction.
    """
    name = checked.original.name or "the history"
    if checked.seen is not None:
        raise RequestError(
            f"{name} was recorded by clients; --transaction-level is for the notation and Delta logs"
        )
    committed = checked.analysis.facts.commits
    missing = [txn for txn in levels if txn not in committed]
    if missing:
        raise RequestError(f"{name} has no committed transaction T{missing[0]}; --transaction-level names it")
    found = mixing(checked.analysis, levels, others)
    if left_open and not isinstance(found.verdict, Present):
        found = replace(found, verdict=Unknown(left_open))
    return replace(checked, mixed=found)
