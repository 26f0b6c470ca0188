"""A server that speaks like Amazon's S3, with conditional writes: moto, in an environment of its own."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from urllib.request import Request, urlopen

from servers.own import START_LIMIT_S, Program, Server, ServerMissing, started as started_program

PYTHON = Path(__file__).resolve().parent.parent / ".venv" / "s3" / "bin" / "python"
"""The Python of the environment that `setup/for_tests.py` makes."""

UNCONDITIONAL = "unconditional"
"""The name of a bucket in which the server ignores conditions, as old stores do."""

SERVE = """
import sys, threading
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple

inner, lock = DomainDispatcherApplication(create_backend_app), threading.Lock()

def served(environ, start_response):
    if environ["PATH_INFO"].startswith("/{0}/"):
        environ.pop("HTTP_IF_NONE_MATCH", None)
    # moto looks whether an object is there and then makes it: one request at a time keeps that together.
    with lock:
        return inner(environ, start_response)

run_simple("127.0.0.1", int(sys.argv[1]), served, threaded=True)
""".replace("{0}", UNCONDITIONAL)
"""What the server runs; objects are in its memory."""


def started(seconds: float = START_LIMIT_S) -> AbstractContextManager[Server]:
    """Returns the context of a server without buckets, which ends with it. Raises ServerMissing."""
    if not PYTHON.exists():
        raise ServerMissing(
            "there is no server that speaks like S3; `make nightly` installs it where PyPI can be reached"
        )
    program = Program(
        name="moto",
        users=(),
        stop="TERM",
        make=lambda folder: ("true",),
        serve=lambda folder, port: (str(PYTHON), "-c", SERVE, str(port)),
        address=lambda port: f"http://127.0.0.1:{port}",
        connect=lambda address: urlopen(address, timeout=5).close(),
        refused=OSError,
    )
    return started_program(program, seconds)


def make_bucket(address: str, name: str) -> None:
    """Makes a bucket in a server."""
    urlopen(Request(f"{address}/{name}", method="PUT"), timeout=30).close()
