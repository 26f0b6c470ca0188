"""Which failures are shrunk when there are more than the budget allows: no cause is lost behind another."""

from __future__ import annotations

import math

from campaign.failures.grouping import Cause, Signature
from campaign.failures.report import LISTED_OF_A_CLASS, Queue
from workload.outcomes.results import Check, Fingerprint, OutcomeClass


def cause(*operators: str, outcome: OutcomeClass = OutcomeClass.PRODUCT_FAILURE) -> Cause:
    check = Check.EQUALITY if outcome is OutcomeClass.PRODUCT_FAILURE else None
    return Cause.of(Fingerprint(outcome=outcome, check=check, operators=tuple(sorted(operators)), kind=None))


def like(index: int, shown: Cause, *, weight: int = 10, shrinkable: bool = True) -> Signature:
    return Signature(index=index, causes=(shown,), weight=weight, kind=repr(shown), shrinkable=shrinkable)


COMMON, RARE = cause("left join", "filter"), cause("distinct", "filter")
MANY = {index: like(index, COMMON) for index in range(30)}


def test_what_no_known_cause_explains_comes_first_however_large_it_is() -> None:
    queue = Queue({**MANY, 30: like(30, RARE, weight=9999)})
    picked = queue.picked(list(queue.signatures), 2, math.inf)
    assert next(picked) == 0
    queue.causes.append(cause("left join"))
    assert next(picked) == 30
    assert list(picked) == []


def test_among_the_explained_those_come_first_that_start_out_unlike_the_others() -> None:
    other = cause("left join", "filter", "union all")
    queue = Queue({**MANY, 30: like(30, other, weight=9999)}, causes=[cause("left join")])
    assert list(queue.picked(list(queue.signatures), 3, math.inf)) == [0, 30, 1]


def test_after_the_deadline_nothing_is_picked() -> None:
    assert list(Queue(MANY).picked(list(MANY), 5, 0.0)) == []


def test_what_is_left_is_kept_once_for_each_likeness_that_nothing_explains() -> None:
    queue = Queue({**MANY, 30: like(30, RARE)}, causes=[cause("left join")])
    assert queue.unexplained(list(queue.signatures)) == [30]
    assert Queue({**MANY, 30: like(30, RARE)}).unexplained([*MANY, 30]) == [0, 30]


def test_of_what_cannot_be_shrunk_some_of_each_class_are_kept() -> None:
    hung = cause(outcome=OutcomeClass.INFRASTRUCTURE_FAILURE)
    gap = cause(outcome=OutcomeClass.UNSUPPORTED)
    queue = Queue(
        {
            **{index: like(index, hung, shrinkable=False) for index in range(20)},
            20: like(20, gap, shrinkable=False),
        }
    )
    assert queue.unexplained(list(queue.signatures)) == [*range(LISTED_OF_A_CLASS), 20]


def test_a_cause_without_operators_hides_no_other_one() -> None:
    """A value that is wrong in a plain copy of a table is in every query; that explains no joins."""
    queue = Queue({**MANY, 30: like(30, cause())}, causes=[cause()])
    assert next(queue.picked(list(queue.signatures), 1, math.inf)) == 0
    assert queue.unexplained(list(queue.signatures)) == [0]
    assert queue.signatures[30].explained_by(queue.causes) == cause()
