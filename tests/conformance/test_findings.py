"""What docs/adapters.md says was found in pg_ivm is what its SQL shows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import psycopg
import pytest

from engines.others.node.pglite import Server, server_of_thread
from tests.unit.engines.pglite import needs_pglite

pytestmark = needs_pglite

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "adapters.md").read_text(encoding="utf-8")
FINDINGS = re.findall(r"```sql\n(.*?)```", PAGE[PAGE.index("### What was found") :], re.DOTALL)
TITLES = re.findall(r"\n\n([^\n]+):\n\n```sql\n", PAGE[PAGE.index("### What was found") :])


def test_there_are_findings() -> None:
    assert len(FINDINGS) == len(TITLES) == 7


@pytest.fixture
def server() -> Iterator[Server]:
    """The server with an empty schema in front."""
    server = server_of_thread()
    server.connection.execute("CREATE SCHEMA finding")
    server.connection.execute("SET search_path = finding")
    server.schema = "finding"
    yield server
    server.connection.execute("DROP SCHEMA finding CASCADE")
    server.schema = ""


def shown(rows: Sequence[tuple[object, ...]]) -> str:
    """Rows as the page writes them: `(0, 0) (1, 0)`."""
    texts = ("NaN" if value != value else str(value) for row in rows for value in row)
    width = len(rows[0])
    flat = list(texts)
    return " ".join(sorted(f"({', '.join(flat[i : i + width])})" for i in range(0, len(flat), width)))


@pytest.mark.parametrize("text", FINDINGS, ids=TITLES)
def test_the_finding_is_there(text: str, server: Server) -> None:
    run = server.connection.execute
    statements = [each.strip() for each in re.sub(r"^--.*", "", text, flags=re.MULTILINE).split(";")][:-1]
    notes = dict(re.findall(r"^-- (\w+): (.*)$", text, re.MULTILINE))
    for statement in statements[:-1]:
        run(statement)
    if "fails" in notes:
        with pytest.raises(psycopg.Error, match=re.escape(notes["fails"])):
            run(statements[-1])
        return
    assert shown(run(statements[-1]).fetchall()) == notes["found"]
    query = re.search(r"\$\$(.*)\$\$", text)
    assert query is not None
    assert shown(run(query[1]).fetchall()) == notes["right"] != notes["found"]
