"""JUnit XML, read back with an XML parser."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from reports.junit import Case, CaseVerdict, Suite, junit_xml

HOSTILE = "<script>]]>&\0\x1b\ud800\uffff\n\"'"
SHOWN = "<script>]]>&\\u0000\\u001b\\ud800\\uffff"

SUITES = (
    Suite(
        "gate",
        (
            Case("coverage", 0.25, CaseVerdict.PASSED),
            Case("faults", 1.5, CaseVerdict.FAILED, "2 survived", "join-key\nlate-update"),
            Case("spark", 0.0, CaseVerdict.SKIPPED, "no JVM"),
            Case("delta", 2.0, CaseVerdict.ERROR, "out of memory", "trace"),
        ),
    ),
    Suite("empty", ()),
)


def test_counts_and_times_add_up() -> None:
    root = ET.fromstring(junit_xml(SUITES))
    expected = {"tests": "4", "failures": "1", "errors": "1", "skipped": "1", "time": "3.750"}
    assert root.attrib == expected
    assert root[0].attrib == {"name": "gate", **expected}
    assert root[1].attrib == {
        "name": "empty",
        "tests": "0",
        "failures": "0",
        "errors": "0",
        "skipped": "0",
        "time": "0.000",
    }


def test_each_verdict_has_its_element() -> None:
    cases = ET.fromstring(junit_xml(SUITES)).findall("testsuite/testcase")
    assert [[child.tag for child in case] for case in cases] == [[], ["failure"], ["skipped"], ["error"]]
    failure = cases[1][0]
    assert failure.get("message") == "2 survived"
    assert failure.text == "join-key\nlate-update"
    assert cases[1].attrib == {"classname": "gate", "name": "faults", "time": "1.500"}


def test_what_xml_cannot_hold_is_shown_as_an_escape() -> None:
    suite = Suite(HOSTILE, tuple(Case(HOSTILE, 0.0, verdict, HOSTILE, HOSTILE) for verdict in CaseVerdict))
    text = junit_xml([suite])
    text.encode()
    root = ET.fromstring(text)
    assert root[0].get("name") == SHOWN + "\\n\"'"
    for case in root[0]:
        assert case[0].text == SHOWN + "\n\"'"
