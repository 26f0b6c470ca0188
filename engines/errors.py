"""The error that engines raise; its subclasses are in the files that raise them."""

LONGEST = 500
"""Characters of an error of an engine that are shown."""


class EngineError(Exception):
    """Raised where an engine cannot be used as requested: it is unknown, not installed, or it refuses.

    The text is one line that names the engine, says what happened and what to do. The command line prints
    the line and exits with status 2.
    """


def shown(error: BaseException) -> str:
    """Returns an error of an engine in one line, whatever it is: an engine may also raise SystemExit.

    Raises the error itself where it is KeyboardInterrupt, which is the user's.
    """
    if isinstance(error, KeyboardInterrupt):
        raise error
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  # an engine's own error class may break, too
        text = ""
    return f"{type(error).__name__}: {text.splitlines()[0] if text else ''}"[:LONGEST]
