"""What can go wrong with dynamic tables, as exceptions a caller can act on."""


class DynamicTablesError(Exception):
    """Base of every error this package raises on purpose; the text is one line, fit for a user."""


class SessionError(DynamicTablesError):
    """No Spark session with Delta can be opened here.

    Causes: no Java 17 or 21; Delta's jars neither cached nor downloadable; a JVM that does not start;
    a Spark session that somebody else started without Delta. The text says which, what was found
    and what to do.
    """

    def __init__(self, fact: str, *, found: str, remedy: str) -> None:
        super().__init__(f"{fact} ({found}). {remedy}")
        self.fact = fact
        self.found = found
        self.remedy = remedy


class DefinitionError(DynamicTablesError):
    """A query, name or option that the account cannot accept.

    Causes: a syntax error, a table or column nobody defined, a function that is not in the registry or
    not deterministic, a cyclic definition, a name in use. Cure: the text names the object.
    """


class UnsupportedError(DynamicTablesError):
    """A query that is fine but that no differentiation rule covers.

    AUTO catches it and resolves to FULL; INCREMENTAL passes it on to the caller.
    """

    def __init__(self, operator: str, reason: str) -> None:
        super().__init__(f"unsupported: {operator}: {reason}")
        self.operator = operator
        self.reason = reason


class RefreshFailed(DynamicTablesError):
    """A refresh that committed nothing; the table keeps its contents and a later refresh may succeed."""

    def __init__(self, table: str, timestamp: int, reason: str) -> None:
        super().__init__(f"refresh of {table} at {timestamp} failed: {reason}")
        self.table = table
        self.timestamp = timestamp
        self.reason = reason


class ValidationFailed(RefreshFailed):
    """A refresh that the engine's validations refused (DVS paper, section 6.1); alert somebody."""


class CorruptTable(DynamicTablesError):
    """A folder that is no Delta table of this account, or one whose log or metadata cannot be read."""


class StoreError(DynamicTablesError):
    """A query or commit that failed where the tables live.

    Causes: an error in the data (overflow, division by zero), a conflict with another writer, a full or
    broken disk. A refresh turns it into RefreshFailed.
    """
