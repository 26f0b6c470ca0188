"""The processes on Node.js of this process: one for each script, which answers in JSON lines."""

from __future__ import annotations

import atexit
import os
from contextlib import ExitStack
from functools import cache

from engines.others.node.packages import needed, node
from servers.child import Child, child
from workload.types import SqlType, Value

EXACT = 2**53
"""Numbers below are exact in JavaScript."""


def stores(value: Value, type_: SqlType) -> bool:
    """Whether a value is one of JavaScript and of JSON."""
    return not isinstance(value, int) or abs(value) < EXACT


@cache
def server(script: str) -> Child:
    """The process of a script, started on first use. Raises NodeMissing."""
    running = ExitStack()
    atexit.register(running.close)
    path = needed(os.environ).server(script)
    return running.enter_context(child([node(os.environ.get("PATH")), str(path)], os.environ))
