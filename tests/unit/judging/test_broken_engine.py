"""An engine that breaks is at fault; what breaks around it is not the engine's."""

from __future__ import annotations

from typing import NoReturn

import pytest

from campaign.judging.lane import Lane
from dynamic_tables.account import Account
from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.refresh.execute import Refreshing
from engines.account_adapter import AccountAdapter
from engines.watchdog import HungQuery
from tests.in_memory import in_memory
from tests.unit.workload.shop import SHOP
from workload.outcomes.results import Check, Outcome, OutcomeClass


def judged() -> Outcome:
    return Lane(engine=in_memory()).judge(SHOP)


def breaking(error: Exception) -> object:
    def step(*_: object, **__: object) -> NoReturn:
        raise error

    return step


@pytest.mark.parametrize("error", [KeyError("r"), AssertionError(), TypeError("no number"), RecursionError()])
def test_a_bug_of_the_engine_is_a_failure(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    monkeypatch.setattr(Refreshing, "_resolve", of_the_engine(error))
    outcome = judged()
    assert outcome.outcome is OutcomeClass.PRODUCT_FAILURE
    assert outcome.findings[0].check is Check.REFRESH_ERROR
    assert f"the engine broke: {type(error).__name__}" in outcome.reason


def of_the_engine(error: Exception) -> object:
    """A function whose frame belongs to the engine."""
    made: dict[str, object] = {"__name__": "dynamic_tables.refresh.execute", "error": error}
    exec("def step(*args, **options):\n    raise error", made)  # noqa: S102
    return made["step"]


@pytest.mark.parametrize("error", [DefinitionError("no such source"), UnsupportedError("FULL JOIN")])
def test_a_definition_that_was_accepted_and_is_refused_later_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr(Account, "refreshing", breaking(error))
    outcome = judged()
    assert outcome.outcome is OutcomeClass.PRODUCT_FAILURE
    assert str(error) in outcome.reason


def test_a_bug_of_the_harness_and_a_dead_platform_are_no_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(AccountAdapter, "_notes", breaking(KeyError("columns")))
        assert judged().outcome is OutcomeClass.INFRASTRUCTURE_FAILURE
    monkeypatch.setattr(Refreshing, "_resolve", of_the_engine(HungQuery("cut after 2 s")))
    assert judged().outcome is OutcomeClass.INFRASTRUCTURE_FAILURE


def test_a_bug_at_creation_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Account, "create_dynamic_table", of_the_engine(IndexError("list index")))
    outcome = judged()
    assert outcome.outcome is OutcomeClass.PRODUCT_FAILURE
    assert "the engine broke: IndexError: list index" in [finding.message for finding in outcome.findings]
