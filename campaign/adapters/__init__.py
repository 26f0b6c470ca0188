"""Engines under test, each behind one contract: the built-in one and other people's."""

from campaign.adapters.contract import Adapter, Capabilities, Notes, RefreshFailed, Transaction, Unsupported

__all__ = ["Adapter", "Capabilities", "Notes", "RefreshFailed", "Transaction", "Unsupported"]
