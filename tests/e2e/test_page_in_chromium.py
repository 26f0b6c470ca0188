"""The page of a run in a real browser: it opens from a file and asks for nothing outside."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from campaign.cli.setup_checks import BROWSERS
from reports.run_page import run_page
from tests.unit.reports import sample

BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no chromium: `apt-get install chromium`")

QUIET = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-sync --disable-extensions "
    "--disable-background-networking --disable-component-update --disable-domain-reliability "
    "--disable-default-apps --disable-client-side-phishing-detection"
).split()


class Outside:
    """A proxy for everything that is not on this page: it notes what is requested, and gives nothing."""

    def __init__(self) -> None:
        requests: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:  # the base class's name
                requests.append(self.path)
                self.send_error(404)

            do_CONNECT = do_GET  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self.requests = requests
        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def port(self) -> int:
        return self.server.server_port

    def of_the_page(self) -> list[str]:
        """What the page requests for; the browser's own calls home aside."""
        return [url for url in self.requests if "google" not in url and "gstatic" not in url]


@pytest.fixture
def outside() -> Iterator[Outside]:
    proxy = Outside()
    yield proxy
    proxy.server.shutdown()
    proxy.server.server_close()


def opened(page: str, outside: Outside, folder: Path, *options: str) -> str:
    """The document as the browser has it after loading."""
    file = folder / "report.html"
    file.write_text(page, encoding="utf-8")
    proxy = (f"--proxy-server=127.0.0.1:{outside.port}", "--proxy-bypass-list=<-loopback>")
    assert BROWSER is not None
    done = subprocess.run(
        [BROWSER, *QUIET, *proxy, f"--user-data-dir={folder / 'profile'}", *options, file.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_opens_from_a_file_and_asks_for_nothing(outside: Outside, tmp_path: Path) -> None:
    document = opened(run_page(sample.SUMMARY), outside, tmp_path, "--dump-dom")
    assert outside.of_the_page() == []
    for heading in (
        "Outcomes",
        "Failures",
        "Coverage",
        "Operator over operator",
        "Operator by statement",
        "Intent by operator",
        "Time",
    ):
        assert f">{heading}</h" in document
    assert document.count("<article") == len(sample.SUMMARY.failures)
    assert 'role="region"' in document


def test_a_page_that_asked_would_be_seen(outside: Outside, tmp_path: Path) -> None:
    page = run_page(sample.SUMMARY)
    policy = page[page.index("<meta http-equiv") : page.index("<meta name=")]
    careless = page.replace(policy, "").replace("<main", '<img src="http://outside.example/pixel.png"><main')
    opened(careless, outside, tmp_path, "--dump-dom")
    assert outside.of_the_page() == ["http://outside.example/pixel.png"]


def test_its_policy_stops_what_slips_in(outside: Outside, tmp_path: Path) -> None:
    page = run_page(sample.SUMMARY)
    opened(
        page.replace("<main", '<img src="http://outside.example/pixel.png"><main'),
        outside,
        tmp_path,
        "--dump-dom",
    )
    assert outside.of_the_page() == []
