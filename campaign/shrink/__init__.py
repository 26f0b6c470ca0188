"""Shrinking: from a scenario that fails to the smallest one found that fails in the same way.

`shrink(scenario, lambda s: lane.judge(s).outcome is OutcomeClass.PRODUCT_FAILURE, attempts=600)`
"""

from campaign.shrink.measure import Size, size
from campaign.shrink.search import Shrunk, shrink

__all__ = ["Shrunk", "Size", "shrink", "size"]
