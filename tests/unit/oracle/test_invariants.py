"""The seven invariants of change sets: each passes a right change set and bites on planted wrong ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from oracle.invariants import (
    CheckedRefresh,
    Circumstances,
    actions_are_unique,
    amplification,
    changes_lead_to,
    check_refresh,
    check_refused,
    contents_are,
    deletes_are_stored,
    frontier_is_exact,
    inserts_are_new,
    row_ids_are_fresh,
    row_ids_are_unique,
    state_is_fresh,
    unchanged_means_empty,
)
from tests.unit.oracle.words import changes, columns, rows, stored
from workload.outcomes.results import Check, DifferenceKind, Finding
from workload.outcomes.trace import Action, HiddenState, Refreshed, RefreshError, RefreshRefused

SALES = columns("city STRING, total DOUBLE")
REFRESH = CheckedRefresh("sales", 4, 20, SALES)
BEFORE = stored(SALES, "a: rome 1; b: oslo 2; c: NULL nan")
RIGHT = changes(SALES, "-a: rome 1; +a: rome 3; -c: NULL nan; +d: bonn 4")
AFTER = stored(SALES, "a: rome 3; b: oslo 2; d: bonn 4")


def messages(findings: Sequence[Finding], check: Check) -> list[str]:
    assert all(f.check is check and (f.table, f.step, f.timestamp) == ("sales", 4, 20) for f in findings)
    return [finding.message for finding in findings]


def test_a_right_change_set_breaks_nothing() -> None:
    assert actions_are_unique(REFRESH, RIGHT) == ()
    assert deletes_are_stored(REFRESH, RIGHT, BEFORE) == ()
    assert inserts_are_new(REFRESH, RIGHT, BEFORE) == ()
    assert changes_lead_to(REFRESH, RIGHT, BEFORE, AFTER) == ()
    assert unchanged_means_empty(REFRESH, RIGHT, sources_unchanged=False) == ()
    assert row_ids_are_unique(REFRESH, AFTER) == ()
    assert row_ids_are_fresh(REFRESH, AFTER, AFTER[::-1]) == ()


class TestInvariant1:
    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ("-a: rome 1; -a: rome 1", "DELETE of row id 'a' 2 times"),
            ("+d: bonn 4; +d: bonn 5; +d: bonn 6", "INSERT of row id 'd' 3 times"),
        ],
    )
    def test_an_action_comes_once_for_a_row_id(self, wrong: str, message: str) -> None:
        assert messages(actions_are_unique(REFRESH, changes(SALES, wrong)), Check.INVARIANT_1) == [message]

    def test_a_delete_and_an_insert_are_an_update(self) -> None:
        assert actions_are_unique(REFRESH, changes(SALES, "-a: rome 1; +a: rome 1")) == ()


class TestInvariant2:
    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ("-z: rome 1", "DELETE of row id 'z', which the table does not hold"),
            ("-a: rome 9", "DELETE of row id 'a' as ('rome', 9.0), which is stored otherwise"),
            ("-a: oslo 2", "DELETE of row id 'a' as ('oslo', 2.0), which is stored otherwise"),
        ],
    )
    def test_a_delete_names_a_stored_row(self, wrong: str, message: str) -> None:
        findings = deletes_are_stored(REFRESH, changes(SALES, wrong), BEFORE)
        assert messages(findings, Check.INVARIANT_2) == [message]

    def test_rows_are_compared_canonically(self) -> None:
        zero = stored(SALES, "a: rome 0.0")
        assert deletes_are_stored(REFRESH, changes(SALES, "-a: rome -0.0"), zero) == ()
        assert deletes_are_stored(REFRESH, changes(SALES, "-c: NULL nan"), BEFORE) == ()


class TestInvariant3:
    @pytest.mark.parametrize("wrong", ["+b: oslo 2", "+b: bonn 1", "-a: rome 1; +b: oslo 3"])
    def test_an_insert_names_a_free_row_id(self, wrong: str) -> None:
        problems = messages(inserts_are_new(REFRESH, changes(SALES, wrong), BEFORE), Check.INVARIANT_3)
        assert problems == ["INSERT of row id 'b', which the table holds and the change set does not delete"]

    def test_the_order_within_the_set_means_nothing(self) -> None:
        assert inserts_are_new(REFRESH, changes(SALES, "+a: rome 2; -a: rome 1"), BEFORE) == ()


class TestInvariant4:
    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ("-a: rome 1; +d: bonn 4; -c: NULL nan", "('rome', 3.0): the change set leads to 0 of it"),
            ("-a: rome 1; +a: rome 3; -c: NULL nan", "('bonn', 4.0): the change set leads to 0 of it"),
            (
                "-a: rome 1; +a: rome 3; -c: NULL nan; +d: bonn 4; +e: bonn 4",
                "('bonn', 4.0): the change set leads to 2 of it, the table holds 1",
            ),
            ("-a: rome 1; +a: rome 3; -c: NULL nan; +d: bonn 4; -z: paris 1", "leads to -1 of it"),
        ],
    )
    def test_the_change_set_leads_to_the_contents(self, wrong: str, message: str) -> None:
        findings = changes_lead_to(REFRESH, changes(SALES, wrong), BEFORE, AFTER)
        assert message in messages(findings, Check.EQUALITY)[0]
        assert findings[0].difference is None

    def test_the_contents_are_the_defining_query(self) -> None:
        assert contents_are(REFRESH, AFTER, SALES, rows(SALES, "bonn 4; oslo 2; rome 3")) == ()
        findings = contents_are(REFRESH, AFTER, SALES, rows(SALES, "bonn 5; oslo 2; rome 3"))
        assert messages(findings, Check.EQUALITY) == [
            "the contents are not the defining query at 20: wrong value, 3 rows expected, 3 found"
        ]
        difference = findings[0].difference
        assert difference is not None
        assert difference.missing == ((("bonn", 5.0), 1),)

    def test_another_schema_is_reported_before_the_rows(self) -> None:
        findings = contents_are(REFRESH, AFTER, columns("city STRING, total BIGINT"), ())
        assert findings[0].difference is not None
        assert findings[0].difference.kind is DifferenceKind.SCHEMA


class TestInvariant5:
    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ("a: rome 1; a: oslo 2", "row id 'a' on 2 rows"),
            ("a: rome 1; a: rome 1", "row id 'a' on 2 rows"),
            ("a: rome 1; -: oslo 2", "1 rows without a row id beside rows with one"),
        ],
    )
    def test_every_row_has_an_id_of_its_own(self, wrong: str, message: str) -> None:
        assert messages(row_ids_are_unique(REFRESH, stored(SALES, wrong)), Check.ROW_IDS) == [message]

    @pytest.mark.parametrize(
        "wrong",
        [
            pytest.param("z: rome 3; b: oslo 2; d: bonn 4", id="another id"),
            pytest.param("b: rome 3; a: oslo 2; d: bonn 4", id="two ids exchanged"),
            pytest.param("-: rome 3; b: oslo 2; d: bonn 4", id="no id"),
        ],
    )
    def test_ids_are_those_of_a_fresh_initialization(self, wrong: str) -> None:
        findings = row_ids_are_fresh(REFRESH, stored(SALES, wrong), AFTER)
        assert "('rome', 3.0) lacks row id 'a'" in messages(findings, Check.ROW_IDS)[0]
        difference = findings[0].difference
        assert difference is not None
        assert difference.kind is DifferenceKind.WRONG_ID
        assert (("a", "rome", 3.0), 1) in difference.missing

    def test_duplicates_share_their_ids_among_them(self) -> None:
        fresh = stored(SALES, "1: rome 3; 2: rome 3")
        assert row_ids_are_fresh(REFRESH, stored(SALES, "2: rome 3; 1: rome 3"), fresh) == ()
        assert row_ids_are_fresh(REFRESH, stored(SALES, "2: rome 3; 3: rome 3"), fresh) != ()

    def test_wrong_contents_are_not_reported_as_wrong_ids(self) -> None:
        assert (
            row_ids_are_fresh(REFRESH, stored(SALES, "a: rome 9; b: oslo 2; e: bonn 4; f: bonn 4"), AFTER)
            == ()
        )

    def test_tables_without_ids_are_exempt(self) -> None:
        without = stored(SALES, "-: rome 3; -: rome 3")
        assert row_ids_are_unique(REFRESH, without) == ()
        assert row_ids_are_fresh(REFRESH, without, without) == ()
        assert row_ids_are_unique(REFRESH, ()) == ()


class TestInvariant6:
    def test_unchanged_sources_give_an_empty_set(self) -> None:
        assert unchanged_means_empty(REFRESH, (), sources_unchanged=True) == ()
        findings = unchanged_means_empty(REFRESH, RIGHT, sources_unchanged=True)
        assert messages(findings, Check.INVARIANT_6) == ["4 changes, though no source has changed"]

    def test_a_row_deleted_and_inserted_alike_is_amplification_and_no_empty_set(self) -> None:
        amplified = changes(SALES, "-a: rome 1; +a: rome 1; +c: NULL nan; -c: NULL nan")
        (finding,) = unchanged_means_empty(REFRESH, amplified, sources_unchanged=True)
        assert finding.check is Check.INVARIANT_6
        assert amplification(REFRESH, amplified) == 2

    def test_a_row_that_moves_to_another_id_is_a_change_and_amplification(self) -> None:
        moved = changes(SALES, "-a: rome 1; +z: rome 1")
        assert amplification(REFRESH, moved) == 1
        assert unchanged_means_empty(REFRESH, moved, sources_unchanged=True) != ()


class TestInvariant7:
    EXPECTED = {"orders": 15, "big": 20}  # noqa: RUF012

    @pytest.mark.parametrize("previous", [None, 10, 20])
    def test_a_right_frontier(self, previous: int | None) -> None:
        assert frontier_is_exact(REFRESH, {"big": 20, "orders": 15}, previous, self.EXPECTED) == ()

    @pytest.mark.parametrize(
        ("read_as_of", "message"),
        [
            ({"orders": 10, "big": 20}, "orders is read as of 10, not of 15"),
            ({"orders": 21, "big": 20}, "orders is read as of 21, after the data timestamp 20"),
            ({"orders": 15, "big": 18}, "big is read as of 18, not of 20"),
            ({"orders": 15}, "the frontier does not name big"),
            ({**EXPECTED, "cities": 3}, "the frontier names cities, which the definition does not read"),
        ],
    )
    def test_every_source_is_read_exactly_as_of_the_timestamp(
        self, read_as_of: dict[str, int], message: str
    ) -> None:
        assert messages(frontier_is_exact(REFRESH, read_as_of, 10, self.EXPECTED), Check.FRONTIER) == [
            message
        ]

    def test_the_data_timestamp_does_not_go_back(self) -> None:
        findings = frontier_is_exact(REFRESH, self.EXPECTED, 21, self.EXPECTED)
        assert messages(findings, Check.FRONTIER) == ["the data timestamp goes back from 21 to 20"]


REFRESHED = Refreshed(
    step=4,
    table="sales",
    version=2,
    timestamp=20,
    action=Action.INCREMENTAL,
    effective_action=Action.INCREMENTAL,
    reason="",
    versions={"orders": 3},
    source_timestamps={"orders": 15},
    columns=SALES,
    contents=AFTER,
    change_set=RIGHT,
    fresh=AFTER,
)
KNOWN = Circumstances(
    before=BEFORE,
    previous=10,
    sources_unchanged=False,
    expected_sources={"orders": 15},
    expected_columns=SALES,
    expected_rows=rows(SALES, "rome 3; oslo 2; bonn 4"),
)


def failed_checks(refreshed: Refreshed, known: Circumstances = KNOWN) -> set[Check]:
    return {finding.check for finding in check_refresh(refreshed, known).findings}


def test_a_right_refresh_passes_every_check() -> None:
    results = check_refresh(REFRESHED, KNOWN)
    assert (results.findings, results.checks, results.changes, results.amplification) == ((), 9, 4, 0)


class TestHiddenState:
    STATE = HiddenState(
        ("n", "ties"),
        frozenset({"ties"}),
        {"a": (2, None), "b": (1, 3)},
        {"a": (2, 1), "b": (1, 3), "c": (1, 1)},
    )

    def test_a_value_that_is_not_known_and_a_row_of_one_side_only_break_nothing(self) -> None:
        assert state_is_fresh(REFRESH, self.STATE) == ()

    def test_a_value_that_differs_is_found_and_so_is_an_unknown_one_that_must_be_known(self) -> None:
        wrong = replace(self.STATE, stored={"a": (None, None), "b": (1, 4)})
        assert messages(state_is_fresh(REFRESH, wrong), Check.STATE) == [
            "n of row id 'a' is None; computed anew it is 2; ties of row id 'b' is 4; computed anew it is 3"
        ]


def test_each_check_is_part_of_judging_a_refresh() -> None:
    def with_changes(text: str) -> Refreshed:
        return replace(REFRESHED, change_set=(*RIGHT, *changes(SALES, text)))

    assert Check.INVARIANT_1 in failed_checks(with_changes("+d: bonn 4"))
    assert Check.INVARIANT_2 in failed_checks(with_changes("-z: bonn 4"))
    assert Check.INVARIANT_3 in failed_checks(with_changes("+b: bonn 4"))
    assert failed_checks(replace(REFRESHED, change_set=RIGHT[:-1])) == {Check.EQUALITY}
    assert failed_checks(REFRESHED, replace(KNOWN, expected_rows=())) == {Check.EQUALITY}
    assert failed_checks(replace(REFRESHED, fresh=stored(SALES, "x: rome 3; b: oslo 2; d: bonn 4"))) == {
        Check.ROW_IDS
    }
    assert Check.ROW_IDS in failed_checks(replace(REFRESHED, contents=(*AFTER, AFTER[0])))
    assert failed_checks(REFRESHED, replace(KNOWN, sources_unchanged=True)) == {Check.INVARIANT_6}
    assert failed_checks(replace(REFRESHED, source_timestamps={"orders": 10})) == {Check.FRONTIER}
    assert failed_checks(REFRESHED, replace(KNOWN, previous=30)) == {Check.FRONTIER}
    state = HiddenState(("n",), frozenset(), {"a": (1,)}, {"a": (2,)})
    assert failed_checks(replace(REFRESHED, state=state)) == {Check.STATE}


def test_a_full_refresh_has_no_change_set_to_judge() -> None:
    full = replace(
        REFRESHED, change_set=None, fresh=None, contents=stored(SALES, "-: rome 3; -: oslo 2; -: bonn 4")
    )
    results = check_refresh(full, KNOWN)
    assert (results.findings, results.checks) == ((), 3)


def test_the_change_set_of_a_refused_refresh_is_judged_too() -> None:
    refused = RefreshRefused(4, "sales", 20, RefreshError.VALIDATION, "", changes(SALES, "-z: rome 1"))
    results = check_refused(refused, KNOWN)
    assert [finding.check for finding in results.findings] == [Check.INVARIANT_2]
    assert check_refused(replace(refused, change_set=None), KNOWN).checks == 0


def test_a_message_lists_three_examples_and_counts_the_rest() -> None:
    many = changes(SALES, ";".join(f"-z{i}: rome 1" for i in range(5)))
    assert deletes_are_stored(REFRESH, many, BEFORE)[0].message.endswith("; and 2 more")
