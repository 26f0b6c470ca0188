"""An engine that recomputes keeps the contract, and shows nothing."""

from campaign.pytest_plugin import AdapterConformance
from tests.unit.engines.sample import Recomputing


class TestRecomputing(AdapterConformance):
    adapter = Recomputing
