"""The slowest tests and what each is for: `python -m tests.slowest JUNIT.xml --write` writes docs/tests.md.

JUNIT.xml is what `pytest --junitxml` wrote. What a test is for stands in its docstring or its file's.
"""

from __future__ import annotations

import ast
import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "tests.md"
MOST = 50
START, END = "<!-- slowest -->\n", "<!-- /slowest -->"


def seconds_by_test(junit: Path) -> dict[tuple[str, str], float]:
    """The seconds of each test function, of all its cases together, by file and name."""
    seconds: dict[tuple[str, str], float] = defaultdict(float)
    for case in ET.parse(junit).iter("testcase"):
        parts = case.attrib["classname"].split(".")
        while parts and not (ROOT / Path(*parts)).with_suffix(".py").exists():
            parts.pop()
        name = case.attrib["name"].partition("[")[0].partition("@")[0]
        seconds["/".join(parts) + ".py", name] += float(case.attrib["time"])
    return seconds


def purpose(file: str, name: str) -> str:
    """The first sentence of a test's docstring, else of its file's."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name)
    text = next((ast.get_docstring(node) for node in functions), None) or ast.get_docstring(tree) or ""
    return " ".join(text.partition("\n\n")[0].split()).replace("|", "\\|")


def table(junit: Path) -> Iterator[str]:
    """The lines of the table, slowest first."""
    yield "| seconds | test | what it is for |"
    yield "|---|---|---|"
    slowest = sorted(seconds_by_test(junit).items(), key=lambda item: -item[1])
    for (file, name), seconds in slowest[:MOST]:
        yield f"| {seconds:.0f} | `{file.removeprefix('tests/')}` `{name}` | {purpose(file, name)} |"


def main(junit: Path, *, write: bool) -> None:
    """Prints the table, or writes it into the page."""
    text = "\n".join(table(junit)) + "\n"
    if not write:
        sys.stdout.write(text)
        return
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    PAGE.write_text(before + START + text + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), write="--write" in sys.argv)
