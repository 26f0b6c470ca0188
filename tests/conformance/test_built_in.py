"""The built-in engine keeps the contract that it asks of others."""

from campaign.adapters.builtin import BuiltIn
from campaign.pytest_plugin import AdapterConformance


class TestBuiltIn(AdapterConformance):
    adapter = BuiltIn
