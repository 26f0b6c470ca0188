"""The error that engines raise; its subclasses are in the files that raise them."""

import re

LONGEST_ERROR = 500
"""Characters of an error of an engine that are shown."""

SQL_STATE = re.compile(r"SQLSTATE: ([0-9A-Z]{5})")


class EngineError(Exception):
    """Raised where an engine cannot be used as requested: it is unknown, not installed, or it refuses.

    The text is one line that names the engine, says what happened and what to do. The command line prints
    the line and exits with status 2.
    """


def shown(error: BaseException) -> str:
    """Returns an error of an engine in one line, whatever it is: an engine may also raise SystemExit.

    Of an error that Java raised, this is the innermost cause: what Py4J says of it names its own call only.
    Raises the error itself where it is KeyboardInterrupt, which is the user's.
    """
    if isinstance(error, KeyboardInterrupt):
        raise error
    name, text = _innermost(error)
    return f"{name}: {text.splitlines()[0] if text else ''}"[:LONGEST_ERROR]


def sql_state(error: BaseException) -> str:
    """Returns the SQLSTATE that an error of Spark names, such as 22012 for a division by zero; else ""."""
    found: list[str] = SQL_STATE.findall(_innermost(error)[1])
    return found[-1] if found else ""


def _innermost(error: BaseException) -> tuple[str, str]:
    """Returns name and text of the innermost cause, as Java has it where Java raised the error."""
    try:
        java = getattr(error, "java_exception", None)
        if java is None:
            return type(error).__name__, str(error)
        while java.getCause() is not None:
            java = java.getCause()
        return str(java.getClass().getSimpleName()), str(java.getMessage())
    except Exception:  # noqa: BLE001  # an engine's own error class may break, too
        return type(error).__name__, ""
