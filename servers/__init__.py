"""Processes beside ours: servers of Debian (`postgres`, `mariadb`), one like S3 (`s3`), any that talks JSON
lines (`child`)."""

from pkgutil import extend_path

# A folder of this name in a user's project, without an __init__.py, keeps its own modules importable.
__path__ = extend_path(__path__, __name__)
