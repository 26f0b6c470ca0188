"""Empty databases of DuckDB, all in one instance: an instance costs as much as forty of them."""

from __future__ import annotations

from functools import cache
from itertools import count

import duckdb

numbers = count()
"""Numbers the databases of this process."""


class Database:
    """One empty database, and a connection whose settings are its own. `file`: where it lies."""

    def __init__(self, file: str = ":memory:") -> None:
        self.connection = _instance().cursor()
        self._name = f"database_{next(numbers)}"
        self._attach = f"ATTACH '{file}' AS {self._name}; USE {self._name}"
        self.connection.execute(self._attach)

    def reopen(self) -> None:
        """Closes the file and opens it again."""
        self.connection.execute(f"USE memory; DETACH {self._name}; {self._attach}")

    def close(self) -> None:
        """Drops the database with all that is in it."""
        try:
            self.connection.execute(f"USE memory; DETACH {self._name}")
        except duckdb.Error:
            # An error inside DuckDB ends the whole instance; the next database gets a new one.
            _instance.cache_clear()
        finally:
            self.connection.close()


@cache
def _instance() -> duckdb.DuckDBPyConnection:
    instance = duckdb.connect(config={"threads": 1})
    instance.execute("SET GLOBAL TimeZone = 'UTC'")
    return instance
