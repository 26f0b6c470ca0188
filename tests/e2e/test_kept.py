"""What databases are known to keep at each isolation level, and what not: the table of docs/databases.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from click.testing import CliRunner

from campaign.cli import main
from campaign.protocols.databases import SERVERS
from campaign.protocols.kept import COLUMNS, kept, table
from servers.own import ServerMissing

HELD = "held"
TRUTHS = {
    ("postgresql", "read-committed"): "held held violated violated violated violated",
    ("postgresql", "repeatable-read"): "held held held held violated violated",
    ("postgresql", "serializable"): "held held held held held held",
    ("mariadb", "read-uncommitted"): "held violated violated violated violated violated",
    ("mariadb", "read-committed"): "held held violated violated violated violated",
    # InnoDB writes over what its snapshot does not show.
    ("mariadb", "repeatable-read"): "held held violated violated violated violated",
    # With innodb_snapshot_isolation it refuses that.
    ("mariadb", "snapshot"): "held held held held violated violated",
    ("mariadb", "serializable"): "held held held held held held",
    ("sqlite", "serializable"): "held held held held held held",
    ("delta-rs", "serializable"): "held held held held held held",
    # delta-rs refuses as much as at Serializable.
    ("delta-rs", "write-serializable"): "held held held held held held",
    # Two tables have neither a common commit nor a common snapshot.
    ("delta-rs", "two-tables"): "held violated violated violated violated violated",
    ("duckdb", "snapshot"): "held held held held violated violated",
}
"""By database and level the marks, in the order of COLUMNS."""


@pytest.fixture(scope="module")
def address() -> Iterator[Callable[[str], str]]:
    with ExitStack() as stack:
        running: dict[str, str] = {}

        def of(database: str) -> str:
            if database in SERVERS and database not in running:
                try:
                    running[database] = stack.enter_context(SERVERS[database]()).address
                except ServerMissing as missing:
                    pytest.skip(str(missing))
            return running.get(database, database)

        yield of


@pytest.mark.nightly
def test_a_wrong_password_is_one_line(address: Callable[[str], str], tmp_path: Path) -> None:
    wrong = address("mariadb").replace("root@", "root:wrong@")
    result = CliRunner().invoke(main, ["record", wrong, "--out", str(tmp_path / "history.edn")])
    assert result.exit_code == 2
    assert "MariaDB cannot be reached: Access denied for user 'root'" in result.output
    assert len(result.output.splitlines()) == 1


@pytest.mark.nightly
@pytest.mark.parametrize(("database", "level"), TRUTHS)
def test_what_it_keeps(database: str, level: str, address: Callable[[str], str]) -> None:
    marks = TRUTHS[database, level].split()
    # What holds is not searched for longer.
    seeds = range(1, 2) if set(marks) == {HELD} else range(1, 9)
    row = kept(address(database), level, shown=database, seeds=seeds, transactions=200)
    assert [row.mark(column) for column in COLUMNS] == marks
    text = "\n".join(table([[row]]))
    assert ("`dvs record" in text) == ("violated" in marks)
