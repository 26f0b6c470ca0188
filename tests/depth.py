"""How many random cases the tests draw: one variable, `DVS_DEPTH`, for all of them.

`DVS_DEPTH=100 python -m pytest FILE` draws a hundred times as many. Below 1 fewer are drawn; then a test that
asks for a number of cases of some kind may not find them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

VARIABLE = "DVS_DEPTH"


def examples(count: int) -> int:
    """Returns how many random cases to draw where a run without the variable draws `count`; at least 1."""
    return max(1, round(count * depth()))


def some_of(cases: Sequence[str], count: int) -> list[ParameterSet]:
    """Returns the values of a parameter that is several cases: `count` of them, and nightly the others.

    Those of each run are spread over all cases, so that neighbours, which are often alike, stand for one
    another.
    """
    chosen = range(0, len(cases), math.ceil(len(cases) / count))
    others = [case for place, case in enumerate(cases) if place not in chosen]
    return [
        pytest.param([cases[place] for place in chosen], id="some"),
        pytest.param(others, id="the others", marks=pytest.mark.nightly),
    ]


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
