"""Shrinking: from a scenario that fails to the smallest one found that fails in the same way.

>>> from campaign.shrink import shrink
>>> small = shrink(scenario, lambda s: lane.judge(s).outcome is before.outcome, attempts=600)  # doctest: +SKIP
"""

from campaign.shrink.measure import Size, size
from campaign.shrink.search import Shrunk, shrink

__all__ = ["Shrunk", "Size", "shrink", "size"]
