"""Every file and folder that the pages on the house name exists; every top-level package is in a table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dvs.packages import PACKAGES

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/decisions.md"])
def test_every_path_exists(page: str) -> None:
    paths = set(re.findall(r"`([a-z_]+/[a-zA-Z_/.]+)`", (ROOT / page).read_text(encoding="utf-8")))
    assert len(paths) > 20
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_every_room_is_in_the_tables() -> None:
    rooms = set(re.findall(r"`([a-z_]+)/`", PAGE))
    inside = {folder.name for folder in (ROOT / "campaign").iterdir() if (folder / "__init__.py").exists()}
    assert rooms == {*PACKAGES, *inside, "dvs", "protocols"}
