"""The rooms of each package import one another without a circle, and so do all files.

A room is a folder, or a file that lies directly in the package. A folder and the folders inside it are
exempt from one another. An import under `if TYPE_CHECKING` counts like any other.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES: tuple[str, ...] = tuple(
    tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["root_packages"]
)


@cache
def names_in(file: Path) -> frozenset[str]:
    """The dotted names that a file imports."""
    return frozenset(imported_names(ast.parse(file.read_text())))


def imported_names(tree: ast.Module) -> Iterator[str]:
    """The dotted names that a module imports, wherever in it the import stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            # `from package import name`: the name may be a sub-folder or a module in it.
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imports_of(package: str) -> Mapping[str, set[str]]:
    """The imports of a package's rooms: dotted room -> dotted names that its files import."""
    imports: dict[str, set[str]] = {}
    for file in sorted((ROOT / package).rglob("*.py")):
        parts = file.with_suffix("").relative_to(ROOT).parts
        in_package = len(parts) == 2 and parts[1] != "__init__"
        room = ".".join(parts if in_package else parts[:-1])
        imports.setdefault(room, set()).update(names_in(file))
    return imports


def circles(imports: Mapping[str, set[str]]) -> list[set[str]]:
    """The groups of rooms that import one another in a circle, by (room -> imported names)."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for room, names in imports.items():
        for name in names:
            above = [other for other in imports if f"{name}.".startswith(f"{other}.")]
            target = max(above, key=len, default=room)
            one_in_the_other = f"{target}.".startswith(f"{room}.") or f"{room}.".startswith(f"{target}.")
            if not one_in_the_other:
                graph.add_edge(room, target)
    return [component for component in nx.strongly_connected_components(graph) if len(component) > 1]


def files() -> Mapping[str, set[str]]:
    """The imports of every file: dotted file -> dotted names that it imports; a folder is its `__init__`."""
    result: dict[str, set[str]] = {}
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            parts = file.with_suffix("").relative_to(ROOT).parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            result[name] = set(names_in(file))
    return result


def circles_of_files(imports: Mapping[str, set[str]]) -> list[set[str]]:
    """The groups of files that import one another in a circle."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for file, names in imports.items():
        for name in names:
            # `from file import name`, or `from folder import file`.
            target = name if name in imports else name.rpartition(".")[0]
            if target in imports and target != file:
                graph.add_edge(file, target)
    return [component for component in nx.strongly_connected_components(graph) if len(component) > 1]


def test_the_files_form_no_circle() -> None:
    assert circles_of_files(files()) == []


def test_a_circle_of_files_in_one_folder_is_seen() -> None:
    planted = {"p": set[str](), "p.a": {"p.b.name"}, "p.b": {"p.c"}, "p.c": {"p.a.other"}, "p.d": {"p.a.x"}}
    assert circles_of_files(planted) == [{"p.a", "p.b", "p.c"}]


@pytest.mark.parametrize("package", PACKAGES)
def test_the_rooms_of_a_package_form_no_circle(package: str) -> None:
    assert circles(imports_of(package)) == []


def test_a_planted_circle_is_seen() -> None:
    planted = {"p": set(), "p.a": {"p.b.one", "sys"}, "p.b": {"p.c.two.name"}, "p.c": {"p.a"}, "p.d": {"p.a"}}
    assert circles(planted) == [{"p.a", "p.b", "p.c"}]


def test_a_circle_through_a_sub_folder_is_seen() -> None:
    assert circles({"p.a.deep": {"p.b"}, "p.a": set(), "p.b": {"p.a.deep.one"}}) == [{"p.a.deep", "p.b"}]


def test_a_folder_and_the_folders_inside_it_may_import_one_another() -> None:
    assert circles({"p": {"p.a.one"}, "p.a": {"p.VERSION", "p.a.deep"}, "p.a.deep": {"p.a.one"}}) == []


def test_a_circle_through_a_file_of_the_package_is_seen() -> None:
    assert circles({"p": set(), "p.one": {"p.a.name"}, "p.a": {"p.one.other"}}) == [{"p.one", "p.a"}]


def test_imports_for_type_checking_and_inside_functions_count() -> None:
    text = "if TYPE_CHECKING:\n    import p.a\ndef f():\n    from p.b import one\nfrom p import c\n"
    assert set(imported_names(ast.parse(text))) == {"p.a", "p.b.one", "p.c"}


def test_every_package_is_looked_at() -> None:
    assert {"dvs_model", "workload", "generators", "oracle", "dynamic_tables", "reports"} <= set(PACKAGES)
    rooms = {"dynamic_tables.store", "dynamic_tables.refresh", "dynamic_tables.account"}
    assert rooms <= imports_of("dynamic_tables").keys()
