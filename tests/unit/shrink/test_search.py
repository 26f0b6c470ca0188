"""The search: its budget, its order, and what it leaves alone."""

from __future__ import annotations

import copy

import pytest

from shrink.loop import smallest
from shrink.reduction import Reduction, chunks
from shrink.registry import REDUCTIONS
from shrink.search import shrink
from shrink.weight import weight
from tests.unit.shrink.samples import SAMPLES, statements_of
from workload.dml import Update
from workload.scenario import Scenario


def has_update(scenario: Scenario) -> bool:
    return any(isinstance(s, Update) for s in statements_of(scenario))


@pytest.mark.parametrize("attempts", [0, 1, 17])
def test_the_budget_is_kept(attempts: int) -> None:
    tried: list[Scenario] = []

    def fails(candidate: Scenario) -> bool:
        tried.append(candidate)
        return has_update(candidate)

    shrunk = shrink(SAMPLES[0], fails, attempts=attempts)
    assert shrunk.attempts == len(tried) == attempts
    assert not shrunk.complete


def test_what_cannot_get_smaller_is_returned_as_it_is() -> None:
    shrunk = shrink(SAMPLES[1], lambda candidate: False, attempts=5_000)
    assert shrunk.scenario is SAMPLES[1]
    assert shrunk.steps == ()
    assert shrunk.complete


def test_the_result_fails_and_each_step_made_it_lighter() -> None:
    weights: list[int] = []

    def fails(candidate: Scenario) -> bool:
        if has_update(candidate):
            weights.append(weight(candidate))
            return True
        return False

    shrunk = shrink(SAMPLES[0], fails, attempts=2_000)
    assert has_update(shrunk.scenario)
    assert weights == sorted(set(weights), reverse=True)
    assert weight(shrunk.scenario) == weights[-1]
    assert len(shrunk.steps) == len(weights)


def test_no_candidate_is_tried_twice() -> None:
    tried: list[str] = []

    def fails(candidate: Scenario) -> bool:
        tried.append(repr(candidate))
        return has_update(candidate)

    shrink(SAMPLES[0], fails, attempts=2_000)
    assert len(tried) == len(set(tried))


def test_the_same_search_twice_is_the_same() -> None:
    one, two = (shrink(SAMPLES[0], has_update, attempts=300) for _ in range(2))
    assert one == two


@pytest.mark.parametrize("scenario", SAMPLES[:4], ids=lambda scenario: scenario.name)
def test_the_original_is_not_touched(scenario: Scenario) -> None:
    before = copy.deepcopy(scenario)
    shrink(scenario, lambda candidate: bool(candidate.dynamic_tables), attempts=200)
    assert repr(scenario) == repr(before)


def test_a_result_is_a_fixpoint() -> None:
    once = shrink(SAMPLES[0], has_update, attempts=2_000)
    again = shrink(once.scenario, has_update, attempts=2_000)
    assert once.complete
    assert repr(again.scenario) == repr(once.scenario)


def test_a_reduction_that_turns_in_circles_does_not_hang() -> None:
    turning = Reduction("the same again", lambda scenario: iter((scenario, SAMPLES[0], SAMPLES[1])))
    assert shrink(SAMPLES[0], lambda _: True, attempts=100, reductions=(turning,)).attempts <= 2


def test_reductions_have_names_of_their_own() -> None:
    names = [reduction.name for reduction in REDUCTIONS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("count", range(12))
def test_chunks_go_from_all_to_each(count: int) -> None:
    cuts = list(chunks(range(count)))
    assert all(chunk and max(chunk) < count for chunk in cuts)
    if count:
        assert cuts[0] == frozenset(range(count))
        assert {frozenset({n}) for n in range(count)} <= set(cuts)
        assert len(cuts) <= 2 * count + 12


@pytest.mark.parametrize(("attempts", "found", "complete"), [(2, "abcde", False), (50, "abcd", True)])
def test_attempts_that_end_in_the_middle_of_a_round_leave_candidates_untried(
    attempts: int, found: str, complete: bool
) -> None:
    def one_letter_less(text: str) -> list[str]:
        return [text[:at] + text[at + 1 :] for at in range(len(text))]

    small = smallest("abcde", [one_letter_less], lambda text: text if "abcd" in text else None, attempts)
    assert (small.found, small.complete) == (found, complete)
