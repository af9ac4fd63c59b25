"""Reads the reports that `peerlane reproduce --json` has written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from peerlane.reproduction.catalogue import folder_of, systems
from peerlane.reproduction.expected import Expected, ExpectedRow
from peerlane.reproduction.report import CalibrationEntry, Report
from peerlane.reproduction.row import Row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Json = Mapping[str, Any]


def reports_of(document: Json) -> list[Report]:
    """The reports in a document, with published values from the document, not `expected.toml`."""
    if "systems" in document:
        return [_report(one) for one in document["systems"]]
    return [_report(document)]


def _report(document: Json) -> Report:
    name = str(document["system"])
    known = Expected.load(folder_of(name)) if name in systems() else None
    rows = tuple(map(_row, document["rows"]))
    figures = {row.figure for row in rows}
    return Report(
        name,
        known.title if known else "",
        known.source if known else "",
        rows,
        tuple(map(_calibration, document["calibration"])),
        document.get("settings", {}),
        tuple(plot for plot in known.plots if plot.figure in figures) if known else (),
    )


def _row(fields: Json) -> Row:
    expected = {key: fields[key] for key in ExpectedRow.model_fields if key in fields}
    ends = ("published_range", "expected_range", "derived_from")
    expected |= {key: tuple(expected[key]) for key in ends if _is_list(expected.get(key))}
    return Row(
        ExpectedRow.model_validate(expected),
        str(fields["figure"]),
        fields["simulated"],
        fields.get("sensitivity"),
        fields.get("unchanged"),
    )


def _is_list(value: Sequence[float] | None) -> bool:
    return isinstance(value, list)


def _calibration(fields: Json) -> CalibrationEntry:
    own = {key: value for key, value in fields.items() if key != "from"}
    return CalibrationEntry(**own, origin=fields["from"])
