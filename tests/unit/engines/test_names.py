"""Tables that get other names, go, and come back: over tables in memory and simulated time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace

import pytest

from dynamic_tables.account import Account
from dynamic_tables.errors import DefinitionError, MissingPrivilege, StoreError
from dynamic_tables.journal.events import Event, Moved, Moving, Renamed, from_json, to_json
from dynamic_tables.journal.state import Operations
from dynamic_tables.schedule.lag import SECOND
from dynamic_tables.store.log.journal import Journal
from dynamic_tables.store.port import Action
from dynamic_tables.store.transactions.owner import dead_process
from tests.dying import Died, Make, dies_after
from tests.shop import TOTALS, World, shop
from workload.dml import Insert

ABOVE = "SELECT city, total + 1 AS more FROM totals"


@pytest.fixture
def world() -> Iterator[World]:
    with shop() as opened:
        opened.account.create_dynamic_table("totals", TOTALS, target_lag="1 minute")
        opened.account.create_dynamic_table("above", ABOVE, target_lag="1 minute")
        yield opened


def row_of(account: Account, name: str) -> dict[str, object]:
    (found,) = (row for row in account.dynamic_tables().to_pylist() if row["name"] == name)
    return dict(found)


def test_a_renamed_table_is_missed_until_it_has_its_name_again(world: World) -> None:
    account = world.account
    account.rename("totals", "sums")
    with pytest.raises(DefinitionError, match=r"^above reads totals, which was dropped or renamed;"):
        world.at(20, Insert("orders", ((4, "oslo", 1),))).account.refresh("above")
    account.rename("sums", "totals")
    assert [result.action for result in account.refresh("above")] == [Action.INCREMENTAL] * 2
    assert ("oslo", 2) in world.rows("above")


def test_a_name_stays_if_the_journal_cannot_be_written(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Journal, event: object) -> None:
        raise StoreError("no space left on device")

    monkeypatch.setattr(Journal, "append", full)
    with pytest.raises(StoreError, match="no space left"):
        world.account.rename("totals", "sums")
    with pytest.raises(StoreError, match="no space left"):
        world.account.drop("totals", even_if_read=True)
    monkeypatch.undo()
    world.account.suspend("totals")
    assert row_of(world.account, "totals")["scheduling_state"] == "SUSPENDED"
    assert "sums" not in world.account.store.definitions()
    world.at(20, Insert("orders", ((4, "oslo", 1),))).account.refresh("above")
    assert ("oslo", 2) in world.rows("above")


@pytest.mark.parametrize("call", [1, 2, 3, 4, 5])
def test_a_swap_is_whole_or_none(world: World, monkeypatch: pytest.MonkeyPatch, call: int) -> None:
    world.account.create_dynamic_table("doubled", "SELECT city, 2 AS total FROM orders")
    rightly, calls = Journal.append, 0

    def full(self: Journal, make: Make) -> Event | None:
        def made(state: Operations) -> Event | None:
            nonlocal calls
            event = make(state)
            calls += event is not None
            if calls == call and event is not None:
                raise StoreError("no space left on device")
            return event

        return rightly(self, made)

    monkeypatch.setattr(Journal, "append", full)
    before = {name: world.account.dynamic_table(name).text for name in ("totals", "doubled")}
    with pytest.raises(StoreError, match="no space left"):
        world.account.swap("totals", "doubled")
    assert {name: world.account.dynamic_table(name).text for name in ("totals", "doubled")} == before
    assert not [name for name in world.account.store.definitions() if name.startswith("swapped")]
    world.account.suspend("totals")
    assert row_of(world.account, "totals")["scheduling_state"] == "SUSPENDED"
    assert row_of(world.account, "doubled")["scheduling_state"] == "RUNNING"


def test_swapped_tables_are_read_by_their_new_names(world: World) -> None:
    account = world.account
    account.create_dynamic_table("doubled", "SELECT city, 2 * SUM(amount) AS total FROM orders GROUP BY city")
    account.swap("totals", "doubled")
    assert [result.action for result in world.at(20).account.refresh("above")][-1] is Action.REINITIALIZE
    assert ("rome", 61) in world.rows("above")


def test_what_comes_back_is_as_it_was(world: World) -> None:
    owner = replace(world.account, role="analyst")
    owner.grant("OWNERSHIP", "totals", "analyst")
    owner.alter_dynamic_table("totals", target_lag="5 minutes")
    owner.suspend("totals")
    before = owner.refresh_history().to_pylist()
    history = [row["data_timestamp"] for row in before if row["name"] == "totals"]
    owner.drop("totals", even_if_read=True)
    with pytest.raises(MissingPrivilege, match="totals: role guest lacks the privilege OWNERSHIP"):
        replace(world.account, role="guest").undrop("totals")
    owner.undrop("totals")
    back = row_of(owner, "totals")
    assert (back["scheduling_state"], back["target_lag_sec"]) == ("SUSPENDED", 300)
    with pytest.raises(MissingPrivilege):
        replace(world.account, role="guest").resume("totals")
    rows = owner.refresh_history().to_pylist()
    assert [row["data_timestamp"] for row in rows if row["name"] == "totals"] == history
    last = [row for row in owner.graph_history().to_pylist() if row["name"] == "totals"][-1]
    assert (last["scheduling_state"], last["target_lag_sec"], last["valid_to"]) == ("SUSPENDED", 300, None)


def test_another_table_of_the_name_begins_anew(world: World) -> None:
    account = world.account
    account.suspend("totals")
    account.drop("totals", even_if_read=True)
    account.create_dynamic_table("totals", TOTALS, target_lag=120 * SECOND)
    assert row_of(account, "totals")["scheduling_state"] == "RUNNING"
    account.drop("totals", even_if_read=True)
    account.undrop("totals")
    assert row_of(account, "totals")["scheduling_state"] == "RUNNING"


def test_a_failed_creation_keeps_what_was_dropped_before(world: World) -> None:
    account = world.account
    account.suspend("totals")
    account.drop("totals", even_if_read=True)
    world.at(20, Insert("orders", ((4, "oslo", 0),)))
    with pytest.raises(Exception, match="ivision by zero"):
        account.create_dynamic_table("totals", "SELECT city, 1 / amount AS total FROM orders")
    account.undrop("totals")
    assert row_of(account, "totals")["scheduling_state"] == "SUSPENDED"


def test_no_table_comes_to_read_itself(world: World) -> None:
    """`above` reads the name totals, whatever table has it; none may have it that reads `above`."""
    account = world.account
    account.create_dynamic_table("top", "SELECT city, more AS total FROM above")
    account.drop("totals", even_if_read=True)
    circle = "totals would read itself: totals reads above reads totals"
    with pytest.raises(DefinitionError, match=circle):
        account.rename("top", "totals")
    with pytest.raises(DefinitionError, match=circle):
        account.create_dynamic_table("totals", "SELECT city, more AS total FROM above")
    with pytest.raises(DefinitionError, match=circle):
        account.create_view("totals", "SELECT city, more AS total FROM above")
    with pytest.raises(DefinitionError, match=circle):
        account.clone("top", "totals")
    assert "totals" not in account.store.definitions()
    # What was dropped comes to read itself, because what it reads was replaced meanwhile.
    account.undrop("totals")
    account.create_view("seen", "SELECT city, amount FROM orders")
    account.create_dynamic_table("sums", "SELECT city, SUM(amount) AS total FROM seen GROUP BY city")
    account.create_dynamic_table("over", "SELECT city, total AS amount FROM sums")
    account.drop("sums", even_if_read=True)
    account.create_view("seen", "SELECT city, amount FROM over", or_replace=True)
    with pytest.raises(DefinitionError, match="sums would read itself: sums reads seen reads over"):
        account.undrop("sums")
    account.create_view("seen", "SELECT city, amount FROM orders", or_replace=True)
    assert account.undrop("sums").name == "sums"


def test_no_table_comes_to_stand_between_the_members_of_a_group(world: World) -> None:
    """`high` reads `above`, which would read the other member: readers would see two times."""
    account = world.account
    account.create_dynamic_table("high", "SELECT city, more FROM above")
    account.create_dynamic_table("other", TOTALS)
    account.create_refresh_group("g", ["other", "high"], "repeatable_read")
    between = "refresh group g: above reads totals and is read by high; add above to the group"
    with pytest.raises(DefinitionError, match=between):
        account.swap("other", "totals")
    account.drop("totals", even_if_read=True)
    with pytest.raises(DefinitionError, match=between):
        account.rename("other", "totals")
    account.undrop("totals")
    assert account.refresh_groups()[0].members == ("other", "high")


def test_a_base_table_in_memory_keeps_its_name_and_its_rows(world: World) -> None:
    with pytest.raises(DefinitionError, match="orders is a base table in memory, and keeps its name"):
        world.account.rename("orders", "others")
    world.at(20, Insert("orders", ((4, "oslo", 1),))).account.refresh("totals")
    assert ("oslo", 1) in world.rows("totals")


STEPS = 8
"""The steps of a swap: what will be renamed, three renames, three events, the end."""


@pytest.mark.parametrize("steps", range(STEPS + 1))
def test_a_swap_is_whole_or_none_if_its_process_dies(
    world: World, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    world.account.create_dynamic_table("doubled", "SELECT city, 2 AS total FROM orders")
    world.account.suspend("totals")
    before = {name: world.account.dynamic_table(name).text for name in ("totals", "doubled")}
    dying = replace(world.account, process=dead_process())
    with monkeypatch.context() as patch:
        dies_after(steps, patch, world.account.store)
        with pytest.raises(Died) if steps < STEPS else nullcontext():
            dying.swap("totals", "doubled")
    # Only what has been said before anything was renamed can be finished.
    swapped = {"totals": before["doubled"], "doubled": before["totals"]} if steps else before
    account = world.account
    assert {name: account.describe(name).table.text for name in before} == swapped
    assert [name for name in account.store.definitions() if name.startswith("swapped")] == []
    stopped = "doubled" if steps else "totals"
    states = {name: row_of(account, name)["scheduling_state"] for name in before}
    assert states == {**dict.fromkeys(before, "RUNNING"), stopped: "SUSPENDED"}
    assert account.store.journal.poll().moving == {}
    account.swap("totals", "doubled")
    assert account.dynamic_table("doubled").text == swapped["totals"]


def moving(world: World, by: str, at: int = 10, **more: str) -> Moving:
    """A rename of totals to sums, of which nothing is done."""
    moves = (("totals", "sums", world.account.store.identity("totals")),)  # type: ignore[attr-defined]
    return Moving(at=at, by=by, id="m", moves=moves, noted=(("totals", "sums"),), **more)


def test_a_rename_that_runs_elsewhere_is_left_to_its_process(world: World) -> None:
    now = time.time_ns() // 1000
    world.account.store.journal.add(moving(world, "elsewhere:1:1", now))
    assert world.account.describe("totals").table.text == TOTALS
    assert set(world.account.store.journal.poll().moving) == {"m"}


def test_a_process_elsewhere_that_is_silent_for_long_counts_as_dead(world: World) -> None:
    world.account.store.journal.add(moving(world, "elsewhere:1:1"))
    assert world.account.describe("sums").table.text == TOTALS


def test_a_name_that_somebody_has_taken_is_not_taken_away(world: World) -> None:
    world.account.create_dynamic_table("sums", "SELECT city FROM orders")
    world.account.store.journal.add(moving(world, dead_process()))
    assert world.account.describe("totals").table.text == TOTALS
    assert world.account.describe("sums").table.text == "SELECT city FROM orders"
    assert world.account.store.journal.poll().moving == {}


@pytest.mark.parametrize("steps", range(1, 8))
def test_two_processes_finish_a_swap_once(world: World, monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    account = world.account
    account.create_dynamic_table("doubled", "SELECT city, 2 AS total FROM orders")
    account.suspend("totals")
    with monkeypatch.context() as patch:
        dies_after(steps, patch, account.store)
        with pytest.raises(Died):
            replace(account, process=dead_process()).swap("totals", "doubled")
    other, rightly, inside = replace(account, process="other:1:1"), Journal.append, 0

    def slow(self: Journal, make: Make) -> Event | None:
        nonlocal inside
        inside += 1
        if inside == 1:
            # Both have seen that somebody must finish it, and the other one is faster.
            other.describe("above")
        return rightly(self, make)

    monkeypatch.setattr(Journal, "append", slow)
    account.describe("above")
    assert account.describe("doubled").table.text == TOTALS
    assert row_of(account, "doubled")["scheduling_state"] == "SUSPENDED"
    assert row_of(account, "totals")["scheduling_state"] == "RUNNING"
    renamed = [event for event in account.store.journal.all_events() if isinstance(event, Renamed)]
    assert len(renamed) == 3


def test_what_moves_is_read_back_from_a_journal() -> None:
    moving = Moving(at=10, by="p", id="m", moves=(("a", "b", "1"),), noted=(("a", "b"),))
    assert from_json(to_json(moving)) == moving
    state = Operations()
    for event in (moving, Renamed(at=11, by="p", table="a", name="b", moving="m")):
        state.apply(event)
    again = Operations.from_json(state.to_json())
    assert again.moving == {"m": (moving, 1)}
    again.apply(Renamed(at=12, by="p", table="b", name="a", moving="m"))
    assert again.moving == {"m": (moving, 0)}
    again.apply(replace(moving, id="n", takes="m"))
    again.apply(Moved(at=12, id="m"))
    assert list(again.moving) == ["n"]
    again.apply(Moved(at=12, id="n"))
    assert again.moving == {}


def test_a_clone_of_a_table_whose_view_has_changed_is_written_anew(world: World) -> None:
    account = world.account
    account.create_view("big", "SELECT city, amount FROM orders WHERE amount > 1000000")
    account.create_dynamic_table("bigs", "SELECT city FROM big")
    account.create_view("big", "SELECT city, amount FROM orders", or_replace=True)
    account.clone("bigs", "bigs_test")
    assert world.at(20).account.refresh("bigs_test")[-1].action is Action.REINITIALIZE
    assert account.refresh("bigs")[-1].action is Action.REINITIALIZE
    assert world.rows("bigs_test") == world.rows("bigs")
    assert len(world.rows("bigs")) > 0


def test_tables_that_stand_at_other_times_are_not_cloned_together(world: World) -> None:
    world.at(20).account.refresh("totals")
    with pytest.raises(DefinitionError, match="refresh above before they are cloned together"):
        world.account.clone_graph({"above": "above_test", "totals": "totals_test"})
    assert "totals_test" not in world.account.store.definitions()
    world.at(30).account.refresh("above")
    assert len(world.account.clone_graph({"above": "above_test", "totals": "totals_test"})) == 2
