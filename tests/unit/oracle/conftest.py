"""One DuckDB for all tests: opening one takes longer than most of them."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from oracle.duck import open_duckdb


@pytest.fixture(scope="session")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection as the oracle uses it."""
    with open_duckdb() as connection:
        yield connection
