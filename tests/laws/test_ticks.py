"""The law of ticks, for random schedules of writers, refreshes, crashes and clocks that disagree.

All refreshes at one data timestamp read one vector of versions, vectors grow with the data timestamp, no
transaction is torn, and what is committed is in a later tick.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest

from dynamic_tables.errors import StoreError
from dynamic_tables.store.log.files import LocalFiles
from dynamic_tables.store.log.log import TableLog, TableMetadata
from dynamic_tables.store.log.numbered import WHOLE_EVERY
from dynamic_tables.store.ticks.base_log import Stamp, at_ticks
from dynamic_tables.store.ticks.data_time import DataTime
from dynamic_tables.store.ticks.ledger import FOLDER, Ledger, Tick
from tests.depth import examples

TABLES = ("r", "s", "t")
STEPS = ("begin", "step", "step", "step", "foreign", "refresh", "past", "write", "reopen")


@dataclass
class Clock:
    """A clock that shows the time of the world, wrongly by `by`."""

    world: World
    by: int
    simulated: bool = False

    def now(self) -> int:
        return max(0, self.world.time + self.by)


@dataclass
class Process:
    """An account that is open in one process."""

    world: World
    by: int
    logs: dict[str, TableLog] = field(init=False)
    time: DataTime = field(init=False)

    def __post_init__(self) -> None:
        files = LocalFiles()
        folder = self.world.folder
        self.logs = {name: TableLog(name, f"{folder}/{name}", files, no_metadata) for name in TABLES}
        self.time = DataTime(
            clock=Clock(self.world, self.by),
            ledger=Ledger(str(folder), files),
            logs=lambda: self.logs,
            undo_abandoned=lambda: None,
        )

    def vector(self, timestamp: int) -> Mapping[str, int]:
        """The version of each table that a refresh at a data timestamp reads."""
        self.time.decide(timestamp)
        versions = {}
        for name, log in self.logs.items():
            log.poll()
            earlier = [v for v in at_ticks(log, self.time.ledger.ticks) if v.timestamp <= timestamp]
            versions[name] = earlier[-1].version if earlier else -1
        return versions


def no_metadata(folder: str, version: int) -> TableMetadata:
    raise AssertionError("every commit is in the log")


@dataclass
class World:
    """Tables as nothing but their logs, and the processes that write and refresh."""

    folder: Path
    time: int = 1_000
    transactions: list[list[str]] = field(default_factory=list)
    parts: dict[int, list[tuple[str, int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in TABLES:
            (self.folder / name / "_delta_log").mkdir(parents=True)
            self.commit(name, None)

    def commit(self, name: str, stamp: Stamp | None) -> int:
        log = self.folder / name / "_delta_log"
        version = len(list(log.iterdir()))
        info = {"operation": "WRITE", "inCommitTimestamp": self.time}
        if stamp is not None:
            info["userMetadata"] = json.dumps(stamp.to_metadata())
        lines: list[object] = [{"commitInfo": info}, {"add": {"path": str(version), "dataChange": True}}]
        if version == 0:
            lines.insert(1, {"metaData": {"id": name, "schemaString": "{}", "configuration": {}}})
        (log / f"{version:020d}.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return version

    def begin(self, tables: list[str]) -> None:
        self.transactions.append(tables)

    def step(self, number: int) -> None:
        """Commits the next part of a transaction."""
        tables, done = self.transactions[number], self.parts.setdefault(number, [])
        if len(done) < len(tables):
            name = tables[len(done)]
            stamp = Stamp(
                transaction=str(number),
                timestamp=self.time,
                part=len(done) + 1,
                parts=len(tables),
                before=dict.fromkeys(tables, 0),
            )
            done.append((name, self.commit(name, stamp)))


@pytest.mark.parametrize("seed", range(examples(40)))
def test_one_data_timestamp_is_one_vector(tmp_path: Path, seed: int) -> None:
    choices, world = random.Random(seed), World(tmp_path)
    processes = [Process(world, by) for by in (0, 300, -300)]
    read: dict[int, Mapping[str, int]] = {}
    for _ in range(40):
        world.time += choices.randint(0, 20)
        process = choices.choice(processes)
        match choices.choice(STEPS):
            case "begin":
                world.begin(choices.sample(TABLES, choices.randint(1, 3)))
            case "step" if world.transactions:
                world.step(choices.randrange(len(world.transactions)))
            case "foreign":
                world.commit(choices.choice(TABLES), None)
            case "write":
                process.time.add_write()
            case "reopen":
                processes[processes.index(process)] = Process(world, process.by)
            case "refresh":
                timestamp = process.time.earliest(process.time.clock.now())
                assert all(timestamp > earlier for earlier in read)
                read[timestamp] = process.vector(timestamp)
            case "past" if read:
                timestamp = choices.choice(list(read)) + choices.randint(0, 3)
                vector = process.vector(timestamp)
                assert read.setdefault(timestamp, vector) == vector
            case _:
                pass
    for process in processes:
        for timestamp, vector in read.items():
            assert process.vector(timestamp) == vector
    ordered = [read[timestamp] for timestamp in sorted(read)]
    for one, later in pairwise(ordered):
        assert all(one[name] <= later[name] for name in TABLES)
    ensure_whole(world, ordered)
    ensure_all_there(world, processes[0])


def ensure_whole(world: World, vectors: list[Mapping[str, int]]) -> None:
    for number, parts in world.parts.items():
        complete = len(parts) == len(world.transactions[number])
        for vector in vectors:
            inside = [version <= vector[name] for name, version in parts]
            assert not any(inside) or (complete and all(inside))


def ensure_all_there(world: World, process: Process) -> None:
    """Once every transaction is finished, the next data timestamp has everything."""
    for number, tables in enumerate(world.transactions):
        for _ in tables:
            world.step(number)
    timestamp = process.time.earliest(world.time + 1_000)
    vector = process.vector(timestamp)
    assert vector == {name: log.newest.version for name, log in process.logs.items()}


def test_a_part_that_comes_while_the_logs_are_read_is_not_torn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log of r is read, then both parts are committed, then the log of s is read."""
    world = World(tmp_path)
    process = Process(world, 0)
    world.begin(["r", "s"])
    poll, polled = TableLog.poll, []

    def slow(log: TableLog) -> object:
        result = poll(log)
        polled.append(log.name)
        if polled == ["r"]:
            world.step(0)
            world.step(0)
        return result

    monkeypatch.setattr(TableLog, "poll", slow)
    assert process.vector(2_000) == {"r": 1, "s": 1, "t": 0}


def test_reading_begins_at_a_tick_that_names_all_tables(tmp_path: Path) -> None:
    world = World(tmp_path)
    process = Process(world, 0)
    for timestamp in range(2_000, 2_000 + WHOLE_EVERY + 3):
        world.commit("r", None)
        process.time.decide(timestamp)
    assert len(list((tmp_path / FOLDER).iterdir())) == WHOLE_EVERY + 3
    newcomer = Process(world, 0)
    assert newcomer.vector(9_000) == {"r": WHOLE_EVERY + 3, "s": 0, "t": 0}
    assert newcomer.time.ledger.first == WHOLE_EVERY
    assert newcomer.vector(2_005) == process.vector(2_005) == {"r": 6, "s": 0, "t": 0}
    assert newcomer.time.ledger.first == 0


def test_a_full_disk_is_one_line_and_loses_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path)
    process = Process(world, 0)
    world.commit("r", None)

    def full(self: LocalFiles, file: str, text: str) -> bool:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(LocalFiles, "put", full)
        process.time.add_write()
        with pytest.raises(StoreError, match=r"^the tick .*No space left on device$"):
            process.time.decide(2_000)
    assert process.vector(2_000) == {"r": 1, "s": 0, "t": 0}


def test_only_one_of_many_creates_a_tick(tmp_path: Path) -> None:
    ledgers = [Ledger(str(tmp_path), LocalFiles()) for _ in range(3)]
    for ledger in ledgers:
        ledger.poll()
    for number, ledger in enumerate(ledgers):
        ledger.append(lambda number=number: Tick(number, True, {}))  # type: ignore[misc]
    ledgers[0].poll()
    assert [tick.timestamp for tick in ledgers[0].ticks] == [0, 1, 2]
    assert not LocalFiles().put(f"{tmp_path}/{FOLDER}/{0:020d}.json", "another")
    assert sorted(path.name for path in (tmp_path / FOLDER).iterdir())[0] == f"{0:020d}.json"


def test_a_tick_that_comes_during_the_decision_is_decided_upon_again(tmp_path: Path) -> None:
    """Another process adds a tick after this one has looked, before it writes its own."""
    world = World(tmp_path)
    mine, other = Process(world, 0), Process(world, 0)
    came: list[int] = []

    def undo_abandoned() -> None:
        if not came:
            came.append(1)
            other.time.decide(2_000)
            world.commit("r", None)
        mine.time.ledger.poll()

    mine.time = DataTime(
        clock=mine.time.clock, ledger=mine.time.ledger, logs=mine.time.logs, undo_abandoned=undo_abandoned
    )
    assert mine.vector(2_000) == other.vector(2_000) == {"r": 0, "s": 0, "t": 0}
    assert [tick.timestamp for tick in other.time.ledger.ticks] == [2_000]
