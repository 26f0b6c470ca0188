"""The validations that run without a query say what the plan says."""

from __future__ import annotations

from dynamic_tables.plan.nodes import DELETE, INSERT
from dynamic_tables.refresh.validate import validated_here


def test_sizes_and_duplicates() -> None:
    rows = [(INSERT, "a"), (INSERT, "b"), (DELETE, "b"), (INSERT, "a")]
    validated = validated_here(rows)
    assert (validated.inserted, validated.deleted) == (3, 1)
    (violation,) = validated.violations
    assert violation == (
        "1 pairs of $ROW_ID and $ACTION occur more than once in the change set (for example a)"
    )


def test_an_empty_change_set_has_no_size_and_violates_nothing() -> None:
    validated = validated_here([])
    assert (validated.inserted, validated.deleted, validated.violations) == (0, 0, ())
