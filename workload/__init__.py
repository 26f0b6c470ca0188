"""What all packages share: types, schemas, queries, DML, scenarios, traces and results. Pure values."""

from pkgutil import extend_path

# A folder of this name in a user's project, without an __init__.py, keeps its own modules importable.
__path__ = extend_path(__path__, __name__)
