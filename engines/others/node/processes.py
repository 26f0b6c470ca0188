"""Engines in processes on Node.js: one for each script, which answers in JSON lines."""

from __future__ import annotations

import atexit
import os
from contextlib import ExitStack
from functools import cache
from typing import Any, ClassVar

from engines.adapter import Adapter, RefreshFailed, Transaction
from engines.others.base_tables import BaseTables
from engines.others.node.packages import needed, node
from servers.child import Child, child
from workload.types import SqlType, Value

EXACT = 2**53
"""Numbers below are exact in JavaScript."""


def stores(value: Value, type_: SqlType) -> bool:
    """Tells whether a value stays what it is in JavaScript and in JSON."""
    return not isinstance(value, int) or abs(value) < EXACT


@cache
def server(script: str) -> Child:
    """Returns the process of a script, started on first use. Raises NodeMissing."""
    running = ExitStack()
    atexit.register(running.close)
    path = needed(os.environ).server(script)
    return running.enter_context(child([node(os.environ.get("PATH")), str(path)], os.environ))


class ScriptError(RuntimeError):
    """Raised for an error that a script raised."""


class OnNode(Adapter):
    """An engine in the process of a script, which all databases share; DuckDB keeps the base tables."""

    script: ClassVar[str]

    @classmethod
    def ready(cls) -> None:
        """Checks that Node.js and the packages are installed. Raises NodeMissing."""
        needed(os.environ)

    def __init__(self) -> None:
        self.base = BaseTables()
        self._server = server(self.script)
        self.ask(do="open")

    def commit(self, transaction: Transaction) -> None:
        """Applies a transaction, and sends what it changed. Raises RefreshFailed."""
        for name, changes in self.base.commit(transaction).items():
            pairs = [each for each in changes.items() if each[1]]
            answer = self._server.ask({"do": "change", "table": name, "changes": pairs})
            if "broken" in answer:
                raise RefreshFailed(answer["broken"], broken=True)

    def interrupt(self) -> None:
        """Ends the process; the next database gets a new one."""
        self._server.process.kill()
        server.cache_clear()

    def close(self) -> None:
        """Closes the base tables; the process goes on for other databases."""
        self.base.database.close()

    def ask(self, **request: Any) -> dict[str, Any]:
        """Returns the answer to a request. Raises ScriptError."""
        answer = self._server.ask(request)
        if "broken" in answer:
            raise ScriptError(answer["broken"])
        return answer
