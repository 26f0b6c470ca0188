"""Only Delta's own refusal is a conflict, whatever a statement or its table is called."""

from __future__ import annotations

import pytest

from dynamic_tables.errors import StoreError, WriteConflict
from dynamic_tables.store.spark.spark_errors import store_errors


def error_of(name: str, message: str) -> Exception:
    """An error as PySpark and Delta raise it."""
    kind: type[Exception] = type(name, (Exception,), {"__module__": "pyspark.errors"})
    return kind(message)


@pytest.mark.parametrize(
    ("name", "message", "conflict"),
    [
        ("ConcurrentAppendException", "Files were added by a concurrent update.", True),
        ("DeltaConcurrentModificationException", "another one", True),
        ("MetadataChangedException", "The metadata has changed.", True),
        ("AnalysisException", "[DELTA_CONCURRENT_WRITE] A concurrent transaction has written.", True),
        ("AnalysisException", "[TABLE_OR_VIEW_NOT_FOUND] no table ConcurrentUsersException", False),
        ("ArithmeticException", "[DIVIDE_BY_ZERO] Division by zero.", False),
    ],
)
def test_a_conflict_is_known_by_the_error_itself(name: str, message: str, conflict: bool) -> None:
    with pytest.raises(StoreError) as raised, store_errors("INSERT INTO ConcurrentUsers VALUES (1)"):
        raise error_of(name, message)
    assert isinstance(raised.value, WriteConflict) is conflict
    assert str(raised.value).startswith("INSERT INTO ConcurrentUsers VALUES (1): ")
