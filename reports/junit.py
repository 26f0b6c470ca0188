"""Writes JUnit XML, which build servers read, for campaigns, gates, `dvs check` and `dvs dbt`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import assert_never
from xml.etree import ElementTree as ET

from reports.visible import one_line, visible


class CaseVerdict(Enum):
    """The result of a case. FAILED: the product is wrong; ERROR: anything else went wrong."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Case:
    """One JUnit case. `message`: one line; `details`: any text."""

    name: str
    seconds: float
    verdict: CaseVerdict
    message: str = ""
    details: str = ""


@dataclass(frozen=True, slots=True)
class Suite:
    """Cases with a common name."""

    name: str
    cases: tuple[Case, ...]


def junit_xml(suites: Iterable[Suite]) -> str:
    """Returns the suites as one XML document; characters that XML does not allow are shown as escapes."""
    suites = tuple(suites)
    root = ET.Element("testsuites", _totals([case for suite in suites for case in suite.cases]))
    for suite in suites:
        attributes = {"name": one_line(suite.name), **_totals(suite.cases)}
        element = ET.SubElement(root, "testsuite", attributes)
        for case in suite.cases:
            _add_case(element, suite, case)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _totals(cases: Iterable[Case]) -> dict[str, str]:
    cases = tuple(cases)

    def count(verdict: CaseVerdict) -> str:
        return str(sum(case.verdict is verdict for case in cases))

    return {
        "tests": str(len(cases)),
        "failures": count(CaseVerdict.FAILED),
        "errors": count(CaseVerdict.ERROR),
        "skipped": count(CaseVerdict.SKIPPED),
        "time": _seconds(sum(case.seconds for case in cases)),
    }


def _add_case(parent: ET.Element, suite: Suite, case: Case) -> None:
    attributes = {
        "classname": one_line(suite.name),
        "name": one_line(case.name),
        "time": _seconds(case.seconds),
    }
    element = ET.SubElement(parent, "testcase", attributes)
    message = {"message": one_line(case.message)} if case.message else {}
    details = visible(case.details)
    match case.verdict:
        case CaseVerdict.PASSED:
            if case.details or case.message:
                ET.SubElement(element, "system-out").text = details or one_line(case.message)
        case CaseVerdict.SKIPPED:
            ET.SubElement(element, "skipped", message).text = details
        case CaseVerdict.FAILED | CaseVerdict.ERROR:
            tag = "failure" if case.verdict is CaseVerdict.FAILED else "error"
            ET.SubElement(element, tag, {**message, "type": tag}).text = details
        case _:
            assert_never(case.verdict)


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}"
