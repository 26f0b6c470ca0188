"""A module that a comment or docstring names by its path exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
ROOMS = [path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()]
NAMED = re.compile(r"`((?:[a-z_]+\.)+[A-Za-z_]+)`")


def stale(file: Path) -> Iterator[str]:
    """Yields the names whose first parts are folders of ours, and whose rest is nowhere in them.

    A name may begin at the top, or in any folder around the file.
    """
    inside = file.relative_to(ROOT).parts[:-1]
    around = [ROOT.joinpath(*inside[:depth]) for depth in range(len(inside) + 1)]
    for name in NAMED.findall(file.read_text(encoding="utf-8")):
        parts = name.split(".")
        begins = [place for place in around if (place / parts[0] / "__init__.py").exists()]
        is_file = parts[-1] in ("py", "json", "toml")
        if begins and not is_file and not any(is_there(place, parts) for place in around):
            yield f"{file.relative_to(ROOT)}: {name}"


def is_there(package: Path, rest: list[str]) -> bool:
    """Tells whether some parts lead from a package to a module, or to a name in one."""
    first, *further = rest
    module, begin = package / f"{first}.py", package / "__init__.py"
    if not further and (module.exists() or (package / first).is_dir()):
        return True
    if module.exists() and further[0] in module.read_text(encoding="utf-8"):
        return True
    if further and (package / first).is_dir():
        return is_there(package / first, further)
    return not further and begin.exists() and first in begin.read_text(encoding="utf-8")


def test_every_module_that_is_named_exists() -> None:
    files = [file for room in ROOMS for file in (ROOT / room).rglob("*.py")]
    assert [name for file in files for name in stale(file)] == []


def test_a_name_that_moved_is_noticed(tmp_path: Path) -> None:
    file = ROOT / "dynamic_tables" / "plan" / "nodes.py"
    assert is_there(file.parent, ["nodes", "ROW_ID"])
    assert not is_there(file.parent, ["passed"])
    assert not is_there(file.parent, ["nodes", "NoSuchNode"])
