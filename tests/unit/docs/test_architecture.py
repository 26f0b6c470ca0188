"""Every file and folder that ARCHITECTURE.md names exists, and every top-level package is in its table."""

from __future__ import annotations

import re
from pathlib import Path

from dvs.packages import PACKAGES

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def test_every_path_exists() -> None:
    paths = set(re.findall(r"`([a-z_]+/[a-zA-Z_/.]+)`", PAGE))
    assert len(paths) > 40
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_every_room_is_in_the_tables() -> None:
    rooms = set(re.findall(r"`([a-z_]+)/`", PAGE))
    inside = {folder.name for folder in (ROOT / "campaign").iterdir() if (folder / "__init__.py").exists()}
    assert rooms == {*PACKAGES, *inside, "dvs", "protocols"}
