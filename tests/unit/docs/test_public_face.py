"""`import dvs` says one thing in four places: to Python, to type checkers, to `import *`, and in `dir`."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import dvs
from dvs.packages import HOME, PACKAGES, ensure_packages, place_of


def typed_names() -> dict[str, set[str]]:
    """The names that the imports for type checkers give, by module."""
    source = ast.parse(Path(dvs.__file__).read_text(encoding="utf-8"))
    block = next(node for node in source.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {str(node.module): {alias.name for alias in node.names} for node in imports}


def test_the_lists_of_names_agree() -> None:
    assert {module: set(names) for module, names in dvs.MODULES.items()} == typed_names()
    assert sorted(name for names in dvs.MODULES.values() for name in names) == sorted(dvs.__all__)
    assert dir(dvs) == dvs.__all__


@pytest.mark.parametrize("name", dvs.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(dvs, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'dvs' has no attribute 'Adaptor'"):
        _ = dvs.Adaptor  # type: ignore[attr-defined]


def test_the_packages_are_the_ones_beside_the_face() -> None:
    ensure_packages()
    assert {place_of(name) for name in PACKAGES} == {HOME / name for name in PACKAGES}


def test_a_file_hides_a_package_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shrink.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "shrink", raising=False)
    with pytest.raises(ImportError, match=r"shrink\.py hides the package of the same name") as raised:
        ensure_packages()
    assert "\n" not in str(raised.value)
