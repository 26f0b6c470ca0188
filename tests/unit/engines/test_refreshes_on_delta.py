"""What the adapter of the built-in engine on Delta does around a refresh, without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from dynamic_tables.definition import DynamicTable
from dynamic_tables.errors import DefinitionError
from engines.adapter import RefreshFailed
from engines.spark.on_delta import OnDelta


def test_a_table_that_is_not_there_fails_its_refresh_beside_a_rival_too() -> None:
    def missing(*_: object, **__: object) -> DynamicTable:
        raise DefinitionError("no table or view named d1")

    account = SimpleNamespace(dynamic_table=missing, refresh=missing)
    adapter = cast(Any, object.__new__(OnDelta))
    adapter.account, adapter.clock = account, SimpleNamespace(now=lambda: 0)
    for timestamp in range(12):  # a rival comes beside a quarter of them
        with pytest.raises(RefreshFailed, match="no table or view named d1"):
            adapter.refresh_with_upstream("d1", timestamp, None)
