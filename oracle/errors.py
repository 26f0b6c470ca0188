"""The errors of the oracle. None of them says anything about the engine under test."""


class OracleError(Exception):
    """The oracle cannot compute what is right, so the case at hand has no verdict.

    Causes: a value that does not belong to its declared type, an SQL text that DuckDB refuses or types
    otherwise than Spark, a Delta table that cannot be read. The fault lies with the harness or with the
    files given to it, never with the engine under test; the message names the table or query to look at.
    """


class UnfitValue(OracleError):
    """A row or value does not belong to the declared columns.

    Where the row is an engine's, the engine is at fault: the caller knows whose rows it gave.
    """


class OracleQueryError(OracleError):
    """A query or statement fails on its data: an overflow, a division by zero, a cast, a date out of range.

    Cause: the scenario itself. There is no expected value, so there is nothing to compare.
    """


class OracleTimeout(OracleError):
    """A query ran longer than the caller's limit. What to do: raise the limit or shrink the scenario."""
