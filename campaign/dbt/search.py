"""The search for changes of the sources after which a model differs from its full refresh (`dvs dbt`)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from campaign.dbt.answers import Found, ModelCell
from campaign.dbt.differences import Equal, NotJudged, RefreshDifference, Seen
from campaign.dbt.drawing import Drawing, NotPossible, draw, key_of, latenesses
from campaign.dbt.facts import ProjectFacts, learned, made_ready, opened
from campaign.dbt.kinds import ChangeKind
from campaign.dbt.process import DbtBroken, Target, dbt_process
from campaign.dbt.project import Project, Source
from campaign.dbt.reading import columns_of
from campaign.dbt.run import Rejected, Runner
from campaign.dbt.smaller import shrink
from campaign.dbt.trials import Put, Round, Trial
from campaign.errors import CampaignError

REDRAWS = 20
"""How many times a trial is drawn before it is given up, if the database refuses its rows."""

ENOUGH_DIFFERENCES = 3
"""After so many trials that differ, the others of a cell would only cost time."""

PROGRESS_S = 5.0
"""Seconds between two lines of progress."""

ALONE = frozenset(ChangeKind) - {
    ChangeKind.APPENDED,
    ChangeKind.APPENDED_LATE,
    ChangeKind.APPENDED_TWICE,
    ChangeKind.NULL_KEY,
    ChangeKind.NULL_CLOCK,
    ChangeKind.EQUAL_CLOCK,
}
"""The kinds whose change can be left out of a trial: in the others, a row that is appended is the change."""

APPENDING = (ChangeKind.FAILED_RUN, ChangeKind.TWO_RUNS, ChangeKind.SCHEMA_CHANGED)
"""The kinds of `ALONE` of which, without the change, rows remain that are only appended."""

TWO_RUNS = 3
"""The most trials with two runs at once, because each starts a further process."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of a search. `trials`: of each kind on each source; `budget`: seconds, an upper bound."""

    seed: int
    trials: int
    rounds: int
    budget: float
    workers: int


@dataclass(frozen=True, slots=True)
class Pair:
    """A kind of change on a source, and the models that are judged after it.

    `keys`: for each source of the models the columns by which its rows are told apart. `merged`: those that
    stand in a `unique_key`. `others`: further sources of the models. `size`: how many models a run builds.
    `repeats`: rows of a source without a key may share that of a model.
    """

    kind: ChangeKind
    source: Source
    models: tuple[str, ...]
    keys: Mapping[str, tuple[str, ...]]
    merged: Mapping[str, frozenset[str]]
    others: tuple[Source, ...]
    size: int
    repeats: bool = False


@dataclass(slots=True)
class DbtResult:
    """The result of a search. `trials`: how many were run; `seconds`: how long it took.

    `profile`: of dbt, what a script needs of it. `broken`: trials that could not be run. `finished`: the
    budget was enough, and nobody `stopped` the search.
    """

    facts: ProjectFacts
    answers: dict[str, dict[ChangeKind, ModelCell]]
    profile: Mapping[str, Any]
    kinds: Sequence[ChangeKind] = tuple(ChangeKind)
    trials: int = 0
    comparisons: int = 0
    seconds: float = 0.0
    broken: list[str] = field(default_factory=list)
    finished: bool = True
    stopped: bool = False


def pairs_of(
    facts: ProjectFacts,
    answers: dict[str, dict[ChangeKind, ModelCell]],
    kinds: Sequence[ChangeKind],
    profile: Mapping[str, Any],
) -> list[Pair]:
    """Returns every kind of change on every source that can happen to it, and for which a model is judged.

    Marks the cells in `answers`: `applicable`, or the reason why not.
    """
    project = facts.project
    found = []
    for kind in kinds:
        for source in project.sources.values():
            role = facts.roles.joined if kind is ChangeKind.DIMENSION_CHANGED else facts.roles.driving
            models = tuple(id_ for id_ in project.selected if source.id in role[id_] and id_ in answers)
            if not models:
                continue
            if kind is ChangeKind.TWO_RUNS and profile["memory"]:
                for id_ in models:
                    answers[id_][kind].reason = "each process has a database in memory of its own"
                continue
            size = len({each.id for id_ in models for each in project.above(id_)})
            others = [
                each for each in project.with_referenced(project.sources_of(models)) if each.id != source.id
            ]
            named = {name for id_ in models for name in project.models[id_].key}
            of_rows = [id_ for id_ in models if id_ not in facts.grouping]
            keys = {each.id: key_of(project, each, of_rows, facts.domains) for each in (source, *others)}
            merged = {
                each.id: frozenset(
                    column.lower()
                    for name in named
                    for column in columns_of(each, name, facts.domains.renamed)
                )
                for each in (source, *others)
            }
            repeats = all(id_ in facts.repeating for id_ in of_rows if project.models[id_].key)
            pair = Pair(kind, source, models, keys, merged, tuple(others), size, repeats)
            try:
                drawn(facts, pair, 0, 0, 1)
            except NotPossible as error:
                for id_ in models:
                    answers[id_][kind].reason = str(error)
                continue
            for id_ in models:
                answers[id_][kind].applicable = True
            found.append(pair)
    for id_, cells in answers.items():
        for kind, cell in cells.items():
            if not cell.applicable and not cell.reason:
                cell.reason = _why_not(kind, any_source=bool(project.sources_of([id_])))
    return found


def _why_not(kind: ChangeKind, *, any_source: bool) -> str:
    """Returns why a kind of change can happen to no source of a model, and what to do."""
    if not any_source:
        return (
            "it is built from no source or seed, so that nothing changes; name its tables by source(..), or "
            "write those that it names itself into the file of --schema"
        )
    if kind is ChangeKind.DIMENSION_CHANGED:
        return "it joins no other source"
    return "its sources are only joined; --kind dimension_changed tries what happens to them"


def drawn(facts: ProjectFacts, pair: Pair, seed: int, number: int, rounds: int, redraw: int = 0) -> Trial:
    """Returns the trial of a pair with a number. Raises NotPossible: in ten attempts none can be drawn."""
    problem = NotPossible("no trial was drawn")
    promised = [facts.project.models[id_].promises.late_by or 0 for id_ in pair.models]
    for attempt in range(10):
        random = Random(f"{seed}/{pair.kind.value}/{pair.source.name}/{number}/{redraw}/{attempt}")
        try:
            drawing = Drawing(
                *(random, facts.project, pair.source, pair.keys, facts.domains, pair.merged),
                repeats=pair.repeats,
            )
            late = latenesses(drawing.clock(pair.source), promised)
            late_by = late[number % len(late)]
            return draw(drawing, pair.kind, pair.others, rounds=rounds, models=pair.size, late=late_by)
        except NotPossible as error:
            problem = error
    raise problem


def without_change(trial: Trial, project: Project) -> Trial:
    """Returns a trial in which rows are only appended: no update, delete or new column, no run that stops.

    What comes between two runs at once comes between two runs here, too.
    """
    widths = {source.id: len(source.names) for source in project.sources.values()}
    numbers = {(put.source, put.number) for put in trial.start}
    rounds = []
    for each in trial.rounds:
        for changes in (each.changes, *([] if each.beside is None else [each.beside])):
            kept = []
            for change in changes:
                if isinstance(change, Put) and (change.source, change.number) not in numbers:
                    numbers.add((change.source, change.number))
                    kept.append(replace(change, row=change.row[: widths[change.source]]))
            rounds.append(Round(tuple(kept), at=each.at))
    return replace(trial, kind=ChangeKind.APPENDED, rounds=tuple(rounds))


@dataclass(slots=True)
class Search:
    """The state that all workers share; its lock guards all but `facts` and `limits`."""

    facts: ProjectFacts
    limits: Limits
    pairs: list[Pair]
    answers: dict[str, dict[ChangeKind, ModelCell]]
    started: float
    progress: Callable[[str, int], None]
    shown: float = 0.0
    stopped: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)
    next_number: dict[int, int] = field(default_factory=dict)
    trials: int = 0
    comparisons: int = 0
    broken: list[str] = field(default_factory=list)
    finished: bool = True

    def job(self) -> tuple[Pair, int] | None:
        """Returns the pair with the fewest trials so far, and the number of its next one; None at the end."""
        with self.lock:
            open_ = [at for at, pair in enumerate(self.pairs) if self._left(at, pair) > 0]
            if not open_:
                return None
            if self.over():
                self.finished = False
                return None
            at = min(open_, key=lambda at: self.next_number.get(at, 0))
            number = self.next_number.get(at, 0)
            self.next_number[at] = number + 1
            return self.pairs[at], number

    def over(self) -> bool:
        """Returns whether the budget is spent, or the user has stopped the search."""
        return self.stopped or time.monotonic() - self.started > self.limits.budget

    def show(self, what: str, left: int) -> None:
        """Shows progress, if the last time is `PROGRESS_S` ago."""
        if time.monotonic() - self.shown > PROGRESS_S:
            self.shown = time.monotonic()
            self.progress(what, left)

    def _left(self, at: int, pair: Pair) -> int:
        """Returns how many trials of a pair are left; none once all of its models differ often enough."""
        most = min(self.limits.trials, TWO_RUNS) if pair.kind is ChangeKind.TWO_RUNS else self.limits.trials
        cells = [self.answers[id_][pair.kind] for id_ in pair.models]
        open_ = any(len(cell.differs) < ENOUGH_DIFFERENCES for cell in cells)
        return most - self.next_number.get(at, 0) if open_ else 0

    def work(self, runner: Runner) -> None:
        """Runs trials in one thread until none is left; `runner`: with the dbt process of this thread."""
        while (job := self.job()) is not None:
            pair, number = job
            try:
                seen = self.one(runner, pair, number)
            except (DbtBroken, Rejected, NotPossible) as error:
                with self.lock:
                    self.broken.append(f"{pair.kind.value} on {pair.source.name}: {error}")
                if not runner.dbt.alive:
                    return
                continue
            with self.lock:
                self.trials += 1
                self.show("comparing", sum(self._left(at, pair) for at, pair in enumerate(self.pairs)))
                for id_ in pair.models:
                    for kind, of, what in seen[id_]:
                        self.judge(self.answers[id_][kind], number, of, what)

    def one(self, runner: Runner, pair: Pair, number: int) -> dict[str, list[tuple[ChangeKind, Trial, Seen]]]:
        """Runs one trial; returns by model what was seen, each with the kind of change that it counts for.

        Rows that are refused are drawn again. Where a model differs, the trial is run without the change: if
        it differs then too, the change is not the cause. What is left may be rows that are only appended;
        then it is a difference of these.
        """
        problem = Rejected("")
        for redraw in range(REDRAWS):
            trial = drawn(self.facts, pair, self.limits.seed, number, self.limits.rounds, redraw)
            try:
                seen = runner.run(trial, pair.models)
                break
            except Rejected as error:
                problem = error
        else:
            raise problem
        found = {id_: [(pair.kind, trial, seen[id_])] for id_ in pair.models}
        wrong = [id_ for id_ in pair.models if isinstance(seen[id_], RefreshDifference)]
        if wrong and pair.kind in ALONE:
            plain = without_change(trial, self.facts.project)
            try:
                again = runner.run(plain, wrong)
            except (Rejected, DbtBroken):
                # Without a delete, say, two rows have one key. What was seen stays what was seen.
                return found
            reason = "where rows are only appended" if pair.kind in APPENDING else "without the change"
            for id_ in wrong:
                # Where appended rows are not judged, the difference has no other place.
                judged = pair.kind not in APPENDING or ChangeKind.APPENDED in self.answers[id_]
                if judged and isinstance(what := again[id_], RefreshDifference):
                    found[id_] = [(pair.kind, trial, NotJudged(f"it differs already {reason}", True))]
                    if pair.kind in APPENDING:
                        found[id_].append((ChangeKind.APPENDED, plain, what))
        return found

    def judge(self, cell: ModelCell, number: int, trial: Trial, seen: Seen) -> None:
        """Notes in a cell what was seen of a model."""
        match seen:
            case Equal(note, filled):
                cell.filled = cell.filled or filled
                cell.equal.append(trial.late)
                cell.notes.update({note: None} if note else {})
                self.comparisons += 1
            case RefreshDifference():
                cell.filled = True
                cell.differs.append(Found(number, trial, seen))
                self.comparisons += 1
            case NotJudged(reason, differs_already):
                cell.differs_already = cell.differs_already or differs_already
                cell.reason = reason

    def shrink(self, runner: Runner, todo: list[tuple[str, ChangeKind]]) -> None:
        """Shrinks the difference of each cell in `todo`, a list that the workers share, until it is empty."""
        while True:
            with self.lock:
                if not todo:
                    return
                id_, kind = todo.pop(0)
            cell, model = self.answers[id_][kind], self.facts.project.models[id_]
            best = cell.best(model, kind)
            assert best is not None
            latest = best

            def fails(candidate: Trial, best: Found = best, id_: str = id_) -> bool:
                nonlocal latest
                if self.over():
                    return False
                try:
                    seen = runner.run(candidate, [id_])[id_]
                except (Rejected, DbtBroken):
                    return False
                if not isinstance(seen, RefreshDifference) or (
                    seen.inherited and not best.difference.inherited
                ):
                    return False
                latest = Found(best.number, candidate, seen)
                return True

            if kind is not ChangeKind.TWO_RUNS:
                shrink(self.facts.project, self.facts.domains.base, best.trial, fails)
            cell.smallest = latest
            with self.lock:
                self.show("shrinking differences", len(todo))


def settled(
    facts: ProjectFacts, answers: dict[str, dict[ChangeKind, ModelCell]], kinds: Sequence[ChangeKind]
) -> dict[str, dict[ChangeKind, ModelCell]]:
    """Returns the answers for all selected models: nothing is decided where no row was compared."""
    found = {}
    for id_ in facts.project.selected:
        reason = facts.wrong.get(id_) or facts.project.models[id_].left_out
        cells = answers.get(id_)
        if cells is None:
            cells = {kind: ModelCell(applicable=True, reason=reason) for kind in kinds}
        elif not any(cell.filled for cell in cells.values()):
            tried = any(cell.trials for cell in cells.values())
            reason = "it had no row in any trial" if tried else "no trial of it has run"
            for cell in cells.values():
                cell.reason = cell.reason or reason
                cell.equal.clear()
                cell.differs_already = False
        found[id_] = cells
    return found


def search(
    target: Target,
    limits: Limits,
    *,
    schema: Path | str | None = None,
    database: Path | str | None = None,
    settings: Mapping[str, Any] | None = None,
    kinds: Sequence[ChangeKind] = tuple(ChangeKind),
    progress: Callable[[str, int], None] = lambda _what, _left: None,
) -> DbtResult:
    """Judges every selected model under every kind of change, and returns the result.

    `schema`: a script with CREATE TABLE for the sources; `database`: a file that has them. `settings`: of the
    user's TOML file. The same seed draws the same trials; where the budget or an interrupt
    (KeyboardInterrupt) ends the search, how many ran depends on the machine, and a cell without a trial is
    undecided. Raises CampaignError.
    """
    started = time.monotonic()
    settings = settings or {}
    with ExitStack() as stack:
        first = stack.enter_context(dbt_process(target))
        try:
            facts = learned(first, opened(first, schema, database, settings), limits.seed)
        except (DbtBroken, Rejected) as error:
            raise CampaignError(f"{target.project}: the models cannot be built: {error}") from error
        project = facts.project
        judged = [
            id_ for id_ in project.selected if id_ not in facts.wrong and not project.models[id_].left_out
        ]
        answers = {id_: {kind: ModelCell() for kind in kinds} for id_ in judged}
        pairs = pairs_of(facts, answers, kinds, first.opened["profile"])
        state = Search(facts, limits, pairs, answers, started, progress)
        processes = [first]
        for _ in range(1, limits.workers):
            processes.append(stack.enter_context(dbt_process(target)))
            made_ready(processes[-1], project.schemas)
        runners = [Runner(dbt, project, facts.ignored, facts.domains.base) for dbt in processes]
        with ThreadPoolExecutor(limits.workers) as pool:
            try:
                list(pool.map(state.work, runners))
                todo = [
                    (id_, kind) for id_, cells in answers.items() for kind in cells if cells[kind].differs
                ]
                list(pool.map(lambda runner: state.shrink(runner, todo), runners))
            except BaseException as error:
                # Else Ctrl-C would wait for all trials. Those that run now are the last ones.
                state.stopped = True
                if not isinstance(error, KeyboardInterrupt):
                    raise
                state.finished = False
    return DbtResult(
        facts,
        settled(facts, answers, kinds),
        {**first.opened["profile"], "vars": target.vars},
        kinds,
        state.trials,
        state.comparisons,
        time.monotonic() - started,
        state.broken,
        state.finished,
        state.stopped,
    )
