"""Operations of Jepsen's processes: invocations with their completions, and independent keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from dvs_model.errors import HistoryError
from dvs_model.formats.edn import Pairs, canonical, shown
from dvs_model.formats.jepsen import NO_PROCESS, TYPES, Operation
from dvs_model.observed.seen import Status

NAMED = 5
"""The most processes that a note names."""


def independent_key(operation: Operation) -> str | None:
    """Returns the independent key of an operation; None: it has none."""
    value = operation.value
    pair = type(value) is list and len(value) == 2 and _is_independent(value)
    return canonical(value[0]) if pair and isinstance(value, list) else None


def apart(operations: list[Operation]) -> dict[str, list[Operation]]:
    """Returns the operations of each independent key; a completion without a value has its invocation's.

    Raises HistoryError: an operation of a client has no key, and others have one.
    """
    found: dict[str, list[Operation]] = {}
    invoked: dict[object, str] = {}
    for operation in operations:
        key = independent_key(operation)
        value = operation.value[1] if key is not None and isinstance(operation.value, list) else None
        no_client = operation.process is not NO_PROCESS and not is_client(operation.process)
        if operation.process in NEMESES or (no_client and key is None):
            continue
        if operation.type == ":invoke" and key is not None:
            invoked[operation.process] = key
        elif key is None and (operation.value is None or operation.type in (":fail", ":info")):
            # What failed or got no answer may tell why, instead of a value.
            key = invoked.get(operation.process)
        if key is None:
            fact = f"{shown(operation.value)[:60]} has no key, as in [7 [[:w 1 1]]], and others have one"
            raise HistoryError(fact, operation.line, 1)
        found.setdefault(key, []).append(replace(operation, value=value))
    return found


def _is_independent(value: Sequence[object]) -> bool:
    """Tells whether a pair is a key with operations, and not one operation."""
    key, inner = value
    return (
        not isinstance(key, list | Pairs)
        and type(inner) is list
        and bool(inner)
        and all(type(part) is list and part and isinstance(part[0], str) for part in inner)
    )


def is_client(process: object) -> bool:
    """Tells whether a process is a client: those are numbers; others, such as `:nemesis`, are not."""
    return isinstance(process, int) and not isinstance(process, bool)


NEMESES = (":nemesis", "nemesis")
"""The process that disturbs the database, as EDN and JSON name it. It is no client."""


OF_CLIENTS = frozenset(("txn", "append", "r", "read", "w", "write", "cas"))
"""The names of operations on keys, of whole transactions, and of what is compared and set."""


def strangers(operations: Sequence[Operation]) -> list[Operation]:
    """Returns the operations on keys, except failed ones, of processes that are no clients or nemeses."""
    return [
        each
        for each in operations
        if not is_client(each.process)
        and each.process not in NEMESES
        and _name(each.type) != "fail"
        and (_name(each.f) in OF_CLIENTS or _holds_operations(each.value))
    ]


def _name(word: object) -> str:
    """Returns a keyword of EDN without its colon; JSON has none."""
    return str(word).removeprefix(":")


def _holds_operations(value: object) -> bool:
    """Tells whether a value is a list of operations on keys, or a key with such a list."""
    if type(value) is not list or not value:
        return False
    inner = value[1] if len(value) == 2 and _is_independent(value) else value
    return all(type(part) is list and part and _name(part[0]) in OF_CLIENTS for part in inner)


def left_out(operations: Sequence[Operation]) -> str:
    """Returns the note on operations of strangers: how many of which process are left out."""
    counts = Counter("missing" if o.process is NO_PROCESS else shown(o.process) for o in operations)
    named = [f"{count:,} of {process}" for process, count in counts.most_common(NAMED)]
    more = f", .. ({len(counts):,} others than numbers)" if len(counts) > NAMED else ""
    return f"operations are left out, because :process is a number for each client: {', '.join(named)}{more}"


def paired(client: list[Operation]) -> list[tuple[Operation | None, Operation]]:
    """Returns each transaction's invocation and completion, in the order of invocations."""
    slots: dict[object, Operation] = {}
    ends: dict[int, Operation] = {}
    begins: list[Operation] = []
    for operation in client:
        before = slots.get(operation.process)
        if operation.type == ":invoke":
            if before is not None:
                fact = f"process {operation.process} invokes again before line {before.line} has ended"
                raise HistoryError(fact, operation.line, 1)
            slots[operation.process] = operation
            begins.append(operation)
        elif before is None:
            fact = f"process {operation.process} ends what it has not invoked"
            raise HistoryError(fact, operation.line, 1)
        else:
            ends[before.at] = operation
            del slots[operation.process]
    open_end = Operation(":info", None, None, None, None, 0, -1)
    return [(begin, ends.get(begin.at, open_end)) for begin in begins]


def lives(ends: Sequence[tuple[Operation | None, Operation]]) -> Mapping[int, int]:
    """Returns by place of an invocation how often its process had got no answer before, and one more.

    What got no answer may take effect later. So what a process does afterwards is a session of its own.
    (A process of Jepsen's ends there; that of other programs may go on.)
    """
    unanswered: dict[object, int] = {}
    found: dict[int, int] = {}
    for begin, end in ends:
        if begin is not None:
            if before := unanswered.get(begin.process):
                found[begin.at] = before + 1
            if TYPES[end.type] is Status.UNKNOWN:
                unanswered[begin.process] = unanswered.get(begin.process, 0) + 1
    return found
