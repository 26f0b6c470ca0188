"""Which files the commits of an interval touched, from logs written by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from dynamic_tables.store.log.active_files import ActiveFiles
from dynamic_tables.store.log.files import LocalFiles
from dynamic_tables.store.log.log import TableLog, TableMetadata
from dynamic_tables.store.log.touched import touched_files

START = (
    '{"metaData": {"id": "t", "configuration": {}, "schemaString": "{}"}}',
    '{"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "writerFeatures": ["deletionVectors"]}}',
)

EMPTY: Mapping[str, object] = {}


def add(name: str, vector: str = "", *, changes: bool = True, rows: int | None = None) -> str:
    stats = {} if rows is None else {"stats": json.dumps({"numRecords": rows})}
    return _action("add", name, vector, changes, stats)


def remove(name: str, vector: str = "", *, changes: bool = True) -> str:
    return _action("remove", name, vector, changes)


def _action(kind: str, name: str, vector: str, changes: bool, more: Mapping[str, object] = EMPTY) -> str:
    body: dict[str, object] = {"path": name, "dataChange": changes, "size": 1, "baseRowId": 0, **more}
    if vector:
        body["deletionVector"] = {"storageType": "u", "pathOrInlineDv": vector, "cardinality": 1}
    return json.dumps({kind: body})


def logged(folder: Path, commits: Sequence[Sequence[str]]) -> TableLog:
    (folder / "_delta_log").mkdir()
    for version, lines in enumerate([START, *commits]):
        (folder / "_delta_log" / f"{version:020d}.json").write_text("\n".join(lines), encoding="utf-8")

    def metadata(place: str, version: int) -> TableMetadata:
        raise AssertionError(f"{place} at {version} is in the log")

    log = TableLog("t", str(folder), LocalFiles(), metadata)
    log.poll()
    return log


A_AND_B = [add("a"), add("b")]


@pytest.mark.parametrize(
    ("later", "touched"),
    [
        pytest.param([[add("c")]], {(None, "c")}, id="append"),
        pytest.param([[remove("a")]], {("a", None)}, id="file deleted"),
        pytest.param([[remove("a"), add("a", "v")]], {("a", "a+v")}, id="rows deleted by a vector"),
        pytest.param([[add("a", "v"), remove("a")]], {("a", "a+v")}, id="the same, actions in another order"),
        pytest.param(
            [[remove("a"), add("a", "v")], [remove("a", "v"), add("a", "w")]],
            {("a", "a+w")},
            id="two vectors",
        ),
        pytest.param([[remove("a"), add("c")], [remove("c"), add("a")]], set(), id="restored"),
        pytest.param([[add("c")], [remove("c")]], set(), id="came and went"),
        pytest.param(
            [[remove("a", changes=False), remove("b", changes=False), add("c", changes=False)]],
            set(),
            id="optimized",
        ),
        pytest.param(
            [
                [remove("a", changes=False), remove("b", changes=False), add("c", changes=False)],
                [remove("c"), add("c", "v")],
            ],
            {("c", "c+v")},
            id="optimized, then rows deleted",
        ),
        pytest.param(
            [
                [add("c")],
                [remove("a", changes=False), remove("c", changes=False), add("d", changes=False)],
                [remove("d"), add("a"), add("c")],
            ],
            {(None, "c")},
            id="appended, optimized, restored to the append",
        ),
        pytest.param([[add("a", changes=False)], [add("c")]], {(None, "c")}, id="added again for statistics"),
        pytest.param(
            [[remove("a"), remove("b"), add("c")]], {("a", None), ("b", None), (None, "c")}, id="overwritten"
        ),
        pytest.param([[], []], set(), id="commits without files"),
    ],
)
def test_the_net_of_an_interval(
    later: list[list[str]], touched: set[tuple[str | None, str | None]], tmp_path: Path
) -> None:
    log = logged(tmp_path, [A_AND_B, *later])
    files = touched_files(log, 1, 1 + len(later))
    assert files is not None
    assert {(state(file.before), state(file.after)) for file in files} == touched


def state(file: object) -> str | None:
    if file is None:
        return None
    assert isinstance(file, dict)
    vector = file.get("deletionVector")
    return str(file["path"]) + (f"+{vector['pathOrInlineDv']}" if vector else "")


def test_the_files_of_every_version(tmp_path: Path) -> None:
    commits = [A_AND_B, [remove("a"), add("a", "v")], [remove("b"), add("c")], [remove("a", "v"), add("a")]]
    active = ActiveFiles(logged(tmp_path, commits))
    expected = [set(), {"a", "b"}, {"a+v", "b"}, {"a+v", "c"}, {"a", "c"}]
    for version, names in enumerate(expected):
        files = active.at(version)
        assert files is not None
        assert {state(dict(file)) for file in files} == names


def test_files_that_are_added_again_leave_older_versions_untold(tmp_path: Path) -> None:
    active = ActiveFiles(logged(tmp_path, [A_AND_B, [add("a", changes=False)]]))
    assert active.at(2) is not None
    assert active.at(1) is None


@pytest.mark.parametrize(
    ("later", "changes", "meant"),
    [
        pytest.param([remove("a", changes=False), add("c", changes=False)], False, True, id="compacted"),
        pytest.param([remove("v", changes=False), add("c", changes=False)], True, False, id="no vector"),
        pytest.param([remove("a", "x", changes=False)], True, False, id="another vector"),
        pytest.param([remove("z", changes=False)], True, False, id="a file that is not there"),
        pytest.param([add("a", "x", changes=False)], True, False, id="a second state beside the first"),
        pytest.param([add("a", changes=False)], False, True, id="added again for statistics"),
        pytest.param(
            [remove("a", changes=False), add("c", changes=False, rows=3)], True, True, id="with more rows"
        ),
        pytest.param([add("c", changes=False, rows=1)], True, True, id="with rows of its own"),
        pytest.param(
            [remove("v", "v", changes=False), add("c", changes=False, rows=1)], False, True, id="purged"
        ),
        pytest.param(
            [remove("v", "v", changes=False), add("v", "w", changes=False)], False, True, id="another vector"
        ),
    ],
)
def test_what_a_commit_does_is_the_record_of_the_protocol(
    later: list[str], changes: bool, meant: bool, tmp_path: Path
) -> None:
    """Of files with two rows, of which a deletion vector takes one; `dataChange` is the writer's word."""
    log = logged(tmp_path, [[add("a", rows=2), add("v", "v", rows=2)], later, [add("later")]])
    assert (log.commits[2].changes_rows, log.commits[2].meant) == (changes, meant)
    assert (touched_files(log, 1, 3) is not None) is meant
    assert (ActiveFiles(log).at(3) is not None) is meant


@pytest.mark.parametrize(
    ("values", "told"),
    [
        pytest.param({"partitionValues": {"p": "1"}}, True, id="a value"),
        pytest.param({"partitionValues": {}}, True, id="NULL, which is left out"),
        pytest.param({}, False, id="no values"),
    ],
)
def test_a_partitioned_table_needs_the_partition_of_each_removed_file(
    tmp_path: Path, values: Mapping[str, object], told: bool
) -> None:
    by_p = '{"metaData": {"id": "t", "configuration": {}, "schemaString": "{}", "partitionColumns": ["p"]}}'
    log = logged(tmp_path, [[by_p, *A_AND_B], [_action("remove", "a", "", True, values)]])
    assert (touched_files(log, 1, 2) is not None) == told


def test_without_its_first_commits_a_log_does_not_tell_the_files(tmp_path: Path) -> None:
    log = logged(tmp_path, [A_AND_B, [add("c")]])
    log.commits = log.commits[1:]
    assert ActiveFiles(log).at(2) is None
