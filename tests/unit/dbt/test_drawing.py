"""Trials do what their kind says, and keep what is promised of the sources."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from campaign.dbt.answers import ModelCell
from campaign.dbt.databases import keeps_checks
from campaign.dbt.drawing import NotPossible, draw, latenesses
from campaign.dbt.facts import ProjectFacts
from campaign.dbt.kinds import ChangeKind
from campaign.dbt.project import Project, Source, SourceColumn
from campaign.dbt.reading import Roles
from campaign.dbt.rows import DAY, NULL, Clock, Domains
from campaign.dbt.search import pairs_of, without_change
from campaign.dbt.smaller import keeps_references, shrink
from campaign.dbt.trials import Contents, Gone, Put, Row, Trial, Widened
from tests.unit.dbt.projects import BASE, CUSTOMERS, ORDERS, SHOP, drawing, model

LATE = 60

ON_ORDERS = [kind for kind in ChangeKind if kind is not ChangeKind.DIMENSION_CHANGED]


def drawn(kind: ChangeKind, seed: int) -> Trial:
    """A trial on the orders, or on the customers where they are the dimension."""
    if kind is ChangeKind.DIMENSION_CHANGED:
        return draw(drawing(seed, CUSTOMERS), kind, [], rounds=3, models=1, late=LATE)
    return draw(drawing(seed), kind, [CUSTOMERS], rounds=3, models=1, late=LATE)


def clock(row: Row) -> str:
    """The clock value of an order."""
    return row[ORDERS.names.index("updated_at")]


def first_round(trial: Trial) -> tuple[list[Row], list[Put]]:
    """The orders at the start, and what the first round writes."""
    start = [put.row for put in trial.start if put.source == ORDERS.id]
    return start, [change for change in trial.rounds[0].changes if isinstance(change, Put)]


@given(st.sampled_from(list(ChangeKind)), st.integers(0, 10_000))
def test_references_are_kept_and_keys_are_unique(kind: ChangeKind, seed: int) -> None:
    try:
        trial = drawn(kind, seed)
    except NotPossible:
        return
    assert keeps_references(SHOP, trial)
    contents = Contents()
    for changes in (trial.start, *(each.changes for each in trial.rounds)):
        for change in changes:
            contents.apply(change)
        if kind is not ChangeKind.APPENDED_TWICE:
            for rows in contents.rows.values():
                keys = [row[0] for row in rows.values() if row[0] != NULL]
                assert len(keys) == len(set(keys))


@given(st.integers(0, 10_000))
def test_appended_rows_are_newer_than_all_others(seed: int) -> None:
    start, puts = first_round(drawn(ChangeKind.APPENDED, seed))
    assert puts
    assert min(clock(put.row) for put in puts) > max(map(clock, start))


@given(st.integers(0, 10_000))
def test_late_rows_are_older_than_the_newest(seed: int) -> None:
    trial = drawn(ChangeKind.APPENDED_LATE, seed)
    start, puts = first_round(trial)
    assert trial.late
    assert max(clock(put.row) for put in puts) < max(map(clock, start))


@given(st.integers(0, 10_000))
def test_equal_clocks_are_equal_to_the_newest(seed: int) -> None:
    start, puts = first_round(drawn(ChangeKind.EQUAL_CLOCK, seed))
    assert {clock(put.row) for put in puts} == {max(map(clock, start))}


@given(st.integers(0, 10_000), st.sampled_from([ChangeKind.UPDATED, ChangeKind.UPDATED_WITHOUT_CLOCK]))
def test_updates_set_the_clock_or_leave_it(seed: int, kind: ChangeKind) -> None:
    trial = drawn(kind, seed)
    start = {put.number: put.row for put in trial.start}
    _, puts = first_round(trial)
    old, new = start[puts[0].number], puts[0].row
    assert old[0] == new[0]
    if kind is ChangeKind.UPDATED:
        assert clock(new) > max(clock(row) for row in start.values() if len(row) == len(new))
    else:
        assert clock(new) == clock(old)


TICKETS = Source(
    id="source.shop.raw.tickets",
    name="raw.tickets",
    relation='"shop"."main"."tickets"',
    columns=(
        SourceColumn("id", "INTEGER", True),
        SourceColumn("status", "VARCHAR", False),
        *(SourceColumn(f"n{number}", "INTEGER", False) for number in range(6)),
        SourceColumn("closed_at", "TIMESTAMP", False),
        SourceColumn("updated_at", "TIMESTAMP", False),
    ),
    keys=(("id",),),
    clock="updated_at",
)


def test_an_update_sets_no_further_clock() -> None:
    """Set too, the clock of a row's creation would hide that a model which filters by it misses updates."""
    source = replace(TICKETS, clocks=("closed_at",))
    project = replace(SHOP, sources={source.id: source})
    for seed in range(20):
        trial = draw(drawing(seed, source, project), ChangeKind.UPDATED, [], rounds=1, models=1, late=LATE)
        (put, *_) = (change for change in trial.rounds[0].changes if isinstance(change, Put))
        closed, updated = put.row[-2:]
        assert closed != updated


def share_that_leaves(column: str, value: str) -> int:
    """How many of a hundred trials update a row so that it holds a value of a column no longer."""
    project = Project(sources={TICKETS.id: TICKETS}, models={}, selected=(), ancestors={})
    place, left = TICKETS.names.index(column), 0
    for seed in range(100):
        made = drawing(seed, TICKETS, project, {column: [value]})
        trial = draw(made, ChangeKind.UPDATED, [], rounds=3, models=1, late=LATE)
        held = {put.number: put.row[place] for put in trial.start}
        puts = [change for each in trial.rounds for change in each.changes if isinstance(change, Put)]
        left += any(held[put.number] == value != put.row[place] for put in puts)
    return left


def test_updated_rows_leave_the_filters_of_models() -> None:
    """A model that reads rows by their clock keeps those that have left its filter: five trials show it."""
    assert share_that_leaves("status", "'open'") >= 45
    assert share_that_leaves("closed_at", NULL) >= 45


def test_some_rows_pass_three_conditions_at_once() -> None:
    """Independent of one another, the values of one row in twenty would."""
    project = Project(sources={TICKETS.id: TICKETS}, models={}, selected=(), ancestors={})
    asked = {"status": "'open'", "n1": "101", "closed_at": NULL}
    constants = {"status": ["'open'", "'new'"], "n1": ["100", "101", "99"], "closed_at": [NULL]}
    rows = [drawing(seed, TICKETS, project, constants).row(TICKETS, 0) for seed in range(400)]
    passing = [row for row in rows if all(row[TICKETS.names.index(n)] == v for n, v in asked.items())]
    assert len(passing) >= 25


def test_each_other_kind_does_what_it_says() -> None:
    _, puts = first_round(drawn(ChangeKind.NULL_KEY, 1))
    assert puts[0].row[0] == NULL
    _, puts = first_round(drawn(ChangeKind.NULL_CLOCK, 1))
    assert clock(puts[0].row) == NULL
    start, puts = first_round(drawn(ChangeKind.APPENDED_TWICE, 1))
    assert puts[0].row in start
    assert isinstance(drawn(ChangeKind.DELETED, 1).rounds[0].changes[0], Gone)
    assert isinstance(drawn(ChangeKind.SCHEMA_CHANGED, 1).rounds[0].changes[0], Widened)
    assert drawn(ChangeKind.FAILED_RUN, 1).rounds[0].stop_at is not None
    assert drawn(ChangeKind.TWO_RUNS, 1).rounds[0].beside


def test_the_same_seed_draws_the_same_trial() -> None:
    assert all(drawn(kind, 7) == drawn(kind, 7) for kind in ON_ORDERS)


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (ChangeKind.APPENDED_TWICE, "has a key that forbids it"),
        (ChangeKind.NULL_KEY, "has no key that may be NULL"),
        (ChangeKind.APPENDED_LATE, "has no clock column"),
        (ChangeKind.EQUAL_CLOCK, "has no clock column"),
    ],
)
def test_what_cannot_happen_says_why(kind: ChangeKind, why: str) -> None:
    with pytest.raises(NotPossible, match=re.escape(why)):
        draw(drawing(1, CUSTOMERS), kind, [], rounds=1, models=1, late=LATE)


@given(st.integers(0, 200))
def test_a_late_row_stays_late_when_its_trial_is_shrunk(seed: int) -> None:
    def without_a_late_row(trial: Trial) -> bool:
        """A model that never reads late rows: it differs while one is appended."""
        return any(each.changes for each in trial.rounds)

    small = shrink(SHOP, BASE, drawn(ChangeKind.APPENDED_LATE, seed), without_a_late_row).found
    start, puts = first_round(small)
    assert small.source_rows == 2
    assert clock(puts[0].row) < clock(start[0])


def test_shrinking_keeps_a_row_at_the_start() -> None:
    small = shrink(
        SHOP, BASE, drawn(ChangeKind.APPENDED, 3), lambda trial: bool(trial.rounds[0].changes)
    ).found
    assert [put.source for put in small.start] == [ORDERS.id]
    assert small.source_rows == 2


@pytest.mark.parametrize("kind", [ChangeKind.APPENDED, ChangeKind.UPDATED])
def test_rows_keep_the_checks_of_their_source(kind: ChangeKind) -> None:
    """Of several columns at once, too: a trial of a few rows, each as likely wrong as right, is refused."""
    checks = ("CHECK((amount > 0))", "CHECK((customer_id = amount OR customer_id < 0))", "no_such_function()")
    source = replace(ORDERS, checks=checks[:2], foreign=())
    project = replace(SHOP, sources={ORDERS.id: source})
    constants = {"amount": ("0", "1", "-1"), "customer_id": ("0", "1", "-1")}
    for seed in range(5):
        drawn = drawing(seed, source, project, constants)
        trial = draw(drawn, kind, (), rounds=2, models=1, late=0)
        changes = [change for each in trial.rounds for change in each.changes]
        for put in (each for each in (*trial.start, *changes) if isinstance(each, Put)):
            _, customer, amount, _ = put.row
            assert amount == NULL or float(amount) > 0
            assert NULL in (customer, amount) or float(customer) == float(amount) or float(customer) < 0
    # What the DuckDB of the harness does not know is left to the one that has the table.
    assert keeps_checks(checks[2:], [("a", "INTEGER")], ["1"])


def test_two_rows_may_have_null_in_their_key() -> None:
    trials = [drawn(ChangeKind.NULL_KEY, seed) for seed in range(60)]
    changes = [[c for each in trial.rounds for c in each.changes] for trial in trials]
    nulls = [sum(isinstance(c, Put) and c.row[0] == NULL for c in each) for each in changes]
    assert max(nulls) > 1


def test_a_row_with_null_in_its_key_is_read_again() -> None:
    assert min(len(drawn(ChangeKind.NULL_KEY, seed).rounds) for seed in range(60)) == 2
    alone = draw(drawing(1), ChangeKind.NULL_KEY, [CUSTOMERS], rounds=1, models=1, late=LATE)
    assert len(alone.rounds) == 1


def test_what_is_promised_is_tried_first() -> None:
    assert latenesses(Clock("TIMESTAMP", BASE), [0, 90, 4320])[:3] == [4320, 90, 1]
    assert latenesses(Clock("DATE", BASE), [90])[:2] == [DAY, 2 * DAY]


@given(st.integers(0, 10_000))
def test_keys_of_sources_that_do_not_change_are_no_cause(seed: int) -> None:
    """Where the dimension changes, a NULL or a second row in the key of the facts would be another cause."""
    made = drawing(seed, CUSTOMERS)
    made.keys = {CUSTOMERS.id: ("id",), ORDERS.id: ("id",)}
    made.merged = {ORDERS.id: frozenset({"id", "amount"})}
    try:
        trial = draw(made, ChangeKind.DIMENSION_CHANGED, [ORDERS], rounds=3, models=1, late=LATE)
    except NotPossible:
        return
    ids = [put.row[0] for put in trial.start if put.source == ORDERS.id]
    assert NULL not in {*ids, *(put.row[2] for put in trial.start if put.source == ORDERS.id)}
    assert len(ids) == len(set(ids)) > 0


@given(st.integers(0, 10_000), st.booleans())
def test_a_dimension_changes_below_rows_that_refer_to_it(seed: int, required: bool) -> None:
    """With the facts first, one that must refer to it could not be drawn, and others referred to nothing."""
    columns = tuple(replace(c, required=required or c.required) for c in ORDERS.columns)
    orders = replace(ORDERS, columns=columns)
    project = replace(SHOP, sources={**SHOP.sources, ORDERS.id: orders})
    made = drawing(seed, CUSTOMERS, project)
    # There may be no customer to delete that no order refers to.
    with suppress(NotPossible):
        trial = draw(made, ChangeKind.DIMENSION_CHANGED, [orders], rounds=3, models=1, late=LATE)
        references = [put.row[1] for put in trial.start if put.source == ORDERS.id]
        assert len(references) >= 2
        assert keeps_references(project, trial)
        assert not required or NULL not in references


def test_a_change_that_no_source_can_see_says_what_to_do() -> None:
    alone, joining = model("alone"), model("joining", CUSTOMERS.id)
    ids = (alone.id, joining.id)
    ancestors = {alone.id: frozenset[str](), joining.id: frozenset({CUSTOMERS.id})}
    project = replace(SHOP, models={alone.id: alone, joining.id: joining}, selected=ids, ancestors=ancestors)
    roles = Roles(dict.fromkeys(ids, frozenset()), ancestors)
    facts = ProjectFacts(project, roles, Domains(BASE, {}), {}, {}, {})
    kinds = (ChangeKind.APPENDED, ChangeKind.DIMENSION_CHANGED)
    answers = {id_: {kind: ModelCell() for kind in kinds} for id_ in ids}
    assert [pair.models for pair in pairs_of(facts, answers, kinds, {"memory": False})] == [(joining.id,)]
    assert "name its tables by source(..)" in answers[alone.id][ChangeKind.APPENDED].reason
    assert "--kind dimension_changed" in answers[joining.id][ChangeKind.APPENDED].reason


def test_rows_of_which_a_model_takes_the_latest_share_their_key() -> None:
    def repeated(*, repeats: bool) -> int:
        """In how many of fifty trials two orders have one key, which the source does not declare."""
        found = 0
        for seed in range(50):
            made = drawing(seed)
            made.repeats = repeats
            trial = draw(made, ChangeKind.APPENDED, [CUSTOMERS], rounds=3, models=1, late=LATE)
            start, puts = first_round(trial)
            ids = [row[0] for row in (*start, *(put.row for put in puts))]
            found += len(set(ids)) < len(ids)
        return found

    assert (repeated(repeats=False), repeated(repeats=True) >= 25) == (0, True)


def test_what_a_source_refers_to_comes_along() -> None:
    """A model over the orders alone does not read the customers, but an order must have one."""
    assert SHOP.with_referenced([ORDERS]) == [ORDERS, CUSTOMERS]


@given(
    st.sampled_from([ChangeKind.DELETED, ChangeKind.UPDATED, ChangeKind.SCHEMA_CHANGED]), st.integers(0, 99)
)
def test_a_trial_without_its_change_only_appends(kind: ChangeKind, seed: int) -> None:
    try:
        trial = drawn(kind, seed)
    except NotPossible:
        return
    plain = without_change(trial, SHOP)
    assert (plain.start, len(plain.rounds)) == (trial.start, len(trial.rounds))
    known = {(put.source, put.number) for put in trial.start}
    for change in (change for each in plain.rounds for change in each.changes):
        assert isinstance(change, Put)
        assert (change.source, change.number) not in known
        assert len(change.row) == len(SHOP.sources[change.source].names)
        known.add((change.source, change.number))
    assert [each.stop_at for each in plain.rounds] == [None] * len(plain.rounds)


def test_what_comes_between_two_runs_comes_between_two_runs_without_the_change_too() -> None:
    trial = drawn(ChangeKind.TWO_RUNS, 1)
    plain = without_change(trial, SHOP)
    between = [changes for each in trial.rounds for changes in (each.changes, each.beside)]
    assert [each.changes for each in plain.rounds] == between
