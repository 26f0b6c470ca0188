"""Names of columns that the engine uses itself are refused when a table is created."""

from __future__ import annotations

import pytest

from dynamic_tables.definition import BaseTable
from dynamic_tables.errors import DefinitionError
from dynamic_tables.plan.types import INT
from dynamic_tables.store.names.statements import check_statement, column_type


@pytest.mark.parametrize("name", ["$ROW_ID", "$anything", "_metadata", "_METADATA"])
def test_a_reserved_name_is_refused(name: str) -> None:
    with pytest.raises(DefinitionError, match="are reserved; take another name"):
        column_type(name, "INT")
    with pytest.raises(DefinitionError, match="are reserved; take another name"):
        check_statement(f"CREATE OR REPLACE TABLE r (`{name}` INT)", {"r": BaseTable("r", (("k", INT),))})


def test_a_dollar_inside_a_name_is_allowed() -> None:
    assert column_type("price$", "INT") == INT
