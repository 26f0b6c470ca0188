"""Shrinking: searches for the smallest scenario that fails in the same way as a given one.

`shrink(scenario, lambda s: lane.judge(s).outcome is OutcomeClass.PRODUCT_FAILURE, attempts=600)`
"""

from pkgutil import extend_path

from shrink.measure import Size, size
from shrink.search import Shrunk, shrink

__all__ = ["Shrunk", "Size", "shrink", "size"]

# A folder of this name in a user's project, without an __init__.py, keeps its own modules importable.
__path__ = extend_path(__path__, __name__)
