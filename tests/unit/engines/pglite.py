"""Whether PostgreSQL with pg_ivm can run here; tests that need it are skipped with the reason."""

from __future__ import annotations

import os

import pytest

from engines.others.node.packages import NodeMissing, needed


def missing() -> str:
    """Why it cannot, or an empty text."""
    try:
        needed(os.environ)
    except NodeMissing as error:
        return str(error)
    return ""


needs_pglite = pytest.mark.skipif(bool(missing()), reason=missing() or "PGlite is here")
