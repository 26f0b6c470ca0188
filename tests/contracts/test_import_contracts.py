"""The import contracts are the architecture's two tables, and each of them bites.

The tables are written down here a second time, as a reader of the architecture would, and every cell is
tried on a copy of the packages: a file that imports what its folder may not must break that folder's
contract and no other.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).resolve().parents[2]
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONTRACTS = {each["id"]: each for each in CONFIG["tool"]["importlinter"]["contracts"]}
FOLDERS = tuple(CONFIG["tool"]["importlinter"]["root_packages"])

OURS = {
    "dvs_model": set(),
    "workload": set(),
    "generators": {"dvs_model", "workload"},
    "oracle": {"workload"},
    "dynamic_tables": set(),
    "protocols": {"dvs_model"},
    "reports": {"dvs_model", "workload"},
    "reference": {"dvs_model"},
    "campaign": {
        *("dvs_model", "workload", "generators", "oracle", "dynamic_tables", "protocols", "reports"),
        "reference",
    },
}
LIBRARIES = {
    "dvs_model": {"numpy", "scipy", "networkx", "pyarrow"},
    "workload": set(),
    "generators": {"hypothesis"},
    "oracle": {"duckdb", "pyarrow", "deltalake"},
    "dynamic_tables": {"pyspark", "delta", "sqlglot"},
    "protocols": {"networkx"},
    "reports": {"jinja2"},
    "reference": set(),
    "campaign": {"click", "rich"},
}
MORE_LIBRARIES = {
    "protocols/a_writer": {"pyspark", "deltalake", "psycopg"},
    "campaign/tiers": {"duckdb", "pyspark"},
    "campaign/adapters": {"pyspark", "psycopg"},
    "campaign/pytest_plugin": {"pytest", "hypothesis"},
}
EVERY_LIBRARY = {name for each in (*LIBRARIES.values(), *MORE_LIBRARIES.values()) for name in each}
NEVER = {"pandas", "py4j"}

BITES = {
    "dvs_model-ours": ("dvs_model", "workload"),
    "workload-ours": ("workload", "dvs_model"),
    "generators-ours": ("generators", "oracle"),
    "oracle-ours": ("oracle", "dynamic_tables"),
    "dynamic_tables-ours": ("dynamic_tables", "workload"),
    "protocols-ours": ("protocols", "campaign"),
    "reports-ours": ("reports", "campaign"),
    "reference-ours": ("reference", "campaign"),
    "reference-words": ("reference", "dvs_model.check"),
    "dvs_model-libraries": ("dvs_model", "pyspark"),
    "workload-libraries": ("workload", "pyarrow"),
    "generators-libraries": ("generators", "sqlglot"),
    "oracle-libraries": ("oracle", "sqlglot"),
    "dynamic_tables-libraries": ("dynamic_tables", "duckdb"),
    "protocols-libraries": ("protocols", "pyspark"),
    "reports-libraries": ("reports", "rich"),
    "reference-libraries": ("reference", "networkx"),
    "campaign-libraries": ("campaign/cli", "duckdb"),
}


@dataclass(frozen=True, slots=True)
class Lint:
    """What the linter says of a tree: ids of broken contracts, and every import that breaks one."""

    broken: set[str]
    imports: set[tuple[str, str]]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the packages and of the contracts."""
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def add(tree: Path, place: str, imports: set[str]) -> str:
    """Add a module with `imports` to the folder `place`, and return its name."""
    folder = tree / place
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "__init__.py").touch()
    (folder / "newcomer.py").write_text("".join(f"import {name}\n" for name in sorted(imports)))
    return f"{place.replace('/', '.')}.newcomer"


def lint(tree: Path) -> Lint:
    """Run the linter as `make check` does, but in `tree`."""
    outcome = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=tree,
        env={**os.environ, "COLUMNS": "400"},
        capture_output=True,
        text=True,
        check=False,
    )
    says = outcome.stdout
    ids = {contract["name"]: key for key, contract in CONTRACTS.items()}
    verdicts = dict(re.findall(r"^(.+) (KEPT|BROKEN)(?: \(.*\))?$", says, re.MULTILINE))
    assert verdicts.keys() == ids.keys(), says + outcome.stderr
    return Lint(
        broken={ids[name] for name, verdict in verdicts.items() if verdict == "BROKEN"},
        imports=set(re.findall(r"^-\s+(\S+) -> (\S+) \(l\.", says, re.MULTILINE)),
    )


def allowed(place: str) -> set[str]:
    """What the tables let a module in `place` import."""
    folder = place.split("/")[0]
    return OURS[folder] | LIBRARIES[folder] | MORE_LIBRARIES.get(place, set())


def test_the_tree_keeps_every_contract(tree: Path) -> None:
    assert lint(tree) == Lint(broken=set(), imports=set())


def test_every_contract_has_a_bite() -> None:
    assert BITES.keys() == CONTRACTS.keys()


@pytest.mark.parametrize("contract", CONTRACTS)
def test_the_contract_bites(tree: Path, contract: str) -> None:
    place, forbidden = BITES[contract]
    module = add(tree, place, {forbidden})
    assert lint(tree) == Lint(broken={contract}, imports={(module, forbidden)})


@pytest.mark.parametrize("place", [*FOLDERS, "campaign/cli", *MORE_LIBRARIES])
def test_a_folder_may_import_what_its_row_says_and_nothing_else(tree: Path, place: str) -> None:
    folder = place.split("/")[0]
    everything = {*FOLDERS, *EVERY_LIBRARY, *NEVER} - {folder}
    module = add(tree, place, everything)
    assert lint(tree).imports == {(module, name) for name in everything - allowed(place)}


def test_no_library_is_outside_the_tables() -> None:
    """A contract forbids by name, so a library nobody named would slip through all of them."""
    graph = grimp.build_graph(*FOLDERS, include_external_packages=True, cache_dir=None)
    outside = {name for name in graph.modules if name.split(".")[0] not in FOLDERS}
    assert outside - sys.stdlib_module_names <= EVERY_LIBRARY


def test_every_library_the_project_requires_is_in_the_tables() -> None:
    required = {re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in CONFIG["project"]["dependencies"]}
    modules: dict[str, set[str]] = {}
    for module, distributions in metadata.packages_distributions().items():
        for distribution in distributions:
            modules.setdefault(distribution.lower().replace("_", "-"), set()).add(module)
    assert [name for name in sorted(required) if not modules[name] & EVERY_LIBRARY] == []
