"""The error that engines raise; its subclasses are in the files that raise them."""


class EngineError(Exception):
    """Raised where an engine cannot be used as requested: it is unknown, not installed, or it refuses.

    The text is one line that names the engine, says what happened and what to do. The command line prints
    the line and exits with status 2.
    """
