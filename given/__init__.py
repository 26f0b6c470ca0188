"""Definitions that somebody else wrote: SQL scripts, read into tables, promises, texts, values and goals."""

from __future__ import annotations

from pkgutil import extend_path

# A folder of this name in a user's project, without an __init__.py, keeps its own modules importable.
__path__ = extend_path(__path__, __name__)
