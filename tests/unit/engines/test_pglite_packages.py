"""PGlite's packages: where they are kept, and what is said where they cannot be had."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from engines.others.node.packages import FILES, HERE, NodeMissing, PackageCache, fetch, needed

Tool = Callable[[str, str], None]


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """An environment with an empty cache and no tools."""
    (tmp_path / "bin").mkdir()
    return {"PATH": str(tmp_path / "bin"), "DVS_CACHE": str(tmp_path / "cache")}


@pytest.fixture
def tool(tmp_path: Path) -> Tool:
    """Puts a shell script on the PATH of `env`."""

    def put(name: str, script: str) -> None:
        path = tmp_path / "bin" / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    return put


def test_without_node_one_line_says_so(env: dict[str, str]) -> None:
    for call in (needed, fetch):
        with pytest.raises(
            NodeMissing, match=r"there is no node; install Node.js 20 or newer with npm"
        ) as caught:
            call(env)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("version", ["v18.19.0", "v8.1.0", "", "nonsense"])
def test_an_old_node_is_named(env: dict[str, str], tool: Tool, version: str) -> None:
    tool("node", f"echo {version}")
    with pytest.raises(NodeMissing, match=r"need Node\.js 20 or newer"):
        needed(env)


def test_without_the_packages_the_command_is_named(env: dict[str, str], tool: Tool) -> None:
    tool("node", "echo v20.20.2")
    with pytest.raises(NodeMissing, match=r"run `python -m engines.others.node --fetch`"):
        needed(env)
    with pytest.raises(NodeMissing, match="npm installs the packages, and there is none"):
        fetch(env)


def test_what_npm_says_is_passed_on_and_nothing_is_left(env: dict[str, str], tool: Tool) -> None:
    tool("node", "echo v20.20.2")
    tool("npm", "echo 'npm error code ENOTFOUND' >&2; exit 1")
    with pytest.raises(NodeMissing, match=r"npm cannot install the packages \(code ENOTFOUND\)"):
        fetch(env)
    assert list(Path(env["DVS_CACHE"]).iterdir()) == []


def test_packages_are_installed_once(env: dict[str, str], tool: Tool, tmp_path: Path) -> None:
    tool("node", "echo v22.1.0")
    tool("npm", f'echo "$@" >> {tmp_path}/calls; > installed')
    cache = fetch(env)
    assert fetch(env) == needed(env) == cache == PackageCache.of(env)
    assert (tmp_path / "calls").read_text().splitlines() == [
        "ci --legacy-peer-deps --ignore-scripts --no-audit --no-fund"
    ]
    assert {path.name for path in cache.folder.iterdir()} == {*FILES, "installed"}


def test_every_package_is_locked_with_its_hash() -> None:
    wanted = json.loads((HERE / "package.json").read_text())["dependencies"]
    locked = json.loads((HERE / "package-lock.json").read_text())["packages"]
    for name, version in wanted.items():
        package = locked[f"node_modules/{name}"]
        assert package["version"] == version
        assert package["integrity"].startswith("sha512-")
