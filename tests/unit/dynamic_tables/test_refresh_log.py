"""The refresh history of a log that grows is the history of the same log read anew."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from dynamic_tables.errors import CorruptTable
from dynamic_tables.store.log.files import LocalFiles
from dynamic_tables.store.log.log import TableLog, TableMetadata
from dynamic_tables.store.port import Action, Extent, RefreshRecord
from dynamic_tables.store.tables.refresh_log import last_number, refreshes, to_metadata, versions
from dynamic_tables.versions import Frontier, SourceVersion
from tests.depth import examples

START = '{"metaData": {"id": "t", "configuration": {}, "schemaString": "{}"}}'
FOREIGN = '{"add": {"path": "f", "dataChange": true}}'
OPTIMIZE = '{"add": {"path": "f", "dataChange": false}}'


def refresh(number: int, action: Action, *, changed: bool) -> str:
    record = RefreshRecord(
        action=action,
        reason="",
        frontier=Frontier(number * 10, {}, "d"),
        changed=changed,
        inserted=1,
        deleted=0,
        seconds={},
        extents={"r": Extent(number, 100)},
    )
    metadata = json.dumps(to_metadata(record, number))
    fence = json.dumps({"txn": {"appId": "t", "version": number}})
    return json.dumps({"commitInfo": {"userMetadata": metadata}}) + "\n" + fence


class Log:
    def __init__(self, folder: Path) -> None:
        self.folder, self.commits = folder, 0
        (folder / "_delta_log").mkdir()
        self.write(START)

    def write(self, text: str) -> None:
        (self.folder / "_delta_log" / f"{self.commits:020d}.json").write_text(text, encoding="utf-8")
        self.commits += 1

    def opened(self) -> TableLog:
        return TableLog("t", str(self.folder), LocalFiles(), no_metadata)


def no_metadata(place: str, version: int) -> TableMetadata:
    raise AssertionError(f"{place} at {version} is in the log")


def outcome(log: TableLog) -> tuple[object, ...]:
    log.poll()
    try:
        strict: object = (refreshes(log), versions(log))
    except CorruptTable as error:
        strict = str(error)
    return strict, refreshes(log, edited=True)


@pytest.mark.parametrize("seed", range(examples(20)))
def test_a_growing_log_reads_as_one_read_anew(seed: int, tmp_path: Path) -> None:
    choices, log, number = random.Random(seed), Log(tmp_path), 0
    growing = log.opened()
    for _ in range(12):
        for _ in range(choices.randint(0, 3)):
            kind = choices.choice(["refresh", "refresh", "refresh", "foreign", "optimize"])
            if kind == "refresh":
                number += 1
                action = choice_of_action(choices)
                log.write(refresh(number, action, changed=choices.random() < 0.5))
            else:
                log.write(FOREIGN if kind == "foreign" else OPTIMIZE)
        assert outcome(growing) == outcome(log.opened())
    assert len(refreshes(growing, edited=True)) == number


def choice_of_action(choices: random.Random) -> Action:
    return choices.choice([Action.INCREMENTAL, Action.NO_DATA, Action.FULL, Action.REINITIALIZE])


def test_content_is_the_newest_version_that_changed_rows(tmp_path: Path) -> None:
    log = Log(tmp_path)
    for number, changed in enumerate([False, True, False, False, True], start=1):
        log.write(refresh(number, Action.INCREMENTAL, changed=changed))
    growing = log.opened()
    growing.poll()
    assert list(versions(growing)) == [
        SourceVersion(1, 10, 1, "t"),
        SourceVersion(2, 20, 2, "t"),
        SourceVersion(3, 30, 2, "t"),
        SourceVersion(4, 40, 2, "t"),
        SourceVersion(5, 50, 5, "t"),
    ]
    assert [each.record.extents["r"].touched for each in refreshes(growing)] == [1, 2, 3, 4, 5]


def test_rows_of_another_writer_count_until_a_refresh_writes_anew(tmp_path: Path) -> None:
    log = Log(tmp_path)
    log.write(refresh(1, Action.FULL, changed=True))
    growing = log.opened()
    growing.poll()
    assert len(refreshes(growing)) == 1
    log.write(FOREIGN)
    growing.poll()
    with pytest.raises(CorruptTable, match=r"version 2 .* is no refresh but changed rows"):
        refreshes(growing)
    log.write(refresh(2, Action.REINITIALIZE, changed=True))
    growing.poll()
    assert len(refreshes(growing)) == 2


def test_a_refresh_that_cannot_be_read_is_named_at_every_look(tmp_path: Path) -> None:
    log = Log(tmp_path)
    log.write(refresh(1, Action.FULL, changed=True))
    log.write(refresh(2, Action.FULL, changed=True).replace("frontier", "border"))
    log.write(refresh(3, Action.FULL, changed=True))
    growing = log.opened()
    growing.poll()
    for _ in range(2):
        with pytest.raises(CorruptTable, match="the refresh in version 2 cannot be read"):
            refreshes(growing, edited=True)


@pytest.mark.parametrize("other", ['"appId": "other", "version": 1', '"appId": "t", "version": 7'])
def test_a_commit_without_the_txn_of_its_refresh_is_another_writers(tmp_path: Path, other: str) -> None:
    log = Log(tmp_path)
    log.write(refresh(1, Action.FULL, changed=True))
    copied = refresh(1, Action.FULL, changed=True).replace('"appId": "t", "version": 1', other)
    log.write(f"{copied}\n{OPTIMIZE}")
    growing = log.opened()
    growing.poll()
    assert [logged.version for logged in refreshes(growing)] == [1]
    log.write(f"{copied}\n{FOREIGN}")
    growing.poll()
    with pytest.raises(CorruptTable, match=r"version 3 .* is no refresh but changed rows"):
        refreshes(growing)
    log.write(refresh(2, Action.REINITIALIZE, changed=True))
    growing.poll()
    assert [logged.version for logged in refreshes(growing)] == [1, 4]


def test_a_number_is_taken_though_the_rest_of_its_refresh_is_missing(tmp_path: Path) -> None:
    log = Log(tmp_path)
    log.write(refresh(1, Action.FULL, changed=True))
    log.write(refresh(5, Action.FULL, changed=True).replace("userMetadata", "noMetadata"))
    growing = log.opened()
    assert last_number(growing) is None
    growing.poll()
    assert len(refreshes(growing)) == 1
    assert last_number(growing) == 5


def test_each_commit_is_decoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(tmp_path)
    decoded: list[object] = []
    read = Frontier.from_json

    def counted(data: Mapping[str, object]) -> Frontier:
        decoded.append(data["timestamp"])
        return read(data)

    monkeypatch.setattr(Frontier, "from_json", staticmethod(counted))
    growing = log.opened()
    for number in (1, 2, 3):
        log.write(refresh(number, Action.NO_DATA, changed=False))
        growing.poll()
        refreshes(growing)
        versions(growing)
    assert decoded == [10, 20, 30]
