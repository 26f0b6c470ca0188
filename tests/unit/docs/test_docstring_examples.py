"""The examples in docstrings do what they show."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = ("dvs_model.notation", "dvs_model.checking.check", "generators.histories")
"""Modules whose public functions have examples."""


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.attempted
    assert not outcome.failed
