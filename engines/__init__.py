"""Engines under test: one file for each engine, behind one interface (`adapter`) and one driver (`drive`).

Read first `adapter.py` (what an engine must do; `sql_adapter.py` does most of it by SQL), `drive.py` (how a
scenario becomes a trace) and `registry.py` (where scenarios can run, by the names of the command line). The
built-in engine is in `in_memory.py`, `spark/on_spark.py` and `spark/on_delta.py`; engines that others wrote
are in `others`.
`campaign.judging.lane` runs scenarios on all of them.
"""

from pkgutil import extend_path

from engines.adapter import Adapter, Capabilities, Notes, RefreshFailed, Transaction, Unsupported

__all__ = ["Adapter", "Capabilities", "Notes", "RefreshFailed", "Transaction", "Unsupported"]

# A folder of this name in a user's project, without an __init__.py, keeps its own modules importable.
__path__ = extend_path(__path__, __name__)
