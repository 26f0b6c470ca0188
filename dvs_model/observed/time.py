"""When transactions began and ended, as an array."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dvs_model.observed.seen import Window

Windows = NDArray[np.float64]
"""By transaction its begin and its end; NaN: not known."""


def window_of(time: Windows, index: int) -> Window | None:
    """Returns when one transaction began and ended."""
    return None if np.isnan(time[index, 0]) else Window(float(time[index, 0]), float(time[index, 1]))
