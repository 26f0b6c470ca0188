"""The public face of dvs-harness: what a user imports, and nothing else.

To test an engine: `SqlAdapter` or `Adapter`, `Capabilities`, `assert_delayed_view_semantics`.
To run campaigns and audits: `run_campaign`, `CampaignOptions`, `run_verdict`, `audit`.
To judge transaction histories: `read_history`, `history`, `judge`, `CheckOptions`; and `dvs.testing`.
docs/python.md shows how.

A name is loaded when it is first used, so `import dvs` alone loads no library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from dvs.packages import PACKAGES, ensure_packages

if TYPE_CHECKING:
    from campaign.audit.audit import Audit, AuditedTable, AuditVerdict, audit
    from campaign.errors import CampaignError
    from campaign.failures.regression import assert_passes
    from campaign.pytest_plugin.assertion import DelayedViewViolated, assert_delayed_view_semantics
    from campaign.pytest_plugin.conformance import AdapterConformance
    from campaign.pytest_plugin.recorded import recorded
    from campaign.pytest_plugin.scenarios import scenarios_for
    from campaign.runs.campaign import run_campaign
    from campaign.runs.options import CampaignOptions
    from dvs_model.analysis.verdict import Absent, Present, Unknown
    from dvs_model.checking.check import Checked, Holds, Undecided, Violated, check
    from dvs_model.errors import HistoryError, RequestError
    from dvs_model.graph.reading import Derivations, DerivedWrites, Predicates, Reading
    from dvs_model.histories.history import History
    from dvs_model.judging.options import CheckOptions
    from dvs_model.judging.recorded import history, judge, read_histories, read_history
    from dvs_model.notation import parse
    from dvs_model.theory.names import Level, Phenomenon
    from engines.adapter import Adapter, Capabilities, Notes, RefreshFailed, Transaction, Unsupported
    from engines.errors import EngineError
    from engines.sql_adapter import SqlAdapter
    from engines.values import typed_rows
    from generators.strategies import scenarios
    from workload.limits import Limits, Timestamps
    from workload.operators import Operator
    from workload.outcomes.decision import Decision
    from workload.outcomes.results import RunSummary
    from workload.outcomes.run_verdict import RunVerdict, run_verdict
    from workload.outcomes.trace import Action, ChangeRow, Shown, StoredRow
    from workload.scenario import DynamicTable, Scenario
    from workload.schema import Column, Table
    from workload.sql import Dialect
    from workload.types import Kind, parse_type

MODULES = {
    "campaign.audit.audit": ("Audit", "AuditVerdict", "AuditedTable", "audit"),
    "campaign.errors": ("CampaignError",),
    "campaign.runs.campaign": ("run_campaign",),
    "campaign.runs.options": ("CampaignOptions",),
    "workload.operators": ("Operator",),
    "workload.outcomes.decision": ("Decision",),
    "workload.outcomes.results": ("RunSummary",),
    "workload.outcomes.run_verdict": ("RunVerdict", "run_verdict"),
    "workload.types": ("Kind", "parse_type"),
    "campaign.failures.regression": ("assert_passes",),
    "campaign.pytest_plugin.assertion": ("DelayedViewViolated", "assert_delayed_view_semantics"),
    "campaign.pytest_plugin.conformance": ("AdapterConformance",),
    "campaign.pytest_plugin.recorded": ("recorded",),
    "campaign.pytest_plugin.scenarios": ("scenarios_for",),
    "dvs_model.checking.check": ("Checked", "Holds", "Undecided", "Violated", "check"),
    "dvs_model.errors": ("HistoryError", "RequestError"),
    "dvs_model.histories.history": ("History",),
    "dvs_model.theory.names": ("Level", "Phenomenon"),
    "dvs_model.judging.options": ("CheckOptions",),
    "dvs_model.judging.recorded": ("history", "judge", "read_histories", "read_history"),
    "dvs_model.notation": ("parse",),
    "dvs_model.graph.reading": ("Derivations", "DerivedWrites", "Predicates", "Reading"),
    "dvs_model.analysis.verdict": ("Absent", "Present", "Unknown"),
    "engines.adapter": ("Adapter", "Capabilities", "Notes", "RefreshFailed", "Transaction", "Unsupported"),
    "engines.errors": ("EngineError",),
    "engines.sql_adapter": ("SqlAdapter",),
    "engines.values": ("typed_rows",),
    "generators.strategies": ("scenarios",),
    "workload.limits": ("Limits", "Timestamps"),
    "workload.scenario": ("DynamicTable", "Scenario"),
    "workload.schema": ("Column", "Table"),
    "workload.sql": ("Dialect",),
    "workload.outcomes.trace": ("Action", "ChangeRow", "Shown", "StoredRow"),
}
"""Where each public name is defined. The imports above say the same to type checkers."""

__all__ = [
    "Absent",
    "Action",
    "Adapter",
    "AdapterConformance",
    "Audit",
    "AuditVerdict",
    "AuditedTable",
    "CampaignError",
    "CampaignOptions",
    "Capabilities",
    "ChangeRow",
    "CheckOptions",
    "Checked",
    "Column",
    "Decision",
    "DelayedViewViolated",
    "Derivations",
    "DerivedWrites",
    "Dialect",
    "DynamicTable",
    "EngineError",
    "History",
    "HistoryError",
    "Holds",
    "Kind",
    "Level",
    "Limits",
    "Notes",
    "Operator",
    "Phenomenon",
    "Predicates",
    "Present",
    "Reading",
    "RefreshFailed",
    "RequestError",
    "RunSummary",
    "RunVerdict",
    "Scenario",
    "Shown",
    "SqlAdapter",
    "StoredRow",
    "Table",
    "Timestamps",
    "Transaction",
    "Undecided",
    "Unknown",
    "Unsupported",
    "Violated",
    "assert_delayed_view_semantics",
    "assert_passes",
    "audit",
    "check",
    "history",
    "judge",
    "parse",
    "parse_type",
    "read_histories",
    "read_history",
    "recorded",
    "run_campaign",
    "run_verdict",
    "scenarios",
    "scenarios_for",
    "typed_rows",
]


# Hidden from type checkers, which would otherwise accept every misspelt name as an `object`.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Returns what a public name stands for, and loads its module first.

        Raises ImportError where a folder of the user's project hides a package of this distribution.
        """
        for module, names in MODULES.items():
            if name in names:
                package = module.partition(".")[0]
                # `dvs_model` imports no other package, so a folder that hides another one does no harm.
                ensure_packages([package] if package == "dvs_model" else PACKAGES)
                return getattr(importlib.import_module(module), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Returns the public names."""
    return __all__
