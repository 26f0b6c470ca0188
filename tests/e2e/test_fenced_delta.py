"""Document 004 on real Delta tables: each cell of its tables, and what a schedule of two writers may lose."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake
from deltalake.exceptions import CommitFailedError

from dvs_model.checking.check import Holds, Violated, check
from dvs_model.formats import delta
from dvs_model.formats.reader import Parsed
from dvs_model.theory.names import Level
from protocols.fenced_delta.outcome import Landed, Operation, fails
from protocols.fenced_delta.writers.on_delta_rs import (
    Handle,
    append,
    append_if_unchanged,
    overwrite,
    overwrite_if_unchanged,
    replace_where,
)
from tests.depth import examples


def rows(*pairs: tuple[int, int]) -> pa.Table:
    return pa.table({"id": [each[0] for each in pairs], "n": [each[1] for each in pairs]})


def contents(path: str) -> set[tuple[int, int]]:
    table = QueryBuilder().register("t", DeltaTable(path)).execute("SELECT id, n FROM t").read_all()
    return {(row["id"], row["n"]) for row in pa.table(table).to_pylist()}


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Rows 1 and 2, each in a file of its own."""
    place = str(tmp_path / "t")
    write_deltalake(place, rows((1, 0)))
    append(place, rows((2, 0)))
    return place


WRITES: Mapping[Operation, Callable[[str, Handle], None]] = {
    Operation.DELETE: lambda path, handle: handle.delete("id = 1"),
    Operation.UPDATE: lambda path, handle: handle.update({"n": "n + 1"}, "id = 1"),
    Operation.MERGE: lambda path, handle: handle.merge(rows((1, 7)), "t.id = s.id"),
    Operation.APPEND_IF_UNCHANGED: lambda path, handle: append_if_unchanged(
        path, rows((5, 5)), handle.version
    ),
    Operation.OVERWRITE_IF_UNCHANGED: lambda path, handle: overwrite_if_unchanged(
        path, rows((6, 6)), handle.version
    ),
    Operation.REPLACE_WHERE: lambda path, handle: replace_where(path, rows((1, 8)), "id = 1", handle.version),
    Operation.APPEND: lambda path, handle: append(path, rows((5, 5))),
    Operation.OVERWRITE: lambda path, handle: overwrite(path, rows((6, 6))),
}
"""Each write; those with a condition read row 1."""

ALONE = {
    Operation.DELETE: {(2, 0)},
    Operation.UPDATE: {(1, 1), (2, 0)},
    Operation.MERGE: {(1, 7), (2, 0)},
    Operation.APPEND_IF_UNCHANGED: {(1, 0), (2, 0), (5, 5)},
    Operation.OVERWRITE_IF_UNCHANGED: {(6, 6)},
    Operation.REPLACE_WHERE: {(1, 8), (2, 0)},
    Operation.APPEND: {(1, 0), (2, 0), (5, 5)},
    Operation.OVERWRITE: {(6, 6)},
}


@pytest.mark.parametrize("operation", Operation)
def test_a_write_alone_succeeds(operation: Operation, path: str) -> None:
    WRITES[operation](path, Handle(path))
    assert contents(path) == ALONE[operation]


@pytest.mark.parametrize("landed", Landed)
@pytest.mark.parametrize("operation", Operation)
def test_each_cell_of_the_document(operation: Operation, landed: Landed, path: str) -> None:
    mine, other = Handle(path), Handle(path)
    if landed is Landed.CONFLICT:
        other.update({"n": "50"}, "id = 1")
    else:
        other.update({"n": "50"}, "id = 2")
    before = contents(path)
    # A MERGE of delta-rs reads every file, whatever its condition: stricter than the document.
    strict = operation is Operation.MERGE
    if fails(operation, [landed]) or strict:
        with pytest.raises(CommitFailedError):
            WRITES[operation](path, mine)
        assert contents(path) == before
    else:
        WRITES[operation](path, mine)
        assert contents(path) != before


def test_a_delete_tolerates_an_unrelated_append_and_a_fenced_append_does_not(path: str) -> None:
    mine, version = Handle(path), Handle(path).version
    append(path, rows((9, 9)))
    mine.delete("id = 1")
    assert contents(path) == {(2, 0), (9, 9)}
    with pytest.raises(CommitFailedError):
        append_if_unchanged(path, rows((5, 5)), version)


def test_a_handle_never_fails_on_its_own_write(path: str) -> None:
    mine = Handle(path)
    mine.update({"n": "n + 1"}, "id = 1")
    mine.update({"n": "n + 1"}, "id = 1")
    assert contents(path) == {(1, 2), (2, 0)}


def counted(path: str, random: Random, *, fenced: bool) -> tuple[int, int]:
    """Two writers count one up, in a random order of reads and writes; returns successes and the count."""
    write_deltalake(path, rows((1, 0)), mode="overwrite")
    seen: dict[int, tuple[int, int]] = {}
    successes = 0
    for _ in range(12):
        writer = random.randrange(2)
        if writer not in seen:
            [(_, value)] = contents(path)
            seen[writer] = (DeltaTable(path).version(), value)
            continue
        version, value = seen.pop(writer)
        try:
            if fenced:
                overwrite_if_unchanged(path, rows((1, value + 1)), version)
            else:
                overwrite(path, rows((1, value + 1)), version)
            successes += 1
        except CommitFailedError:
            pass
    [(_, value)] = contents(path)
    return successes, value


def judged(path: str) -> object:
    parsed = delta.read([Path(path)], "counter")
    assert isinstance(parsed, Parsed)
    return check(parsed.history).levels[Level.PL_2_PLUS]


def test_no_fenced_schedule_loses_an_update(tmp_path: Path) -> None:
    for seed in range(examples(20)):
        path = str(tmp_path / str(seed))
        successes, value = counted(path, Random(seed), fenced=True)
        assert successes == value
        assert isinstance(judged(path), Holds)


def test_unfenced_schedules_lose_updates_and_the_log_shows_it(tmp_path: Path) -> None:
    lost = 0
    for seed in range(examples(20)):
        path = str(tmp_path / str(seed))
        successes, value = counted(path, Random(seed), fenced=False)
        lost += value < successes
        assert isinstance(judged(path), Violated) == (value < successes)
    assert lost > 10


SCHEDULES = examples(30)
"""Random schedules of two processes, fenced and unfenced each."""


def counting(orders: Connection) -> None:
    """A process that reads a count and writes one more, each when it is told; it tells what came of it."""
    seen: tuple[int, int] | None = None
    while (order := orders.recv()) is not None:
        path, fenced = order
        if seen is None:
            # Value and version come from one object: between two of them the other process may commit.
            table = DeltaTable(path)
            found = QueryBuilder().register("t", table).execute("SELECT n FROM t").read_all()
            seen = (table.version(), pa.table(found)["n"][0].as_py())
            orders.send("read")
            continue
        (version, value), seen = seen, None
        try:
            if fenced:
                overwrite_if_unchanged(path, rows((1, value + 1)), version)
            else:
                overwrite(path, rows((1, value + 1)), version)
            orders.send("written")
        except CommitFailedError:
            orders.send("refused")


@pytest.fixture
def processes() -> Iterator[list[Connection]]:
    """Two processes that count."""
    context = multiprocessing.get_context("spawn")
    pipes = [context.Pipe() for _ in range(2)]
    started = [context.Process(target=counting, args=(there,), daemon=True) for _, there in pipes]
    for process in started:
        process.start()
    yield [here for here, _ in pipes]
    for (here, _), process in zip(pipes, started, strict=True):
        here.send(None)
        process.join(timeout=20)


@pytest.mark.nightly
@pytest.mark.parametrize("fenced", [True, False])
def test_two_processes_lose_no_fenced_update(
    fenced: bool, processes: list[Connection], tmp_path: Path
) -> None:
    random, lost, refused = Random(7), 0, 0
    for number in range(SCHEDULES):
        path = str(tmp_path / str(number))
        write_deltalake(path, rows((1, 0)))
        told: list[str] = []
        # Both may be told before either has answered: then they run at the same moment.
        pending: list[Connection] = []
        for _ in range(8):
            chosen = random.choice(processes)
            if chosen in pending:
                told += [each.recv() for each in pending]
                pending = []
            chosen.send((path, fenced))
            pending.append(chosen)
        told += [each.recv() for each in pending]
        # Whoever has read is told to write, so that the next schedule begins with a read.
        for process in processes:
            process.send((path, fenced))
            told.append(process.recv())
            if told[-1] == "read":
                process.send((path, fenced))
                told.append(process.recv())
        [(_, value)] = contents(path)
        missing = told.count("written") - value
        assert missing >= 0
        lost += missing > 0
        refused += told.count("refused")
        assert isinstance(judged(path), Violated) == (missing > 0)
    if fenced:
        assert lost == 0
        assert refused > 10
    else:
        # Two overwrites at the same moment may still conflict; one after the other they never do.
        assert lost > 10


def test_write_skew_between_tables_is_seen_where_the_writers_say_what_they_read(tmp_path: Path) -> None:
    """Two doctors leave, each because the other one is on call."""
    paths = {name: str(tmp_path / name) for name in ("ann", "ben")}
    for path in paths.values():
        write_deltalake(path, rows((1, 1)))
    versions = {name: DeltaTable(path).version() for name, path in paths.items()}
    for path in paths.values():
        Handle(path, reads=versions).update({"n": "0"}, "id = 1")
    parsed = delta.read([Path(path) for path in paths.values()], "doctors")
    assert isinstance(parsed, Parsed)
    assert parsed.unread == ""
    levels = check(parsed.history).levels
    assert isinstance(levels[Level.PL_3], Violated)
    assert isinstance(levels[Level.PL_2_PLUS], Holds)


def test_the_same_one_after_the_other_is_serializable(tmp_path: Path) -> None:
    paths = {name: str(tmp_path / name) for name in ("ann", "ben")}
    for path in paths.values():
        write_deltalake(path, rows((1, 1)))
    for path in paths.values():
        versions = {name: DeltaTable(each).version() for name, each in paths.items()}
        Handle(path, reads=versions).update({"n": "0"}, "id = 1")
    parsed = delta.read([Path(path) for path in paths.values()], "doctors")
    assert isinstance(parsed, Parsed)
    assert isinstance(check(parsed.history).levels[Level.PL_3], Holds)
