"""Functions of one's own in a session of Spark, where queries call them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dynamic_tables.errors import DefinitionError, StoreError
from dynamic_tables.own_functions import Loaded, takes_series
from dynamic_tables.store.spark.spark_errors import store_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class SessionFunctions:
    """The functions that the engine has registered in a session; `known`: the digest of each by name."""

    session: SparkSession
    known: dict[str, str] = field(default_factory=dict)

    def in_spark(self, name: str) -> bool:
        """Tells whether Spark has a function of a name."""
        with store_errors():
            return bool(self.session.catalog.functionExists(name))

    def use(self, found: Loaded) -> bool:
        """Registers a function as it was loaded; returns False if the session has it already.

        Raises DefinitionError: Spark refuses it.
        """
        function = found.function
        if self.known.get(function.name) == found.digest:
            return False
        try:
            with store_errors():
                if found.call is None:
                    self.session.sql(function.statement)
                else:
                    self._register(found)
        except StoreError as error:
            raise DefinitionError(f"Spark refuses function {function.name}: {error}") from error
        self.known[function.name] = found.digest
        return True

    def forget(self, name: str) -> None:
        """Drops a function, if the session has it."""
        if self.known.pop(name, None) is not None:
            with store_errors():
                self.session.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {name}")

    def _register(self, found: Loaded) -> None:
        """Registers a function in Python; one that takes Series of pandas gets many rows in one call."""
        from pyspark.sql.functions import udf
        from pyspark.sql.pandas.functions import pandas_udf

        assert found.call is not None
        # To Spark every function is deterministic; one that is not makes its tables FULL before.
        if takes_series(found.call):
            function = pandas_udf(found.call, found.function.returns)  # type: ignore[call-overload]
        else:
            function = udf(found.call, found.function.returns, useArrow=False)
        self.session.udf.register(found.function.name, function)
