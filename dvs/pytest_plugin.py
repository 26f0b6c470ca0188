"""The pytest plugin: `--dvs-seed`, `--dvs-budget`, the marker `dvs` and the fixture `dvs_scenarios`.

pytest loads it in every run of the environment. It imports no other package of this distribution before a
test asks for the fixture, so that a project with, say, its own `campaign` folder imports that one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from dvs.packages import ensure_packages

if TYPE_CHECKING:
    from campaign.pytest_plugin.scenarios import Share
    from workload.scenario import Scenario

FIXTURE = "dvs_scenarios"

DEFAULT_BUDGET = "10s"

MARKER = (
    "dvs(engine=None, profile='quick', scenarios=None): selects the scenarios of the fixture dvs_scenarios. "
    "engine: an Adapter class, whose limits the scenarios respect; profile: the kind of scenarios; "
    "scenarios: their number, instead of a time budget. dvs(dbt='shop/', ...): the test fails where a model "
    "of the dbt project breaks its promises; the other arguments are those of dvs.testing.assert_dbt_models"
)

pytest.register_assert_rewrite("campaign.pytest_plugin.conformance")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the two options to pytest."""
    group = parser.getgroup("dvs", "delayed view semantics")
    group.addoption(
        "--dvs-seed",
        type=int,
        default=1,
        metavar="N",
        help="Decides which random scenarios run (default: 1).",
    )
    group.addoption(
        "--dvs-budget",
        default=DEFAULT_BUDGET,
        metavar="TIME",
        help="How long each test with random scenarios runs, such as 90s or 10m "
        f"(default: {DEFAULT_BUDGET}); the workers of pytest-xdist share that time.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker `dvs`."""
    config.addinivalue_line("markers", MARKER)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Turns a test with random scenarios into one test, with a share of them, for each worker of xdist."""
    if FIXTURE not in metafunc.fixturenames:
        return
    workers = int(getattr(metafunc.config, "workerinput", {}).get("workercount", 1))
    if workers > 1:
        _ensure_packages()
        from campaign.pytest_plugin.scenarios import Share

        shares = [Share(number, workers) for number in range(workers)]
        names = [f"share{share.number + 1}of{share.of}" for share in shares]
        metafunc.parametrize(FIXTURE, shares, indirect=True, ids=names)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Judges the dbt project that the marker names, before the body of its test."""
    marker = pyfuncitem.get_closest_marker("dvs")
    if marker is not None and "dbt" in marker.kwargs:
        _ensure_packages()
        from campaign.pytest_plugin.scenarios import judge_project

        judge_project(marker.kwargs, pyfuncitem.config.getoption("--dvs-seed"))


@pytest.fixture
def dvs_scenarios(request: pytest.FixtureRequest) -> Iterator[Scenario]:
    """Returns random scenarios until the time of `--dvs-budget` is up, or as the marker `dvs` says."""
    _ensure_packages()
    from campaign.pytest_plugin.scenarios import marked_scenarios

    share: Share | None = getattr(request, "param", None)
    marker = request.node.get_closest_marker("dvs")
    seed, budget = request.config.getoption("--dvs-seed"), request.config.getoption("--dvs-budget")
    return marked_scenarios({} if marker is None else marker.kwargs, share, seed, budget)


def _ensure_packages() -> None:
    """Raises pytest.UsageError, in one line, where a folder hides a package of this distribution."""
    try:
        ensure_packages()
    except ImportError as error:
        raise pytest.UsageError(str(error)) from error
