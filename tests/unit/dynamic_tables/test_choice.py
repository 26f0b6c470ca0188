"""The choice between INCREMENTAL and FULL: from recorded numbers alone, and explained by them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pytest

from dynamic_tables.journal.events import Refreshed, Trigger
from dynamic_tables.journal.state import KEPT_PER_TABLE, Operations, TableOperations
from dynamic_tables.refresh.choice import FEW_ROWS, NO_CHOICE, Choice, Past, Work, choose
from dynamic_tables.store.port import Action, Extent

MILLION = 1_000_000


def facts(touched: int, total: int = MILLION) -> dict[str, Extent]:
    """The changes of a large table, beside a small one that did not change."""
    return {"facts": Extent(touched, total), "names": Extent(0, 1_000)}


def names(touched: int) -> dict[str, Extent]:
    return {"facts": Extent(0, MILLION), "names": Extent(touched, 1_000)}


def chosen(
    past: Sequence[Past], extents: Mapping[str, Extent], passes: float = 0, stored: int = MILLION
) -> Choice:
    return choose(past, Work(extents=extents, passes=passes, stored=stored))


def first(seconds: float) -> Past:
    return Past(action=Action.INITIALIZE, seconds=seconds, extents=facts(0))


def took(action: Action, seconds: float, touched: int) -> Past:
    return Past(action=action, seconds=seconds, extents=facts(touched))


def incremental(seconds: float, touched: int = 2_000) -> Past:
    return took(Action.INCREMENTAL, seconds, touched)


def full(seconds: float, touched: int = 2_000) -> Past:
    return took(Action.FULL, seconds, touched)


def test_the_action_that_took_less_time_is_chosen_and_both_times_are_told() -> None:
    past = [first(5.0), full(3.4), incremental(12.1)]
    assert chosen(past, facts(2_000)) == Choice(Action.FULL, "chosen FULL: expected 3.4 s against 12.1 s")
    past = [first(5.0), full(3.4), incremental(0.5)]
    why = "chosen INCREMENTAL: expected 0.5 s against 3.4 s"
    assert chosen(past, facts(2_000)) == Choice(Action.INCREMENTAL, why)


@pytest.mark.parametrize(("times_slower", "tried_after"), [(1.2, 10), (2.0, 27), (7.0, None)])
def test_what_was_slow_once_is_tried_again(times_slower: float, tried_after: int | None) -> None:
    """A first INCREMENTAL refresh in a process that has just begun must not decide for ever."""
    past = [first(5.0), full(1.0), incremental(times_slower)]
    waits = [count for count in range(1, KEPT_PER_TABLE - 3) if _tries(past, count)]
    assert next(iter(waits), None) == tried_after


def test_a_size_that_was_never_measured_is_tried_once() -> None:
    """An estimate that is a little too high would stay: FULL refreshes measure nothing that shows it."""
    past = [first(5.0), incremental(3.8, 8_000), full(3.0)]
    assert chosen(past, facts(8_000)).action is Action.FULL
    assert chosen(past, facts(2_000)).action is Action.INCREMENTAL
    tried = [*past, incremental(3.1, 2_000), full(3.0)]
    assert [chosen(tried, facts(size)).action for size in (1_000, 2_000, 4_000)] == [Action.FULL] * 3
    # What is expected to take much longer is not tried for its size alone.
    assert chosen([first(5.0), full(1.0), incremental(4.0, 8_000)], facts(2_000)).action is Action.FULL


def _tries(past: list[Past], count: int) -> bool:
    return chosen([*past, *[full(1.0)] * count], facts(2_000)).action is Action.INCREMENTAL


def test_nothing_is_chosen_without_a_past_or_over_few_rows() -> None:
    assert chosen([], facts(MILLION)) == NO_CHOICE
    unmeasured = [Past(action=Action.FULL, seconds=0.0, extents=facts(0))]
    assert chosen(unmeasured, facts(MILLION)) == NO_CHOICE
    slow = [first(1.0), incremental(100.0)]
    assert chosen(slow, {"facts": Extent(10, FEW_ROWS)}, 1) == NO_CHOICE
    assert chosen(slow, {"facts": Extent(10, FEW_ROWS + 1)}, 1).action is Action.FULL


def test_before_anything_was_measured_the_estimate_decides() -> None:
    """Few changes are maintained; so many that they are merged by Spark write the table anew."""
    assert chosen([first(4.0)], facts(2_000)).action is Action.INCREMENTAL
    assert chosen([first(4.0)], facts(200_000)).action is Action.FULL
    # A MERGE reads all that is stored, which is little for a table of few groups.
    past, change = [first(900.0)], facts(100_000, 10**9)
    assert chosen(past, change, stored=10**9).action is Action.FULL
    assert chosen(past, change, stored=1_000).action is Action.INCREMENTAL


def test_a_plan_that_reads_its_sources_again_is_expected_to_take_longer() -> None:
    never = chosen([first(4.0)], facts(10_000, 10 * MILLION), 0)
    often = chosen([first(4.0)], facts(10_000, 10 * MILLION), 3)
    assert (never.action, often.action) == (Action.INCREMENTAL, Action.FULL)


def test_a_refresh_of_another_size_is_carried_over() -> None:
    """Of two that were measured, the one with about as many changes is asked."""
    past = [first(3.0), full(3.0), incremental(0.5, 100), incremental(9.0, 40_000)]
    assert chosen(past, facts(150)).action is Action.INCREMENTAL
    assert chosen(past, facts(35_000)).action is Action.FULL


def test_refreshes_of_another_size_do_not_outvote_the_one_of_this_size() -> None:
    small = [incremental(0.5, 100), incremental(0.5, 110), incremental(0.5, 120)]
    past = [first(3.0), full(3.0), incremental(9.0, 40_000), *small]
    assert chosen(past, facts(35_000)).action is Action.FULL
    assert chosen(past, facts(130)).action is Action.INCREMENTAL


def test_changes_of_another_source_tell_nothing() -> None:
    past = [first(3.0), full(3.0), incremental(9.0, 1_000)]
    assert chosen(past, facts(1_000)).action is Action.FULL
    assert chosen(past, names(1)).action is Action.INCREMENTAL


def test_a_change_of_a_dimension_concerns_its_share_of_the_facts() -> None:
    assert chosen([first(3.0)], names(1)).action is Action.INCREMENTAL
    assert chosen([first(3.0)], names(500)).action is Action.FULL


def test_one_slow_refresh_does_not_turn_the_choice() -> None:
    past = [first(3.0), full(3.0), incremental(0.5), incremental(0.6), incremental(40.0)]
    assert chosen(past, facts(2_000)).action is Action.INCREMENTAL


def test_a_tenth_is_not_worth_a_change() -> None:
    """Hysteresis: what was done last goes on, unless the other action is clearly cheaper."""
    beginning = [first(3.0)]
    assert chosen([*beginning, full(1.0), incremental(1.05)], facts(2_000)).action is Action.INCREMENTAL
    assert chosen([*beginning, incremental(1.05), full(1.0)], facts(2_000)).action is Action.FULL
    assert chosen([*beginning, incremental(0.95), full(1.0)], facts(2_000)).action is Action.FULL
    assert chosen([*beginning, incremental(0.8), full(1.0)], facts(2_000)).action is Action.INCREMENTAL
    assert chosen([*beginning, full(1.0), incremental(1.2)], facts(2_000)).action is Action.FULL


def test_a_table_whose_initialization_is_forgotten_still_chooses() -> None:
    past = [incremental(0.5)] * 64
    assert chosen(past, facts(2_000)).action is Action.INCREMENTAL
    assert chosen(past, facts(400_000)).action is Action.FULL


@pytest.mark.parametrize("seed", range(20))
def test_more_changes_never_make_incremental_cheaper(seed: int) -> None:
    """By the estimate alone: once FULL is chosen, it is chosen for all that is larger."""
    choices = random.Random(seed)
    start, total, passes = choices.uniform(0.5, 50), choices.randrange(60_000, 10**8), choices.uniform(0, 3)
    past = [Past(action=Action.INITIALIZE, seconds=start, extents=facts(0, total))]
    sizes = sorted(choices.randrange(1, 2 * total) for _ in range(50))
    actions = [chosen(past, facts(size, total), passes, total).action for size in sizes]
    assert actions == sorted(actions, key=lambda action: action is Action.FULL)


def test_the_journal_knows_how_long_the_last_refreshes_took() -> None:
    operations = Operations()
    for number in range(KEPT_PER_TABLE + 5):
        ended = Refreshed(
            at=100 * number + 7,
            table="d",
            timestamp=100 * number,
            started=100 * number,
            trigger=Trigger.MANUAL,
            action="FULL",
        )
        operations.apply(ended)
    known = TableOperations.from_json(operations.of("d").to_json())
    assert (len(known.took), known.took[100 * (KEPT_PER_TABLE + 4)], known.duration) == (KEPT_PER_TABLE, 7, 7)


def test_a_journal_of_an_older_engine_still_gives_a_duration() -> None:
    older = {name: value for name, value in TableOperations().to_json().items() if name != "took"}
    assert TableOperations.from_json({**older, "durations": [5, 9, 7]}).duration == 9
