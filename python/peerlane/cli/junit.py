"""Writes the expectations of a run as JUnit XML, which CI servers can read."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from peerlane.printable import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peerlane.results.run import RunResult


def junit(result: RunResult, faults: Sequence[str]) -> bytes:
    """A test suite with a test case for each expectation, and one more if the run has faults.

    Args:
        result: The result of the run.
        faults: The failures of the run other than unmet expectations.
    """
    name = printable(result.name)
    failed = sum(not one.met for one in result.expectations)
    errors = bool(faults)
    counts = {
        "tests": str(len(result.expectations) + errors),
        "failures": str(failed),
        "errors": str(int(errors)),
    }
    suites = ET.Element("testsuites", counts, name="peerlane")
    suite = ET.SubElement(suites, "testsuite", counts, name=name)
    for one in result.expectations:
        case = ET.SubElement(suite, "testcase", classname=name, name=printable(one.id))
        if why := one.failure():
            ET.SubElement(case, "failure", message=printable(why), type="expectation")
    if errors:
        case = ET.SubElement(suite, "testcase", classname=name, name="the run itself")
        ET.SubElement(case, "error", message=printable("; ".join(faults)), type="run")
    ET.indent(suites)
    document: bytes = ET.tostring(suites, encoding="utf-8", xml_declaration=True)
    return document + b"\n"
