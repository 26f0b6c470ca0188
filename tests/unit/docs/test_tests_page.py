"""The page on the tests lists every file that may be skipped, and every folder."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "tests.md").read_text(encoding="utf-8")
SKIPS = re.compile("skip" r"(if)?\(reason|skip" r"if\(|pytest\.skip" r"\(|needs" "_pglite")


def test_every_file_that_may_be_skipped_is_on_the_page() -> None:
    files = {path: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    skipping = {str(path.relative_to(ROOT)) for path, text in files.items() if SKIPS.search(text)}
    assert skipping == set(re.findall(r"`(tests/\w+/\w+\.py)`", PAGE[PAGE.index("## What may be skipped") :]))


def test_every_folder_is_on_the_page() -> None:
    folders = {path.name for path in (ROOT / "tests").iterdir() if any(path.glob("**/test_*.py"))}
    assert set(re.findall(r"^\| `tests/(\w+)/`", PAGE, re.MULTILINE)) == folders
