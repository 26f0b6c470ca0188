"""Each threshold of the engine (rows, keys, files, bytes, depth) has a test that goes beyond it.

A branch beyond a threshold that random scenarios never reach is judged by nothing: small tables stay below
all of them. So this file lists every number of the engine that a comparison or a slice uses, with the test
that crosses it or the confession that none does, and a new number without an entry fails.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path

import pytest

from dynamic_tables.store.sizes import SIZES, Sizes
from engines.callers import SMALL, drawn_sizes
from generators.generate import scenario_at
from generators.profiles import QUICK

ENGINE = Path("dynamic_tables")

CHOICE = "tests/unit/dynamic_tables/test_choice.py"
CHANGES = "tests/e2e/test_delta_changes.py"
REFUSED = "tests/unit/dynamic_tables/test_unsupported.py"
NAMED = "test_an_operator_without_a_rule_is_named_with_the_reason"

CROSSED: Mapping[str, str] = {
    "reading/bind.py MAX_DEPTH": f"{REFUSED}::test_a_plan_too_deep_for_the_stack_is_not_incremental",
    "reading/bind.py MAX_NESTING": (
        f"{REFUSED}::test_a_long_chain_of_conditions_is_incremental_and_a_deep_expression_is_not"
    ),
    "reading/bind.py MAX_SCANS": f"{REFUSED}::test_ctes_that_double_at_every_step_do_not_fill_the_memory",
    "reading/blocks/constant_rows.py MOST_ROWS": f"{REFUSED}::{NAMED}",
    "plan/rewrites/grouping_sets.py MOST_SETS": f"{REFUSED}::{NAMED}",
    "reading/text/time_windows.py MOST_WINDOWS": f"{REFUSED}::{NAMED}",
    "plan/rewrites/looked_up.py MOST_LISTED": (
        "tests/laws/test_looked_up.py::test_many_keys_are_bounds_and_no_key_is_no_row"
    ),
    "plan/rewrites/stages.py LEAST_OPERATORS": (
        "tests/laws/test_stages.py::test_a_deep_plan_without_few_rows_is_cut_where_its_parts_are_shared"
    ),
    "refresh/choice.py FEW_ROWS": f"{CHOICE}::test_nothing_is_chosen_without_a_past_or_over_few_rows",
    "refresh/choice.py MANY_CHANGES": f"{CHOICE}::test_before_anything_was_measured_the_estimate_decides",
    "refresh/choice.py CLEARLY": f"{CHOICE}::test_a_tenth_is_not_worth_a_change",
    "refresh/choice.py NEAREST": f"{CHOICE}::test_one_slow_refresh_does_not_turn_the_choice",
    "refresh/execute.py LEAST_COUNTED": f"{CHANGES}::test_a_refresh_may_choose_to_be_full",
    "store/log/journal.py KEPT": (
        "tests/unit/dynamic_tables/test_journal.py::test_old_events_are_read_from_their_files"
    ),
    "store/log/numbered.py WHOLE_EVERY": (
        "tests/laws/test_ticks.py::test_reading_begins_at_a_tick_that_names_all_tables"
    ),
}

NOT_CROSSED = {"plan/rewrites/stages.py FEW_ROWS"}
"""Thresholds that no test is known to cross: what lies beyond them is judged by nothing yet.

The sizes of the store are one value (`Sizes`), of which campaigns on Delta draw small ones.
"""

NO_BRANCH: Mapping[str, str] = {
    "arguments.py LONGEST_NAME": "the length of a name, whose refusal tests/unit/dynamic_tables tests",
    "differentiate/accumulators.py EXACTLY_AVERAGED": "a type decides; tests/truth/test_averages.py has both",
    "differentiate/accumulators.py WIDEST": "a type decides, and domains have decimals on both sides",
    "journal/events.py FORMAT": "the version of a file format",
    "journal/state.py DURATIONS": "how much of the past is kept for estimates",
    "journal/state.py KEPT_PER_TABLE": "how much of the past is shown",
    "own_functions.py DIGITS": "how much of a hash is kept",
    "moment.py SIMULATED_BELOW": "whether a time is shown as a date",
    "reading/values/bind_window.py MOST_DIGITS": "digits of a fraction of a second",
    "plan/expressions.py MOST_IN_A_ROW": "how a long condition is written, not what it means",
    "reading/values/literals.py INFINITY_BITS": "a bit pattern",
    "plan/rewrites/pushed.py WIDEST": "a type decides, and domains have decimals on both sides",
    "plan/types.py MAX_PRECISION": "Spark's greatest precision",
    "schedule/lag.py SECOND": "a unit of time",
    "store/ticks/ledger.py FORMAT": "the version of a file format",
    "store/transactions/owner.py LEASE_MS": "a time, which the laws of ticks and the soak draw",
    "store/spark/spark_errors.py LONGEST_CAUSE": "the length of a message",
    "store/transactions/transactions.py ATTEMPTS": "how often a conflict is tried again",
    "store/rows/vectors.py MAGIC": "a bit pattern",
    "store/names/witness.py MOST_PAIRS": "how many examples are tried when a message is made",
}
"""Numbers that are no threshold between two ways to compute something, each with what it is."""


def test_campaigns_on_delta_draw_every_size_of_the_store_below_the_rows_of_a_scenario() -> None:
    assert {field.name for field in fields(Sizes)} == SMALL.keys()
    scenario = scenario_at(1, QUICK, 0)
    drawn = [drawn_sizes(scenario, process) for process in range(100)]
    for name, values in SMALL.items():
        assert {getattr(sizes, name) for sizes in drawn} == {*values, getattr(SIZES, name)}
    assert drawn.count(SIZES) > 30


def numbers(text: ast.Module) -> Iterator[str]:
    """Yields the names of the module's constants that are numbers."""
    for node in text.body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(name)], value=value)
                | ast.AnnAssign(target=ast.Name(name), value=ast.expr() as value)
            ):
                plain = all(
                    isinstance(part, ast.Constant | ast.BinOp | ast.operator) for part in ast.walk(value)
                )
                constants = [part.value for part in ast.walk(value) if isinstance(part, ast.Constant)]
                if name.isupper() and plain and all(type(each) in (int, float) for each in constants):
                    yield name
            case _:
                pass


def decisive(text: ast.Module) -> set[str]:
    """Returns the names that stand in a comparison or a slice."""
    places = (node for node in ast.walk(text) if isinstance(node, ast.Compare | ast.Slice))
    return {part.id for place in places for part in ast.walk(place) if isinstance(part, ast.Name)}


def found() -> set[str]:
    """Returns every number of the engine that decides something, with its file."""
    texts = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(ENGINE.rglob("*.py"))}
    own = {path: set(numbers(text)) for path, text in texts.items()}
    result: set[str] = set()
    for path, text in texts.items():
        used = decisive(text)
        result |= {f"{path.relative_to(ENGINE)} {name}" for name in own[path] & used}
        for node in ast.walk(text):
            if isinstance(node, ast.ImportFrom) and node.module:
                home = Path(node.module.replace(".", "/") + ".py")
                names = {alias.name for alias in node.names} & used & own.get(home, set())
                result |= {f"{home.relative_to(ENGINE)} {name}" for name in names}
    return result


def test_each_number_that_decides_something_is_known() -> None:
    assert found() == CROSSED.keys() | NOT_CROSSED | NO_BRANCH.keys()


@pytest.mark.parametrize("place", sorted(set(CROSSED.values())))
def test_the_test_that_crosses_it_is_there(place: str) -> None:
    file, _, name = place.partition("::")
    text = Path(file).read_text(encoding="utf-8")
    assert re.search(rf"^def {name}\(", text, re.MULTILINE)
