"""A history judged: its phenomena, its levels, and the strongest levels that hold."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, field, replace

from dvs_model.analysis.analysis import RULES, STEPS, Analysis, Rules
from dvs_model.analysis.verdict import ABSENT, PhenomenonVerdict, Present, Unknown, Unselected
from dvs_model.checking.mixing import Mixed
from dvs_model.graph.reading import DEFAULT, Predicates, Reading
from dvs_model.histories.history import Abort, Commit, History, PredicateRead, Read, Start
from dvs_model.histories.inventory import T0
from dvs_model.phenomena.cycles import Detector
from dvs_model.phenomena.registry import DETECTORS
from dvs_model.theory.levels import LEVELS, weaker
from dvs_model.theory.names import Level, Phenomenon


@dataclass(frozen=True, slots=True)
class Holds:
    """Every phenomenon that the level forbids was searched for and is absent."""


@dataclass(frozen=True, slots=True)
class Violated:
    """The forbidden phenomena that are present.

    `why`: instead of them, where a history of clients shows that the level cannot hold, whatever it leaves
    open.
    """

    by: tuple[Phenomenon, ...]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Undecided:
    """No forbidden phenomenon is present, but this one is unknown."""

    phenomenon: Phenomenon
    reason: str


LevelVerdict = Holds | Violated | Undecided


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The further findings in a history as clients saw it.

    `anomalies`: common name, transactions and sentence of each. `client`: by client-side level the verdict
    ("holds", "violated", "unknown") and the reason. `notes`: what a reader should know. `size`: counts by
    name. `names`: by object of the shown history the key; `places`: by transaction its place in the file.
    `rules`: by object what gave the order of its versions. `wanted`: the client-side levels that a user
    requested. `judged`: the number of committed transactions with an operation.
    """

    anomalies: tuple[tuple[str, tuple[int, ...], str], ...]
    client: Mapping[str, tuple[str, str]]
    notes: tuple[str, ...]
    size: Mapping[str, int]
    names: Mapping[str, str]
    places: Mapping[int, str]
    judged: int
    wanted: tuple[str, ...] = ()
    rules: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Executing:
    """The verdicts on what an aborted transaction has read. `words`: by level what is wrong, in sentences."""

    txn: int
    levels: Mapping[Level, LevelVerdict]
    words: Mapping[Level, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The verdicts on a history.

    `original`: the history as given. `history`: as it was judged, with derivations replaced by reads and
    writes if the reading ignores them; events in evidence are numbers of its events. `seen`: what else was
    found in a history of clients, of which `history` holds what lies on cycles. `forbidden`: the phenomena
    that a user forbids beside the levels. `mixed`: the verdict where each transaction has a level of its own.
    `executing`: those on the reads of aborted transactions, if they are judged. `places`: where transactions
    stand in the file, of a history that clients recorded with the order of versions. `size`: how much the
    whole history has, as counts by name, where `history` is the part of it that its verdicts depend on.
    """

    history: History
    original: History
    reading: Reading
    phenomena: Mapping[Phenomenon, PhenomenonVerdict]
    levels: Mapping[Level, LevelVerdict]
    analysis: Analysis
    seen: Seen | None = None
    forbidden: tuple[Phenomenon, ...] = ()
    mixed: Mixed | None = None
    executing: tuple[Executing, ...] = ()
    places: Mapping[int, str] = field(default_factory=dict)
    size: Mapping[str, int] | None = None

    @property
    def part(self) -> int | None:
        """The size of the part that shows the phenomena present, in transactions.

        None: no phenomenon is present, or `history` is not a part but the whole.
        """
        present = any(isinstance(verdict, Present) for verdict in self.phenomena.values())
        return len(self.history.transactions()) if present and self.size is not None else None

    @property
    def stats(self) -> Mapping[str, int]:
        """The size of the history, as counts by name. Only reads of committed transactions count."""
        if self.seen is not None:
            return self.seen.size
        if self.size is not None:
            return self.size
        facts, events = self.analysis.facts, self.history.events
        reads = [event for event in events if isinstance(event, Read | PredicateRead)]
        return {
            "transactions": len(facts.commits) + len(facts.aborts),
            "committed": len(facts.commits),
            "events": len(events),
            "reads": sum(event.txn in facts.commits for event in reads),
            "objects": len({version.obj for version in facts.created}),
            "derivations": len(facts.sources),
        }

    @property
    def judged(self) -> int:
        """The number of committed transactions with an operation, without T0, which stands for the past."""
        if self.seen is not None:
            return self.seen.judged
        if self.size is not None:
            return self.size["committed"]
        commits, ends = self.analysis.facts.commits, Start | Commit | Abort
        return len(
            {each.txn for each in self.history.events if not isinstance(each, ends)} & commits.keys() - {T0}
        )

    @property
    def in_file(self) -> Mapping[int, str]:
        """The place of each transaction in the file, if clients recorded it."""
        return self.places if self.seen is None else self.seen.places

    @property
    def strongest(self) -> tuple[Level, ...]:
        """The levels that hold and that are below no other level that holds."""
        holding = [level for level, verdict in self.levels.items() if isinstance(verdict, Holds)]
        below = {weak for level in holding for weak in weaker(level)}
        return tuple(level for level in holding if level not in below)


def check(
    history: History,
    reading: Reading = DEFAULT,
    *,
    only: Collection[Phenomenon] = tuple(Phenomenon),
    steps: int = STEPS,
    rules: Rules = RULES,
    detectors: Mapping[Phenomenon, Detector] = DETECTORS,
) -> Checked:
    """Judges a history by the levels of Adya 1999, through derivations as in the DVS paper, section 4.

    `only`: the phenomena to search for; a level that forbids another one is undecided. `steps`: the budget
    of each detector; a phenomenon whose detector spends it is unknown. `rules` and `detectors` are replaced
    by planted faults. Costs time linear in the history and in the edges inside the knots of its graph.

    >>> from dvs_model.notation import parse
    >>> skew = check(parse("w1(x1) c1 d2(y2 | x1) c2 w3(x3) c3 r4(y2) r4(x3) c4"))
    >>> skew.levels[Level.PL_3].by
    (<Phenomenon.G2: 'G2'>,)
    >>> [level.value for level in skew.strongest]
    ['PL-CS', 'PL-2L']
    """
    analysis = Analysis(history, reading, steps=steps, rules=rules)
    verdicts: dict[Phenomenon, PhenomenonVerdict] = {
        phenomenon: analysis.once(detectors[phenomenon])
        if phenomenon in only
        else Unknown("it was not searched for")
        for phenomenon in Phenomenon
    }
    return Checked(
        history=analysis.history,
        original=history,
        reading=reading,
        phenomena=verdicts,
        levels={level: level_verdict(level, verdicts) for level in Level},
        analysis=analysis,
    )


WITHOUT_READS = frozenset({Phenomenon.G0, Phenomenon.G1A, Phenomenon.G1B, Phenomenon.G1C})
"""The phenomena whose absence does not depend on reads that a source leaves out."""


def with_unread(checked: Checked, reason: str, unaffected: Set[Phenomenon] = WITHOUT_READS) -> Checked:
    """Returns the verdicts on a history that leaves out reads of committed versions.

    A present phenomenon stays present; an absent one becomes unknown, because the reads left out may show it.
    `unaffected`: the phenomena whose absence does not depend on what is left out; empty where reads of any
    version are left out, also of aborted ones.
    """
    phenomena = {
        phenomenon: verdict if isinstance(verdict, Present) or phenomenon in unaffected else Unknown(reason)
        for phenomenon, verdict in checked.phenomena.items()
    }
    return _with_phenomena(checked, phenomena)


DATABASE_TIME_PHENOMENA = frozenset(
    {Phenomenon.G_SIA, Phenomenon.G_SIB, Phenomenon.G_MSRA, Phenomenon.G_MSRB}
)
"""The phenomena that depend on when transactions began and committed in the database."""


def with_windows(checked: Checked) -> Checked:
    """Returns the verdicts on a history whose starts and commits are those that clients saw.

    Such times only bound those of the database. A G-single is a G-SIb whatever the times are.
    """
    reason = "the file has when clients invoked and were answered, not when transactions began and committed"
    single = checked.phenomena[Phenomenon.G_SINGLE]
    phenomena = {
        phenomenon: Unknown(reason) if phenomenon in DATABASE_TIME_PHENOMENA else verdict
        for phenomenon, verdict in checked.phenomena.items()
    }
    if isinstance(single, Present):
        phenomena[Phenomenon.G_SIB] = single
    return _with_phenomena(checked, phenomena)


WITHOUT_PREDICATES = frozenset({Phenomenon.G0, Phenomenon.G1A, Phenomenon.G1B, Phenomenon.G_CURSOR})
"""The phenomena that do not depend on the versions that reads by predicates have selected."""

BY_VERSION_SET = frozenset({Phenomenon.G1_PREDA, Phenomenon.G1_PREDB})
"""The phenomena that depend on which version was selected, also where the choices match alike."""


def with_unselected(checked: Checked, unselected: Unselected) -> Checked:
    """Returns the verdicts on a history with version sets of which not all versions are known.

    The history names a version only where each choice gives the same dependencies, as `Predicates.ICDE` reads
    them: what is present by them stays so. The other reading depends on the choice.
    """
    by_choice = checked.reading.predicates is not Predicates.ICDE
    phenomena: dict[Phenomenon, PhenomenonVerdict] = {}
    for phenomenon, verdict in checked.phenomena.items():
        touched = phenomenon not in WITHOUT_PREDICATES
        by_version = phenomenon in BY_VERSION_SET or (by_choice and touched)
        absent = unselected.changes and touched and not isinstance(verdict, Present)
        phenomena[phenomenon] = Unknown(unselected.reason) if by_version or absent else verdict
    return _with_phenomena(checked, phenomena)


def with_least(checked: Checked, least: int) -> Checked:
    """Returns the verdicts on a history, in which nothing holds if too few transactions committed.

    `least`: how many transactions must have committed something.
    """
    count = checked.judged
    if count >= least:
        return checked
    return without_holds(
        checked, f"{count} transactions committed something, fewer than the {least} of --least"
    )


def without_holds(checked: Checked, reason: str) -> Checked:
    """Returns the verdicts on a history of which nothing holds, and nothing is absent, for a reason."""
    phenomena = {p: Unknown(reason) if v == ABSENT else v for p, v in checked.phenomena.items()}
    levels = {
        level: Undecided(LEVELS[level].forbids[0], reason) if isinstance(verdict, Holds) else verdict
        for level, verdict in checked.levels.items()
    }
    seen, mixed = checked.seen, checked.mixed
    if seen is not None:
        client = {
            name: ("unknown", reason) if answer == "holds" else (answer, because)
            for name, (answer, because) in seen.client.items()
        }
        seen = replace(seen, client=client)
    if mixed is not None and mixed.verdict == ABSENT:
        mixed = replace(mixed, verdict=Unknown(reason))
    return replace(checked, phenomena=phenomena, levels=levels, seen=seen, mixed=mixed)


def _with_phenomena(checked: Checked, phenomena: Mapping[Phenomenon, PhenomenonVerdict]) -> Checked:
    """Returns the verdicts with other ones on the phenomena, and so on the levels."""
    levels = {level: level_verdict(level, phenomena) for level in Level}
    return replace(checked, phenomena=phenomena, levels=levels)


def level_verdict(level: Level, verdicts: Mapping[Phenomenon, PhenomenonVerdict]) -> LevelVerdict:
    """Returns Violated if a forbidden phenomenon is present, else Undecided if one is unknown, else Holds."""
    forbidden = {phenomenon: verdicts[phenomenon] for phenomenon in LEVELS[level].forbids}
    if present := tuple(p for p, verdict in forbidden.items() if isinstance(verdict, Present)):
        return Violated(present)
    for phenomenon, verdict in forbidden.items():
        if isinstance(verdict, Unknown):
            return Undecided(phenomenon, verdict.reason)
    return Holds()
