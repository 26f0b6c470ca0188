"""The definitions of phenomena executed word by word, to judge the detectors of `dvs_model`.

Shares with `dvs_model` only the classes of events; networkx provides the graph algorithms.
"""

from pkgutil import extend_path

# A folder of this name in a user's project, without an __init__.py, keeps its own modules importable.
__path__ = extend_path(__path__, __name__)
