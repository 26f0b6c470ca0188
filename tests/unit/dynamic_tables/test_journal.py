"""The journal of an account: it keeps its newest events alone in memory, and forgets none on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from dynamic_tables.journal.events import LagSet
from dynamic_tables.store.log import journal as module
from dynamic_tables.store.log.files import LocalFiles
from dynamic_tables.store.log.journal import FOLDER, Journal
from dynamic_tables.store.log.numbered import WHOLE_EVERY

KEPT = 300
ALL = 900


def times(events: list[object]) -> list[int]:
    """The times of events, each of which has one of its own."""
    return [getattr(event, "at", -1) for event in events]


def test_old_events_are_read_from_their_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that runs for a month kept each of a million events, and each status read them all."""
    monkeypatch.setattr(module, "KEPT", KEPT)
    (tmp_path / FOLDER).mkdir()
    journal = Journal(str(tmp_path), LocalFiles())
    for at in range(ALL):
        journal.add(LagSet(at=at, by="p", table=f"t{at % 3}", target_lag=at))
    other = Journal(str(tmp_path), LocalFiles())
    for each in (journal, other):
        assert each.poll().to_json()["tables"] == journal.state.to_json()["tables"]
        recent = times([*each.recent_events()])
        assert recent == list(range(ALL - len(recent), ALL))
        assert KEPT <= len(recent) <= KEPT + WHOLE_EVERY
        assert times([*each.all_events()]) == list(range(ALL))
        assert len(each.events) <= KEPT + WHOLE_EVERY
    # One that begins later reads few of them, and another process goes on where it stands.
    late = Journal(str(tmp_path), LocalFiles())
    late.poll()
    assert len(late.events) < WHOLE_EVERY
    late.add(LagSet(at=ALL, by="q", table="t0", target_lag=None))
    assert times([*journal.all_events()]) == list(range(ALL + 1))
    assert {name: each.lag for name, each in journal.poll().tables.items()} == {
        "t0": (None,),
        "t1": (898,),
        "t2": (899,),
    }
