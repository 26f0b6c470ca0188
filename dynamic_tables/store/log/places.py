"""The path of a data file that a Delta log names."""

from __future__ import annotations

import re
from urllib.parse import unquote


def absolute(folder: str, path: str) -> str:
    """Returns the path of a file that the log of the table in `folder` names by a URI.

    It is relative to the table, except in a shallow clone, whose files lie in the folder of the original.
    Delta writes a path of this machine as `file:/path` there.
    """
    path = re.sub(r"^file:/+", "/", unquote(path))
    return path if path.startswith("/") or "://" in path else f"{folder}/{path}"
