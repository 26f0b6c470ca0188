"""The built-in engine keeps the contract that it asks of others."""

from campaign.pytest_plugin import AdapterConformance
from engines.in_memory import InMemory


class TestBuiltIn(AdapterConformance):
    adapter = InMemory
