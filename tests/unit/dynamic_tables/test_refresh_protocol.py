"""The pure steps of a refresh: versions, action, frontier, initial timestamp, clocks."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from dynamic_tables.errors import RefreshFailed, ValidationFailed
from dynamic_tables.refresh.action import decide
from dynamic_tables.refresh.versions import resolve
from dynamic_tables.schedule.clock import SimulatedClock, WallClock
from dynamic_tables.schedule.lag import initialization_timestamp
from dynamic_tables.store.port import Action
from dynamic_tables.versions import Frontier, SourceHistory, SourceVersion

R = SourceVersion(version=3, timestamp=30, content=2, identity="r#1")
S = SourceVersion(version=1, timestamp=10, content=1, identity="s#1")
BEFORE = Frontier(30, {"r": R, "s": S}, "d1")
NEWER = replace(R, version=5, timestamp=50, content=5)


def after(*, definition: str = "d1", **sources: SourceVersion) -> Frontier:
    return Frontier(60, {"r": R, "s": S, **sources}, definition)


DECISIONS = [
    (None, after(), True, Action.INITIALIZE, "no contents yet"),
    (None, after(), False, Action.INITIALIZE, "no contents yet"),
    (BEFORE, after(), True, Action.NO_DATA, "no source changed"),
    (BEFORE, after(), False, Action.NO_DATA, "no source changed"),
    (BEFORE, after(r=replace(R, version=9, timestamp=59)), True, Action.NO_DATA, "no source changed"),
    (BEFORE, after(r=NEWER), True, Action.INCREMENTAL, "changed: r"),
    (BEFORE, after(r=NEWER, s=replace(S, content=4)), True, Action.INCREMENTAL, "changed: r, s"),
    (BEFORE, after(r=NEWER), False, Action.FULL, "refresh mode FULL"),
    (BEFORE, after(r=replace(R, identity="r#2")), True, Action.REINITIALIZE, "r was replaced"),
    (BEFORE, after(r=replace(R, identity="r#2")), False, Action.FULL, "r was replaced"),
    (BEFORE, after(q=S), True, Action.REINITIALIZE, "q is a new source"),
    (
        BEFORE,
        after(definition="d2"),
        True,
        Action.REINITIALIZE,
        "the definition, or a view in it, changed",
    ),
    (BEFORE, after(definition="d2"), False, Action.FULL, "the definition, or a view in it, changed"),
]


@pytest.mark.parametrize(("before", "then", "incremental", "action", "reason"), DECISIONS)
def test_the_action_and_its_reason(
    before: Frontier | None, then: Frontier, incremental: bool, action: Action, reason: str
) -> None:
    assert decide(before, then, incremental, lambda name, version: True) == (action, reason)


def test_an_old_version_that_is_gone_reinitializes() -> None:
    requests: list[tuple[str, SourceVersion]] = []

    def readable(name: str, version: SourceVersion) -> bool:
        requests.append((name, version))
        return name != "r"

    decided = decide(BEFORE, after(r=NEWER), True, readable)
    assert decided == (Action.REINITIALIZE, "version 3 of r is no longer readable")
    assert requests == [("r", R)], "it is the version consumed before that must be readable"


def test_every_action_is_decided_somewhere() -> None:
    assert {action for _, _, _, action, _ in DECISIONS} == set(Action)


BASE = SourceHistory("r", False, [SourceVersion(v, t, v, "r#1") for v, t in enumerate((10, 20, 20, 40))])
DYNAMIC = SourceHistory("up", True, [SourceVersion(v, t, v, "up#1") for v, t in enumerate((10, 20, 40))])


@pytest.mark.parametrize(("timestamp", "version"), [(10, 0), (19, 0), (20, 2), (39, 2), (40, 3), (999, 3)])
def test_a_base_table_is_read_at_its_latest_version(timestamp: int, version: int) -> None:
    assert resolve(BASE, timestamp, "d").version == version


def test_a_base_table_that_did_not_exist_yet_fails_the_refresh() -> None:
    with pytest.raises(RefreshFailed) as caught:
        resolve(BASE, 9, "d")
    assert str(caught.value) == (
        "refresh of d at 9 failed: r did not exist at that time, or its log no longer reaches back"
    )
    assert not isinstance(caught.value, ValidationFailed)


def test_a_dynamic_table_is_read_at_exactly_the_data_timestamp() -> None:
    assert resolve(DYNAMIC, 20, "d").version == 1


@pytest.mark.parametrize("timestamp", [9, 30, 41])
def test_a_dynamic_table_without_that_data_timestamp_fails_validation(timestamp: int) -> None:
    with pytest.raises(ValidationFailed) as caught:
        resolve(DYNAMIC, timestamp, "d")
    assert str(caught.value) == (
        f"refresh of d at {timestamp} failed: up has no version with this data timestamp (latest: 10, 20, 40)"
    )


def test_a_dynamic_table_that_was_never_refreshed_has_no_version() -> None:
    with pytest.raises(
        ValidationFailed, match=r"up has no version with this data timestamp \(latest: none\)"
    ):
        resolve(SourceHistory("up", True, []), 10, "d")


versions = st.builds(
    SourceVersion, st.integers(0, 9), st.integers(-1, 2**62), st.integers(0, 9), st.text(max_size=5)
)


@given(st.builds(Frontier, st.integers(0, 2**62), st.dictionaries(st.text(max_size=5), versions), st.text()))
def test_a_frontier_survives_its_commit(frontier: Frontier) -> None:
    assert Frontier.from_json(json.loads(json.dumps(frontier.to_json()))) == frontier


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"timestamp": 1, "definition": "d"},
        {"timestamp": "soon", "definition": "d", "sources": {}},
        {"timestamp": 1, "definition": "d", "sources": []},
        {"timestamp": 1, "definition": "d", "sources": {"r": [1, 2]}},
        {"timestamp": 1, "definition": "d", "sources": {"r": 7}},
    ],
)
def test_a_broken_frontier_is_an_error_that_a_store_can_catch(data: dict[str, object]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        Frontier.from_json(data)


@pytest.mark.parametrize(
    ("upstream", "lag", "timestamp"),
    [
        ({}, None, 100),
        ({}, 10, 100),
        ({"u": [10, 80, 95]}, 10, 95),
        ({"u": [10, 80, 90]}, 10, 90),
        ({"u": [10, 80, 89]}, 10, 100),
        ({"u": [10, 20]}, None, 20),
        ({"u": [80, 95], "v": [80, 90]}, 20, 80),
        ({"u": [80, 95], "v": [90]}, 20, 100),
        ({"u": [95], "v": []}, None, 100),
    ],
)
def test_the_initial_timestamp_is_the_newest_shared_one_within_the_lag(
    upstream: dict[str, list[int]], lag: int | None, timestamp: int
) -> None:
    assert initialization_timestamp(upstream, 100, lag) == timestamp


def test_the_wall_clock_never_repeats_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = WallClock()
    first = clock.now()
    assert abs(first - time.time_ns() // 1000) < 60_000_000, "microseconds since the epoch"
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    assert [clock.now(), clock.now()] == [first + 1, first + 2]
    assert not clock.simulated


def test_the_simulated_clock_stands_still_and_never_goes_back() -> None:
    clock = SimulatedClock()
    clock.set(5)
    assert [clock.now(), clock.now()] == [5, 5]
    clock.set(5)
    with pytest.raises(ValueError, match="time cannot go back from 5 to 4"):
        clock.set(4)
    assert clock.simulated
