"""The pytest plugin: `--dvs-seed`, `--dvs-budget`, the marker `dvs` and the fixture `dvs_scenarios`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from campaign.pytest_plugin.shares import Share
    from workload.scenario import Scenario

FIXTURE = "dvs_scenarios"

DEFAULT_BUDGET = "10s"

MARKER = (
    "dvs(engine=None, profile='quick', scenarios=None): which scenarios the fixture dvs_scenarios yields: "
    "within the limits of an engine (an Adapter class), of a profile, and how many instead of a time budget"
)

pytest.register_assert_rewrite("campaign.pytest_plugin.conformance")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The two options."""
    group = parser.getgroup("dvs", "delayed view semantics")
    group.addoption("--dvs-seed", type=int, default=1, metavar="N", help="Which scenarios there are (1).")
    group.addoption(
        "--dvs-budget",
        default=DEFAULT_BUDGET,
        metavar="TIME",
        help=f"How long each test with random scenarios runs, such as 90s or 10m ({DEFAULT_BUDGET}); "
        "pytest-xdist's workers share it.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """The marker."""
    config.addinivalue_line("markers", MARKER)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """With pytest-xdist, a test with random scenarios becomes one test for each worker."""
    if FIXTURE not in metafunc.fixturenames:
        return
    workers = int(getattr(metafunc.config, "workerinput", {}).get("workercount", 1))
    if workers > 1:
        from campaign.pytest_plugin.shares import Share

        shares = [Share(number, workers) for number in range(workers)]
        names = [f"share{share.number + 1}of{share.of}" for share in shares]
        metafunc.parametrize(FIXTURE, shares, indirect=True, ids=names)


@pytest.fixture
def dvs_scenarios(request: pytest.FixtureRequest) -> Iterator[Scenario]:
    """Seeded scenarios until the budget of the test is spent; see the marker `dvs`."""
    from campaign.pytest_plugin.asked import asked

    share: Share | None = getattr(request, "param", None)
    marker = request.node.get_closest_marker("dvs")
    seed, budget = request.config.getoption("--dvs-seed"), request.config.getoption("--dvs-budget")
    return asked({} if marker is None else marker.kwargs, share, seed, budget)
