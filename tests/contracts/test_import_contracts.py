"""The import contracts are the architecture's two tables, and each of them bites.

The tables are written down here a second time, as a reader of the architecture would, and every cell is
tried: a module that imports what its folder may not must break that folder's contract and no other. The
modules are added to the import graph of the real packages, which is read once.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from functools import cache
from importlib import metadata
from itertools import permutations
from pathlib import Path
from typing import Any

import grimp
import pytest
from importlinter.application.use_cases import read_user_options
from importlinter.configuration import configure
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.layers import LayersContract

ROOT = Path(__file__).resolve().parents[2]
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text())
LINTER = CONFIG["tool"]["importlinter"]
CONTRACTS = {each["id"]: each for each in LINTER["contracts"]}
FOLDERS = tuple(LINTER["root_packages"])

OURS: Mapping[str, set[str]] = {
    "dvs_model": set(),
    "workload": set(),
    "given": {"workload", "generators"},
    "generators": {"dvs_model", "workload"},
    "oracle": {"workload"},
    "dynamic_tables": set(),
    "protocols": {"dvs_model"},
    "reports": {"dvs_model", "workload"},
    "reference": {"dvs_model"},
    "shrink": {"workload"},
    "engines": {"workload", "dynamic_tables", "servers"},
    "servers": set(),
    "campaign": {*FOLDERS} - {"campaign", "dvs"},
    "dvs": {"campaign", "dvs_model", "engines", "generators", "workload"},
}
LIBRARIES: Mapping[str, set[str]] = {
    "dvs_model": {"numpy", "scipy", "pyarrow", "orjson", "yaml", "pysat"},
    "workload": set(),
    "given": {"sqlglot", "duckdb"},
    "generators": {"hypothesis"},
    "oracle": {"duckdb", "pyarrow", "deltalake"},
    "dynamic_tables": {"pyspark", "delta", "sqlglot", "pyarrow", "pyroaring"},
    "protocols": {"networkx"},
    "reports": {"jinja2", "sqlglot"},
    "reference": {"networkx"},
    "shrink": set(),
    "engines": {"duckdb", "pyarrow", "pyspark", "psycopg"},
    "servers": {"psycopg", "pymysql"},
    "dvs": {"pytest"},
    "campaign": {"click", "rich"},
}
MORE_LIBRARIES: Mapping[str, set[str]] = {
    "protocols.a_writer": {"pyspark", "deltalake", "psycopg"},
    "campaign.pytest_plugin": {"pytest", "hypothesis"},
    "campaign.verify.unbounded": {"z3"},
}
SINGLE_IMPORTS = (
    ("engines.newcomer", "generators.profiles", False),
    ("engines.spark.on_delta", "oracle.delta_reader", True),
    ("engines.newcomer", "oracle.delta_reader", False),
    ("engines.others.flink_cluster", "py4j", True),
    ("engines.spark.on_delta", "oracle.bag", False),
    ("reference.newcomer", "dvs_model.histories.history", True),
    ("reference.newcomer", "dvs_model.checking.check", False),
    ("protocols.recording.mariadb", "pymysql", True),
    ("protocols.recording.newcomer", "pymysql", False),
    ("campaign.runs.cluster", "pyspark", True),
    ("campaign.verify.story", "pyspark", True),
    ("campaign.runs.newcomer", "pyspark", False),
    ("campaign.verify.unbounded.solve", "z3", True),
    ("campaign.verify.newcomer", "z3", False),
)
"""(module, what it imports, whether it may): exceptions for single modules, and what is close to them."""

EVERY_LIBRARY = {name for each in (*LIBRARIES.values(), *MORE_LIBRARIES.values()) for name in each}
NEVER = {"pandas", "py4j"}

OF_USERS = frozenset({"dbt", "dbt_common"})
"""What a driver imports that runs in the user's Python."""

OF_ENGINES = {
    "turso": "engines.others.turso",
    "trickle": "engines.others.trickle",
    "lancedb": "engines.others.lancedb_views",
    "pathway": "engines.others.pathway.queries",
    "pysail": "engines.others.sail",
    "grpc_status": "engines.others.sail",
    "py4j": "engines.others.flink_cluster",
}
"""The library of each engine under test, and the one file that imports it."""

ROOMS = (
    {"errors", "exit_codes"},
    {"files", "machine"},
    {"judging"},
    {"faults"},
    {"lanes"},
    {"failures"},
    {"runs"},
    {"compare"},
    {"verify", "soak", "protocols", "audit", "histories", "dbt", "found"},
    {"mutants"},
    {"gate"},
    {"cli", "pytest_plugin"},
)
"""The rooms of `campaign`, each of which may import those before it and those beside it."""

BITES = {
    "dvs_model-ours": ("dvs_model", "workload"),
    "workload-ours": ("workload", "dvs_model"),
    "given-ours": ("given", "dynamic_tables"),
    "generators-ours": ("generators", "oracle"),
    "oracle-ours": ("oracle", "dynamic_tables"),
    "dynamic_tables-ours": ("dynamic_tables", "workload"),
    "protocols-ours": ("protocols", "campaign"),
    "reports-ours": ("reports", "campaign"),
    "reference-ours": ("reference", "campaign"),
    "shrink-ours": ("shrink", "oracle"),
    "dvs-ours": ("dvs", "oracle"),
    "dvs-users": ("workload", "dvs"),
    "dvs-libraries": ("dvs", "duckdb"),
    "engines-ours": ("engines", "campaign"),
    "servers-ours": ("servers", "workload"),
    "campaign-rooms": ("campaign.runs", "campaign.gate.baseline"),
    "reference-words": ("reference", "dvs_model.checking.check"),
    "dvs_model-libraries": ("dvs_model", "pyspark"),
    "workload-libraries": ("workload", "pyarrow"),
    "given-libraries": ("given", "pyspark"),
    "generators-libraries": ("generators", "sqlglot"),
    "oracle-libraries": ("oracle", "sqlglot"),
    "dynamic_tables-libraries": ("dynamic_tables", "duckdb"),
    "protocols-libraries": ("protocols", "pyspark"),
    "reports-libraries": ("reports", "rich"),
    "reference-libraries": ("reference", "numpy"),
    "shrink-libraries": ("shrink", "duckdb"),
    "engines-libraries": ("engines", "deltalake"),
    "servers-libraries": ("servers", "duckdb"),
    "campaign-libraries": ("campaign.cli", "duckdb"),
}


Imports = set[tuple[str, str]]
"""Pairs of a module and a module that it imports."""


@cache
def graph_of_packages() -> grimp.ImportGraph:
    """The imports of the packages as they are, those of libraries too."""
    return grimp.build_graph(*FOLDERS, include_external_packages=True, cache_dir=None)


def breaches(added: Iterable[tuple[str, str]]) -> Mapping[str, Imports]:
    """The imports that break each contract when some imports are added; contracts that hold have none."""
    graph = deepcopy(graph_of_packages())
    for importer, imported in added:
        graph.add_import(importer=importer, imported=imported, line_number=1, line_contents="added here")
    configure()
    options = read_user_options(str(ROOT / "pyproject.toml"))
    broken = {}
    for contract in options.contracts_options:
        kind = {"forbidden": ForbiddenContract, "layers": LayersContract}[contract["type"]]
        check = kind(contract["name"], options.session_options, contract).check(
            deepcopy(graph), verbose=False
        )
        broken[contract["id"]] = set(imports_in(check.metadata))
        assert check.kept == (not broken[contract["id"]])
    return broken


def imports_in(report: Any) -> Iterator[tuple[str, str]]:
    """The single imports in what the linter notes of a broken contract."""
    match report:
        case {"importer": importer, "imported": imported, "line_numbers": _}:
            yield importer, imported
        case dict():
            yield from imports_in(list(report.values()))
        case list() | tuple() | set():
            for part in report:
                yield from imports_in(part)


def allowed(place: str) -> set[str]:
    """What the tables let a module in a folder import."""
    folder = place.split(".")[0]
    return OURS[folder] | LIBRARIES[folder] | MORE_LIBRARIES.get(place, set())


def test_the_linter_finds_every_contract_kept() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert f"{len(CONTRACTS)} kept, 0 broken" in done.stdout


def test_every_contract_has_a_bite() -> None:
    assert BITES.keys() == CONTRACTS.keys()


@cache
def bitten() -> Mapping[str, Imports]:
    """The breaches when a new module for each contract breaks it."""
    return breaches((f"{place}.of_{contract}", forbidden) for contract, (place, forbidden) in BITES.items())


@pytest.mark.parametrize("contract", CONTRACTS)
def test_the_contract_bites_and_at_nothing_else(contract: str) -> None:
    place, forbidden = BITES[contract]
    assert bitten()[contract] == {(f"{place}.of_{contract}", forbidden)}


PLACES = (*FOLDERS, "campaign.cli", *MORE_LIBRARIES)


@cache
def filled() -> Imports:
    """The breaches of all contracts when a new module in each place imports every folder and library."""
    everything = {*FOLDERS, *EVERY_LIBRARY, *NEVER}
    added = [(f"{place}.newcomer", name) for place in PLACES for name in everything - {place.split(".")[0]}]
    return set().union(*breaches(added).values())


@pytest.mark.parametrize("place", PLACES)
def test_a_folder_may_import_what_its_row_says_and_nothing_else(place: str) -> None:
    forbidden = {*FOLDERS, *EVERY_LIBRARY, *NEVER} - {place.split(".")[0]} - allowed(place)
    module = f"{place}.newcomer"
    assert {each for each in filled() if each[0] == module} == {(module, name) for name in forbidden}


def test_exceptions_hold_for_the_modules_they_name_and_no_others() -> None:
    refused = set().union(*breaches((module, name) for module, name, _ in SINGLE_IMPORTS).values())
    assert refused == {(module, name) for module, name, may in SINGLE_IMPORTS if not may}


# ----------------------------------------------------------------------------------------------------
# The rooms of campaign


def test_every_module_of_campaign_is_in_a_room() -> None:
    rooms = {room.rpartition(".")[2] for room in graph_of_packages().find_children("campaign")}
    assert rooms == set().union(*ROOMS)


def test_a_room_may_import_the_rooms_below_it_and_beside_it_and_no_other() -> None:
    level = {room: number for number, rooms in enumerate(ROOMS) for room in rooms}
    added = {
        (f"campaign.{importer}.newcomer", f"campaign.{imported}")
        for importer, imported in permutations(level, 2)
    }
    upward = {
        (f"campaign.{importer}.newcomer", f"campaign.{imported}")
        for importer, imported in permutations(level, 2)
        if level[importer] < level[imported]
    }
    assert breaches(added)["campaign-rooms"] == upward


def test_a_breach_between_rooms_is_seen_through_a_module_outside_them() -> None:
    """As it happens: a name that two rooms need moves to a folder of neither, which imports the upper one."""
    detour = [("campaign.judging.newcomer", "campaign.shared"), ("campaign.shared", "campaign.gate")]
    assert breaches(detour)["campaign-rooms"] == set(detour)


# ----------------------------------------------------------------------------------------------------
# Libraries


def test_no_library_is_outside_the_tables() -> None:
    """A contract forbids by name, so a library nobody named would slip through all of them."""
    outside = {name for name in graph_of_packages().modules if name.split(".")[0] not in FOLDERS}
    of_users = {name for name in outside if name.split(".")[0] in OF_USERS}
    of_engines = {name for name in outside if name.split(".")[0] in OF_ENGINES}
    assert outside - of_users - of_engines - sys.stdlib_module_names <= EVERY_LIBRARY
    for name in of_engines:
        importing = graph_of_packages().find_modules_that_directly_import(name)
        assert importing == {OF_ENGINES[name.split(".")[0]]}
    importers = set().union(
        *(graph_of_packages().find_modules_that_directly_import(each) for each in of_users)
    )
    assert importers == {"campaign.dbt.driver"}


def test_every_library_the_project_requires_is_in_the_tables() -> None:
    required = {re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in CONFIG["project"]["dependencies"]}
    modules: dict[str, set[str]] = {}
    for module, distributions in metadata.packages_distributions().items():
        for distribution in distributions:
            modules.setdefault(distribution.lower().replace("_", "-"), set()).add(module)
    assert [name for name in sorted(required) if not modules[name] & EVERY_LIBRARY] == []
