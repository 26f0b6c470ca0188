"""The page of a run in a real browser: it opens from a file, asks nothing of the network, takes the keyboard.

The browser is Debian's `chromium`, which `make test` installs where it can; without it the tests are skipped.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from campaign.cli.setup_checks import BROWSERS
from reports.run_page import run_page
from tests.unit.reports.test_groups import grouped

CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no `chromium` on PATH: apt install chromium")

FOCUS = """
addEventListener("load", () => {
const order = [];
document.querySelectorAll("a[href], summary, [tabindex]").forEach(element => {
  element.focus({preventScroll: true});
  if (element.checkVisibility())
    order.push([element.tagName, document.activeElement === element, element.tabIndex]);
});
const dark = matchMedia("(prefers-color-scheme: dark)").matches;
const requests = performance.getEntriesByType("resource").map(entry => entry.name);
const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
document.body.dataset.seen = JSON.stringify({order, dark, requests, wide, background:
  getComputedStyle(document.body).backgroundColor});
});
"""
"""Looks at the page from inside. Its own policy forbids scripts and is lifted for the test."""


class Body(HTMLParser):
    """What the script left behind."""

    seen = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "body":
            self.seen = dict(attrs).get("data-seen") or ""


def opened(folder: Path, page: str, *options: str) -> str:
    """The page as the browser has it after loading it from a file."""
    file = folder / "report.html"
    file.write_text(page, encoding="utf-8")
    assert CHROMIUM is not None
    command = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={folder / 'browser'}",
        "--window-size=900,1200",
        *options,
        "--dump-dom",
        file.as_uri(),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def seen(folder: Path, *options: str, page: str = "") -> dict[str, object]:
    """What the script finds on a page."""
    start, _, rest = (page or run_page(grouped())).partition('<meta http-equiv="Content-Security-Policy"')
    scripted = start + rest.partition(">\n")[2].replace("</body>", f"<script>{FOCUS}</script></body>")
    parser = Body()
    parser.feed(opened(folder, scripted, *options))
    content: dict[str, object] = json.loads(parser.seen)
    return content


def test_it_opens_from_a_file_and_asks_nothing_of_the_network(tmp_path: Path) -> None:
    assert "Failures by cause" in opened(tmp_path, run_page(grouped()))
    assert seen(tmp_path)["requests"] == []


def test_the_browser_would_see_a_request(tmp_path: Path) -> None:
    page = run_page(grouped()).replace("<main", '<img src="http://127.0.0.1:9/x.png" alt=""><main', 1)
    assert seen(tmp_path, page=page)["requests"] == ["http://127.0.0.1:9/x.png"]


def test_everything_visible_that_acts_takes_the_keyboard_and_nothing_hangs_over_the_edge(
    tmp_path: Path,
) -> None:
    content = seen(tmp_path)
    order = content["order"]
    assert isinstance(order, list)
    assert {tag for tag, _, _ in order} >= {"A", "SUMMARY", "DIV"}
    assert [entry for entry in order if not entry[1] or entry[2] < 0] == []
    assert content["wide"] == 0


def test_it_is_dark_where_dark_is_asked_for(tmp_path: Path) -> None:
    light = seen(tmp_path)
    dark = seen(tmp_path, "--blink-settings=preferredColorScheme=0")
    assert (light["dark"], dark["dark"]) == (False, True)
    assert light["background"] != dark["background"]
