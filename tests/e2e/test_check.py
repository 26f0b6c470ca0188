"""`dvs check` as a user meets it: verdicts, reports, exit statuses, and what it refuses."""

from __future__ import annotations

import gzip
import json
import os
import re
import struct
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from campaign.cli import main
from dvs_model.formats import adya, jsonl
from dvs_model.notation import parse
from dvs_model.theory.names import Level, Phenomenon

FIGURE = "w1(x1) c1 d3(y3 | x1) c3 w2(x2) c2 d4(y4 | x2) c4 r5(y3) r5(x2) c5 [x1 << x2, y3 << y4]"
SERIAL = "s1 w1(x1) c1 s2 r2(x1) w2(x2) c2 s3 r3(x2) c3"


def dvs(*arguments: str, given: str | bytes | None = None) -> Result:
    return CliRunner().invoke(main, ["check", *arguments], input=given, catch_exceptions=False)


def test_verdict_reason_and_the_least_that_shows_it() -> None:
    result = dvs("-", given=FIGURE + " w6(z6) c6 r7(z6) c7")
    assert result.exit_code == 1
    lines = [line.strip() for line in result.stdout.splitlines()]
    assert lines[0] == "stdin: PL-3 violated"
    assert "strongest that hold: PL-CS, PL-2L" in lines
    reason = "T5 read y at version 3; y was derived in T3 from x version 1, which T2's write replaced"
    assert f"T5 rw x -> T2  {reason}" in lines
    assert "w1(x1) c1 d3(y3 | x1) c3 w2(x2) c2 r5(y3) r5(x2) c5" in lines
    assert "derivations: honour, predicates: icde, derived writes: changed" in result.stdout


def test_the_least_that_shows_it_shows_it() -> None:
    lines = dvs("-", given=FIGURE).stdout.splitlines()
    start = lines.index("  the smallest history found that shows it:")
    again = dvs("-", "--level", "PL-2+", given="\n".join(lines[start + 1 : start + 3]))
    assert again.exit_code == 1


@pytest.mark.parametrize(
    ("options", "text", "code"),
    [
        ((), SERIAL, 0),
        (("--level", "strict-serializable"), SERIAL, 0),
        ((), FIGURE, 1),
        (("--derivations", "ignore"), FIGURE, 0),
        (("--level", "PL-2L", "--level", "pl-cs"), FIGURE, 0),
        (("--level", "snapshot-isolation"), "w1(x1) c1 r2(x1) c2", 3),
        (("--level", "PL-2", "--level", "PL-SI"), "w1(x1) c1 r2(x1) c2", 3),
        ((), "w1(x1) c1 r2(x1", 2),
        (
            ("--derived-writes", "letter", "--level", "PL-1"),
            "w1(x1) c1 w2(y2) c2 d3(z3 | x1, y2) c3 w4(v4) c4 d5(z5 | x1, y2, v4) c5",
            1,
        ),
        (("--level", "PL-1"), "w1(x1) c1 w2(y2) c2 d3(z3 | x1, y2) c3 w4(v4) c4 d5(z5 | x1, y2, v4) c5", 0),
        (
            ("--predicates", "thesis"),
            "w0(x0) w0(n0) c0 w1(x1) w1(n1) c1 r2(P: x1; x1) r2(n0) c2 [P matches x0, x1]",
            1,
        ),
        ((), "w0(x0) w0(n0) c0 w1(x1) w1(n1) c1 r2(P: x1; x1) r2(n0) c2 [P matches x0, x1]", 0),
        (("--steps", "1"), FIGURE, 3),
    ],
)
def test_exit_statuses(options: tuple[str, ...], text: str, code: int) -> None:
    assert dvs("-", *options, given=text).exit_code == code


def test_one_json_object_a_history(tmp_path: Path) -> None:
    file = tmp_path / "histories.jsonl"
    arrays = [["w", 1, "x1"], ["c", 1], ["d", 2, "y2", ["x1"]], ["c", 2], ["r", 3, "y2"], ["c", 3]]
    rows = [{"name": "figure", "text": FIGURE}, {"name": "arrays", "events": arrays}, {"text": SERIAL}]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    result = dvs(str(file), "--json")
    assert result.exit_code == 1
    figure, plain, third = map(json.loads, result.stdout.splitlines())
    assert set(figure) == {"history", "reading", "phenomena", "levels", "anomalies", "strongest", "stats"}
    assert set(figure["phenomena"]) == {phenomenon.value for phenomenon in Phenomenon}
    assert set(figure["levels"]) == {level.value for level in Level}
    single = figure["phenomena"]["G-single"]
    assert (single["verdict"], single["reason"]) == ("present", "")
    edges = single["evidence"][0]["edges"]
    assert [(e["kind"], e["from"], e["to"], e["object"]) for e in edges] == [
        ("rw", 5, 2, "x"),
        ("wr", 2, 5, "x"),
    ]
    assert figure["levels"]["PL-3"] == {"verdict": "violated", "because": "G2 present"}
    assert figure["levels"]["PL-SI"]["verdict"] == "violated"
    assert figure["phenomena"]["G-SIa"]["verdict"] == "unknown"
    assert figure["phenomena"]["G0"] == {"verdict": "absent", "reason": "", "evidence": []}
    assert plain["strongest"] == ["PL-3"]
    assert plain["stats"]["derivations"] == 1
    assert third["history"] == f"{file}:3"
    assert "PL-SS" in third["strongest"]


def test_reports(tmp_path: Path) -> None:
    hostile = tmp_path / "histories.jsonl"
    name = '<script>alert("1")</script> & co'
    rows = [{"name": name, "text": FIGURE}, {"text": SERIAL}, {"name": "b", "text": "w1(x1) c1 r2(x1) c2"}]
    hostile.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    html, sarif, junit = tmp_path / "a.html", tmp_path / "a.sarif", tmp_path / "a.xml"
    levels = ("--level", "PL-3", "--level", "PL-SI")
    result = dvs(str(hostile), *levels, "--html", str(html), "--sarif", str(sarif), "--junit", str(junit))
    assert result.exit_code == 1
    page = html.read_text(encoding="utf-8")
    assert "<script" not in page
    assert page.count("<svg") == 6
    assert "http" not in page.replace("http://www.w3.org", "")
    Balanced().feed(page)
    log = json.loads(sarif.read_text(encoding="utf-8"))
    results = [
        (r["ruleId"], r["kind"], r["locations"][0]["physicalLocation"]["region"]["startLine"])
        for r in log["runs"][0]["results"]
    ]
    assert results == [("PL-3", "fail", 1), ("PL-SI", "fail", 1), ("PL-SI", "open", 3)]
    suites = ET.parse(junit).getroot()
    assert (suites.get("tests"), suites.get("failures"), suites.get("errors")) == ("3", "1", "1")


class Balanced(HTMLParser):
    """Fails where an element is closed that is not the one last opened."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in ("meta", "br", "circle", "path", "rect", "line"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("circle", "path", "rect", "line"):
            assert self.open.pop() == tag


def test_many_histories(tmp_path: Path) -> None:
    """The first ones at length, of the others the verdict; every finding at its line."""
    file = tmp_path / "many.jsonl"
    rows = [{"name": f"h{n}", "text": FIGURE if n % 10 == 0 else SERIAL} for n in range(60)]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    html, sarif = tmp_path / "a.html", tmp_path / "a.sarif"
    result = dvs(str(file), "--html", str(html), "--sarif", str(sarif))
    assert result.exit_code == 1
    assert "60 histories: 54 holds, 6 violated" in result.stdout
    assert result.stdout.count("the smallest history found that shows it") == 2
    assert html.read_text(encoding="utf-8").count('<article class="history"') == 40
    results = json.loads(sarif.read_text(encoding="utf-8"))["runs"][0]["results"]
    places = [item["locations"][0]["physicalLocation"]["region"]["startLine"] for item in results]
    assert places == [1, 11, 21, 31, 41, 51]


def test_names_cannot_inject_markup(tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    text = "r1(<script>alert(1)</script>&: x0, z_init; x0) w2(z2) w2(n2) c2 r1(n2) c1"
    assert dvs("-", "--html", str(page), given=text.replace("(1)", "")).exit_code == 3
    assert "<script" not in page.read_text(encoding="utf-8")


def test_everything_explained() -> None:
    result = dvs("-", "--explain", given=SERIAL)
    for name in (*(p.value for p in Phenomenon), *(level.value for level in Level)):
        assert f"    {name}: " in result.stdout
    assert "G2: absent (a cycle with an anti-dependency" in result.stdout


@pytest.mark.parametrize(
    ("given", "where", "message"),
    [
        (b"w1(x1 c1", "stdin:1:1", "is not closed"),
        (b"w1(x1) c1\nr2(x1) c2\nr3(", "stdin:3:1", "is not closed"),
        (b"r2(x1) c2", "stdin:1:1", "nobody makes x1"),
        (b"w1(x1) c1 w1(x2)", "stdin:1:11", "T1 has already ended, by c1"),
        (b"w1(x1) c1 w2(x2) c2 [x1 << x2 << x1]", "stdin:1:22", "twice"),
        (b"d1(u1 | v2) d2(v2 | u1) c1 c2", "stdin:1:1", "used before it is made by d2"),
        (b"", "stdin:1:1", "there is no event in it"),
        (b"  # nothing\n", "stdin:1:1", "there is no event in it"),
        (b"PAR1\x00\x15\xff\xfe", "stdin", "no Parquet that can be read"),
        (b"\x89PNG\r\n\x1a\n", "stdin:1:1", "is not UTF-8"),
        (b"<html><body>w1(x1)</body></html>", "stdin:1:1", "is neither an event"),
        (b"a,b,c\n1,2,3\n", "stdin:1:1", "is neither an event"),
        (b'{"text": "w1(x1) c1"', "stdin:1:21", "no JSON"),
        (b'{"text": "w1(x1"}', "stdin:1:1", "in the text at line 1, column 1"),
        (b'{"txt": "w1(x1) c1"}', "stdin:1:1", "unknown key 'txt'"),
        (b'{"name": "a"}', "stdin:1:1", "neither text"),
        (b'{"events": [["w", 1]]}', "stdin:1:1", "no event"),
        (b'{"events": [["w", "1", "x1"]]}', "stdin:1:1", "a transaction is a number"),
        (b'{"events": [["r", 1, "P", ["x0", 5]]]}', "stdin:1:1", "a version is text"),
        (b'{"text": "w1(x1) c1"}\n[1, 2]\n', "stdin:2:1", "a line is an object"),
        (
            b'{"index": 0, "type": "invoke", "f": "txn", "value": [["r", 1, null]]}',
            "stdin:1:1",
            "there is no transaction in it",
        ),
        (b"{" * 100_000, "stdin:1:2", "no JSON"),
        (b'{"events": [["c", ' + b"1" * 5000 + b"]]}", "stdin:1:1", "a number too long"),
        (b'{"events": [["c", ' + b"1" * 30 + b"]]}", "stdin:1:1", "of 18 digits at most"),
        (b'{"name": "\\ud800", "text": "w1(x1) c1"}', "stdin:1:1", "half a character"),
        (
            b'{"events": [["r", 1, "P;:)", ["x0"], ["x0"]], ["c", 1]]}',
            "stdin:1:1",
            "has blanks around it, or",
        ),
        (b'{"events": [["r", 1, "", ["x0"]], ["c", 1]]}', "stdin:1:1", "is empty"),
        (b'{"events": [["c", 1]], "sessions": {"a:]": [1]}}', "stdin:1:1", "has blanks around"),
        (b'{"events": [["c", 1]], "sessions": {"a": []}}', "stdin:1:1", "no transaction in it"),
        (b'{"text": 7, "events": [["c", 1]]}', "stdin:1:1", "text is a string"),
        (b"r1(" + b" " * 1_000_000, "stdin:1:1", "is not closed"),
        (b"[" + b" " * 1_000_000 + b"]", "stdin:1:1000002", "an empty item"),
        (b"w1(" + b"x" * 1_000_000, "stdin:1:1", "is not closed"),
        (b"(" * 100_000, "stdin:1:1", "is neither an event"),
        (b"w99999999999999999999999(x1) c1", "stdin:1:1", "is no transaction number"),
    ],
    ids=lambda value: value[:12] if isinstance(value, bytes) else "",
)
def test_bad_input_is_one_clear_line(given: bytes, where: str, message: str) -> None:
    result = dvs("-", given=given)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"error: {where}: ")
    assert message in line
    assert len(line) < 400


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ('{"text": "w1(x1) c1", "text": "a1"}', 'the key "text" is there twice'),
        ('{"events": [["w", 1, "x1", NaN], ["c", 1]]}', "NaN is no JSON"),
    ],
)
def test_json_that_some_readers_take_is_refused(line: str, fact: str) -> None:
    result = dvs("-", given=line.encode())
    assert result.exit_code == 2
    assert fact in result.stderr


APPENDS = """{:type :invoke, :process 0, :value [[:append 1 1]], :index 0, :time 0}
{:type :ok, :process 0, :value [[:append 1 1]], :index 1, :time 1}
{:type :invoke, :process 1, :value [[:r 1 nil] [:append 1 2]], :index 2, :time 2}
{:type :invoke, :process 2, :value [[:r 1 nil] [:append 1 3]], :index 3, :time 3}
{:type :ok, :process 1, :value [[:r 1 [1]] [:append 1 2]], :index 4, :time 4}
{:type :ok, :process 2, :value [[:r 1 [1]] [:append 1 3]], :index 5, :time 5}
{:type :invoke, :process 3, :value [[:r 1 nil]], :index 6, :time 6}
{:type :ok, :process 3, :value [[:r 1 [1 2 3]]], :index 7, :time 7}
"""


def test_a_file_of_jepsen(tmp_path: Path) -> None:
    file = tmp_path / "history.edn"
    file.write_text(APPENDS, encoding="utf-8")
    result = dvs(str(file))
    assert result.exit_code == 1
    assert "lost update: T3 overwrote what T2 had written since T3 read it" in result.stdout
    assert "for clients violated: parallel snapshot, snapshot isolation, serializable" in result.stdout
    assert "T3: process 2, line 6" in result.stdout
    document = json.loads(dvs("--json", str(tmp_path)).stdout)
    assert document["levels"]["PL-2"]["verdict"] == "holds"
    assert document["client_levels"]["prefix"]["verdict"] == "holds"
    assert document["keys"] == {"k1": "1"}
    # The folder of a test of Jepsen is read by its history.edn.
    assert document["history"] == str(file)
    assert dvs("--client-level", "prefix", str(file)).exit_code == 0
    assert dvs("--client-level", "serializable", str(file)).exit_code == 1


STALE = """\
{:type :invoke, :process 0, :value [[:append 1 1]]}
{:type :ok, :process 0, :value [[:append 1 1]]}
{:type :invoke, :process 1, :value [[:r 1 nil]]}
{:type :ok, :process 1, :value [[:r 1 []]]}
{:type :invoke, :process 2, :value [[:r 1 nil]]}
{:type :ok, :process 2, :value [[:r 1 [1]]]}
{:type :invoke, :process 2, :value [[:r 1 nil]]}
{:type :ok, :process 2, :value [[:r 1 []]]}
"""


def test_variants_of_client_levels_have_names(tmp_path: Path) -> None:
    """Process 1 reads what is older than what has ended, process 2 what is older than what it has read."""
    file = tmp_path / "stale.edn"
    file.write_text(STALE, encoding="utf-8")
    late = "".join(STALE.splitlines(keepends=True)[:4])
    assert dvs("--client-level", "serializable", "-", "--format", "elle", given=late.encode()).exit_code == 0
    strict = dvs("--client-level", "strict serializable", "-", "--format", "elle", given=late.encode())
    assert strict.exit_code == 1
    assert "T1 committed before T2 started" in strict.stdout
    assert dvs("--client-level", "monotonic reads", str(file)).exit_code == 1
    assert dvs("--client-level", "read your writes", str(file)).exit_code == 0
    assert dvs("--client-level", "serializable", str(file)).exit_code == 1
    assert dvs("--client-level", "serializable without sessions", str(file)).exit_code == 0


def test_a_store_that_was_loaded_with_a_value(tmp_path: Path) -> None:
    file = tmp_path / "h.edn"
    file.write_text(
        "{:type :invoke, :process 0, :value [[:r 1 nil]]}\n{:type :ok, :process 0, :value [[:r 1 0]]}\n",
        encoding="utf-8",
    )
    assert dvs(str(file)).exit_code == 3
    assert dvs("--initial-value", "0", str(file)).exit_code == 0


def test_of_a_converted_file_what_needs_the_order_in_a_transaction_is_unknown(tmp_path: Path) -> None:
    file = tmp_path / "h.txt"
    file.write_text("w(1,5,0,1)\nr(1,4,1,2)\nw(1,6,1,2)\nr(1,7,2,3)\nw(1,7,2,3)\nw(1,4,3,4)\n")
    plain = json.loads(dvs("--json", str(file)).stdout)
    assert "future read" in [each["name"] for each in plain["anomalies"]]
    found = json.loads(dvs("--json", "--converted", "--client-level", "read committed", str(file)).stdout)
    assert "future read" not in [each["name"] for each in found["anomalies"]]
    assert found["notes"][0] == "1 reads are left out that another order in their transactions explains"
    assert found["phenomena"]["G1b"]["verdict"] == "unknown"
    assert "the order of operations inside a transaction is lost" in found["phenomena"]["G1b"]["reason"]
    assert (
        found["levels"]["PL-2"]["verdict"] == found["client_levels"]["read committed"]["verdict"] == "unknown"
    )
    assert found["levels"]["PL-1"]["verdict"] != "violated"

    # Read committed forbids this order of the two reads, and not the other one; read atomic forbids both.
    file.write_text("w(1,5,0,1)\nw(1,6,0,2)\nw(2,7,0,2)\nr(2,7,1,3)\nr(1,5,1,3)\n")
    for options, verdict in (((), "violated"), (("--converted",), "unknown")):
        found = json.loads(dvs("--json", *options, str(file)).stdout)["client_levels"]
        assert (found["read committed"]["verdict"], found["read atomic"]["verdict"]) == (verdict, "violated")

    # An aborted read is one in any order.
    file.write_text("w(1,5,0,-1)\nr(1,5,1,2)\n")
    result = dvs("--converted", "--level", "PL-2", str(file))
    assert (result.exit_code, "aborted read" in result.stdout) == (1, True)


def test_a_value_that_nobody_wrote_was_never_committed_in_a_complete_file(tmp_path: Path) -> None:
    file = tmp_path / "h.edn"
    file.write_text(
        "{:type :invoke, :process 0, :value [[:r 1 nil]]}\n{:type :ok, :process 0, :value [[:r 1 7]]}\n",
        encoding="utf-8",
    )
    assert dvs("--level", "PL-2", str(file)).exit_code == 3
    result = dvs("--level", "PL-2", "--complete", "--client-level", "read committed", str(file))
    assert result.exit_code == 1
    assert "read 7 of key 1, which no committed transaction wrote" in result.stdout
    assert "aborted read" in result.stdout
    assert "PL-2, read committed violated" in result.stdout


def large(tmp_path: Path, name: str, *, stale: bool) -> Path:
    """A history that counts as large; with `stale`, one transaction reads an old version."""
    events: list[list[object]] = []
    for txn in range(1, 2600):
        wrong = stale and txn == 2000
        events += [["r", txn, f"x{txn - (900 if wrong else 1)}"]] if txn > 1 else []
        events += [["w", txn, f"y{txn}"]] if wrong else [["w", txn, f"x{txn}"], ["w", txn, f"y{txn}"]]
        if not wrong:
            events += [["r", txn, f"y{txn}"]]
        events.append(["c", txn])
    events = [event for event in events if event[:1] == ["c"] or event[2] != "x2000"]
    events = [["r", 2001, "x1999"] if event == ["r", 2001, "x2000"] else event for event in events]
    file = tmp_path / name
    if name.endswith(".jsonl"):
        file.write_text(json.dumps({"name": "large", "events": events}))
    else:
        texts = (f"{each[0]}{each[1]}{f'({each[2]})' if len(each) > 2 else ''}" for each in events)
        file.write_text(" ".join(texts))
    assert file.stat().st_size > FEWER_BYTES
    return file


FEWER_BYTES = 2**16
"""From how many bytes on a history counts as large here, instead of a megabyte."""


@pytest.mark.parametrize("name", ["large.jsonl", "large.adya"])
def test_a_large_history_is_judged_by_the_transactions_that_matter(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (adya, jsonl):
        monkeypatch.setattr(module, "LARGE_FILE", FEWER_BYTES)
    clean = dvs(str(large(tmp_path, name, stale=False)), "--html", str(tmp_path / "clean.html"))
    assert clean.exit_code == 0
    assert "2599 transactions, 2599 committed" in clean.stdout
    assert "show what is wrong" not in clean.stdout
    assert "Serialization graph" not in (tmp_path / "clean.html").read_text()
    file = large(tmp_path, name, stale=True)
    result = dvs(str(file), "--html", str(tmp_path / "stale.html"))
    assert result.exit_code == 1
    assert "T2000 read x at version 1100, which T1101's write replaced" in result.stdout
    assert "transactions show what is wrong; others may be wrong in the same ways" in result.stdout
    assert "others may be wrong" in (tmp_path / "stale.html").read_text()
    # All of it is read where the part does not tell.
    other = json.loads(dvs(str(file), "--json", "--derivations", "ignore").stdout)
    assert "part" not in other
    assert other["levels"] == json.loads(dvs(str(file), "--json").stdout)["levels"]
    converted = CliRunner().invoke(main, ["convert", str(file)], catch_exceptions=False)
    assert "w2599(x2599)" in converted.stdout


@pytest.mark.parametrize("name", ["small.json", "small.bincode", "small.parquet", "logs"])
def test_the_smallest_part_in_the_format_of_the_file_or_another_one(name: str, tmp_path: Path) -> None:
    file = tmp_path / "h.json"
    events = [[["r", 4, 0], ["w", 4, 1]], [["r", 4, 0], ["w", 4, 2]], [["w", 5, 3]]]
    file.write_text(json.dumps([[{"events": each, "committed": True}] for each in events]))
    out = tmp_path / name
    result = dvs("--level", "PL-SI", "--smallest", str(out), str(file))
    assert f"{out}: 2 of 3 transactions" in result.stderr
    again = dvs("--level", "PL-SI", str(out))
    assert again.exit_code == 1, again.stderr
    assert "2 transactions" in again.stdout
    if name == "small.json":
        assert [len(session) for session in json.loads(out.read_text())] == [1, 1]
    if name == "logs":
        (tmp_path / "plain").touch()
        plain = dvs("--level", "PL-SI", "--smallest", str(tmp_path / "plain"), str(file))
        assert "Cobra's logs are a folder, and that is a file; name another" in plain.output
        (out / "T9.log").write_bytes(b"")
        other = dvs("--level", "PL-SI", "--smallest", str(out), str(file))
        assert "T9.log is in that folder; name a new one" in other.output


def test_the_smallest_part_of_a_file_is_a_file_of_its_own(tmp_path: Path) -> None:
    file, out = tmp_path / "history.edn", tmp_path / "small.edn"
    quiet = [
        f"{{:type :{kind}, :process {number}, :value [[:append {number} 1]]}}\n"
        for number in range(50, 90)
        for kind in ("invoke", "ok")
    ]
    loud = re.sub(r", :index \d+, :time \d+", "", APPENDS)
    file.write_text("".join(quiet) + loud, encoding="utf-8")
    result = dvs("--level", "PL-SI", "--smallest", str(out), str(file))
    assert result.exit_code == 1
    # The third one had read what both appended; without it, both orders of the two are a lost update.
    assert f"{out}: 2 of 44 transactions" in result.stderr
    assert len(out.read_text(encoding="utf-8").splitlines()) == 4
    assert "lost update" in dvs("--client-level", "snapshot isolation", str(out)).stdout
    # Nothing is wrong by read committed, so there is nothing to be written.
    other = tmp_path / "none.edn"
    assert dvs("--level", "PL-2", "--smallest", str(other), str(file)).exit_code == 0
    assert not other.exists()
    unknown = dvs("--smallest", str(tmp_path / "small.xml"), str(file))
    assert unknown.exit_code == 2
    assert "the suffix names the format; take one of .edn, .txt, .hist" in unknown.stderr
    lists = dvs("--level", "PL-SI", "--smallest", str(tmp_path / "small.hist"), str(file))
    assert lists.exit_code == 2
    assert "this format has no lists; write .edn" in lists.stderr


PREDICATES = """\
{:type :ok, :process 0, :f :init, :value {1 0, 2 0}}
{:type :ok, :process 1, :f :txn, :value [[:rp [:= 0] {1 0, 2 0}] [:w 1 5]]}
{:type :ok, :process 2, :f :txn, :value [[:rp [:= 0] {1 0, 2 0}] [:w 2 6] [:w 2 7]]}
{:type :ok, :process 3, :f :txn, :value [[:rp [:= 9] {}]]}
"""


def test_a_file_with_reads_by_predicates(tmp_path: Path) -> None:
    file = tmp_path / "history.edn"
    file.write_text(PREDICATES, encoding="utf-8")
    result = dvs(str(file), "--level", "PL-3", "--explain", "--smallest", str(tmp_path / "small.edn"))
    assert result.exit_code == 1
    assert "T1 rw k2 (is_0) -> T2" in result.stdout
    assert "in the file: T1: process 1, line 2; T2: process 2, line 3" in result.stdout
    assert "G1-predB: unknown: process 3, line 4: which version of key 1" in result.stdout
    assert "small.edn: 3 of 4 operations" in result.stderr
    small = (tmp_path / "small.edn").read_text().splitlines()
    assert small == PREDICATES.splitlines()[:3]
    again = dvs(str(tmp_path / "small.edn"))
    assert again.exit_code == 1
    assert "T1 rw k2 (is_0) -> T2" in again.stdout
    other = dvs(str(file), "--smallest", str(tmp_path / "small.txt"))
    assert "reads by predicates are written as EDN" in other.output
    named = dvs(str(file), "--client-level", "causal")
    assert named.exit_code == 2
    assert "has version orders of its own" in named.stderr
    mixed = dvs(str(file), "--transaction-level", "PL-2:1,2,3", "--level", "PL-2")
    assert "mixed levels unknown" in mixed.stdout
    table = tmp_path / "h.parquet"
    converted = CliRunner().invoke(main, ["convert", "--to", "parquet", "--out", str(table), str(file)])
    assert converted.exit_code == 0, converted.output
    again = json.loads(dvs(str(table), "--json").stdout)
    whole = json.loads(dvs(str(file), "--json").stdout)
    assert again["phenomena"] == whole["phenomena"]
    assert again["places"] == whole["places"]
    notation = CliRunner().invoke(main, ["convert", "--to", "adya", str(file)])
    assert "a version set is stated beyond the file" in notation.stderr


def test_a_history_without_clients_has_no_client_levels(tmp_path: Path) -> None:
    result = dvs("--client-level", "causal", "-", given=b"w1(x1) c1")
    assert result.exit_code == 2
    assert "notation" in result.stderr


@pytest.mark.parametrize(
    ("forbidden", "text", "code"),
    [
        ("G1-predB", "w1(x1) w1(y1) r2(P: x1, y_init) c1 c2", 1),
        ("G1-predA", "w1(x1) w1(y1) r2(P: x1, y_init) c1 c2", 0),
        ("G-SIa", "w1(x1) c1", 3),
    ],
)
def test_a_gate_can_forbid_a_phenomenon(forbidden: str, text: str, code: int) -> None:
    """PL-2' is PL-2 without G1-predA, PL-2'' without G1-predB (Adya 1999, section 3.2.2)."""
    result = dvs("--level", "PL-2", "--forbid", forbidden, "-", given=text)
    assert result.exit_code == code
    assert dvs("--forbid", forbidden, "-", given=text).exit_code == code


def test_a_fifo_without_a_writer_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dvs_model.judging.files.FIFO_WAIT_S", 0.1)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    result = dvs(str(fifo))
    assert result.exit_code == 2
    assert "a FIFO to which nobody has written" in result.stderr
    monkeypatch.setattr("dvs_model.judging.files.FIFO_WAIT_S", 60.0)
    writer = subprocess.Popen(["sh", "-c", f"sleep 0.05; echo 'w1(x1) c1' > {fifo}"])
    assert dvs(str(fifo)).exit_code == 0
    assert writer.wait() == 0


def test_converted_histories_are_judged_alike(tmp_path: Path) -> None:
    file = tmp_path / "history.edn"
    file.write_text(APPENDS, encoding="utf-8")
    converted = CliRunner().invoke(main, ["convert", str(file)])
    assert converted.exit_code == 0
    assert "when transactions began is left out" in converted.stderr
    again = dvs("--json", "-", given=converted.stdout.encode())
    levels = [json.loads(text)["levels"] for text in (dvs("--json", str(file)).stdout, again.stdout)]
    assert levels[0]["PL-3"] == levels[1]["PL-3"]
    lines = CliRunner().invoke(main, ["convert", "--to", "jsonl", str(file), str(file)])
    assert [json.loads(line)["text"] for line in lines.stdout.splitlines()] == [converted.stdout.strip()] * 2
    table = tmp_path / "h.parquet"
    assert (
        CliRunner().invoke(main, ["convert", "--to", "parquet", "--out", str(table), str(file)]).exit_code
        == 0
    )
    rows = pq.read_table(table).to_pylist()
    assert [row["list"] for row in rows if row["kind"] == "r list"] == [["1"], ["1"], ["1", "2", "3"]]
    assert CliRunner().invoke(main, ["convert", "--to", "parquet", str(file)]).exit_code == 2
    assert CliRunner().invoke(main, ["convert", str(file), str(file)]).exit_code == 2


def test_a_bad_line_does_not_hide_the_good_ones(tmp_path: Path) -> None:
    file = tmp_path / "mixed.jsonl"
    file.write_text('{"text": "w1(x1) c1"}\n{"text": "w1(x1"}\n{"text": "w1(y1) c1"}\n', encoding="utf-8")
    result = dvs(str(file))
    assert result.exit_code == 2
    assert f"{file}:1: PL-3 holds" in result.stdout
    assert f"{file}:3: PL-3 holds" in result.stdout
    assert "3 histories: 2 holds, 1 could not be read" in result.stdout
    assert result.stderr.startswith(f"error: {file}:2:1: ")


@pytest.mark.parametrize(
    "arguments", [("nowhere.adya",), ("-", "--level", "PL-9"), ("-", "--format", "xml"), ()]
)
def test_misuse(arguments: tuple[str, ...]) -> None:
    result = dvs(*arguments, given="")
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr


def test_checking_histories_loads_no_spark_and_no_duckdb() -> None:
    program = (
        "import sys; from click.testing import CliRunner; from campaign.cli import main; "
        "CliRunner().invoke(main, ['check', '-'], input='w1(x1) c1'); "
        "print([m for m in ('pyspark', 'duckdb', 'sqlglot', 'deltalake', 'py4j') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "file", sorted(Path("examples/histories").glob("*.adya")), ids=lambda file: file.stem
)
def test_examples_do_what_they_say(file: Path) -> None:
    parse(file.read_text(encoding="utf-8"))
    assert dvs(str(file)).exit_code in (0, 1)


def test_the_figures_of_the_paper() -> None:
    figure = "examples/histories/refresh-hides-read-skew.adya"
    assert dvs(figure, "--level", "PL-2+").exit_code == 1
    assert dvs(figure, "--level", "PL-3", "--derivations", "ignore").exit_code == 0


def test_theorems() -> None:
    result = CliRunner().invoke(main, ["verify", "theorems", "--operations", "2", "--random", "60"])
    assert result.exit_code == 0
    assert "theorem 1: 25 derivations moved" in result.stdout


def test_reads_of_aborted_transactions_are_judged_if_wanted() -> None:
    text = b"r1(x0) w2(x2) w2(y2) c2 r1(y2) a1"
    assert dvs("-", given=text).exit_code == 0
    result = dvs("--executing", "-", given=text)
    assert result.exit_code == 1
    assert "EPL-3 of T1 violated" in result.stdout
    assert "EPL-3 of T1: T1 read x at version 0, which T2's write replaced" in result.stdout
    document = json.loads(dvs("--executing", "--level", "PL-2", "--json", "-", given=text).stdout)
    assert document["executing"] == [
        {
            "transaction": "T1",
            "levels": {"EPL-2": {"verdict": "holds", "because": "every phenomenon it forbids is absent"}},
        }
    ]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["PL-2:1"], 0, ""),
        (["PL-2.99:2"], 1, ""),
        (["PL-2:1", "PL-3:T1"], 2, "names T1 twice"),
        (["PL-SI:1"], 2, "write LEVEL:T,..., such as PL-2:3,4; the levels: PL-1, PL-2, PL-2.99, PL-3"),
        (["1"], 2, "write LEVEL:T,..."),
        (["PL-2:7"], 2, "no committed transaction T7"),
    ],
)
def test_transactions_have_levels_of_their_own(options: list[str], code: int, message: str) -> None:
    skew = b"r1(x0) r1(y0) r2(x0) r2(y0) w1(x1) w2(y2) c1 c2"
    named = [word for option in options for word in ("--transaction-level", option)]
    result = dvs(*named, "--json", "-", given=skew)
    assert result.exit_code == code
    assert message in result.stderr
    if code < 2:
        mixed = json.loads(result.stdout)["mixed"]
        assert mixed["verdict"] == ("violated" if code else "holds")
        assert mixed["others"] == "PL-3"


def test_reports_name_what_is_violated_beside_levels(tmp_path: Path) -> None:
    page, sarif, stale = tmp_path / "h.html", tmp_path / "h.sarif", tmp_path / "stale.edn"
    text = b"r1(x0) w2(x2) w2(y2) c2 r1(y2) a1"
    dvs("--executing", "--html", str(page), "--sarif", str(sarif), "-", given=text)
    assert "<h1>EPL-3 of T1: violated</h1>" in page.read_text(encoding="utf-8")
    (result,) = json.loads(sarif.read_text(encoding="utf-8"))["runs"][0]["results"]
    assert result["ruleId"] == "EPL-3"
    stale.write_text(STALE, encoding="utf-8")
    dvs("--client-level", "monotonic reads", "--html", str(page), "--sarif", str(sarif), str(stale))
    assert "<h1>monotonic reads: violated</h1>" in page.read_text(encoding="utf-8")
    dvs("--forbid", "G2", "--sarif", str(sarif), "-", given=b"r1(x0) r2(y0) w1(y1) w2(x2) c1 c2")
    (result,) = json.loads(sarif.read_text(encoding="utf-8"))["runs"][0]["results"]
    assert result["message"]["text"] == "stdin: no G2 is violated: it is present"


ENDS = """
import atexit, sys
import campaign.cli.histories.check
from dvs.__main__ import main

campaign.cli.histories.check.MANY_OBJECTS = 0
atexit.register(print, "a clean-up")
sys.argv = ["dvs", "check", "--json", sys.argv[1]]
main()
"""


def test_a_large_history_ends_the_process_at_once_with_all_output(tmp_path: Path) -> None:
    history = tmp_path / "history.adya"
    history.write_text("w1(x1) w2(x2) w2(y2) w1(y1) c1 c2 [x1 << x2, y2 << y1]")
    done = subprocess.run(
        [sys.executable, "-c", ENDS, str(history)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "a clean-up" not in done.stdout
    assert json.loads(done.stdout)["phenomena"]["G0"]["verdict"] == "present"


@pytest.mark.parametrize(
    ("order", "verdict", "note"),
    [
        ("both", 0, "real time is what the order of the file and :time agree on"),
        ("file", 1, "real time is by file"),
        ("time", 0, "real time is by time"),
    ],
)
def test_real_time_is_by_the_file_or_by_its_times(
    tmp_path: Path, order: str, verdict: int, note: str
) -> None:
    # By the file T1 was over before T2 began, which misses it; by the times T2 was over first.
    lines = [
        "{:type :invoke, :process 0, :value [[:append 1 1]], :time 50}",
        "{:type :ok, :process 0, :value [[:append 1 1]], :time 60}",
        "{:type :invoke, :process 1, :value [[:r 1 nil]], :time 10}",
        "{:type :ok, :process 1, :value [[:r 1 []]], :time 20}",
    ]
    file = tmp_path / "h.edn"
    file.write_text("\n".join(lines), encoding="utf-8")
    result = dvs(str(file), "--client-level", "strict serializable", "--order", order)
    assert result.exit_code == verdict, result.output
    assert note in result.stdout


SKEW = "[x:=1]\n---\n[x==1 x:=2 y:=2]\n---\n[x==1 y==2]\n"


def test_the_option_that_would_decide_is_named(tmp_path: Path) -> None:
    path = tmp_path / "skew.hist"
    path.write_text(SKEW)
    plain = dvs("--level", "PL-2+", str(path))
    assert plain.exit_code == 3
    assert "note: with --assume writes-follow-reads, PL-2+ violated" in plain.stdout
    assumed = dvs("--level", "PL-2+", "--assume", "writes-follow-reads", str(path))
    assert assumed.exit_code == 1
    assert "note: with --assume" not in assumed.stdout
    assert "note: with --assume" not in dvs("--level", "PL-3", str(path)).stdout, "it is decided"


def test_a_session_that_no_serial_order_keeps_violates_the_levels_that_keep_sessions(tmp_path: Path) -> None:
    path = tmp_path / "skew.hist"
    path.write_text("[x:=1] [x:=2] [x==1]\n")
    result = dvs("--level", "PL-3-session", "--level", "PL-SS", str(path))
    assert result.exit_code == 1
    assert "skew.hist: PL-3-session, PL-SS violated" in result.stdout.splitlines()[0]


LOST = (
    "{:type :ok, :process 0, :value [[:r 4 nil] [:append 4 1]]}\n"
    "{:type :ok, :process 1, :value [[:r 4 nil] [:append 4 2]]}\n"
    "{:type :ok, :process 2, :value [[:r 4 [1 2]]]}\n"
)


@pytest.mark.parametrize(("kind", "suffix"), [("gzip", ".gz"), ("zstd", ".zst")])
def test_compressed_files_are_read_and_damaged_ones_are_refused(
    tmp_path: Path, kind: str, suffix: str
) -> None:
    whole = pa.compress(LOST.encode(), kind, asbytes=True)
    path = tmp_path / f"history.edn{suffix}"
    path.write_bytes(whole)
    assert "lost update" in dvs(str(path)).stdout
    assert dvs(str(path)).exit_code == 1
    path.write_bytes(whole + whole)
    assert dvs(str(path)).exit_code == 2, "two parts are read as one file, with each value written twice"
    path.write_bytes(whole[:-6])
    cut = dvs(str(path))
    assert cut.exit_code == 2
    assert cut.stderr.startswith(f"error: {path}: no whole {kind} file")


def test_compressed_hist_and_logs_of_cobra_are_read(tmp_path: Path) -> None:
    path = tmp_path / "skew.hist.gz"
    path.write_bytes(gzip.compress(SKEW.encode()))
    assert dvs("--client-level", "read atomic", str(path)).exit_code == 1
    logs = tmp_path / "logs"
    logs.mkdir()
    for number, txn in enumerate((7, 9)):
        record = struct.pack(">cqcqqqcq", b"S", txn, b"W", txn, 4, 5, b"C", txn)
        (logs / f"T{number}.log.gz").write_bytes(gzip.compress(record))
    assert "2 committed" in dvs(str(logs)).stdout


def test_the_runs_below_a_store_of_jepsen_are_read_once_each(tmp_path: Path) -> None:
    for test, time in (("append", "20260101T1"), ("append", "20260102T1"), ("bank", "20260103T1")):
        run = tmp_path / test / time
        run.mkdir(parents=True)
        (run / "history.edn").write_text(LOST)
    (tmp_path / "latest").symlink_to(tmp_path / "bank" / "20260103T1")
    (tmp_path / "bank" / "latest").symlink_to(tmp_path / "bank" / "20260103T1")
    assert dvs(str(tmp_path)).stdout.splitlines()[-1] == "3 histories: 3 violated"
    assert dvs(str(tmp_path / "append")).stdout.splitlines()[-1] == "2 histories: 2 violated"
    assert dvs(str(tmp_path / "latest")).exit_code == 1


def test_the_choices_that_a_verdict_depends_on_are_said(tmp_path: Path) -> None:
    report = tmp_path / "report.sarif"
    aborted = "w1(x1) c1 d2(y2 | x1) r3(y2) c3 a2"
    choice = "choice: what an aborted refresh has derived counts as aborted, whoever wrote what is behind it"
    assert choice in dvs("-", "--sarif", str(report), given=aborted).stdout
    assert choice in json.loads(report.read_text())["runs"][0]["results"][0]["message"]["text"]
    assert "choice:" not in dvs("-", given=SERIAL).stdout
    many = "\n".join(json.dumps({"name": f"h{number}", "text": FIGURE}) for number in range(22))
    last = dvs("-", given=many).stdout.splitlines()[-3]
    assert last == "h21: PL-3 violated (derivations: honour; derived writes: changed)"
