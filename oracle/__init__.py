"""The expected results: delayed views evaluated on DuckDB, bag comparison, and a reader of Delta tables.

Nothing here is shared with the engine under test, so that one mistake cannot hide in both.
"""

from pkgutil import extend_path

# A folder of this name in a user's project, without an __init__.py, keeps its own modules importable.
__path__ = extend_path(__path__, __name__)
