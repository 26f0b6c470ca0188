"""Operations of Jepsen as they were read, written as EDN."""

from __future__ import annotations

from collections.abc import Sequence

from dvs_model.formats.edn import Pairs, shown
from dvs_model.formats.jepsen import NO_PROCESS, Operation
from dvs_model.observed.values import Text


def written(ends: Sequence[tuple[Operation | None, Operation]]) -> bytes:
    """Returns invocations and completions in the order in which they happened."""
    operations = [each for pair in ends for each in pair if each is not None and each.at >= 0]
    return "".join(f"{_line(each)}\n" for each in sorted(operations, key=lambda each: each.at)).encode()


def _line(operation: Operation) -> str:
    process = "" if operation.process is NO_PROCESS else f", :process {shown(operation.process)}"
    f = "" if operation.f is None else f", :f {shown(operation.f)}"
    return f"{{:type {operation.type}{process}{f}, :value {shown(_form(operation.value))}}}"


def _form(value: object) -> object:
    """Returns a value of JSON as one of EDN: the keys of an object are texts, also where they are numbers."""
    if isinstance(value, dict):
        keys = ((int(key) if key.lstrip("-").isdigit() else Text(key), each) for key, each in value.items())
        return Pairs((key, _form(each)) for key, each in keys)
    return [_form(each) for each in value] if type(value) is list else value
