"""Grouping as a function of values: which failures count as one cause."""

from __future__ import annotations

from dataclasses import replace

import pytest

from campaign.failures.fingerprint import masked
from campaign.failures.grouping import Cause, Signature, groups_of
from tests.unit.workload.shop import SHOP
from workload.outcomes.results import (
    Check,
    DifferenceKind,
    Failure,
    FailureGroup,
    Finding,
    Fingerprint,
    Outcome,
    OutcomeClass,
)

WRONG, MISSING = DifferenceKind.WRONG_VALUE, DifferenceKind.MISSING


def of_operators(
    *operators: str, check: Check = Check.EQUALITY, kind: DifferenceKind | None = WRONG
) -> Fingerprint:
    return Fingerprint(
        outcome=OutcomeClass.PRODUCT_FAILURE, check=check, operators=tuple(sorted(operators)), kind=kind
    )


def failure(index: int, fingerprint: Fingerprint, *, minimal: bool = True, ignored: str = "") -> Failure:
    return Failure(
        index=index,
        scenario=SHOP,
        shrunk=SHOP,
        outcome=Outcome(scenario=SHOP.name, outcome=fingerprint.outcome),
        folder="",
        fingerprint=fingerprint,
        minimal=minimal,
        ignored=ignored,
    )


def sets(groups: tuple[FailureGroup, ...]) -> list[tuple[int, ...]]:
    return [group.indices for group in groups]


def test_one_cause_shows_in_several_checks_and_kinds_of_one_family() -> None:
    groups = groups_of(
        [
            failure(1, of_operators("left join")),
            failure(2, of_operators("left join", kind=MISSING)),
            failure(3, of_operators("left join", check=Check.VALIDATION, kind=None)),
        ]
    )
    assert sets(groups) == [(1, 2, 3)]
    assert len(groups[0].others) == 2


def test_other_operators_another_number_of_them_or_another_family_is_another_cause() -> None:
    prints = [
        of_operators("left join"),
        of_operators("left join", "left join"),
        of_operators("inner join"),
        of_operators("left join", check=Check.FRONTIER),
        of_operators(),
    ]
    assert len(groups_of([failure(i, fingerprint) for i, fingerprint in enumerate(prints)])) == len(prints)


def test_a_cross_join_is_an_inner_join() -> None:
    assert (
        len(groups_of([failure(1, of_operators("cross join")), failure(2, of_operators("inner join"))])) == 1
    )


def test_an_aggregate_function_more_is_no_other_cause_if_all_else_is_alike() -> None:
    plain, with_sum = of_operators("grouped aggregation"), of_operators("grouped aggregation", "SUM")
    assert len(groups_of([failure(1, plain), failure(2, with_sum)])) == 1
    other_kind = of_operators("grouped aggregation", "SUM", kind=MISSING)
    assert len(groups_of([failure(1, plain), failure(2, other_kind)])) == 2
    assert len(groups_of([failure(1, with_sum), failure(2, of_operators("grouped aggregation", "AVG"))])) == 2


def test_a_failure_not_shrunk_to_the_end_goes_to_the_cause_that_explains_most_of_it() -> None:
    large = of_operators("left join", "filter", "distinct", "grouped aggregation")
    causes = [
        failure(1, of_operators("left join")),
        failure(2, of_operators("left join", "grouped aggregation")),
        failure(3, of_operators("union all")),
    ]
    assert sets(groups_of([*causes, failure(4, large, minimal=False)])) == [(2, 4), (1,), (3,)]
    alone = groups_of([failure(3, of_operators("union all")), failure(4, large, minimal=False)])
    assert sets(alone) == [(3,), (4,)]


def test_the_representative_is_minimal_and_an_ignored_group_is_ignored_as_a_whole() -> None:
    minimal = failure(7, of_operators("left join"), ignored="bugs/7")
    other = failure(2, of_operators("left join", "filter"), minimal=False, ignored="bugs/7")
    (group,) = groups_of([other, minimal])
    assert (group.representative, group.ignored) == (7, "bugs/7")
    (mixed,) = groups_of([minimal, failure(8, of_operators("left join", kind=MISSING))])
    assert mixed.ignored == ""


def test_unshrunk_failures_are_counted_where_they_are_explained() -> None:
    cause = Cause.of(of_operators("left join", "filter"))
    (group,) = groups_of(
        [failure(1, of_operators("left join"))],
        [Signature(index=5, causes=(cause,), weight=10, kind="", shrinkable=True)],
    )
    assert (group.indices, group.unshrunk) == ((1, 5), (5,))


def error(message: str, *operators: str) -> Fingerprint:
    return replace(of_operators(*operators, check=Check.REFRESH_ERROR, kind=None), message=message)


def test_one_error_is_one_cause_in_queries_of_any_shape() -> None:
    nulls = "wrong varnullingrels {#} for Var #/#"
    groups = groups_of(
        [
            failure(1, error(nulls, "left join")),
            failure(2, error(nulls, "full join", "grouped aggregation")),
            failure(3, error("out of memory", "left join")),
        ]
    )
    assert sets(groups) == [(1, 2), (3,)]
    assert groups[0].fingerprint.text == f"product_failure: refresh error: {nulls}"


def test_an_unshrunk_error_joins_the_group_of_its_message() -> None:
    def failed(index: int, table: str) -> Signature:
        finding = Finding(
            check=Check.REFRESH_ERROR,
            table=table,
            step=4,
            timestamp=40,
            message=f"no column 'x{index}' in {table}",
        )
        outcome = Outcome(scenario="s", outcome=OutcomeClass.PRODUCT_FAILURE, findings=(finding,))
        return Signature.of(index, SHOP, outcome)

    known = failure(1, error("no column _ in _", "left join"))
    name = SHOP.definitions[-1].name
    assert sets(groups_of([known], [failed(12, name), failed(345, name)])) == [(1, 12, 345)]


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("\nERROR: syntax error at 0x1F", "ERROR: syntax error at #"),
        ("can't add column 'x7', won't add it", "can't add column _, won't add it"),
        ("cannot cast \"INT\" to 'DATE' in sales", "cannot cast \"INT\" to 'DATE' in _"),
        ("unsupported 'lateral join' of r0", "unsupported 'lateral join' of #"),
    ],
)
def test_names_and_numbers_of_a_message_are_masked_and_plain_words_are_not(message: str, shown: str) -> None:
    assert masked(message, {"sales"}) == shown
