"""Judges a run as a history with derivations: its versions alone, whatever their contents.

Tables are objects and their stored versions are versions; commits of base tables are writes, refreshes are
derivations from exactly the versions in their frontiers, readers read. A pure reader of one dynamic table
starts at the data timestamp of what it read: delayed view semantics promises it that past snapshot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from campaign.judging.recording import RECORDING, Observation, Reader, Recording, Unrecorded, real_readers
from dvs_model.analysis.verdict import Present
from dvs_model.checking.check import Checked, Holds, check
from dvs_model.checking.explain import because, first_evidence, lines
from dvs_model.errors import HistoryError
from dvs_model.graph.wellformed import well_formed
from dvs_model.histories.history import History
from dvs_model.theory.levels import LEVELS
from dvs_model.theory.names import Level, Phenomenon
from workload.outcomes.trace import ReadDone, Trace
from workload.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Anomaly:
    """A mistake in a run as a history, in a sentence, and at which refresh or read it shows."""

    step: int
    table: str
    timestamp: int
    message: str


@dataclass(frozen=True, slots=True)
class Observed:
    """The histories of a run, judged.

    `readers`: how many readers of each kind. `skewed`: whether some reader saw read skew, G-single. `checks`:
    how many checks were made.
    """

    anomalies: tuple[Anomaly, ...]
    readers: Mapping[str, int]
    skewed: bool
    checks: int
    history: History | None = None


@dataclass(frozen=True, slots=True)
class _Part:
    """The judgement of one history of a run. `checked`: None where nobody reads."""

    checked: Checked | None = None
    anomalies: tuple[Anomaly, ...] = ()
    checks: int = 0


def observe(
    scenario: Scenario,
    trace: Trace,
    base_tables: Callable[[str], frozenset[str]],
    recording: Recording = RECORDING,
) -> Observed:
    """Judges a run as histories: reading one dynamic table must be PL-SI, reading several PL-2.

    `base_tables`: returns the base tables behind a relation, by its definition.
    """
    real = real_readers(trace)
    try:
        alone = _alone(Observation(scenario, trace, recording), real, base_tables)
        together = _together(Observation(scenario, trace, recording), real)
    except Unrecorded as error:
        return _not_a_history(scenario, error.step, error.table, str(error))
    except HistoryError as error:
        return _not_a_history(scenario, trace.events[-1].step, "", f"no history: {error.fact}")
    # Read skew, and not "PL-2+ does not hold": that would count what is unknown, too.
    skewed = together.checked is not None and isinstance(
        together.checked.phenomena[Phenomenon.G_SINGLE], Present
    )
    checked = together.checked or alone.checked
    return Observed(
        anomalies=alone.anomalies + together.anomalies,
        readers=_kinds(real, frozenset(table.name for table in scenario.dynamic_tables)),
        skewed=skewed,
        checks=alone.checks + together.checks,
        history=None if checked is None else checked.original,
    )


def _not_a_history(scenario: Scenario, step: int, table: str, message: str) -> Observed:
    """Returns the result for a run that is no history, with the reason as its only anomaly."""
    return Observed((Anomaly(step, table, scenario.steps[step].at, message),), {}, False, 1)


def _alone(
    observation: Observation, real: Sequence[Reader], base_tables: Callable[[str], frozenset[str]]
) -> _Part:
    """Checks PL-SI with the readers of one version: those of the run, and one added for each version."""
    refreshes = observation.trace.refreshes
    if not refreshes:
        return _Part()
    made_up = [
        Reader((ReadDone(event.step, -1, {event.table: event.version}),), event) for event in refreshes
    ]
    single = [reader for reader in real if reader.reads_one(observation.dynamic)]
    draft = observation.draft([*made_up, *single], timed=True)
    checked = check(well_formed(draft), only=LEVELS[Level.PL_SI].forbids)
    anomalies = tuple(_incomplete(observation, base_tables))
    return _Part(checked, anomalies + _violation(checked, Level.PL_SI, observation), 1 + len(made_up))


def _together(observation: Observation, real: Sequence[Reader]) -> _Part:
    """Checks PL-2 with all readers of the scenario."""
    if not real:
        return _Part()
    checked = check(well_formed(observation.draft(real, timed=False)), only=LEVELS[Level.PL_2_PLUS].forbids)
    return _Part(checked, _violation(checked, Level.PL_2, observation), 1)


def _incomplete(observation: Observation, base_tables: Callable[[str], frozenset[str]]) -> Iterator[Anomaly]:
    """Yields the refreshes that do not derive from one version of each base table behind their definition."""
    for event in observation.trace.refreshes:
        name = observation.names[event.table, event.version]
        bases = sorted(base.obj for base in observation.behind[name])
        due = sorted(base_tables(event.table))
        if bases != due:
            listed = ", ".join(bases) or "nothing"
            message = f"{event.table} derives from versions of {listed}; due: {', '.join(due)}"
            yield Anomaly(event.step, event.table, event.timestamp, message)


def _violation(checked: Checked, level: Level, observation: Observation) -> tuple[Anomaly, ...]:
    """Returns the first evidence against a level, at the refresh or read that it is about; () if it holds."""
    if isinstance(checked.levels[level], Holds):
        return ()
    scenario = observation.scenario
    verdict = checked.levels[level]
    message = f"{level.value} {because(verdict)}"
    txns: list[int] = []
    phenomenon = next((p for p in LEVELS[level].forbids if p in getattr(verdict, "by", ())), None)
    if phenomenon is not None:
        sentences = lines(checked, first_evidence(checked, phenomenon))
        message = (
            f"{level.value} is violated by {phenomenon.value}: {'; '.join(line.text for line in sentences)}"
        )
        edges = [line.edge for line in sentences if line.edge is not None]
        txns = [txn for edge in edges for txn in (edge.source, edge.target)]
    reader = next((observation.readers[txn] for txn in txns if txn in observation.readers), None)
    if reader is None:
        last = len(scenario.steps) - 1
        return (Anomaly(last, "", scenario.steps[last].at, message),)
    statement, refreshed = reader.statements[0], reader.refreshed
    at = scenario.steps[statement.step].at if refreshed is None else refreshed.timestamp
    return (Anomaly(statement.step, next(iter(statement.versions)), at, message),)


def _kinds(readers: Sequence[Reader], dynamic: frozenset[str]) -> Mapping[str, int]:
    """Counts the readers of each kind; empty without readers."""
    counts: Counter[str] = Counter()
    for reader in readers:
        tables = {table for statement in reader.statements for table in statement.versions}
        kinds = {
            "reader of one dynamic table": reader.reads_one(dynamic),
            "reader of several dynamic tables": len(tables & dynamic) > 1,
            "reader of dynamic and base tables": bool(tables & dynamic) and bool(tables - dynamic),
            "reader with several statements": len(reader.statements) > 1,
        }
        counts.update({kind: int(holds) for kind, holds in kinds.items()})
    return counts
