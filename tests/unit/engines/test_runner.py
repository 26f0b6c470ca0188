"""The process that keeps an account fresh, step by step, over tables in memory and simulated time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Any

import pytest

from dynamic_tables.account import Account
from dynamic_tables.errors import DefinitionError, MissingPrivilege, RefreshFailed, StoreError
from dynamic_tables.operations.claiming import claimed, claimed_in_turn
from dynamic_tables.operations.lags import lag_summary
from dynamic_tables.operations.runner import Runner, Told
from dynamic_tables.refresh.execute import Refreshing, RefreshResult
from dynamic_tables.schedule.clock import WallClock
from dynamic_tables.schedule.failing import FailureRule
from dynamic_tables.schedule.lag import SECOND
from dynamic_tables.store.port import Action
from tests.shop import TOTALS, World, shop
from workload.dml import Delete, Insert
from workload.query import Call, ColumnRef, Literal
from workload.types import BOOLEAN, INT

MINUTE = 60 * SECOND
PERIOD = 48 * SECOND
RULE = FailureRule(threshold=3, first_wait=SECOND, longest_wait=8 * SECOND)
ABOVE = "SELECT city, total + 1 AS more FROM totals"
FAILING = "SELECT id, 10 / amount AS share FROM orders"

WITHOUT_4 = Delete("orders", Call("eq", (ColumnRef("orders", "id", INT), Literal(4, INT)), BOOLEAN))


@dataclass
class Office:
    """A shop with a runner, and what the runner told."""

    world: World
    told: list[Told] = field(default_factory=list)
    runner: Runner = field(init=False)

    def __post_init__(self) -> None:
        self.runner = self.another("first")

    @property
    def account(self) -> Account:
        """The account of the shop."""
        return self.world.account

    def another(self, process: str) -> Runner:
        """Returns a runner of another process on the same account."""
        account = replace(self.account, process=process, failure_rule=RULE)
        return Runner(account=account, gone=lambda owner: owner == "dead", observe=self.told.append)

    def at(self, time: int, *rows: tuple[int, str | None, int]) -> list[tuple[str, object]]:
        """Moves time, inserts orders, runs what is due, and returns what was told: table, time or error."""
        self.world.at(time, *([Insert("orders", rows)] if rows else []))
        return self.run()

    def run(self) -> list[tuple[str, object]]:
        """Runs what is due, and returns what was told."""
        self.told.clear()
        self.runner.run_due()
        return [shown(each) for each in self.told]


def shown(told: Told) -> tuple[str, object]:
    """Returns the table of a refresh with its data timestamp, or of a failure with its reason."""
    match told:
        case RefreshResult():
            return told.table, told.timestamp
        case RefreshFailed():
            return told.table, told.reason.splitlines()[0]
        case _:
            return "", str(told)


@pytest.fixture
def office() -> Iterator[Office]:
    with shop() as world:
        yield Office(world)


def test_tables_are_refreshed_at_the_times_of_their_periods(office: Office) -> None:
    office.account.create_dynamic_table("totals", TOTALS, target_lag="1 minute")
    office.account.create_dynamic_table("above", ABOVE, target_lag="2 minutes")
    assert office.at(PERIOD - 1) == []
    assert office.at(PERIOD + 5, (4, "oslo", 1)) == [("totals", PERIOD)]
    assert office.at(2 * PERIOD) == [("totals", 2 * PERIOD), ("above", 2 * PERIOD)]
    assert office.world.rows("totals") == [("oslo", 1), ("rome", 30), (None, 5)]
    assert office.world.rows("above") == [("oslo", 2), ("rome", 31), (None, 6)]


def test_downstream_follows_the_tables_that_read_it(office: Office) -> None:
    office.account.create_dynamic_table("totals", TOTALS)
    assert office.at(PERIOD) == []
    office.account.create_dynamic_table("above", ABOVE, target_lag="1 minute", initialize=False)
    assert office.at(2 * PERIOD) == [("totals", 2 * PERIOD), ("above", 2 * PERIOD)]
    assert office.told[-1].action is Action.INITIALIZE  # type: ignore[union-attr]


def test_a_skipped_time_is_in_the_next_interval(office: Office) -> None:
    office.account.create_dynamic_table("totals", TOTALS, target_lag="1 minute")
    office.world.at(PERIOD - 5, Insert("orders", ((4, "oslo", 1),)))
    assert office.at(5 * PERIOD + 1) == [("totals", 5 * PERIOD)]
    assert office.world.rows("totals") == [("oslo", 1), ("rome", 30), (None, 5)]


def test_another_lag_is_another_period(office: Office) -> None:
    office.account.create_dynamic_table("totals", TOTALS, target_lag="1 minute")
    altered = office.account.alter_dynamic_table("totals", target_lag="5 minutes")
    assert altered.target_lag == 5 * MINUTE
    assert office.at(PERIOD) == []
    assert office.at(4 * PERIOD) == [("totals", 4 * PERIOD)]


def test_a_suspended_table_waits_and_loses_nothing(office: Office) -> None:
    office.account.create_dynamic_table("totals", TOTALS, target_lag="1 minute")
    office.account.create_dynamic_table("above", ABOVE, target_lag="1 minute")
    office.account.suspend("totals")
    assert office.at(PERIOD + 1, (4, "oslo", 1)) == []
    assert office.at(2 * PERIOD) == []
    office.account.resume("totals")
    assert office.run() == [("totals", 2 * PERIOD), ("above", 2 * PERIOD)]
    assert office.world.rows("above") == [("oslo", 2), ("rome", 31), (None, 6)]


@pytest.mark.parametrize("mode", ["AUTO", "FULL"])
def test_a_late_table_does_not_read_what_was_replaced(office: Office, mode: str) -> None:
    """It took the time before the replacement: other rows, and of a FULL table rows without ids."""
    account = office.account
    account.create_dynamic_table("totals", TOTALS, target_lag="1 minute", refresh_mode=mode)
    account.create_dynamic_table("all_of_it", "SELECT * FROM totals", target_lag="1 minute")
    account.suspend("all_of_it")
    assert office.at(PERIOD + 1, (4, "oslo", 1)) == [("totals", PERIOD)]
    office.world.at(PERIOD + 2)
    query = "SELECT city, SUM(amount) AS total FROM orders WHERE amount > 5 GROUP BY city"
    account.create_dynamic_table("totals", query, target_lag="1 minute", or_replace=True)
    account.resume("all_of_it")
    assert office.at(PERIOD + 3) == []
    with pytest.raises(RefreshFailed, match="time does not go back"):
        account.refresh("all_of_it", PERIOD)
    assert office.at(2 * PERIOD) == [("totals", 2 * PERIOD), ("all_of_it", 2 * PERIOD)]
    assert office.world.rows("all_of_it") == [("rome", 30)]


def test_a_user_error_is_not_tried_again_at_its_time_and_suspends_at_the_threshold(office: Office) -> None:
    office.account.create_dynamic_table("shares", FAILING, target_lag="1 minute")
    failed = office.at(PERIOD, (4, "oslo", 0))
    office.at(2 * PERIOD - 1)
    assert len(failed) == 1
    assert "zero" in str(failed[0][1]).lower()
    assert office.run() == []
    assert len(office.at(2 * PERIOD)) == 1
    assert len(office.at(3 * PERIOD)) == 1
    assert office.at(4 * PERIOD) == []
    office.world.at(4 * PERIOD + 1, WITHOUT_4)
    office.account.resume("shares")
    assert office.at(5 * PERIOD) == [("shares", 5 * PERIOD)]


def test_a_mistake_of_the_engine_fails_its_table_alone(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("totals", "others"):
        office.account.create_dynamic_table(name, TOTALS, target_lag="1 minute")
    rightly = Refreshing.run
    # A function whose frame belongs to the engine.
    made: dict[str, Any] = {"__name__": "dynamic_tables.refresh.execute"}
    exec("def fail():\n    raise RecursionError('maximum recursion depth exceeded')", made)  # noqa: S102

    def mistaken(self: Refreshing, timestamp: int, *, anew: str = "") -> RefreshResult:
        if self.table.name == "totals":
            made["fail"]()
        return rightly(self, timestamp, anew=anew)

    monkeypatch.setattr(Refreshing, "run", mistaken)
    mistake = "a mistake of the engine (RecursionError: maximum recursion depth exceeded); please report it"
    assert set(office.at(PERIOD)) == {("totals", mistake), ("others", PERIOD)}
    office.at(2 * PERIOD)
    office.at(3 * PERIOD)
    assert office.at(4 * PERIOD) == [("others", 4 * PERIOD)]


def test_two_hundred_aggregates_are_maintained(office: Office) -> None:
    sums = ", ".join(f"SUM(amount + {n}) AS s{n}" for n in range(200))
    office.account.create_dynamic_table("wide", f"SELECT city, {sums} FROM orders GROUP BY city")
    office.world.at(PERIOD, Insert("orders", ((4, "oslo", 1),)))
    assert office.account.refresh("wide")[-1].action is Action.INCREMENTAL


def test_a_success_resets_the_count_of_errors(office: Office) -> None:
    office.account.create_dynamic_table("shares", FAILING, target_lag="1 minute")
    for number in (1, 2):
        assert "zero" in str(office.at(number * PERIOD, (4, "oslo", 0))[0][1]).lower()
    office.world.at(2 * PERIOD + 1, WITHOUT_4)
    assert office.at(3 * PERIOD) == [("shares", 3 * PERIOD)]
    for number in (4, 5):
        assert len(office.at(number * PERIOD, (4, "oslo", 0))) == 1
    office.world.at(5 * PERIOD + 1, WITHOUT_4)
    assert office.at(6 * PERIOD) == [("shares", 6 * PERIOD)]


# ----------------------------------------------------------------------------------------------------
# Several processes


def test_what_another_process_refreshes_is_left_to_it(office: Office) -> None:
    office.account.create_dynamic_table("totals", TOTALS, target_lag="1 minute")
    office.world.at(PERIOD)
    other = office.another("second")
    ready = other.due()
    with claimed(office.account, ("totals",), PERIOD, beats=False) as mine:
        assert mine
        assert other.due() == []
        assert not other.run_unit(ready[0])
    assert other.run_due() == 1


@pytest.mark.parametrize("how", ["the process has ended", "the lease has run out"])
def test_a_claim_ends_with_its_process_or_its_lease(office: Office, how: str) -> None:
    office.account.create_dynamic_table("totals", TOTALS, target_lag="1 minute")
    office.world.at(PERIOD)
    owner = office.another("dead" if how == "the process has ended" else "silent")
    claim = claimed(owner.account, ("totals",), PERIOD, beats=False)
    claim.__enter__()
    if how == "the lease has run out":
        assert office.run() == []
        office.world.at(PERIOD + owner.lease)
    assert office.run() == [("totals", 2 * PERIOD if how == "the lease has run out" else PERIOD)]
    claim.__exit__(None, None, None)


def test_a_command_leaves_a_table_to_its_refresh_under_way(office: Office) -> None:
    office.account.create_dynamic_table("totals", TOTALS)
    office.account.create_dynamic_table("above", ABOVE)
    office.world.at(PERIOD, Insert("orders", ((4, "oslo", 1),)))
    other = office.another("second")
    with claimed(other.account, ("totals",), PERIOD, beats=False):
        with pytest.raises(RefreshFailed, match="totals is being refreshed by second; refresh it again"):
            office.account.refresh("above")
        assert office.world.rows("totals") == [("rome", 30), (None, 5)]
    assert [each.table for each in office.account.refresh("above")] == ["totals", "above"]


def test_while_a_command_runs_no_other_process_takes_its_tables(office: Office) -> None:
    office.account.create_dynamic_table("totals", TOTALS, target_lag="1 minute")
    office.world.at(PERIOD)
    other = office.another("second")
    (ready,) = other.due()
    taken: list[bool] = []
    office.world.at(PERIOD + 1, Insert("orders", ((4, "oslo", 1),)))
    office.account.refresh("totals", observe=lambda result: taken.append(other.run_unit(ready)))
    assert taken == [False]
    assert office.account.store.journal.poll().of("totals").claim is None


def test_a_command_waits_for_a_table_after_the_other(office: Office) -> None:
    """Of three tables the second is busy: the first is claimed at once, the third only after the second."""
    mine = replace(office.account, clock=WallClock(), process="mine")
    other = replace(office.account, clock=WallClock(), process="second")
    seen: list[list[str | None]] = []

    def holders() -> list[str | None]:
        claims = [office.account.store.journal.poll().of(name).claim for name in "abc"]
        return [None if claim is None else claim.by for claim in claims]

    busy = claimed(other, ("b",), PERIOD, beats=False)
    busy.__enter__()

    def pause(seconds: float) -> None:
        seen.append(holders())
        if len(seen) == 2:
            busy.__exit__(None, None, None)

    with claimed_in_turn(mine, ("c", "b", "a"), PERIOD, pause=pause) as waited:
        assert waited
        seen.append(holders())
    assert seen == [["mine", "second", None]] * 2 + [["mine"] * 3]
    assert holders() == [None] * 3


def test_two_processes_that_see_the_same_refresh_once(office: Office) -> None:
    office.account.create_dynamic_table("totals", TOTALS, target_lag="1 minute")
    office.world.at(PERIOD)
    other = office.another("second")
    (ready,) = other.due()
    assert office.run() == [("totals", PERIOD)]
    office.told.clear()
    assert other.run_unit(ready)
    assert office.told == []


def test_a_system_error_is_tried_again_later_and_later(office: Office) -> None:
    office.account.create_dynamic_table("totals", TOTALS, target_lag="1 minute")

    def broken(*_: object) -> tuple[Action, str]:
        raise StoreError("No space left on device")

    refreshed_by = office.runner.account
    assert isinstance(refreshed_by, Account)
    sound = refreshed_by.protocol
    refreshed_by.protocol = replace(sound, decide=broken)
    tried = [second for second in range(32) if office.at(PERIOD + second * SECOND, (5 + second, "oslo", 1))]
    assert tried == [0, 1, 3, 7, 15, 23, 31]
    refreshed_by.protocol = sound
    assert office.at(PERIOD + 40 * SECOND) == [("totals", PERIOD)]


def test_a_runner_stops_when_it_is_told(office: Office) -> None:
    office.account.create_dynamic_table("totals", TOTALS, target_lag="1 minute")
    office.world.at(PERIOD)
    stop = Event()
    office.runner.observe = lambda told: stop.set()
    office.runner.run(stop, pause=0.01)
    assert office.account.describe("totals").data_timestamp == PERIOD


# ----------------------------------------------------------------------------------------------------
# Groups


COUNTRIES = "SELECT country, COUNT(*) AS n FROM cities GROUP BY country"


def grouped(office: Office, isolation: str) -> None:
    """Creates two tables without a common source, one that joins them, and a group of the two."""
    office.account.create_dynamic_table("shares", FAILING, target_lag="1 minute")
    office.account.create_dynamic_table("countries", COUNTRIES, target_lag="2 minutes")
    office.account.create_dynamic_table(
        "d", "SELECT s.id, c.n FROM shares AS s CROSS JOIN countries AS c", target_lag="2 minutes"
    )
    office.account.create_refresh_group("g", ["countries", "shares"], isolation)


def seen(office: Office) -> dict[str, int]:
    """Returns the data timestamps of the members that readers see, in periods."""
    account = office.account
    return {
        name: account.visible(account.dynamic_table(name))[-1] // PERIOD for name in ("shares", "countries")
    }


def test_with_read_committed_members_may_be_at_different_times(office: Office) -> None:
    grouped(office, "read_committed")
    office.at(PERIOD)
    assert seen(office) == {"shares": 1, "countries": 0}
    office.at(2 * PERIOD)
    assert seen(office) == {"shares": 2, "countries": 2}


def test_with_repeatable_read_members_are_at_one_time(office: Office) -> None:
    grouped(office, "repeatable_read")
    for number in range(1, 5):
        office.at(number * PERIOD)
        assert seen(office) == {"shares": number, "countries": number}


@pytest.mark.parametrize("isolation", ["read_committed", "repeatable_read"])
def test_a_group_publishes_all_or_nothing(office: Office, isolation: str) -> None:
    grouped(office, isolation)
    told = office.at(2 * PERIOD, (4, "oslo", 0))
    assert [name for name, _ in told if name != "d"] in (["countries", "shares"], ["shares"])
    assert seen(office) == {"shares": 0, "countries": 0}
    assert ("d", 2 * PERIOD) not in told
    office.world.at(2 * PERIOD + 1, WITHOUT_4)
    told = office.at(4 * PERIOD)
    assert seen(office) == {"shares": 4, "countries": 4}
    assert told[-1] == ("d", 4 * PERIOD)


def test_a_group_whose_process_died_is_ended_by_the_next(office: Office) -> None:
    grouped(office, "repeatable_read")
    office.world.at(2 * PERIOD, Insert("orders", ((4, "oslo", 2),)))
    (ready,) = office.runner.due()
    dying = office.another("dead")
    first, timestamp = ready.steps[0]
    dying._step(first, timestamp)
    assert seen(office) == {"shares": 0, "countries": 0}
    assert office.run() == [(ready.steps[1][0], 2 * PERIOD), ("d", 2 * PERIOD)]
    assert seen(office) == {"shares": 2, "countries": 2}


def test_a_refresh_by_command_takes_the_group_along(office: Office) -> None:
    grouped(office, "repeatable_read")
    office.world.at(30)
    office.account.refresh("d")
    account = office.account
    for name in ("shares", "countries", "d"):
        assert account.visible(account.dynamic_table(name))[-1] == 30


def test_the_status_says_what_readers_see_until_a_replaced_member_is_published(office: Office) -> None:
    grouped(office, "read_committed")
    office.at(2 * PERIOD)
    account = office.account
    office.world.at(3 * PERIOD, Insert("orders", ((4, "oslo", 0),)))
    with pytest.raises(RefreshFailed, match="shares"):
        account.create_dynamic_table("countries", f"{COUNTRIES} HAVING COUNT(*) > 0", or_replace=True)
    countries = account.dynamic_table("countries")
    assert (account.visible(countries), account.shown(countries)) == ((), 2 * PERIOD)
    (row,) = (row for row in account.dynamic_tables().to_pylist() if row["name"] == "countries")
    assert row["latest_data_timestamp"] is not None
    assert row["lag_sec"] == 48


def test_a_dropped_group_shows_the_newest_contents(office: Office) -> None:
    grouped(office, "read_committed")
    office.at(2 * PERIOD, (4, "oslo", 0))
    stored = office.account.describe("countries").data_timestamp
    office.account.drop_refresh_group("g")
    assert office.account.refresh_groups() == ()
    assert office.account.visible(office.account.dynamic_table("countries"))[-1] == stored


@pytest.mark.parametrize(
    ("members", "isolation", "message"),
    [
        (["shares"], "read_committed", "has 1 members; name at least two"),
        (["shares", "shares"], "read_committed", "names shares twice"),
        (["shares", "nothing"], "read_committed", "no table or view named nothing"),
        (["shares", "orders"], "read_committed", "orders is no dynamic table"),
        (["shares", "top"], "read_committed", "d reads shares and is read by top; add d to the group"),
        (["shares", "d"], "serializable", "no isolation 'serializable'; there are: read_committed"),
    ],
)
def test_groups_that_make_no_sense(office: Office, members: list[str], isolation: str, message: str) -> None:
    grouped(office, "read_committed")
    office.account.drop_refresh_group("g")
    office.account.create_dynamic_table("top", "SELECT id FROM d", target_lag="2 minutes")
    with pytest.raises(DefinitionError, match=message):
        office.account.create_refresh_group("h", members, isolation)
    assert office.account.refresh_groups() == ()


def test_a_group_is_of_one_component(office: Office) -> None:
    grouped(office, "read_committed")
    office.account.drop_refresh_group("g")
    office.account.drop("d")
    with pytest.raises(DefinitionError, match="shares and countries have no table in common, above or below"):
        office.account.create_refresh_group("h", ["shares", "countries"])


def test_a_table_is_in_one_group_only(office: Office) -> None:
    grouped(office, "read_committed")
    with pytest.raises(DefinitionError, match="shares is in group g already"):
        office.account.create_refresh_group("h", ["shares", "d"])
    with pytest.raises(DefinitionError, match="refresh group g exists already"):
        office.account.create_refresh_group("G", ["shares", "d"])


# ----------------------------------------------------------------------------------------------------
# Roles


def test_a_role_needs_the_privilege_for_what_it_does(office: Office) -> None:
    owner = replace(office.account, role="analyst")
    guest = replace(office.account, role="guest")
    owner.create_dynamic_table("totals", TOTALS)
    for refused in (
        lambda: guest.describe("totals"),
        lambda: guest.refresh("totals"),
        lambda: guest.suspend("totals"),
        lambda: guest.alter_dynamic_table("totals", target_lag="1 minute"),
        lambda: guest.drop("totals"),
        lambda: guest.grant("OPERATE", "totals", "guest"),
    ):
        with pytest.raises(MissingPrivilege, match="totals: role guest lacks the privilege"):
            refused()
    owner.grant("monitor", "totals", "guest")
    assert guest.describe("totals").table.name == "totals"
    with pytest.raises(MissingPrivilege, match="OPERATE"):
        guest.suspend("totals")
    owner.grant("operate", "totals", "guest")
    guest.suspend("totals")
    owner.revoke("operate", "totals", "guest")
    with pytest.raises(MissingPrivilege, match="OPERATE"):
        guest.resume("totals")
    owner.grant("OWNERSHIP", "totals", "guest")
    guest.drop("totals")
    office.account.create_dynamic_table("free", TOTALS)
    with pytest.raises(DefinitionError, match="no privilege 'select'; there are: MONITOR, OPERATE"):
        office.account.grant("select", "free", "guest")


def test_no_table_comes_between_the_members_of_a_group(office: Office) -> None:
    grouped(office, "read_committed")
    office.account.drop_refresh_group("g")
    office.account.create_dynamic_table("top", "SELECT id FROM d", target_lag="2 minutes")
    office.account.create_refresh_group("g", ["shares", "countries", "d", "top"])
    between = "SELECT d.id FROM d JOIN outside AS o ON d.id = o.id"
    office.account.create_dynamic_table("outside", "SELECT id FROM shares")
    with pytest.raises(DefinitionError, match="outside reads shares and is read by top; add outside"):
        office.account.create_dynamic_table("top", between, or_replace=True)
    assert office.account.dynamic_table("top").text == "SELECT id FROM d"


# ----------------------------------------------------------------------------------------------------
# State and history


def test_a_lag_shorter_than_the_period_of_a_table_above_says_why_it_is_missed(office: Office) -> None:
    account = office.account
    account.create_dynamic_table("slow", "SELECT id FROM orders", target_lag="5 minutes")
    account.create_dynamic_table("quick", "SELECT id FROM slow", target_lag="1 minute")
    account.create_dynamic_table("as_quick", "SELECT id FROM quick", target_lag="5 minutes")

    def shown() -> dict[str, str]:
        return {row["name"]: row["scheduling_reason"] for row in account.dynamic_tables().to_pylist()}

    assert shown() == {"slow": "", "quick": "slow, which it reads, is refreshed every 192 s", "as_quick": ""}
    account.alter_dynamic_table("slow", target_lag=None)
    assert shown() == {"slow": "", "quick": "", "as_quick": ""}


def test_state_and_history_are_tables(office: Office) -> None:
    account = office.account
    grouped(office, "repeatable_read")
    account.alter_dynamic_table("d", target_lag="5 minutes")
    office.at(PERIOD)
    office.at(2 * PERIOD, (4, "oslo", 0))
    account.suspend("countries")
    office.world.at(2 * PERIOD + 30 * SECOND)
    rows = {row["name"]: row for row in account.dynamic_tables().to_pylist()}
    assert list(rows) == ["shares", "countries", "d"]
    shares, d = rows["shares"], rows["d"]
    assert (shares["scheduling_state"], shares["consecutive_errors"]) == ("RUNNING", 1)
    assert (shares["refresh_group"], shares["last_completed_refresh_state"]) == ("g", "FAILED")
    assert (shares["lag_sec"], shares["target_lag_sec"], shares["period_sec"]) == (78, 60, 48)
    assert rows["countries"]["scheduling_reason"] == "suspended by command"
    assert (d["scheduling_state"], d["target_lag_sec"]) == ("SUSPENDED", 300)
    assert d["scheduling_reason"] == "countries, which it reads, is suspended"
    history = account.refresh_history("shares").to_pylist()
    assert [(row["state"], row["refresh_trigger"]) for row in history] == [
        ("SUCCEEDED", "CREATION"),
        ("SUCCEEDED", "SCHEDULED"),
        ("FAILED", "SCHEDULED"),
    ]
    assert "zero" in history[-1]["state_message"].lower()
    inputs = account.dependencies().to_pylist()
    assert [(row["name"], row["input"], row["input_kind"]) for row in inputs] == [
        ("shares", "orders", "BASE TABLE"),
        ("countries", "cities", "BASE TABLE"),
        ("d", "shares", "DYNAMIC TABLE"),
        ("d", "countries", "DYNAMIC TABLE"),
    ]
    graph = [row for row in account.graph_history().to_pylist() if row["name"] == "d"]
    assert [(row["target_lag_sec"], row["valid_to"] is None) for row in graph] == [(120, False), (300, True)]


def test_a_diamond_is_shown(office: Office) -> None:
    account = office.account
    account.create_dynamic_table("totals", TOTALS)
    account.create_dynamic_table("counts", "SELECT city, COUNT(*) AS n FROM orders GROUP BY city")
    account.create_dynamic_table(
        "both", "SELECT t.city, t.total, c.n FROM totals AS t JOIN counts AS c ON t.city = c.city"
    )
    (diamond,) = account.graph().diamonds()
    assert (diamond.source, diamond.arms, diamond.bottom) == ("orders", ("counts", "totals"), "both")
    shown = [row for row in account.dependencies().to_pylist() if row["diamond"]]
    assert {(row["name"], row["input"]) for row in shown} == {("both", "totals"), ("both", "counts")}


def test_a_lag_is_summed_up_by_time() -> None:
    summary = lag_summary([(10, 0), (30, 20), (60, 30)], 60, 25)
    assert summary is not None
    # Teeth: from 10 to 30 in 20 microseconds, from 10 to 40 in 30.
    assert summary.mean == pytest.approx((20 * 20 + 25 * 30) / 50)
    assert summary.maximum == 40
    assert summary.within == pytest.approx((15 + 15) / 50)
    assert summary.median == pytest.approx(22.5, abs=1)
    assert lag_summary([], 60, 25) is None


def test_a_replacement_that_fails_keeps_the_lag_that_was_set(office: Office) -> None:
    account = office.account
    account.create_dynamic_table("totals", TOTALS, target_lag="1 minute")
    account.alter_dynamic_table("totals", target_lag="5 minutes")
    office.world.at(20, Insert("orders", ((4, "oslo", 0),)))
    with pytest.raises(RefreshFailed):
        account.create_dynamic_table("totals", FAILING, target_lag="2 minutes", or_replace=True)
    kept = account.dynamic_table("totals")
    assert (kept.text, kept.target_lag) == (TOTALS, 5 * MINUTE)


def test_a_replacement_at_the_same_time_is_refused(office: Office) -> None:
    account = office.account
    account.create_dynamic_table("totals", TOTALS)
    with pytest.raises(RefreshFailed, match="it has this data timestamp already: set the clock forward"):
        account.create_dynamic_table(
            "totals", "SELECT city, COUNT(*) AS total FROM orders GROUP BY city", or_replace=True
        )
    assert account.dynamic_table("totals").text == TOTALS
    assert office.world.rows("totals") == [("rome", 30), (None, 5)]


def test_a_table_that_is_written_anew_takes_its_group_along(office: Office) -> None:
    grouped(office, "repeatable_read")
    office.world.at(30)
    results = office.account.reinitialize("shares")
    assert {each.table: each.action for each in results}["shares"] is Action.REINITIALIZE
    account = office.account
    assert {account.visible(account.dynamic_table(name))[-1] for name in ("shares", "countries")} == {30}


def test_the_graph_history_hides_what_a_role_may_not_see(office: Office) -> None:
    owner = replace(office.account, role="analyst")
    owner.create_dynamic_table("totals", TOTALS)
    owner.alter_dynamic_table("totals", target_lag="5 minutes")
    assert len(owner.graph_history().to_pylist()) == 2
    assert replace(office.account, role="guest").graph_history().to_pylist() == []
