"""Delta logs as histories, from logs written by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from deltalake import DeltaTable, write_deltalake

from campaign.cli import main
from dvs_model.checking.check import Holds, Undecided, Violated, check, with_unread
from dvs_model.formats import delta
from dvs_model.formats.reader import Parsed, Refused
from dvs_model.histories.history import Write
from dvs_model.notation import render
from dvs_model.theory.names import Level

Commit = tuple[Mapping[str, object], Sequence[str], Sequence[str]]


def table(folder: Path, commits: Sequence[Commit], first: int = 0) -> Path:
    """Writes a log: for each commit its commitInfo, the files that it removes, and those that it adds."""
    (folder / "_delta_log").mkdir(parents=True)
    for number, (info, removed, added) in enumerate(commits):
        actions: list[dict[str, object]] = [
            {"commitInfo": {"timestamp": number, "operation": "WRITE", **info}}
        ]
        actions += [{"remove": {"path": path, "dataChange": True}} for path in removed]
        actions += [{"add": {"path": path, "dataChange": True}} for path in added]
        file = folder / "_delta_log" / f"{first + number:020d}.json"
        file.write_text("\n".join(map(json.dumps, actions)), encoding="utf-8")
    return folder


def read(*folders: Path) -> Parsed:
    found = delta.read(folders, "log")
    assert isinstance(found, Parsed), found
    return found


def ours(**metadata: object) -> dict[str, object]:
    return {"userMetadata": json.dumps({"dvs": 1, **metadata})}


def refresh(**sources: int) -> dict[str, object]:
    frontier = {"timestamp": 1, "sources": {name: [version, 1, 1, "id"] for name, version in sources.items()}}
    return ours(refresh={"action": "INCREMENTAL", "frontier": frontier})


def test_files_are_objects_and_commits_transactions(tmp_path: Path) -> None:
    log = table(
        tmp_path / "t",
        [({}, [], ["a"]), ({"readVersion": 0}, ["a"], ["b"]), ({"isBlindAppend": True}, [], ["c"])],
    )
    found = read(log)
    assert found.unread == ""
    assert render(found.history).splitlines()[0] == (
        "w1(t_f1_1, a) c1 r2(t_f1_1) w2(t_f1_dead) w2(t_f2_2, b) c2 w3(t_f3_3, c) c3"
    )
    assert isinstance(check(found.history).levels[Level.PL_3], Holds)


def test_tables_of_nearly_one_name_have_files_of_their_own(tmp_path: Path) -> None:
    """The label of a_b, the third table of this log, was that of a_b_2."""
    names = ("a_b_2", "a-b", "a_b")
    logs = [table(tmp_path / name, [({"timestamp": at}, [], ["f"])]) for at, name in enumerate(names)]
    written = [each.version.obj for each in read(*logs).history.events if isinstance(each, Write)]
    assert len(set(written)) == 3


def test_a_commit_that_does_not_say_what_it_read_makes_levels_unknown(tmp_path: Path) -> None:
    log = table(tmp_path / "t", [({}, [], ["a"]), ({"operation": "DELETE"}, ["a"], ["b"])])
    found = read(log)
    assert found.unread == "commit 1 of t (DELETE) does not say what it has read"
    checked = with_unread(check(found.history), found.unread)
    assert isinstance(checked.levels[Level.PL_2], Holds)
    assert isinstance(checked.levels[Level.PL_3], Undecided)


def test_two_stale_writers_of_other_files_may_be_write_skew(tmp_path: Path) -> None:
    log = table(
        tmp_path / "t",
        [
            ({}, [], ["a", "b"]),
            ({"readVersion": 0}, ["a"], ["c"]),
            ({"readVersion": 0}, ["b"], ["d"]),
        ],
    )
    checked = check(read(log).history)
    assert isinstance(checked.levels[Level.PL_2], Holds)
    assert isinstance(checked.levels[Level.PL_3], Undecided)


def test_a_frontier_that_is_no_snapshot_is_read_skew(tmp_path: Path) -> None:
    both = ours(transaction="x")
    left = table(tmp_path / "left", [({}, [], ["a"]), (both, ["a"], ["b"])])
    right = table(tmp_path / "right", [({}, [], ["c"]), (both, ["c"], ["d"])])
    for versions, due in (((1, 0), Violated), ((1, 1), Holds)):
        name = f"view{versions[1]}"
        view = table(
            tmp_path / name, [({}, [], []), (refresh(left=versions[0], right=versions[1]), [], ["v"])]
        )
        # The refresh is later than the transaction.
        text = (view / "_delta_log" / f"{1:020d}.json").read_text(encoding="utf-8")
        file = view / "_delta_log" / f"{1:020d}.json"
        file.write_text(text.replace('"timestamp": 1, "operation"', '"timestamp": 9, "operation"'), "utf-8")
        checked = check(read(left, right, view).history)
        assert isinstance(checked.levels[Level.PL_2_PLUS], due), versions
        assert isinstance(checked.levels[Level.PL_2], Holds)


def test_a_file_that_is_restored_is_another_object(tmp_path: Path) -> None:
    log = table(
        tmp_path / "t",
        [({}, [], ["a"]), ({"readVersion": 0}, ["a"], []), ({"readVersion": 1}, [], ["a"])],
    )
    assert "w3(t_f2_3, a)" in render(read(log).history)


def test_a_read_of_files_that_the_log_no_longer_has_is_unknown(tmp_path: Path) -> None:
    stated = {"dvsReadVersion": "0", "operationParameters": {"mode": "Overwrite"}}
    commits: list[Commit] = [({}, [], ["f"]), (stated, ["f"], ["g"]), (stated, ["g"], ["h"])]
    whole = read(table(tmp_path / "t", commits))
    assert isinstance(check(whole.history).levels[Level.PL_2_PLUS], Violated)
    cut = table(tmp_path / "cut", commits[1:], first=1)
    (cut / "_delta_log" / f"{0:020d}.checkpoint.parquet").touch()
    assert "are not all in its log" in read(cut).unread


@pytest.mark.parametrize("said", [{"dvsReadVersion": "zero"}, {"dvsReadVersion": "²"}, {"readVersion": "0"}])
def test_a_version_that_is_no_number_is_not_known(tmp_path: Path, said: Mapping[str, object]) -> None:
    log = table(tmp_path / "t", [({}, [], ["f"]), ({"operation": "MERGE", **said}, ["f"], ["g"])])
    assert "does not say what it has read" in read(log).unread


def test_a_transaction_of_an_account_is_no_refresh_and_may_be_stale(tmp_path: Path) -> None:
    stale = [({**ours(transaction=name), "readVersion": 0}, [name], [f"{name}2"]) for name in ("a", "b")]
    checked = check(read(table(tmp_path / "t", [({}, [], ["a", "b"]), *stale])).history)
    assert isinstance(checked.levels[Level.PL_3], Undecided)
    silent = table(tmp_path / "s", [({}, [], ["a"]), (ours(transaction="x"), ["a"], ["b"])])
    assert "does not say what it has read" in read(silent).unread


def test_what_a_commit_read_of_other_tables_is_not_known(tmp_path: Path) -> None:
    blind = {"readVersion": 0, "isBlindAppend": True}
    folders = [table(tmp_path / name, [({}, [], ["f"]), (blind, [], ["g"])]) for name in ("a", "b")]
    assert "of the other tables" in read(*folders).unread
    assert read(folders[0]).unread == ""


def test_a_compacted_file_stands_for_the_files_that_it_holds(tmp_path: Path) -> None:
    log = table(tmp_path / "t", [({}, [], ["f1", "f2"]), ({}, [], []), ({"readVersion": 1}, ["f3"], ["f4"])])
    optimize = [
        {"commitInfo": {"timestamp": 1, "operation": "OPTIMIZE"}},
        *({"remove": {"path": path, "dataChange": False}} for path in ("f1", "f2")),
        {"add": {"path": "f3", "dataChange": False}},
    ]
    file = log / "_delta_log" / f"{1:020d}.json"
    file.write_text("\n".join(map(json.dumps, optimize)), encoding="utf-8")
    found = read(log)
    assert "r3(t_f1_1) w3(t_f1_dead) r3(t_f2_1) w3(t_f2_dead)" in render(found.history)
    assert found.unread == ""


def test_a_refresh_whose_clock_is_behind_reads_its_sources_all_the_same(tmp_path: Path) -> None:
    both = {**ours(transaction="x"), "timestamp": 5}
    left = table(tmp_path / "left", [({}, [], ["a"]), (both, ["a"], ["b"])])
    right = table(tmp_path / "right", [({}, [], ["c"]), (both, ["c"], ["d"])])
    view = table(tmp_path / "view", [({**refresh(left=1, right=0), "timestamp": 4}, [], ["v"])])
    checked = check(read(left, right, view).history)
    assert isinstance(checked.levels[Level.PL_2_PLUS], Violated)


def refused(*folders: Path) -> str:
    found = delta.read(folders, "log")
    assert isinstance(found, Refused)
    return found.error.fact


def test_logs_that_cannot_be_read(tmp_path: Path) -> None:
    assert "is no Delta table" in refused(tmp_path / "nothing")
    gap = table(tmp_path / "gap", [({}, [], ["a"]), ({}, [], ["b"]), ({}, [], ["c"])])
    (gap / "_delta_log" / f"{1:020d}.json").unlink()
    assert "has no version 1, but version 2" in refused(gap)
    late = table(tmp_path / "late", [({}, [], ["b"])], first=5)
    assert "begins at version 5, and no whole checkpoint" in refused(late)
    half = late / "_delta_log" / f"{4:020d}.checkpoint.{1:010d}.{2:010d}.parquet"
    half.touch()
    assert "no whole checkpoint" in refused(late)
    (late / "_delta_log" / f"{4:020d}.checkpoint.{2:010d}.{2:010d}.parquet").touch()
    assert isinstance(delta.read([late], "log"), Parsed)
    twice = table(tmp_path / "twice", [({}, [], ["a"]), ({}, ["a"], []), ({}, ["a"], [])])
    assert "removes a, which is not there" in refused(twice)
    assert "two tables are named twice" in refused(twice, twice)
    odd = table(tmp_path / "odd", [({}, [], ["a"]), (ours(refresh={}), [], ["b"])])
    assert "commit 1 of odd cannot be decoded" in refused(odd)
    broken = table(tmp_path / "broken", [({}, [], ["a"])])
    (broken / "_delta_log" / f"{0:020d}.json").write_text("{", encoding="utf-8")
    assert "commit 0 of broken cannot be decoded" in refused(broken)


def test_the_command_reads_real_tables_of_delta_rs(tmp_path: Path) -> None:
    place = str(tmp_path / "counter")
    write_deltalake(place, pa.table({"n": [0]}))
    for value in (1, 2):
        write_deltalake(place, pa.table({"n": [value]}), mode="overwrite")
    done = CliRunner().invoke(main, ["check", place, "--json"])
    document = json.loads(done.output)
    assert DeltaTable(place).version() == 2
    assert (done.exit_code, document["levels"]["PL-2"]["verdict"]) == (3, "holds")
    assert document["levels"]["PL-3"]["verdict"] == "unknown"


def test_a_long_log_is_read_in_linear_time(tmp_path: Path) -> None:
    commits: list[tuple[Mapping[str, object], list[str], list[str]]] = [({}, [], ["f0"])]
    commits += [({"readVersion": n - 1}, [f"f{n - 1}"], [f"f{n}"]) for n in range(1, 3_000)]
    found = read(table(tmp_path / "t", commits))
    assert len(found.history.transactions()) == 3_000
    assert isinstance(check(found.history).levels[Level.PL_3], Holds)


def test_reads_of_other_tables_that_cannot_be_understood_say_nothing(tmp_path: Path) -> None:
    for number, words in enumerate(('["a"]', '{"a": "1"}', "{", '{"a": true}')):
        first = table(tmp_path / f"a{number}", [({}, [], ["x"])])
        info = {"readVersion": 0, "dvsReads": words}
        second = table(tmp_path / f"b{number}", [({}, [], ["y"]), (info, ["y"], ["z"])])
        assert "does not say what it has read of the other tables" in read(first, second).unread


def test_a_read_of_a_table_that_was_not_given_is_unknown(tmp_path: Path) -> None:
    first = table(tmp_path / "a", [({}, [], ["x"])])
    info = {"readVersion": 0, "dvsReads": '{"other": 3}'}
    second = table(tmp_path / "b", [({}, [], ["y"]), (info, ["y"], ["z"])])
    assert "version 3 of other" in read(first, second).unread
