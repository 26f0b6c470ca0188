"""What was found stays found, whatever an engine does after it; limits are checked where they are given."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import pytest

from campaign.failures.triage import smallest
from campaign.judging.lane import Lane
from engines import Adapter, Capabilities, Notes, RefreshFailed, Transaction
from engines.engine import Engine
from engines.errors import EngineError
from engines.registry import find_adapter, limits_of
from generators.fitting import fitted, is_within
from generators.generate import GIVEN_UP, scenario_at
from generators.profiles import QUICK
from reports.findings import summary_text
from tests.unit.engines.sample import Recomputing, lane, shop
from workload.errors import WorkloadError
from workload.limits import NO_LIMITS, Limits, Timestamps
from workload.outcomes.results import Check, OutcomeClass
from workload.schema import Column
from workload.sql import Dialect
from workload.types import Kind, Row, SqlType, Value

pytestmark = pytest.mark.slow


class Stale(Recomputing):
    """Never removes a row, so that its second refresh is wrong."""

    def refresh(self, table: str, timestamp: int) -> Notes | None:
        self.db.execute(f"INSERT INTO {table} ({self.queries[table]}) EXCEPT ALL SELECT * FROM {table}")
        return None


class Panic(BaseException):
    """An error of a library in another language: no Exception, as that of pyo3."""


class Unspeakable(Exception):
    """An error whose text cannot be had."""

    def __str__(self) -> str:
        raise KeyError("text")


def raising(error: BaseException) -> Callable[..., NoReturn]:
    def call(*_: object) -> NoReturn:
        raise error

    return call


def giving(*rows: object) -> Callable[..., Iterable[object]]:
    return lambda *_: rows


def endless(self: Adapter, *_: object) -> Iterator[Row]:
    end = time.monotonic() + 0.6
    while time.monotonic() < end:
        time.sleep(0.01)
    raise RuntimeError("interrupted")


VOTES: Mapping[str, Callable[..., object]] = {
    "ValueError": raising(ValueError("cannot parse this text")),
    "SystemExit": raising(SystemExit(3)),
    "Panic": raising(Panic("the library broke")),
    "Unspeakable": raising(Unspeakable()),
    "HungQuery": endless,
    "UnfitValue: 'x' is not a value": giving(("north", "x")),
    "UnfitValue: a row of 1 values": giving(("north",)),
    "TypeError": giving(5),
    "EngineError: no third vote": raising(EngineError("no third vote")),
}


@pytest.mark.parametrize("error", VOTES)
def test_an_engine_whose_vote_fails_has_failed(error: str) -> None:
    broken = type("Broken", (Stale,), {"evaluate": VOTES[error]})
    outcome = Lane(engine=Engine.of(broken, time_limit_s=0.4 if error == "HungQuery" else 60)).judge(shop())
    assert (outcome.outcome, outcome.killer) == (OutcomeClass.PRODUCT_FAILURE, Check.EQUALITY)
    votes = outcome.findings[0].votes
    assert votes["full recomputation"].startswith(f"failed: {error}")
    assert votes["verdict"].startswith("a failure")


class Hanging(Recomputing):
    """Its refresh never ends, and fails as one of the engine's own when it is interrupted."""

    interrupted: ClassVar[threading.Event] = threading.Event()

    def refresh(self, table: str, timestamp: int) -> Notes | None:
        assert self.interrupted.wait(60)
        raise RefreshFailed("the query was cancelled")

    def interrupt(self) -> None:
        self.interrupted.set()


def test_what_the_interruption_of_a_run_makes_fail_is_no_failure_of_the_engine() -> None:
    outcome = Lane(engine=Engine.of(Hanging, time_limit_s=0.3)).judge(shop())
    assert outcome.outcome is OutcomeClass.INFRASTRUCTURE_FAILURE, outcome.reason
    assert outcome.reason == "HungQuery: cut after 0.3 s"


class Once(Stale):
    """Its database can be opened once only, so that the vote has none."""

    opened = 0

    def __init__(self) -> None:
        Once.opened += 1
        if Once.opened > 1:
            raise OSError("no room for a second database")
        super().__init__()


def test_a_vote_without_a_database_leaves_the_failure() -> None:
    outcome = lane(Once).judge(shop())
    assert outcome.outcome is OutcomeClass.PRODUCT_FAILURE
    assert outcome.findings[0].votes["full recomputation"] == "failed: OSError: no room for a second database"


class FailsAndBreaks(Recomputing):
    """A refresh fails, and so does everything that could speak for it."""

    def refresh(self, table: str, timestamp: int) -> Notes | None:
        if timestamp == 60:
            raise RefreshFailed("out of luck")
        return super().refresh(table, timestamp)

    def evaluate(self, query: str, columns: Sequence[Column]) -> Sequence[Row]:
        raise Panic("no evaluation")


def test_a_failed_refresh_stays_a_failure_when_the_engines_own_sql_breaks() -> None:
    outcome = lane(FailsAndBreaks).judge(shop())
    assert (outcome.outcome, outcome.reason) == (OutcomeClass.PRODUCT_FAILURE, "refresh error: out of luck")


@pytest.mark.parametrize("method", ["rows", "refresh", "commit", "close", "advance"])
@pytest.mark.parametrize("error", [ConnectionResetError("gone"), SystemExit(1), Panic("broke")])
def test_a_wrong_result_before_the_engine_breaks_is_a_failure(method: str, error: BaseException) -> None:
    """The base of `method` goes on until the wrong refresh was made; what comes after it raises."""

    class Broken(Stale):
        wrong = False

        def refresh(self, table: str, timestamp: int) -> Notes | None:
            if method == "refresh" and self.wrong:
                raise error
            return super().refresh(table, timestamp)

        def rows(self, name: str, columns: Sequence[Column]) -> Sequence[Row]:
            if method == "rows" and self.wrong:
                raise error
            rows = super().rows(name, columns)
            self.wrong = self.wrong or (name == "totals" and len(rows) > 2)
            return rows

        def advance(self, at: int) -> None:
            if method == "advance" and self.wrong:
                raise error

        def commit(self, transaction: Transaction) -> Mapping[str, int] | None:
            if method == "commit" and self.wrong:
                raise error
            return super().commit(transaction)

        def close(self) -> None:
            super().close()
            if method == "close" and self.wrong:
                raise error

    outcome = lane(Broken).judge(shop())
    assert (outcome.outcome, outcome.killer) == (OutcomeClass.PRODUCT_FAILURE, Check.EQUALITY)


class BreaksOnUpdate(Recomputing):
    """Its library has an error of its own for one kind of statement."""

    def commit(self, transaction: Transaction) -> Mapping[str, int] | None:
        if any(text.startswith("UPDATE") for text in transaction.sql):
            raise KeyError("no plan")
        return super().commit(transaction)


def test_an_error_of_an_adapter_names_step_method_and_statement_and_is_shrunk() -> None:
    """The traceback begins in the adapter's method, and the smallest scenario breaks there, too."""
    outcome = lane(BreaksOnUpdate).judge(shop())
    assert (outcome.outcome, outcome.reason) == (OutcomeClass.INFRASTRUCTURE_FAILURE, "KeyError: 'no plan'")
    broken = outcome.breakage
    assert broken is not None
    assert (broken.step, broken.method, broken.hung) == (4, "commit", False)
    assert [text.split()[0] for text in broken.statements] == ["UPDATE"]
    assert "in commit" in broken.traceback.splitlines()[1]
    assert broken.traceback.endswith("KeyError: 'no plan'")
    reduced = smallest(lane(BreaksOnUpdate), shop(), outcome, 100)
    assert (len(reduced.scenario.steps), reduced.scenario.definitions) == (1, ())
    assert reduced.outcome.breakage is not None
    text = summary_text(reduced.outcome)
    assert text.startswith("The engine or its adapter broke in commit at step 0, given UPDATE sales SET ")
    assert ": KeyError: 'no plan'. Nothing was judged after that." in text


def test_an_adapter_that_breaks_before_the_first_step_names_no_step() -> None:
    broken = type("Broken", (Recomputing,), {"create_table": raising(ValueError("no tables"))})
    outcome = lane(broken).judge(shop())
    assert outcome.breakage is not None
    assert (outcome.breakage.step, outcome.breakage.statements) == (
        None,
        ("CREATE TABLE sales (region VARCHAR, amount INT)",),
    )


WRONG_VALUES = {
    "text for a number": ("north", "12"),
    "a float for a number": ("north", 12.0),
    "a value too many": ("north", 12, 1),
    "a list": ("north", [12]),
}


@pytest.mark.parametrize("row", WRONG_VALUES.values(), ids=WRONG_VALUES)
@pytest.mark.parametrize("name", ["totals", "sales"])
def test_a_value_of_another_type_is_the_engines_fault(row: tuple[object, ...], name: str) -> None:
    class Mixed(Recomputing):
        def rows(self, table: str, columns: Sequence[Column]) -> Sequence[Row]:
            return returning([row]) if table == name else super().rows(table, columns)

    outcome = lane(Mixed).judge(shop())
    assert (outcome.outcome, outcome.killer) == (OutcomeClass.PRODUCT_FAILURE, Check.EQUALITY)
    assert f"{name} shows a row that its columns cannot hold" in outcome.reason
    assert repr(row[-1]) in outcome.reason


def few(value: Value, type_: SqlType) -> bool:
    return not isinstance(value, float) or value in (0.25, 0.5, 1.0)


NARROW = {
    "few": few,
    "one": lambda value, type_: value in (1, "a", True) or isinstance(value, tuple),
    "none": lambda value, type_: False,
    "no text": lambda value, type_: not isinstance(value, str),
    "a third": lambda value, type_: zlib.crc32(repr(value).encode()) % 3 == 0,
}


@pytest.mark.parametrize("stores", NARROW.values(), ids=NARROW)
def test_scenarios_stay_within_narrow_limits(stores: Callable[[Value, SqlType], bool]) -> None:
    limits = Limits(stores=stores)
    profile = fitted(QUICK, limits)
    assert all(is_within(scenario_at(1, profile, index), limits) for index in range(20))
    if stores is NARROW["none"]:
        assert any(GIVEN_UP in scenario_at(1, profile, index).intents for index in range(20, 200))


def test_shrinking_stays_within_the_limits() -> None:
    limits = Limits(stores=lambda value, type_: value not in (0, 1, ""))
    narrow = Lane(engine=Engine.of(Stale), limits=limits)
    scenario = shop()
    assert is_within(scenario, limits)
    outcome = narrow.judge(scenario)
    reduced = smallest(narrow, scenario, outcome, 40)
    assert reduced.scenario != scenario
    assert is_within(reduced.scenario, limits)


class Lambdas(Recomputing):
    capabilities: ClassVar[Capabilities] = Capabilities(
        dialect=Dialect.DUCKDB,
        limits=Limits(
            gap=lambda query: None, stores=lambda value, type_: value != 3, amend=lambda query: query
        ),
    )


def returning(wrong: Any) -> Any:
    """A function that an adapter wrote without a look at what it must return."""
    return wrong


class Raising(Recomputing):
    capabilities: ClassVar[Capabilities] = Capabilities(
        dialect=Dialect.DUCKDB,
        limits=Limits(stores=returning(lambda value, type_: len(value) > 0)),
    )


def with_limits(**functions: Any) -> Capabilities:
    return Capabilities(dialect=Dialect.DUCKDB, limits=Limits(**functions))


class NoAnswer(Recomputing):
    capabilities: ClassVar[Capabilities] = with_limits(stores=lambda value, type_: None)


class NoReason(Recomputing):
    capabilities: ClassVar[Capabilities] = with_limits(gap=lambda query: 5)


class NoQuery(Recomputing):
    capabilities: ClassVar[Capabilities] = with_limits(amend=lambda query: None)


HERE = "adapter:tests.unit.engines.test_engines_that_fail_later"


def test_limits_with_lambdas_are_sent_by_name() -> None:
    limits = limits_of(f"{HERE}:Lambdas", f"{HERE}:Lambdas", "rules")
    sent = pickle.loads(pickle.dumps(fitted(QUICK, limits))).limits  # our own bytes
    assert [sent.stores(value, SqlType(Kind.INT)) for value in (2, 3)] == [True, False]
    assert limits_of("rules", "delta") is NO_LIMITS


def test_a_campaign_with_lambdas_in_its_limits_runs(tmp_path: Path) -> None:
    """With one worker, a task that could not be pickled made the pool hang when it ended."""
    options = ["--tier", f"{HERE}:Lambdas", "--scenarios", "2", "--workers", "1", "--out", str(tmp_path)]
    command = [sys.executable, "-m", "dvs", "fuzz", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert re.search(r"scenarios +│ 2 ", done.stdout)


@pytest.mark.parametrize(
    ("adapter", "message"),
    [
        ("Raising", "`stores` of its limits raised TypeError"),
        ("NoAnswer", "`stores` of its limits returned None"),
        ("NoReason", "`gap` of its limits returned 5"),
        ("NoQuery", "`amend` of its limits returned None"),
    ],
)
def test_functions_of_limits_that_are_wrong_are_named_before_anything_runs(
    adapter: str, message: str
) -> None:
    with pytest.raises(EngineError, match=message):
        limits_of(f"{HERE}:{adapter}")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"operators": frozenset({"inner joint"})}, "operators has inner joint; there are: "),
        ({"types": frozenset({"INT"})}, "types has INT"),
        ({"types": frozenset({Kind.STRING})}, "types lacks Kind.INT"),
        ({"statements": {"upsert"}}, "statements has upsert; there are: delete, insert"),
        ({"timestamps": "now"}, r"timestamps is 'now'; write Timestamps.NOW"),
        ({"stores": None}, "stores is None; write a function"),
        ({"stores": lambda value: True}, r"stores is called with \(value, type\); <function"),
        ({"gap": lambda: None}, r"gap is called with \(query\)"),
        ({"layered": "no"}, "layered is 'no'; write True or False"),
        ({"operators": "filter"}, "operators is 'filter'; write frozenset"),
        ({"types": None}, "types is None; write frozenset"),
        ({"lacks": {5}}, "lacks has 5; there are"),
    ],
)
def test_limits_that_no_engine_can_have_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(WorkloadError, match=message) as caught:
        Limits(**options)
    assert "\n" not in str(caught.value)
    assert Limits().timestamps is Timestamps.NOW


def test_limits_take_any_collection_and_words() -> None:
    lists: dict[str, Any] = {"types": [Kind.INT, Kind.STRING], "statements": ["insert"]}
    assert Limits(**lists).statements == {"insert"}
    few = Limits.only("WHERE", "inner join", "group by", "append only", "no NULL", failures=True)
    assert few.operators == {"filter", "inner join", "grouped aggregation", "projection"}
    assert few.statements == {"insert"}
    assert (few.nulls, few.views, few.failures) == (False, False, True)
    with pytest.raises(WorkloadError, match="no word 'inner joint'; there are: inner join, "):
        Limits.only("inner joint")
    with pytest.raises(TypeError, match="no_such"):
        Limits.only("filter", no_such=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dialect": "sqlite"}, "dialect is 'sqlite'; write one of Dialect.SPARK, "),
        ({"dialect": Dialect.DUCKDB, "shown": {"actions"}}, "shown is {'actions'}; write"),
    ],
)
def test_capabilities_of_another_type_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(EngineError, match=message):
        Capabilities(**options)


class NoCapabilities(Recomputing):
    capabilities: ClassVar[Capabilities] = returning(None)


class NoMethods(Adapter):
    capabilities: ClassVar[Capabilities] = Capabilities(dialect=Dialect.DUCKDB)


def test_an_adapter_without_capabilities_is_refused() -> None:
    with pytest.raises(EngineError, match="has no `capabilities`; write `capabilities = Capabilities"):
        find_adapter(f"{HERE.partition(':')[2]}:NoCapabilities")
    with pytest.raises(
        EngineError, match="NoMethods lacks the methods commit, create_dynamic_table, create_"
    ):
        find_adapter(f"{HERE.partition(':')[2]}:NoMethods")
    with pytest.raises(EngineError, match=r"importing tests.failing.* raised|has no class"):
        find_adapter("tests.failing:Nothing")
