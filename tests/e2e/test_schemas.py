"""What commands print with `--json` is what the schemas in docs/schemas say."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from campaign.cli import main
from tests.schemas import DOCUMENTS, FOLDER, schema_text, unlike

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def test_the_files_are_those_of_the_types() -> None:
    written = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")}
    assert written == {name: schema_text(name) for name in DOCUMENTS}, "python -m tests.schemas --write"


PRINTED = {
    "check": "check examples/histories/refresh-hides-read-skew.adya --json",
    "compare": "compare rules rules+fault=filter-drops-old-half --scenarios 3 --json",
    "explain": "explain 'SELECT a FROM r WHERE a > 1' --table 'r(a INT)' --json",
    "explain-definitions": "explain --definitions examples/your_own --no-spark --json",
    "fuzz": "fuzz --scenarios 6 --workers 1 --fault filter-drops-old-half --shrink 1 --out {out} --json",
    "mutants": "mutants --kind intents --fault intents-one-pass --json",
    "operators": "operators --json",
    "protocol-data-plane": "protocol data-plane --json",
    "protocol-data-plane-random": "protocol data-plane --workload random --runs 3 --json",
    "protocol-read-committed": "protocol read-committed {script} --json",
    "protocol-read-committed-explore": "protocol read-committed {script} --explore --most 3 --json",
    "soak": "soak --hours 0.1 --tables 3 --fault resume-from-now --attempts 2 --out {out}/soak.json --json",
    "verify-groups": "verify groups --runs 2 --json",
    "verify-rules-unbounded": "verify rules --unbounded --quick --operator filter --json",
    "verify-rules": "verify rules --operator filter --fault filter-drops-old-half --quick --json",
}
"""By schema a command that is quick."""

ELSEWHERE = {
    *("audit", "dbt", "doctor", "gate", "replay", "runs"),
    *("verify-evolution", "verify-protocol", "verify-rules-each-fault"),
}
"""Compared by the tests that have what these commands need."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.nightly] * (name == "verify-rules")) for name in PRINTED],
)
def test_a_command_prints_what_its_schema_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    script = tmp_path / "script.txt"
    script.write_text(SCRIPT, encoding="utf-8")
    words = shlex.split(PRINTED[name].format(out=tmp_path, script=script))
    result = CliRunner().invoke(main, words, catch_exceptions=False)
    assert result.exit_code in (0, 1, 3), result.stderr
    assert unlike(name, result.stdout) == ""


SCRIPT = """
SETUP: CREATE TABLE t (n INT)
SETUP: INSERT INTO t VALUES (1)
T1: BEGIN
T1: UPDATE t SET n = n + 1
T2: SELECT n FROM t
T1: COMMIT
"""


def test_an_output_that_is_another_is_noticed() -> None:
    right = '{"ok": true, "checks": []}'
    assert unlike("doctor", right) == ""
    assert "$.more" in unlike("doctor", '{"ok": true, "checks": [], "more": 1}')
    assert "Expected `bool`" in unlike("doctor", '{"ok": 1, "checks": []}')


def test_every_schema_is_compared() -> None:
    assert PRINTED.keys() | ELSEWHERE == DOCUMENTS.keys()
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert {*re.findall(r'unlike\("([a-z-]+)", ', tests)} >= ELSEWHERE
