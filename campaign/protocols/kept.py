"""The levels that a database keeps at one isolation level, by random runs with several seeds, each judged."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from campaign.protocols.databases import kind, opened
from dvs_model.checking.check import Checked, Holds, Violated
from dvs_model.checking.explain import explanations
from dvs_model.formats.reader import Parsed, Refused, Viewed
from dvs_model.formats.registry import FORMATS
from dvs_model.judging.options import CheckOptions
from dvs_model.notation import render
from dvs_model.theory.names import Level
from protocols.recording.clients import Load, recorded
from protocols.recording.database import Promise
from protocols.recording.edn import edn
from protocols.recording.workloads import WORKLOADS

COLUMNS: Mapping[Level, str] = MappingProxyType(
    {
        Level.PL_1: "dirty write",
        Level.PL_2: "dirty read",
        Level.PL_CS: "lost update",
        Level.PL_2_PLUS: "read skew",
        Level.PL_2_99: "write skew",
        Level.PL_3: "phantom",
    }
)
"""The levels of a table's columns, each with the anomaly that it forbids and the levels before it allow."""

DIRTY: Mapping[str, str] = MappingProxyType({"aborted read": "G1a", "intermediate read": "G1b"})
"""The phenomena that PL-2 forbids and PL-1 does not, by the names of anomalies that clients see."""

# The runs of one isolation level, unless the caller says otherwise; `WORDS`: the workloads.
SEEDS = range(1, 7)
WORDS = ("append", "predicate")
TRANSACTIONS = 300


@dataclass(frozen=True, slots=True)
class SmallestViolation:
    """A violation: the command that shows it, the phenomenon, and the smallest history found, or in words."""

    command: str
    phenomenon: str
    smallest: str


@dataclass(slots=True)
class Kept:
    """The verdicts on a database at an isolation level.

    `committed`: by column in how many transactions it held. `unknown`: by column a command that left it open.
    """

    database: str
    isolation: str
    promise: Promise
    committed: dict[Level, int] = field(default_factory=dict)
    violated: dict[Level, SmallestViolation] = field(default_factory=dict)
    unknown: dict[Level, str] = field(default_factory=dict)

    def mark(self, level: Level) -> str:
        """Returns `violated`, `held` or `unknown`: nothing judged is unknown."""
        if level in self.violated:
            return "violated"
        return "held" if level not in self.unknown and self.committed.get(level) else "unknown"

    def note(self, checked: Checked, command: str, *, predicates: bool) -> None:
        """Adds a judged run. Without reads by predicates it cannot show that PL-3 holds, as to phantoms."""
        wrong = {level for level in COLUMNS if isinstance(checked.levels[level], Violated)}
        for each in explanations(checked, minimised=True) if wrong - self.violated.keys() else ():
            history = None if each.minimised is None else f"`{' '.join(render(each.minimised).split())}`"
            smallest = history or "; ".join(line.text for line in each.lines)
            shown = SmallestViolation(command, each.title.partition("(")[0].partition(",")[0], smallest)
            self.violated.update(
                {level: shown for level in each.levels if level in wrong and level not in self.violated}
            )
        self._note_without_phenomenon(checked, command)
        for level in COLUMNS:
            verdict = checked.levels[level]
            if isinstance(verdict, Holds) and (predicates or level is not Level.PL_3):
                self.committed[level] = self.committed.get(level, 0) + checked.judged
            elif not isinstance(verdict, Holds | Violated):
                self.unknown[level] = command

    def _note_without_phenomenon(self, checked: Checked, command: str) -> None:
        """Adds the levels that are violated because no order of versions fits what was read.

        Lists with elements of transactions that then aborted contradict the later ones. That is a dirty read,
        and says nothing of dirty writes.
        """
        seen = checked.seen.anomalies if checked.seen else ()
        dirty = next(((DIRTY[name], words) for name, _, words in seen if name in DIRTY), None)
        for level in COLUMNS:
            verdict = checked.levels[level]
            if isinstance(verdict, Violated) and not verdict.by and level not in self.violated:
                if dirty is None:
                    self.violated[level] = SmallestViolation(command, "no order of versions", verdict.why)
                elif level is not Level.PL_1:
                    self.violated[level] = SmallestViolation(command, *dirty)


def recording_of(
    address: str, isolation: str | None, run: Load
) -> tuple[Parsed | Viewed | None, str, Promise]:
    """Returns what clients recorded, the name of the run, and what the database promises.

    None: no transaction was recorded. Raises RecordingError; HistoryError: it is no history.
    """
    with opened(address, isolation) as database:
        text = "".join(edn(recorded(database, run)))
        promise, name = (
            database.levels[database.isolation],
            f"{run.workload.name} on {database.name} at {database.isolation}",
        )
    if not text:
        return None, name, promise
    (item,) = FORMATS["elle"].read(io.BufferedReader(io.BytesIO(text.encode())), name, None)
    if isinstance(item, Refused):
        raise item.error
    return item, name, promise


def kept(
    address: str,
    isolation: str | None,
    *,
    shown: str = "",
    seeds: Sequence[int] = SEEDS,
    transactions: int = TRANSACTIONS,
    words: Sequence[str] = WORDS,
) -> Kept:
    """Returns what a database keeps, by runs until all levels beyond its promise are violated, or seeds end.

    `shown`: the address as commands name it. Raises RecordingError.
    """
    found: Kept | None = None
    for seed in seeds:
        for word in words:
            run = Load(workload=WORKLOADS[word], seconds=60.0, seed=seed, transactions=transactions)
            item, _, promise = recording_of(address, isolation, run)
            found = found or Kept(shown or address, isolation or "", promise)
            level = f" --isolation {isolation}" if isolation else ""
            command = (
                f"dvs record {found.database}{level} --workload {word} --seed {seed} "
                f"--transactions {transactions} --level PL-3"
            )
            if item is not None:
                checked = CheckOptions(complete=True, requested=tuple(COLUMNS)).judge(item)
                found.note(checked, command, predicates=word == "predicate")
        assert found is not None
        levels = list(COLUMNS)
        beyond = levels[levels.index(Level(found.promise.value[0])) + 1 :]
        if beyond and all(level in found.violated for level in beyond):
            break
    assert found is not None
    return found


def runs_of(address: str, isolation: str | None, runs: int, *, shown: str = "") -> list[Kept]:
    """Returns the verdicts of several runs, each with seeds of its own. Raises RecordingError.

    Where the database promises to be serializable, no violation is searched for: one seed a run is enough.
    """
    all_seeds = (
        runs == 1 or kind(address.partition(":")[0]).levels[isolation or ""] is not Promise.SERIALIZABLE
    )
    size = len(SEEDS) if all_seeds else 1
    return [
        kept(address, isolation, shown=shown, seeds=range(1 + run * size, 1 + (run + 1) * size))
        for run in range(runs)
    ]


def cell(level: Level, runs: Sequence[Kept]) -> str:
    """Returns the cell of a level as Markdown: the mark of all runs, or how many runs have which mark."""
    marks = Counter(run.mark(level) for run in runs)
    if len(marks) > 1:
        return (
            "**" + ", ".join(f"{mark} in {count} of {len(runs)} runs" for mark, count in marks.items()) + "**"
        )
    (mark,) = marks
    committed = sum(run.committed.get(level, 0) for run in runs)
    return f"held in {committed:,}" if mark == "held" else f"**{mark}**"


def table(rows: Sequence[Sequence[Kept]]) -> Iterator[str]:
    """Yields lines of Markdown: a row for each database and level, then what shows each violation.

    `rows`: for each database and level its runs.
    """
    yield f"| database, level | {' | '.join(f'{level.value}: {name}' for level, name in COLUMNS.items())} |"
    yield "|---" * (len(COLUMNS) + 1) + "|"
    for runs in rows:
        cells = " | ".join(cell(level, runs) for level in COLUMNS)
        yield f"| {runs[0].database}, {runs[0].isolation} | {cells} |"
    for runs in rows:
        groups: dict[tuple[str, str, str], list[str]] = {}
        for level in COLUMNS:
            each = next((run.violated[level] for run in runs if level in run.violated), None)
            if each is not None:
                groups.setdefault((each.phenomenon, each.smallest, each.command), []).append(level.value)
        if groups:
            yield ""
            yield f"{runs[0].database}, {runs[0].isolation}:"
            yield ""
        for (phenomenon, smallest, command), levels in groups.items():
            yield f"- {', '.join(levels)}, by {phenomenon}: {smallest}; `{command}`"
