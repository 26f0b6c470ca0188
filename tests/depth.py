"""How many random cases the tests draw: one variable, `DVS_DEPTH`, for all of them.

`DVS_DEPTH=100 python -m pytest FILE` draws a hundred times as many. Below 1 fewer are drawn; then a test that
asks for a number of cases of some kind may not find them.
"""

from __future__ import annotations

import math
import os

import pytest

VARIABLE = "DVS_DEPTH"


def examples(count: int) -> int:
    """Returns how many random cases to draw where a run without the variable draws `count`; at least 1."""
    return max(1, round(count * depth()))


def depth() -> float:
    """Returns the factor that the variable asks for, 1 without it."""
    text = os.environ.get(VARIABLE, "1")
    try:
        factor = float(text)
    except ValueError:
        factor = math.nan
    if not 0 < factor < math.inf:
        raise pytest.UsageError(f"{VARIABLE} is {text!r}; write a positive number, as in {VARIABLE}=100")
    return factor
