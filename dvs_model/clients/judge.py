"""Judge a history that clients recorded: Adya's phenomena and levels, and the levels for clients.

Such a file leaves things open: version orders, the fate of transactions without an answer, starts and
commits. So a verdict is *violated* only if a forbidden phenomenon appears however the file is completed,
*holds* only if it appears under no completion, and else *unknown*. The way: arrays find the transactions on
cycles of the DSG (`clients.basis`, `columns.cycles`); the detectors of the phenomena judge these few, as a
history in Adya's notation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dvs_model.analysis.analysis import STEPS, Analysis
from dvs_model.analysis.verdict import ABSENT, Cycle, Observation, PhenomenonVerdict, Present, Unknown
from dvs_model.checking.anomalies import anomalies, sentence
from dvs_model.checking.check import Checked, Holds, Seen, Undecided, Violated, check, level_verdict
from dvs_model.checking.sentences import Sentences
from dvs_model.clients.answers import (
    BY_SEARCH,
    EVERY_LEVEL,
    FROM_PL_2,
    SEARCH_STEPS,
    SEARCHED_OF,
    UNREPEATED,
    Answers,
)
from dvs_model.clients.basis import Basis, InColumns
from dvs_model.clients.large import shown
from dvs_model.clients.notes import notes_on, size_of
from dvs_model.clients.on_disk import Apart
from dvs_model.clients.stamps import interference, stamps
from dvs_model.clients.unread import (
    BY_ORDER,
    BY_ORDER_IN_SESSIONS,
    BY_ORDER_IN_TIME,
    EVERY,
    Decided,
    Knot,
    decided,
    joined,
    knots_of,
)
from dvs_model.clients.variants import DISAGREE, Variants
from dvs_model.columns.cycles import knots, on_cycles
from dvs_model.columns.shares import Listed
from dvs_model.columns.table import Bools
from dvs_model.columns.versions import Arcs
from dvs_model.graph.edges import Edge
from dvs_model.graph.graph import Kind as Dependency
from dvs_model.graph.reading import DEFAULT, Reading
from dvs_model.histories.history import History
from dvs_model.observed.client import Answer, Client
from dvs_model.observed.history import NOTHING_CHOSEN, Chosen, Part
from dvs_model.observed.seen import Observed, Window
from dvs_model.observed.time import Windows, window_of
from dvs_model.phenomena.registry import DETECTORS
from dvs_model.theory.levels import LEVELS
from dvs_model.theory.names import Level, Phenomenon

P = Phenomenon

# Phenomena by what they need beside reads: version orders, sessions, real time, starts, predicates.
ORDERED = (P.G0, P.G1C, P.G_SINGLE, P.G2_ITEM, P.G2, P.G_CURSOR, P.G_MONOTONIC, P.G_UPDATE)
SESSIONS = (P.G1C_SESSION, P.G_SINGLE_SESSION, P.G2_SESSION)
REALTIME = (P.G1C_REALTIME, P.G_SINGLE_REALTIME, P.G2_REALTIME)
STARTS = (P.G_SIA, P.G_SIB, P.G_MSRA, P.G_MSRB)
PREDICATES = (P.G1_PREDA, P.G1_PREDB)
IN_ORDER = (P.G1B, P.G_MONOTONIC, P.G_MSRB)
"""The phenomena that need the order of operations inside a transaction."""

OUT_OF_ORDER = ("internal", "future read", "non-repeatable read", "intermediate read")
"""Findings that prove nothing if the order of operations inside a transaction is lost."""

CONVERTED = "the file was converted, and the order of operations inside a transaction is lost"

NAMED_OF = 400
"""Transactions on cycles up to which anomalies are looked for by name, for the reader's sake."""

MOST_ON_CYCLES = 100_000
"""Transactions on cycles that the definitions are given at a time: they need objects for each of them."""

TOO_LARGE = (
    f"more than {MOST_ON_CYCLES:,} transactions are in cycles with each other, too many to look at all cycles"
)

KEPT_IN_ORDER = (Level.SESSION_3, Level.PL_SS)
"""The levels that keep sessions, as serializability for clients does."""

NO_ORDER = "no serial order explains what was read, whatever the version orders"

WITH_LOST_UPDATES = (Level.PL_1, Level.PL_2, Level.PL_2L, Level.PL_MSR)
"""The levels that allow lost updates."""


def judge(
    observed: Observed,
    reading: Reading = DEFAULT,
    *,
    steps: int = STEPS,
    wanted: Sequence[str] = (),
    search_steps: int = SEARCH_STEPS,
) -> Checked:
    """Returns the verdicts on a history as clients saw it.

    `steps`: the budget of each search for a phenomenon. `wanted`: names in `VARIANTS` of further levels to be
    judged. `search_steps`: the budget of the search for an order of the transactions.

    Raises HistoryError: two writes of one value to one key, so that no read tells what it has read.
    """
    return judged(basis_of(observed), reading, steps=steps, wanted=wanted, search_steps=search_steps)


def basis_of(observed: Observed) -> Basis:
    """Returns the basis of the verdicts on a history.

    Raises HistoryError: values are not unique.
    """
    return Apart(observed) if isinstance(observed.transactions, Listed) else InColumns(observed)


def judged(
    given: Basis,
    reading: Reading = DEFAULT,
    *,
    steps: int = STEPS,
    wanted: Sequence[str] = (),
    most: int = MOST_ON_CYCLES,
    search_steps: int = SEARCH_STEPS,
) -> Checked:
    """Returns the verdicts on a history whose reads are matched to writes already.

    `most`: transactions on cycles that the definitions are given at a time. The rest is as for `judge`.
    """
    return _Judgement(given, reading, steps, tuple(wanted), most, search_steps).checked()


@dataclass(frozen=True, slots=True)
class _Cycles:
    """The transactions on cycles.

    `on`: one bool per transaction. `windows`: when transactions began and ended by the order of the file;
    None: the file does not say. `serial`: dependencies, sessions and real time close no cycle. `acyclic`:
    dependencies and sessions close no cycle.
    """

    on: Bools
    windows: Windows | None
    serial: bool
    acyclic: bool


@dataclass(slots=True)
class _Judgement:
    """The judgement of one history.

    `phenomena`: the verdicts so far. `contradictions`: how many findings were dropped because the file was
    converted. `left_open`: phenomena that may be present although the transactions at hand do not show them.
    `client`, `variants`: the verdicts on the client-side levels and their variants. `unordered`: why no
    serial order explains the reads, or empty; None: not asked yet, because the answer may need a long search.
    """

    basis: Basis
    reading: Reading
    steps: int
    wanted: tuple[str, ...]
    most: int
    search_steps: int = SEARCH_STEPS
    phenomena: dict[Phenomenon, PhenomenonVerdict] = field(default_factory=dict)
    contradictions: int = 0
    left_open: frozenset[Phenomenon] = frozenset()
    answers: Answers = field(init=False)
    client: Mapping[str, Answer] = field(default_factory=dict)
    variants: Variants | None = None
    unordered: str | None = None

    def __post_init__(self) -> None:
        if self.basis.observed.records.converted:
            every = self.basis.findings
            self.basis.findings = [each for each in every if each.name not in OUT_OF_ORDER]
            self.contradictions = len(every) - len(self.basis.findings)
        asked = any(level.value in name for level in BY_SEARCH for name in self.wanted)
        # The search for an order takes long on large files, so there it must be asked for.
        searched = asked or len(self.basis.taken) <= SEARCHED_OF
        self.answers = Answers(self.basis, searched, self.search_steps)

    def checked(self) -> Checked:
        """Returns all verdicts. The order of the steps matters: each builds on phenomena found before."""
        observed, records = self.basis.observed, self.basis.observed.records
        cycles = self.cycles()
        part = self.part(cycles.on)
        history = part.history(observed.name, None)
        certain = check(history, self.reading, steps=self.steps)
        unread = self.unread(part, certain)
        shown, plain = part, certain
        # What is present in every order of unread appends has no evidence in the certain part. So the history
        # that is shown gets one such order, and evidence from it.
        if unread.present:
            shown = self.part(cycles.on, joined(chosen for chosen, _ in unread.present.values()))
            plain = check(shown.history(observed.name, None), self.reading, steps=self.steps)
        plain = replace(plain, phenomena=_settled(certain, unread, plain))
        self.dirty()
        self.ordered(plain)
        self.real_time(cycles.on, cycles.windows)
        self.starts(cycles.on)
        only_items = Unknown("the format has no predicate operations, so only items are judged")
        self.phenomena |= dict.fromkeys(PREDICATES, only_items)
        if records.converted:
            self.phenomena |= dict.fromkeys(IN_ORDER, Unknown(CONVERTED))
        ordered = {phenomenon: self.phenomena[phenomenon] for phenomenon in Phenomenon}
        asked = self.client = self.asked(cycles, ordered)
        seen = Seen(
            anomalies=tuple(dict.fromkeys(self.named(part, history))),
            client={name: _words(answer) for name, answer in asked.items()},
            notes=tuple(notes_on(self.basis, self.contradictions)),
            size=size_of(self.basis),
            judged=self.basis.size.judged,
            names=shown.names.keys,
            places={each.number: each.place for each in map(observed.transactions.__getitem__, part.members)},
            wanted=self.wanted,
            rules={obj: part.orders.rules[key] for obj, key in shown.names.keys.items()},
        )
        levels = {level: self.level(level, ordered) for level in Level}
        return replace(plain, phenomena=ordered, levels=levels, seen=seen)

    def cycles(self) -> _Cycles:
        """Finds the transactions on cycles; of too many, some that show the phenomena that are present."""
        records, edges, count = self.basis.observed.records, self.basis.edges, len(self.basis.taken)
        pairs = (edges.ww, edges.wr, edges.rw, edges.session)
        file_windows = self.basis.windows(timed=False) if records.real_time else None
        on = on_cycles(count, pairs, file_windows)
        serial = file_windows is not None and not on.any()
        acyclic = not on.any() or not on_cycles(count, pairs).any()
        # Real time by timestamps of the database may close further cycles: they count for G-SIb.
        if records.stamps:
            on |= on_cycles(count, pairs, stamps(self.basis))
        if on.sum() > self.most:
            kept = shown(self.basis, self.reading, self.steps, (*ORDERED, *SESSIONS), self.most)
            # `shown` looks for phenomena of dependencies and sessions alone. With the other transactions left
            # out, those of time can be shown to be present, but not absent; nor can those that depend on the
            # order of unread appends.
            on, self.left_open = kept.members, frozenset({*kept.open, *REALTIME, P.G_SIB})
            if self.basis.tails:
                self.left_open |= {*BY_ORDER, *BY_ORDER_IN_SESSIONS}
        return _Cycles(on, file_windows, serial, acyclic)

    def asked(self, cycles: _Cycles, ordered: Mapping[Phenomenon, PhenomenonVerdict]) -> dict[str, Answer]:
        """Returns the verdicts on client-side levels, and on the variants that are wanted."""
        records = self.basis.observed.records
        present = {phenomenon for phenomenon, verdict in ordered.items() if isinstance(verdict, Present)}
        # Phenomena may rest on what the user assumes of versions. The levels for clients are defined without
        # version orders, so such phenomena must not decide them.
        certain = frozenset() if records.assumed else present
        client = self.answers.client(certain, acyclic=cycles.acyclic)
        variants = self.variants = Variants(self.answers, client, certain, cycles.serial)
        asked = {level.value: answer for level, answer in client.items()}
        asked |= {name: variants.answer(name) for name in self.wanted}
        if records.converted:
            asked = {name: self.out_of_order(name, answer) for name, answer in asked.items()}
        return asked

    def named(self, part: Part, history: History) -> Iterator[tuple[str, tuple[int, ...], str]]:
        """Yields the anomalies by their common names: name, numbers of transactions, sentence."""
        for each in (*self.basis.findings, *self.answers.lost):
            yield each.name, each.txns, each.text
        if len(part.members) <= NAMED_OF:
            # A lost update would be named a second time, as write skew: where the version order of a key is
            # not known, the notation has an object for each of its versions, so one key looks like two.
            said = {("write skew", *sorted(each.txns)) for each in self.answers.lost}
            said |= {(UNREPEATED, *each.txns[:1]) for each in self.basis.findings if each.name == UNREPEATED}
            for name, txns in anomalies(history).items():
                who = txns[:1] if name == UNREPEATED else sorted(txns)
                if (name, *who) not in said:
                    yield name, txns, sentence(name, txns)

    def out_of_order(self, name: str, answer: Answer) -> Answer:
        """Returns the verdict on a client-side level where the order inside transactions is lost.

        Nothing can be said to hold. Violations stay, but for read committed: what it forbids depends on which
        of two reads came first, unless a read itself is dirty.
        """
        dirty = any(each.name == "aborted read" for each in self.basis.findings)
        certain = dirty or "read committed" not in name
        return answer if answer.holds is False and certain else Answer(None, CONVERTED)

    def part(self, on: Bools, chosen: Chosen = NOTHING_CHOSEN) -> Part:
        """Returns the part of the history about some transactions. `chosen`: orders of unread appends."""
        return Part(*self.basis.part(on), set(np.flatnonzero(on).tolist()), chosen=chosen)

    # Appends that no read shows

    def unread(self, part: Part, certain: Checked) -> Decided:
        """Returns what the possible orders of unread appends decide of phenomena that are not certain."""
        edges, result = self.basis.edges, Decided()
        for phenomena, cycle, arcs in (
            (BY_ORDER, P.G1C, (edges.ww, edges.wr, edges.rw)),
            (BY_ORDER_IN_SESSIONS, P.G1C_SESSION, (edges.ww, edges.wr, edges.rw, edges.session)),
        ):
            wanted = [each for each in phenomena if not isinstance(certain.phenomena[each], Present)]
            knots = self.knots(part, arcs)

            # `wanted` and `cycle` are bound as a default value, because they change with the loop.
            def judged(
                knot: Knot, chosen: Chosen, only: Sequence[Phenomenon] = (*wanted, cycle)
            ) -> Mapping[Phenomenon, PhenomenonVerdict]:
                history = knot.part(chosen).history("", None)
                found = check(history, self.reading, only=only, steps=self.steps).phenomena
                return {each: _of_part(each, found[each], history) for each in only}

            found = decided(knots, wanted, cycle, judged)
            result.present |= found.present
            self.answers.forced |= found.forced
            result.open |= found.open
        self.answers.unsettled |= result.open.keys()
        return result

    def knots(self, part: Part, arcs: Sequence[Arcs], time: Windows | None = None) -> list[Knot]:
        """Returns the knots (strongly connected components) in which the order of unread appends is open."""
        # A key with a single unread append has one possible order.
        if not any(len(tail) > 1 for tail in part.orders.tails.values()):
            return []
        return knots_of(part.found, part.orders, knots(len(self.basis.taken), arcs, time))

    # Phenomena

    def dirty(self) -> None:
        """Judges G1a and G1b (aborted and intermediate reads), which need no version order."""
        for phenomenon, name in ((P.G1A, "aborted read"), (P.G1B, "intermediate read")):
            reads = [Observation(f.text, f"T{f.txns[0]}") for f in self.basis.findings if f.name == name]
            if reads:
                self.phenomena[phenomenon] = Present(tuple(reads))
            elif self.basis.missing:
                reason = self.answers.missing()
                self.phenomena[phenomenon] = Unknown(reason)
            else:
                self.phenomena[phenomenon] = ABSENT

    def ordered(self, plain: Checked) -> None:
        """Judges what depends on version orders and sessions."""
        for phenomenon in (*ORDERED, *SESSIONS):
            verdict = plain.phenomena[phenomenon]
            sessions = self.basis.observed.records.sessions
            if phenomenon in SESSIONS and not isinstance(verdict, Present) and not sessions:
                verdict = Unknown("the file does not say which transactions are of one session")
            elif phenomenon not in self.answers.unsettled:
                verdict = _of_part(phenomenon, verdict, plain.history)
            self.phenomena[phenomenon] = self.whole(phenomenon, self.opened(verdict))

    def whole(self, phenomenon: Phenomenon, verdict: PhenomenonVerdict) -> PhenomenonVerdict:
        """Returns Unknown instead of Absent where the transactions at hand do not tell."""
        return Unknown(TOO_LARGE) if phenomenon in self.left_open and verdict == ABSENT else verdict

    def opened(self, verdict: PhenomenonVerdict) -> PhenomenonVerdict:
        """Returns Unknown instead of Absent where a version order is not known."""
        unordered = self.basis.unordered
        if unordered is None or verdict != ABSENT:
            return verdict
        more = unordered.count - 1
        return Unknown(f"key {unordered.key}{f' and {more} more' if more else ''}: {unordered.reason}")

    def real_time(self, on: Bools, by_file: Windows | None) -> None:
        """Judges the phenomena of real time, by the order of the file and by its times.

        Where the file has both and they differ, a phenomenon counts as present only if both show it.
        """
        if by_file is None:
            for phenomenon, base in zip(REALTIME, (P.G1C, P.G_SINGLE, P.G2), strict=True):
                implied = self.phenomena[base]
                here = Unknown("the file does not say when transactions began and ended")
                self.phenomena[phenomenon] = implied if isinstance(implied, Present) else here
            return
        verdicts = self.in_time(on, by_file)
        timed = self.basis.windows(timed=True)
        if not np.isnan(timed[:, 0]).all():
            both = self.in_time(on, timed)
            for phenomenon in REALTIME:
                first, second = verdicts[phenomenon], both[phenomenon]
                if isinstance(second, Present) and isinstance(first, Present):
                    verdicts[phenomenon] = self.agreed(first, on, timed)
                elif not isinstance(second, Present):
                    # Whichever of the two does not show it decides.
                    verdicts[phenomenon] = second if isinstance(first, Present) else first
        for phenomenon in REALTIME:
            self.phenomena[phenomenon] = self.whole(phenomenon, self.opened(verdicts[phenomenon]))

    def in_time(self, on: Bools, of: Windows) -> dict[Phenomenon, PhenomenonVerdict]:
        """Returns the verdicts on the phenomena of real time by one source of time, the windows `of`."""
        if not on.any():
            return dict.fromkeys(REALTIME, ABSENT)
        part, edges = self.part(on), self.basis.edges
        certain = self.timed(part, of, REALTIME)
        wanted = [each for each in BY_ORDER_IN_TIME if not isinstance(certain[each], Present)]
        found = decided(
            self.knots(part, (edges.ww, edges.wr, edges.rw, edges.session), of),
            wanted,
            P.G1C_REALTIME,
            lambda knot, chosen: self.timed(knot.part(chosen), of, BY_ORDER_IN_TIME),
        )
        self.answers.unsettled |= found.open.keys()
        return {phenomenon: found.verdict(phenomenon, verdict) for phenomenon, verdict in certain.items()}

    def timed(
        self, part: Part, of: Windows, phenomena: Sequence[Phenomenon]
    ) -> dict[Phenomenon, PhenomenonVerdict]:
        """Returns the verdicts on phenomena of real time in one part of the history."""
        analysis = Analysis(part.history("", of), self.reading, steps=self.steps)
        return {phenomenon: self.told(analysis, phenomenon) for phenomenon in phenomena}

    def told(self, analysis: Analysis, phenomenon: Phenomenon) -> PhenomenonVerdict:
        """Returns a verdict with its evidence in words.

        It is about another history than the one that reports show, so its edges would name objects and events
        that are not there.
        """
        verdict = analysis.once(DETECTORS[phenomenon])
        if not isinstance(verdict, Present):
            return verdict
        sentences = Sentences(analysis)
        return Present(
            tuple(
                _Timed("; ".join(sentences.evidence(item)), item.subject, item)
                for item in verdict.evidence[:1]
            )
        )

    def agreed(self, present: Present, on: Bools, timed: Windows) -> PhenomenonVerdict:
        """Returns `present` if the times agree with every edge of time in its cycle, else Unknown.

        The order of the file and the times each show some cycle. Only one that both show is certain.
        """
        observed = self.basis.observed
        at = {observed.number(index): window_of(timed, index) for index in np.flatnonzero(on).tolist()}
        item = present.evidence[0]
        cycle = item.cycle if isinstance(item, _Timed) else item
        if isinstance(cycle, Cycle) and all(_in_time(edge, at) for edge in cycle.edges):
            return present
        return Unknown(DISAGREE)

    def starts(self, on: Bools) -> None:
        """Judges what depends on when the database started and committed transactions (snapshot isolation).

        Only timestamps of the database tell that. Without them G-single implies G-SIb, and G-monotonic
        implies G-MSRb; the rest is unknown.
        """
        implied = {P.G_SIB: P.G_SINGLE, P.G_MSRB: P.G_MONOTONIC}
        reason = Unknown("the file does not say when the database started and committed transactions")
        for phenomenon in STARTS:
            base = self.phenomena[implied[phenomenon]] if phenomenon in implied else reason
            self.phenomena[phenomenon] = base if isinstance(base, Present) else reason
        if not self.basis.observed.records.stamps:
            return
        self.phenomena[P.G_SIA] = self.opened(interference(self.basis))
        history = self.part(on).history("", stamps(self.basis))
        analysis = Analysis(history, self.reading, steps=self.steps)
        verdict = self.told(analysis, P.G_SIB) if on.any() else ABSENT
        self.phenomena[P.G_SIB] = self.whole(P.G_SIB, self.opened(verdict))

    # Levels

    def level(
        self, level: Level, phenomena: Mapping[Phenomenon, PhenomenonVerdict]
    ) -> Holds | Violated | Undecided:
        """Returns the verdict on a level of Adya's: by findings, phenomena, lost updates, then by a search.

        Each later step can only add a violation that the phenomena do not show because versions are
        unordered.
        """
        names = EVERY_LEVEL if level is Level.PL_1 else (*EVERY_LEVEL, *FROM_PL_2)
        for finding in self.basis.findings:
            if finding.name in names:
                return Violated((), f"{finding.name}: {finding.text}")
        verdict = level_verdict(level, phenomena)
        if not isinstance(verdict, Violated) and (reason := self.refuted(level)):
            return Violated((), reason)
        if isinstance(verdict, Holds) and self.basis.missing and level is not Level.PL_1:
            reason = self.answers.missing()
            return Undecided(P.G1A, reason)
        return verdict

    def refuted(self, level: Level) -> str:
        """Returns why a level is violated in every order of versions; empty: nothing says so."""
        findings = [] if level in WITH_LOST_UPDATES else list(self.answers.lost)
        if level not in (*WITH_LOST_UPDATES, Level.PL_CS):
            # From one version an anti-dependency, and to the other a dependency: G-single in any order.
            findings += [each for each in self.basis.findings if each.name == UNREPEATED]
        if findings:
            return f"{findings[0].name}: {findings[0].text}"
        if not self.answers.forced.isdisjoint(LEVELS[level].forbids):
            return EVERY
        # Of items alone PL-2.99 forbids what PL-3 does.
        if level in (Level.PL_2_99, Level.PL_3, *KEPT_IN_ORDER) and (reason := self.unserial(level)):
            return f"{NO_ORDER}: {reason}"
        return ""

    def unserial(self, level: Level) -> str:
        """Returns why no serial order explains what was read; empty: nothing says so."""
        # PL-SS and PL-3-session keep sessions, as the level for clients does; PL-3 does not, so it needs a
        # search of its own, which is made once.
        serial = self.client.get(Client.SERIALIZABLE.value, Answer(None))
        if level is Level.PL_SS and serial.holds and self.answers.search and self.variants is not None:
            serial = self.variants.answer(f"strict {Client.SERIALIZABLE.value}")
        if level in KEPT_IN_ORDER and serial.holds is False:
            return serial.because
        if self.unordered is None:
            self.unordered = self.answers.refuted()
        return self.unordered


def _of_part(phenomenon: Phenomenon, verdict: PhenomenonVerdict, part: History) -> PhenomenonVerdict:
    """Returns the verdict on a phenomenon of sessions in a part of a history whose file records sessions.

    Where no two transactions of the part are of one, the detector misses a session clause. But then sessions
    add nothing to the cycles of the part.
    """
    missed = phenomenon in SESSIONS and isinstance(verdict, Unknown) and not part.sessions
    return ABSENT if missed else verdict


def _settled(certain: Checked, unread: Decided, shown: Checked) -> dict[Phenomenon, PhenomenonVerdict]:
    """Returns the verdicts on phenomena, with the evidence of the history that is shown.

    `certain`: the verdicts without an order of unread appends. `unread`: what all their orders decide.
    `shown`: the verdicts with one order. What only that order shows is not certain, so it counts by the other
    two.
    """
    found = {}
    for phenomenon, plain in certain.phenomena.items():
        verdict = unread.verdict(phenomenon, plain)
        found[phenomenon] = shown.phenomena[phenomenon] if isinstance(verdict, Present) else verdict
    return found


@dataclass(frozen=True, slots=True)
class _Timed(Observation):
    """A cycle in words. `cycle`: the cycle itself, of another history than the one that reports show."""

    cycle: object = None


def _in_time(edge: Edge, at: Mapping[int, Window | None]) -> bool:
    """Tells whether the windows allow an edge. Only an edge of time can contradict them."""
    if edge.kind is not Dependency.TIME:
        return True
    first, second = at[edge.source], at[edge.target]
    return first is not None and second is not None and first.end < second.begin


def _words(answer: Answer) -> tuple[str, str]:
    """Returns a verdict in one word, and its reason."""
    words = {True: "holds", False: "violated", None: "unknown"}
    return words[answer.holds], answer.because
