"""Every clause of other checkers' formats: `dvs check` on a small file of each, as clauses/README.md says."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from campaign.cli import main
from dvs_model.clients.variants import VARIANTS
from dvs_model.theory.names import Level

FOLDER = Path(__file__).parent / "clauses"
SHORT = re.compile(r"(ok|fail|info|inv) (\S+) (.*)")
LEVELS = {level.value for level in Level}


@dataclass(frozen=True)
class Case:
    """Files with what they hold, the options, and what is said of the first one."""

    where: str
    clause: str
    files: Mapping[str, bytes]
    options: tuple[str, ...]
    expected: tuple[str, ...]


def cases() -> Iterator[Case]:
    for page in sorted(FOLDER.glob("*.txt")):
        clause, head, start, lines, expected = "", "", 0, list[str](), list[str]()
        for number, line in enumerate([*page.read_text().splitlines(), "## end"], 1):
            if line.startswith("## "):
                if expected:
                    yield case(f"{page.stem}:{start}", clause, head, lines, expected)
                head, lines, expected, start = line[3:], [], [], number
            elif line.startswith("# ") and (expected or not head):
                clause = line[2:]
            elif line.startswith("=> "):
                expected += line[3:].split("; ")
            elif not expected:
                lines.append(line)


def case(where: str, clause: str, head: str, lines: list[str], expected: list[str]) -> Case:
    name, _, options = head.partition(", ")
    files: dict[str, list[str]] = {name: []}
    for line in lines:
        if line.startswith("-- "):
            name = line[3:]
            files[name] = []
        else:
            files[name].append(in_full(line) if name.endswith(".edn") else line)
    texts = {each: written(of) for each, of in files.items()}
    return Case(where, clause, texts, tuple(shlex.split(options)), tuple(expected))


def in_full(line: str) -> str:
    """A line of EDN, written out if it is short."""
    found = SHORT.fullmatch(line)
    if found is None:
        return line
    kind = {"inv": "invoke"}.get(found[1], found[1])
    process = "" if found[2] == "-" else f":process {found[2]}, "
    return f"{{:type :{kind}, {process}:value {found[3]}}}"


def written(lines: list[str]) -> bytes:
    while lines and not lines[-1]:
        lines.pop()
    text = "".join(line[:-1] if line.endswith("\\") else f"{line}\n" for line in lines)
    escapes = {"\\t": "\t", "\\r": "\r", "\\f": "\f", "\\0": "\0"}
    for shown, meant in escapes.items():
        text = text.replace(shown, meant)
    data = text.encode()
    return re.sub(rb"\\x([0-9a-f]{2})", lambda found: bytes([int(found[1], 16)]), data)


def said(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case.where)
def test_a_clause(case: Case, tmp_path: Path) -> None:
    for name, data in case.files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    wanted = [name for name in VARIANTS if any(text.startswith(f"{name} ") for text in case.expected)]
    levels = [option for name in wanted for option in ("--client-level", name)]
    first = next(iter(case.files))
    given = tmp_path / first.split("/")[0]
    result = CliRunner().invoke(
        main, ["check", "--json", *case.options, *levels, str(given)], catch_exceptions=False
    )
    histories = said(result)
    for text in case.expected:
        assert agrees(text, histories, result), f"{case.clause}\n{text}\n{result.stdout}\n{result.stderr}"


def agrees(text: str, histories: list[dict[str, Any]], result: Result) -> bool:
    """Whether what was said is as expected."""
    if text.startswith("refused: "):
        return bool(not histories and result.exit_code == 2 and text[9:] in result.stderr)
    if text.endswith(" histories"):
        return len(histories) == int(text.split()[0])
    if len(histories) == 0:
        return False
    found = histories[0]
    if text == "no anomaly":
        return not found["anomalies"]
    if text.startswith("note: "):
        return any(text[6:] in note for note in found["notes"])
    if text.startswith("because: "):
        reasons = [
            each["because"] for of in ("levels", "client_levels") for each in found.get(of, {}).values()
        ]
        return any(text[9:] in reason for reason in reasons + [a["text"] for a in found["anomalies"]])
    if text.endswith(" transactions"):
        return int(found["stats"]["transactions"]) == int(text.split()[0])
    name, _, verdict = text.rpartition(" ")
    if name in LEVELS:
        return bool(found["levels"][name]["verdict"] == verdict)
    if name in VARIANTS:
        return bool(found["client_levels"][name]["verdict"] == verdict)
    return any(anomaly["name"] == text for anomaly in found["anomalies"])
