"""Every name in the table of docs/semantics.md exists."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "semantics.md"
NAMES = sorted(set(re.findall(r"`([a-z_]+(?:\.[A-Za-z_]+)+)`", PAGE.read_text(encoding="utf-8"))))


@pytest.mark.parametrize("name", NAMES)
def test_the_name_exists(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    assert hasattr(importlib.import_module(module), attribute), name


def test_there_are_names() -> None:
    assert len(NAMES) > 20
