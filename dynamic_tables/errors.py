"""The errors of dynamic tables, as exceptions that a caller can act on."""

from dynamic_tables.moment import moment

NO_RULE = "no differentiation rule yet"


class DynamicTablesError(Exception):
    """Base of every error that this package raises on purpose; the text is one line for the user."""


class SessionError(DynamicTablesError):
    """No Spark session with Delta can be opened on this machine.

    Causes: no Java 17 or 21; Delta's jars neither cached nor downloadable; a JVM that does not start; a
    Spark session that other code started without Delta. The text names the cause (`fact`), what was seen
    (`observed`) and what to do (`remedy`).
    """

    def __init__(self, fact: str, *, observed: str, remedy: str) -> None:
        super().__init__(f"{fact} ({observed}). {remedy}")
        self.fact = fact
        self.observed = observed
        self.remedy = remedy


class DefinitionError(DynamicTablesError):
    """A query, statement, name or option that the account cannot accept; the text names the object.

    Causes: a syntax error, an unknown table or column, a function that is not in the registry or not
    deterministic, a cyclic definition, a name in use.
    """


class UntypedError(DefinitionError):
    """An expression whose type the engine does not know: Spark may know it, or refuse it."""


class UnsupportedError(DynamicTablesError):
    """A query that is right but that no differentiation rule covers.

    With refresh mode AUTO the table becomes FULL; with INCREMENTAL the caller gets the error.
    """

    def __init__(self, operator: str, reason: str = NO_RULE) -> None:
        super().__init__(f"unsupported: {operator}: {reason}")
        self.operator = operator
        self.reason = reason


class MissingPrivilege(DynamicTablesError):
    """The role that opened the account may not do this with a table; nothing was done."""

    def __init__(self, table: str, privilege: str, role: str) -> None:
        who = f"role {role}" if role else "an account that was opened without a role"
        super().__init__(
            f"{table}: {who} lacks the privilege {privilege}; "
            f'its owner grants it by `account.grant("{privilege}", "{table}", role)`'
        )
        self.table = table
        self.privilege = privilege
        self.role = role


class RefreshFailed(DynamicTablesError):
    """A refresh that committed nothing: the table keeps its contents, and a later refresh may succeed."""

    def __init__(self, table: str, timestamp: int, reason: str) -> None:
        super().__init__(f"refresh of {table} at {moment(timestamp)} failed: {reason}")
        self.table = table
        self.timestamp = timestamp
        self.reason = reason


class ValidationFailed(RefreshFailed):
    """A refresh that the engine's own validations refused (DVS paper, section 6.1).

    It shows a bug of the engine or contents that were changed from outside: alert an operator.
    """


class EngineMistake(RefreshFailed):
    """A refresh that a mistake in the engine's own code has ended: it would end the next one, too."""


class CorruptTable(DynamicTablesError):
    """A folder that is no Delta table of this account, or whose log or metadata cannot be read."""


class StoreError(DynamicTablesError):
    """A query or commit that failed where the tables live.

    Causes: an error in the data (overflow, division by zero), a conflict with another writer, a full or
    broken disk. A refresh raises it again as RefreshFailed.
    """


class KeyNotUnique(StoreError):
    """Two rows of a source have one primary key; the text names the key and the rows."""


class WriteConflict(StoreError):
    """A write that Delta refused because another writer had committed first; the store runs it again."""


class SlowCapture(UserWarning):
    """A base table without row ids: its changes are found by comparing whole versions. It is a warning."""


class TimesWithoutZone(UserWarning):
    """The times by which an attached table is partitioned have no zone; a session reads them in its own."""


class ObjectStore(UserWarning):
    """The account lies on an object store, where some of its methods are refused. It is a warning."""


class ChangeDoesNotFit(StoreError):
    """A change set with a DELETE of a row that is not stored, or an INSERT of one that is."""
