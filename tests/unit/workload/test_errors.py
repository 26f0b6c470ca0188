"""The first line of an error, as messages show it; each of the two rooms of data has its own function."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import dvs_model.errors
import workload.errors


@pytest.mark.parametrize("shown", [dvs_model.errors.first_line, workload.errors.first_line])
@pytest.mark.parametrize(
    ("message", "line"),
    [("one line", "one line"), ("first\nsecond", "first"), ("\n  \nlate", "late"), ("", "ValueError")],
)
def test_first_line(shown: Callable[[BaseException], str], message: str, line: str) -> None:
    assert shown(ValueError(message)) == line
