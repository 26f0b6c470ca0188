"""What can go wrong while the truth is computed."""


class OracleError(Exception):
    """The oracle cannot say what is true; no verdict may be drawn from the case at hand.

    Causes: a value that is not of its declared type, a rendering that DuckDB refuses or types otherwise
    than Spark, a Delta log that is incomplete. Cure: the message names the object; it is a fault of the
    harness (or of the files given to it), never of the engine under test.
    """


class OracleQueryError(OracleError):
    """A query or statement fails on its data: an overflow, a division by zero, a cast, a date out of range.

    Cause: the scenario. Cure: none in the oracle; the scenario expects no value, so none can be compared.
    """


class OracleTimeout(OracleError):
    """A query ran longer than the limit that the caller set. Cure: a higher limit, or a smaller scenario."""
