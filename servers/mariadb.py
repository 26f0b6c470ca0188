"""A MariaDB server of our own."""

from __future__ import annotations

import shutil
from contextlib import AbstractContextManager
from urllib.parse import urlsplit

from servers.own import START_LIMIT_S, Program, Server, ServerMissing, started as started_program

SETTINGS = (
    "--bind-address=127.0.0.1",
    "--skip-name-resolve",
    # The folder is thrown away. What was committed survives the server nevertheless, not the machine.
    "--innodb-flush-log-at-trx-commit=2",
    "--innodb-buffer-pool-size=16M",
    "--innodb-log-file-size=16M",
)


def programs() -> tuple[str, str]:
    """Returns what makes the data of a server, and what serves it. Raises ServerMissing."""
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"
    makes, serves = shutil.which("mariadb-install-db", path=path), shutil.which("mariadbd", path=path)
    if not makes or not serves:
        raise ServerMissing("there is no MariaDB server; install one: apt-get install mariadb-server")
    return makes, serves


def started(seconds: float = START_LIMIT_S) -> AbstractContextManager[Server]:
    """Returns the context of a server in a temporary folder, which ends with it. Raises ServerMissing."""
    makes, serves = programs()
    try:
        import pymysql
    except ModuleNotFoundError as error:
        raise ServerMissing("MariaDB needs the driver PyMySQL: pip install pymysql") from error

    def connect(address: str) -> None:
        parts = urlsplit(address)
        pymysql.connect(host=parts.hostname, port=parts.port or 3306, user=parts.username).close()

    program = Program(
        name="MariaDB",
        users=("mysql", "nobody"),
        stop="TERM",
        make=lambda folder: (
            makes, "--no-defaults", f"--datadir={folder}/data", "--auth-root-authentication-method=normal",
            "--skip-test-db",
        ),
        serve=lambda folder, port: (
            serves, "--no-defaults", f"--datadir={folder}/data", f"--port={port}",
            f"--socket={folder}/socket", f"--pid-file={folder}/its-pid", *SETTINGS,
        ),
        address=lambda port: f"mariadb://root@127.0.0.1:{port}",
        connect=connect,
        refused=pymysql.err.OperationalError,
    )  # fmt: skip
    return started_program(program, seconds)
