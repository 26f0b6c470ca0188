"""Executable models of transaction protocols, and clients on real databases; each run is a history.

`read_committed`: sessions with partition locks. `data_plane`: intents as rows. `fenced_delta`: writes pinned
to the version that was read. `recording`: what concurrent clients of real databases saw.
"""

from pkgutil import extend_path

# A folder of this name in a user's project, without an __init__.py, keeps its own modules importable.
__path__ = extend_path(__path__, __name__)
