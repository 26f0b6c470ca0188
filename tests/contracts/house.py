"""How the house stands: numbers that a change may lower, and raises only with a word in its commit.

`python -m tests.contracts.house` prints them beside the limits of `house.toml`.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES: tuple[str, ...] = tuple(
    tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["root_packages"]
)
LIMITS = Path(__file__).with_name("house.toml")
MOST_FILES = 20
"""Modules of a folder that one look takes in."""

SMALL = 70
"""Lines below which a module with one importer might stand in that one."""


@cache
def measured() -> Mapping[str, int]:
    """Returns the numbers by name."""
    texts = {
        path.relative_to(ROOT): path.read_text(encoding="utf-8")
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
    }
    trees = {path: ast.parse(text) for path, text in texts.items()}
    lines = sum(text.count("\n") for text in texts.values())
    folders = Counter(path.parent for path in texts if path.name != "__init__.py")
    return {
        "lines": lines,
        "lines without a comment, of 1000": 1000 - 1000 * _comments(texts) // lines,
        "folders above 20 modules": sum(count > MOST_FILES for count in folders.values()),
        "modules in the largest folder": max(folders.values()),
        "small modules with one importer": _with_one_importer(texts, trees),
        "class names defined twice in a package": _twice(trees),
    }


def _comments(texts: Mapping[Path, str]) -> int:
    return sum(line.lstrip().startswith("#") for text in texts.values() for line in text.splitlines())


def _with_one_importer(texts: Mapping[Path, str], trees: Mapping[Path, ast.Module]) -> int:
    """Counts the modules below SMALL lines that one other module imports, and no package as its face."""
    importers: dict[Path, set[Path]] = defaultdict(set)
    for path, tree in trees.items():
        for node in ast.walk(tree):
            match node:
                case ast.ImportFrom(module=str(module), names=names):
                    targets = {module, *(f"{module}.{alias.name}" for alias in names)}
                case ast.Import(names=names):
                    targets = {alias.name for alias in names}
                case _:
                    continue
            for target in targets:
                importers[Path(target.replace(".", "/") + ".py")].add(path)
    return sum(
        text.count("\n") < SMALL and len(importers[path] - {path}) == 1
        for path, text in texts.items()
        if path.name not in ("__init__.py", "__main__.py")
    )


def _twice(trees: Mapping[Path, ast.Module]) -> int:
    """Counts the names of classes, but for private ones, that two modules of a package define."""
    found: Counter[tuple[str, str]] = Counter()
    for path, tree in trees.items():
        names = {node.name for node in tree.body if isinstance(node, ast.ClassDef) and node.name[0] != "_"}
        found.update((path.parts[0], name) for name in names)
    return sum(count > 1 for count in found.values())


def limits() -> Mapping[str, int]:
    """Returns today's values, which no change exceeds without lifting them here."""
    found: dict[str, int] = tomllib.loads(LIMITS.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    for name, value in measured().items():
        sys.stdout.write(f"{name:45} {value:7,}   at most {limits()[name]:7,}\n")
