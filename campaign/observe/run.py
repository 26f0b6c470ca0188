"""A run as a history with derivations: what the engine's versions say, whatever the contents say.

Tables are objects and their stored versions are versions; commits of base tables are writes, refreshes are
derivations from exactly the versions in their frontiers, readers read. A pure reader of one dynamic table
starts at the data timestamp of what it read: delayed view semantics promises it that past snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from campaign.observe.recording import RECORDING, Observation, Reader, Recording, Unrecorded, real_readers
from dvs_model.check import Checked, Holds, check
from dvs_model.errors import HistoryError
from dvs_model.history import History
from dvs_model.names import FORBIDS, Level, Phenomenon
from dvs_model.verdict import Present
from dvs_model.wellformed import well_formed
from reports.history.account import because, first_evidence, lines
from workload.scenario import Scenario
from workload.trace import ReadDone, Trace


@dataclass(frozen=True, slots=True)
class Anomaly:
    """What is wrong with a run as a history: where, and the sentence."""

    step: int
    table: str
    timestamp: int
    message: str


@dataclass(frozen=True, slots=True)
class Observed:
    """The histories of a run, judged. `skewed`: some reader saw read skew, G-single."""

    anomalies: tuple[Anomaly, ...]
    readers: Mapping[str, int]
    skewed: bool
    checks: int
    history: History | None = None


def observe(
    scenario: Scenario,
    trace: Trace,
    base_tables: Callable[[str], frozenset[str]],
    recording: Recording = RECORDING,
) -> Observed:
    """Judges a run as a history. `base_tables`: those behind a relation, by its definition.

    Reading one dynamic table is PL-SI, for every version of every one; reading several is PL-2.
    """
    real = real_readers(trace)
    try:
        alone, anomalies, checks = _alone(scenario, trace, real, base_tables, recording)
        together, more = _together(scenario, trace, real, recording)
    except Unrecorded as error:
        anomaly = Anomaly(error.step, error.table, scenario.steps[error.step].at, str(error))
        return Observed((anomaly,), {}, False, 1)
    except HistoryError as error:
        last = trace.events[-1].step
        return Observed(
            (Anomaly(last, "", scenario.steps[last].at, f"no history: {error.fact}"),), {}, False, 1
        )
    # Not "PL-2+ does not hold": what is unknown would count as met.
    skewed = together is not None and isinstance(together.phenomena[Phenomenon.G_SINGLE], Present)
    kinds = _kinds(real, frozenset(table.name for table in scenario.dynamic_tables))
    history = alone if together is None else together.original
    return Observed((*anomalies, *more), kinds, skewed, checks + (together is not None), history)


def _alone(
    scenario: Scenario,
    trace: Trace,
    real: Sequence[Reader],
    base_tables: Callable[[str], frozenset[str]],
    recording: Recording,
) -> tuple[History | None, list[Anomaly], int]:
    """Every version of every dynamic table read alone: PL-SI."""
    observation = Observation(scenario, trace, recording)
    virtual = [
        Reader((ReadDone(event.step, -1, {event.table: event.version}),), event) for event in trace.refreshes
    ]
    if not virtual:
        return None, [], 0
    single = [reader for reader in real if reader.single(observation.dynamic) is not None]
    draft = observation.draft([*virtual, *single], timed=True)
    checked = check(well_formed(draft), only=FORBIDS[Level.PL_SI])
    anomalies = list(_incomplete(observation, trace, base_tables))
    if not isinstance(checked.levels[Level.PL_SI], Holds):
        anomalies.append(_anomaly(checked, Level.PL_SI, observation))
    return checked.original, anomalies, 1 + len(virtual)


def _together(
    scenario: Scenario, trace: Trace, real: Sequence[Reader], recording: Recording
) -> tuple[Checked | None, list[Anomaly]]:
    """All real readers: PL-2."""
    if not real:
        return None, []
    observation = Observation(scenario, trace, recording)
    checked = check(well_formed(observation.draft(real, timed=False)), only=FORBIDS[Level.PL_2_PLUS])
    if isinstance(checked.levels[Level.PL_2], Holds):
        return checked, []
    return checked, [_anomaly(checked, Level.PL_2, observation)]


def _incomplete(
    observation: Observation, trace: Trace, base_tables: Callable[[str], frozenset[str]]
) -> Iterator[Anomaly]:
    """Behind every refreshed version stands one version of each base table of its definition."""
    for event in trace.refreshes:
        name = observation.names[event.table, event.version]
        found = sorted(base.obj for base in observation.behind[name])
        due = sorted(base_tables(event.table))
        if found != due:
            listed = ", ".join(found) or "nothing"
            message = f"{event.table} derives from versions of {listed}; due: {', '.join(due)}"
            yield Anomaly(event.step, event.table, event.timestamp, message)


def _anomaly(checked: Checked, level: Level, observation: Observation) -> Anomaly:
    """The first evidence against a level, placed at the refresh or read that it is about."""
    who, scenario = observation.readers, observation.scenario
    verdict = checked.levels[level]
    message = f"{level.value} {because(verdict)}"
    txns: list[int] = []
    phenomenon = next((p for p in FORBIDS[level] if p in getattr(verdict, "by", ())), None)
    if phenomenon is not None:
        sentences = lines(checked, first_evidence(checked, phenomenon))
        message = (
            f"{level.value} is violated by {phenomenon.value}: {'; '.join(line.text for line in sentences)}"
        )
        edges = [line.edge for line in sentences if line.edge is not None]
        txns = [txn for edge in edges for txn in (edge.source, edge.target)]
    reader = next((who[txn] for txn in txns if txn in who), None)
    if reader is None:
        last = len(scenario.steps) - 1
        return Anomaly(last, "", scenario.steps[last].at, message)
    done = reader.statements[0]
    refreshed = reader.refreshed
    at = scenario.steps[done.step].at if refreshed is None else refreshed.timestamp
    return Anomaly(done.step, next(iter(done.versions)), at, message)


def _kinds(readers: Sequence[Reader], dynamic: frozenset[str]) -> Mapping[str, int]:
    """How many readers of each kind there were."""
    counts: dict[str, int] = {}
    for reader in readers:
        tables = {table for done in reader.statements for table in done.versions}
        several = len(tables & dynamic) > 1
        kinds = {
            "reader of one dynamic table": reader.single(dynamic) is not None,
            "reader of several dynamic tables": several,
            "reader of dynamic and base tables": bool(tables & dynamic) and bool(tables - dynamic),
            "reader with several statements": len(reader.statements) > 1,
        }
        for kind, found in kinds.items():
            counts[kind] = counts.get(kind, 0) + found
    return counts
