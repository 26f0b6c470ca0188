"""What runs the tests of engines: the command `dvs`, campaigns, judging, shrinking, faults, the gate."""

from pkgutil import extend_path

# A folder of this name in a user's project, without an __init__.py, keeps its own modules importable.
__path__ = extend_path(__path__, __name__)
