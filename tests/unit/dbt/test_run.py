"""Two runs at once, and the time of runs: what the runner asks of dbt, and what it makes of the answers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from campaign.dbt import driver, run
from campaign.dbt.differences import Equal, RefreshDifference, Seen
from campaign.dbt.driver import one_line
from campaign.dbt.kinds import ChangeKind
from campaign.dbt.process import Dbt, DbtBroken, Target
from campaign.dbt.rows import NEWEST
from campaign.dbt.run import Runner
from campaign.dbt.trials import Put, Round, Trial
from tests.unit.dbt.projects import BY_COUNTRY, CUSTOMERS, ORDERS, SHOP

GOOD, BAD = "", "CommitFailedError: the table has moved on (version 3)"


@dataclass
class Script:
    """A process of dbt. `errors`: of its runs, one after the other; `incremental`: what they leave."""

    errors: list[str]
    incremental: str = "right"
    asked: list[dict[str, Any]] = field(default_factory=list)

    def ask(self, request: Any, limit: float) -> dict[str, Any]:
        """The answer to a request."""
        del limit
        if request == "go on":
            return self._run()
        self.asked.append(request)
        match request["do"]:
            case "run" if "--full-refresh" in request["command"]:
                self.incremental = "right"
                return _result(GOOD)
            case "run" if request["pause_at"]:
                return {"paused": True}
            case "run":
                return self._run()
            case "rows" if "all" in request["queries"]:
                return {"answers": {"all": {"columns": [], "rows": []}}}
            case "rows":
                answer = {"columns": ["id", "country"], "rows": [["1", self.incremental]]}
                return {"answers": dict.fromkeys(request["queries"], answer)}
            case _:
                return {}

    def _run(self) -> dict[str, Any]:
        return _result(self.errors.pop(0) if self.errors else GOOD)


def _result(error: str) -> dict[str, Any]:
    status = "error" if error else "success"
    result = {"status": status, "message": error, "compiled": "select 1"}
    return {"results": {BY_COUNTRY.id: result}, "message": "", "statements": 9}


ROW = ("1", "NULL", "1.1", "TIMESTAMP '2024-02-15 00:00:00'")
LATER = ("2", "NULL", "1.1", "TIMESTAMP '2024-02-15 01:00:00'")
TWICE = Trial(
    ChangeKind.TWO_RUNS,
    ORDERS.id,
    (Put(CUSTOMERS.id, 1, ("1", "'a'")),),
    (Round((Put(ORDERS.id, 2, ROW),), 3, beside=(Put(ORDERS.id, 3, LATER),), at=NEWEST + 60),),
    since=NEWEST - 60,
)


def dbt(script: Script, vars_: str | None = None) -> Dbt:
    """A process that plays a script."""
    child: Any = script
    return Dbt(child, Target(Path("shop"), "python", vars=vars_), Path("work"), {})


def seen(
    monkeypatch: pytest.MonkeyPatch, first: list[str], second: list[str] | None, left: str = "right"
) -> Seen:
    """What is seen after two runs at once. `first`: errors of the first process after its first run."""

    @contextmanager
    def other(*_: Any) -> Iterator[Dbt]:
        if second is None:
            raise DbtBroken('IO Error: could not lock "shop.duckdb"')
        yield dbt(Script(second))

    monkeypatch.setattr(run, "dbt_process", other)
    return Runner(dbt(Script([GOOD, *first], left)), SHOP, {}).run(TWICE, [BY_COUNTRY.id])[BY_COUNTRY.id]


@pytest.mark.parametrize(
    ("first", "second", "note"),
    [
        ([GOOD], None, "the second run failed: IO Error: could not lock"),
        ([BAD], [GOOD], "the first run failed: CommitFailedError: the table has moved on"),
        ([BAD, GOOD], [BAD], "the first run failed: CommitFailedError: the table has moved on; the second"),
        ([GOOD], [GOOD], "both runs succeeded"),
    ],
)
def test_a_run_that_fails_loudly_beside_another_does_no_harm(
    monkeypatch: pytest.MonkeyPatch, first: list[str], second: list[str] | None, note: str
) -> None:
    found = seen(monkeypatch, first, second)
    assert isinstance(found, Equal)
    assert found.note.startswith(note)


@pytest.mark.parametrize(
    ("first", "second", "note"),
    [
        ([GOOD], [GOOD], "both runs succeeded"),
        ([BAD], [GOOD], "the first run failed: CommitFailedError: the table has moved on"),
    ],
)
def test_an_update_that_is_lost_is_shown_with_both_runs(
    monkeypatch: pytest.MonkeyPatch, first: list[str], second: list[str], note: str
) -> None:
    found = seen(monkeypatch, first, second, left="lost")
    assert isinstance(found, RefreshDifference)
    assert found.missing == (("1", "right"),)
    assert found.error == note


def test_rows_come_while_the_first_run_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    beside = Script([GOOD])
    monkeypatch.setattr(run, "dbt_process", lambda *_: nullcontext(dbt(beside)))
    first = Script([GOOD, GOOD])
    Runner(dbt(first), SHOP, {}).run(TWICE, [BY_COUNTRY.id])
    assert [each["do"] for each in beside.asked] == ["execute", "run"]
    assert "(2, NULL" in str(beside.asked[0])
    assert "(2, NULL" not in str(first.asked)


def test_where_both_runs_fail_and_the_next_one_too_the_model_is_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = seen(monkeypatch, [BAD, BAD], [BAD])
    assert isinstance(found, RefreshDifference)
    assert found.error == BAD


def test_runs_take_place_a_minute_after_the_newest_row() -> None:
    script = Script([])
    plain = Trial(TWICE.kind, ORDERS.id, TWICE.start, (Round((), at=NEWEST + 60),), since=NEWEST - 60)
    Runner(dbt(script, "{day: '{now:%Y-%m-%d}', at: '{now}'}"), SHOP, {}).run(plain, [BY_COUNTRY.id])
    runs = [each for each in script.asked if each["do"] == "run"]
    first, last = "2024-02-15T00:01:00", "2024-02-15T01:01:00"
    assert [each["now"] for each in runs] == [first, last, last]
    assert {each["begin"] for each in runs} == {"2024-02-14T23:00:00"}
    assert runs[1]["vars"] == "{day: '2024-02-15', at: '2024-02-15 01:01:00'}"


def test_a_long_message_is_cut_between_words() -> None:
    assert one_line("a\n b") == "a b"
    assert one_line("word " * 100) == "word " * 79 + "word ..."


def test_the_driver_needs_nothing_newer_than_python_3_9() -> None:
    """It runs in the Python of the user's dbt."""
    text = Path(driver.__file__).read_text(encoding="utf-8")
    tree = ast.parse(text, feature_version=(3, 9))
    from_datetime = [node.names for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert "UTC" not in {alias.name for names in from_datetime for alias in names}
    assert not re.search(r"strict=|^\s*match \w+:|tomllib|ExceptionGroup|StrEnum", text, re.MULTILINE)
