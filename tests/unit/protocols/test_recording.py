"""The recorder: the same transactions for a seed, files that are read back, and mistakes that are seen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

import dvs
from campaign.protocols.databases import opened
from campaign.protocols.kept import COLUMNS, Kept, cell
from dvs import Checked, CheckOptions, Level, judge, read_history
from dvs_model.checking.check import Holds, Violated
from protocols.recording import clients
from protocols.recording.clients import Load, Moment, Op, Outcome, Recording, recorded
from protocols.recording.database import Connection, NoAnswer, Promise, RecordingError
from protocols.recording.edn import edn, in_order_of_versions
from protocols.recording.sqlite import Sqlite, SqliteConnection
from protocols.recording.workloads import WORKLOADS, Request, drawn

RUN = Load(workload=WORKLOADS["append"], clients=3, seconds=60, keys=2, transactions=90)


def judged(recording: Recording, folder: Path) -> Checked:
    file = folder / "history.edn"
    file.write_text("".join(edn(recording)))
    return judge(read_history(file), CheckOptions(complete=True))


def test_a_seed_gives_the_same_transactions() -> None:
    for workload in WORKLOADS.values():
        one, same, other = (
            [drawn(workload, seed, 4, client, 2, n) for client in (0, 1) for n in range(50)]
            for seed in (1, 1, 2)
        )
        assert one == same != other, workload.name


def test_lists_stay_short_because_keys_change() -> None:
    steps = [step for n in range(2000) for step in drawn(WORKLOADS["append"], 1, 4, 0, 1, n)]
    appends = [step.key for step in steps if step.word.value == "append"]
    assert max(appends.count(key) for key in set(appends)) < 80


@pytest.mark.parametrize("name", ["append", "register", "bank", "predicate"])
def test_sqlite_is_serializable(name: str, tmp_path: Path) -> None:
    with opened("sqlite", None) as database:
        recording = recorded(database, replace(RUN, workload=WORKLOADS[name]))
    checked = judged(recording, tmp_path)
    assert not isinstance(checked.levels[Level.PL_3], Violated)
    if WORKLOADS[name].adya:
        assert isinstance(checked.levels[Level.PL_3], Holds)
    else:
        assert checked.seen is not None
        assert checked.seen.client["serializable"][0] == "holds"
    assert {total for _, total in recording.totals()} <= {200}


def test_duckdb_is_not(tmp_path: Path) -> None:
    """How clients meet is the machine's: runs with other seeds, until one has met write skew."""

    def skewed(seed: int) -> bool:
        with opened("duckdb", None) as database:
            run = replace(RUN, transactions=400, clients=6, seed=seed)
            checked = judged(recorded(database, run), tmp_path)
        assert isinstance(checked.levels[Level.PL_2_PLUS], Holds)
        return isinstance(checked.levels[Level.PL_3], Violated)

    assert any(map(skewed, range(1, 9)))


class Forgetful(SqliteConnection):
    """A connection that breaks after a COMMIT now and then, before its answer has come."""

    commits = 0

    def commit(self) -> None:
        super().commit()
        Forgetful.commits += 1
        if Forgetful.commits % 5 == 0:
            raise NoAnswer("connection lost")


@contextmanager
def forgetful(folder: Path) -> Iterator[Sqlite]:
    class Database(Sqlite):
        def session(self) -> SqliteConnection:
            return Forgetful(self._connected())

    yield Database(str(folder / "new.db"), "serializable")


def test_a_transaction_without_an_answer_may_have_committed(tmp_path: Path) -> None:
    with forgetful(tmp_path) as database:
        recording = recorded(database, RUN)
    assert sum(each.outcome is Outcome.INFO for each in recording.moments) > 5
    assert isinstance(judged(recording, tmp_path).levels[Level.PL_3], Holds)


def test_an_answer_that_never_came_and_is_left_out_is_seen(tmp_path: Path) -> None:
    """A planted mistake: the recorder loses the transactions without an answer."""
    with forgetful(tmp_path) as database:
        recording = recorded(database, RUN)
    lost = {each.process for each in recording.moments if each.outcome is Outcome.INFO}
    last = {p: max(n for n, each in enumerate(recording.moments) if each.process == p) for p in lost}
    begun = {
        max(n for n, m in enumerate(recording.moments[:end]) if m.process == p) for p, end in last.items()
    }
    recording.moments = [
        each for n, each in enumerate(recording.moments) if n not in begun and n not in last.values()
    ]
    assert isinstance(judged(recording, tmp_path).levels[Level.PL_3], Violated)


class Losing(Forgetful):
    """A connection that acknowledges a COMMIT now and then, and keeps nothing of the transaction."""

    def commit(self) -> None:
        Forgetful.commits += 1
        self.execute("ROLLBACK" if Forgetful.commits % 5 == 0 else "COMMIT")


@pytest.mark.parametrize("name", ["append", "register", "bank", "predicate"])
def test_what_was_acknowledged_and_is_not_there_is_seen(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = replace(RUN, workload=WORKLOADS[name])
    with opened("sqlite", None) as database:
        assert recorded(database, run).lost() == []
    monkeypatch.setattr(Sqlite, "session", lambda self: Losing(self._connected()))
    for commits in (0, 4):
        # At 4 the very first transaction is lost, which gives the keys their first values.
        monkeypatch.setattr(Forgetful, "commits", commits)
        lost: list[object] = []
        for _ in range(10):
            with opened("sqlite", None) as database:
                recording = recorded(database, run)
            assert {total for _, total in recording.totals()} <= {0, 200}
            # What is lost in a register shows only where no later write has hidden it.
            lost += recording.lost()
            if lost:
                break
        assert lost


def test_only_a_server_of_ours_is_killed() -> None:
    with pytest.raises(RecordingError, match="only a server that is started"), opened("sqlite", None) as one:
        recorded(one, replace(RUN, crash=1.0))


@pytest.mark.nightly
def test_a_client_pauses_inside_a_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "PAUSE_S", 0.2)
    with opened("duckdb", None) as database:
        recording = recorded(database, replace(RUN, pause=0.05, rate=90.0))
    began: dict[int, int] = {}
    longest = 0
    for each in recording.moments:
        if each.outcome is Outcome.INVOKE:
            began[each.process] = each.nanoseconds
        else:
            longest = max(longest, each.nanoseconds - began[each.process])
    assert longest > 0.2e9


def test_an_answer_of_another_client_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted mistake: now and then a client notes what another one has read."""
    whole, others, count = clients.done, dict[tuple[int, int], Op](), 0

    def done(session: Connection, step: Request, places: dict[int, int]) -> Iterator[Op]:
        nonlocal count
        for op in whole(session, step, places):
            of_others = [
                seen for (other, key), seen in others.items() if other != id(session) and key == step.key
            ]
            if op.f == "r":
                count += 1
                others[id(session), step.key] = op
            yield of_others[0] if op.f == "r" and of_others and count % 3 == 0 else op

    monkeypatch.setattr(clients, "done", done)
    with opened("sqlite", None) as database:
        checked = judged(recorded(database, RUN), tmp_path)
    assert isinstance(checked.levels[Level.PL_3], Violated)


def op(process: int, outcome: str, *ops: str) -> str:
    return f"{{:type :{outcome}, :process {process}, :f :txn, :value [{' '.join(ops)}]}}\n"


def test_lists_that_an_aborted_transaction_was_in_are_dirty_reads(tmp_path: Path) -> None:
    """T1 has aborted, so what was read of it contradicts all later lists; that is no dirty write."""
    file = tmp_path / "history.edn"
    file.write_text(
        op(1, "invoke", "[:append 5 80]")
        + op(2, "invoke", "[:r 5 nil]")
        + op(2, "ok", "[:r 5 [80]]")
        + op(1, "fail", "[:append 5 80]")
        + op(2, "invoke", "[:append 5 91]", "[:r 5 nil]")
        + op(2, "ok", "[:append 5 91]", "[:r 5 [91]]")
    )
    row = Kept("x", "y", Promise.UNCOMMITTED)
    checked = judge(read_history(file), CheckOptions(complete=True, requested=tuple(COLUMNS)))
    row.note(checked, "dvs record x", predicates=False)
    assert [row.mark(level) for level in COLUMNS] == ["unknown", *["violated"] * 5]
    assert row.violated[Level.PL_2].phenomenon == "G1a"
    row.committed[Level.PL_1] = 2
    assert cell(Level.PL_2, [row, Kept("x", "y", Promise.UNCOMMITTED)]) == (
        "**violated in 1 of 2 runs, unknown in 1 of 2 runs**"
    )
    assert cell(Level.PL_1, [row, row]) == "held in 4"


def moment(outcome: Outcome, process: int, place: int = 0) -> Moment:
    return Moment(outcome, process, (), 10 * process, places=((7, place),) if place else ())


def test_an_answer_that_was_noted_late_moves_before_that_of_the_next_writer() -> None:
    begin = [moment(Outcome.INVOKE, process) for process in (1, 2, 3)]
    ends = [moment(Outcome.OK, 3, place=3), moment(Outcome.OK, 2, place=2), moment(Outcome.OK, 1, place=1)]
    moved = in_order_of_versions([*begin, *ends])
    assert [(each.outcome, each.process) for each in moved[3:]] == [(Outcome.OK, n) for n in (1, 2, 3)]
    assert [each.nanoseconds for each in moved] == sorted(each.nanoseconds for each in moved)


def test_versions_in_a_circle_end_as_well() -> None:
    one = replace(moment(Outcome.OK, 1), places=((7, 1), (8, 2)))
    other = replace(moment(Outcome.OK, 2), places=((7, 2), (8, 1)))
    assert len(in_order_of_versions([one, other])) == 2


@pytest.mark.parametrize(
    ("address", "level", "fact"),
    [
        ("oracle://x", None, "names no database"),
        ("sqlite", "snapshot", "SQLite has no isolation level snapshot; take one of serializable"),
        ("sqlite:///", None, "names no file"),
        ("postgresql://127.0.0.1:1/x", None, "PostgreSQL cannot be reached: "),
        ("duckdb:///no/such/folder/x.db", None, "DuckDB does not make"),
        ("sqlite:///no/such/folder/x.db", None, "SQLite does not open"),
    ],
)
def test_what_cannot_be_recorded_is_said_in_one_line(address: str, level: str | None, fact: str) -> None:
    with pytest.raises(RecordingError, match=fact) as raised, opened(address, level) as database:
        recorded(database, RUN)
    assert "\n" not in str(raised.value)


def test_a_disk_that_gets_full_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def session(database: Sqlite) -> SqliteConnection:
        connection = database._connected()
        connection.execute("PRAGMA max_page_count = 2")
        return SqliteConnection(connection)

    monkeypatch.setattr(Sqlite, "session", session)
    with (
        pytest.raises(RecordingError, match="database or disk is full") as raised,
        opened("sqlite", None) as one,
    ):
        recorded(one, replace(RUN, workload=WORKLOADS["bank"], keys=2000))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("scheme", ["sqlite", "duckdb", "delta-rs"])
def test_a_file_that_is_there_is_left_alone_and_a_new_one_is_removed(scheme: str, tmp_path: Path) -> None:
    file = tmp_path / "x.db"
    with opened(f"{scheme}:///{file}", None) as database:
        recorded(database, replace(RUN, transactions=3))
    assert list(tmp_path.iterdir()) == []
    file.write_text("mine")
    with (
        pytest.raises(RecordingError, match="is not touched"),
        opened(f"{scheme}:///{file}", None) as database,
    ):
        recorded(database, RUN)
    assert file.read_text() == "mine"


def test_a_level_is_asserted_on_a_live_database() -> None:
    dvs.recorded("sqlite", "predicate", level="PL-3", transactions=60)
    dvs.recorded("duckdb", level="PL-SI", transactions=60)

    def more_than_it_keeps() -> None:
        for seed in range(1, 9):
            dvs.recorded("duckdb", level="PL-3", transactions=400, clients=6, keys=2, seed=seed)

    with pytest.raises(AssertionError, match=r"PL-3: .* present"):
        more_than_it_keeps()
    with pytest.raises(AssertionError, match="unknown"):
        dvs.recorded("sqlite", level="PL-SS", transactions=0, seconds=0.0)
    with pytest.raises(dvs.CampaignError, match="no isolation level"):
        dvs.recorded("sqlite", isolation="chaos")
